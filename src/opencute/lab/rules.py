# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""When an element is right, as numbers and in words.

In: the tolerances of a check. Out: a `Tolerance` and the sentences that reports print::

    Tolerance(rtol=1e-3, atol=1e-3).nan_policy()
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FORMULA", "RELATIVE_DIVISOR", "RELATIVE_FLOOR", "Tolerance"]

FORMULA = "|kernel - reference| <= atol + rtol * |reference|"
RELATIVE_FLOOR = 1e-12
RELATIVE_DIVISOR = f"max(|reference|, {RELATIVE_FLOOR:g})"


@dataclass(frozen=True)
class Tolerance:
    """How far an element may be off; see `FORMULA`."""

    rtol: float
    atol: float
    equal_nan: bool = False

    def nan_policy(self) -> str:
        """The policy in words."""
        if self.equal_nan:
            return "NaN equals NaN in the same place"
        return "NaN is never right, not even where the reference has NaN (--equal-nan changes that)"
