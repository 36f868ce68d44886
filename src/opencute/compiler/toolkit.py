# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which CUDA toolkit makes the machine code: `cutlass.target_version`.

In: bounds, as text. Out: whether the version of the ptxas in use lies within them::

    stages = 4 if cutlass.target_version(min_version="13.1") else 3
"""

from __future__ import annotations

import re

from opencute.base.errors import ArgumentError, MissingPieceError
from opencute.codegen.toolchain import find_ptxas

__all__ = ["target_version"]

_ASSUMED = (13, 0)
"""Where there is no ptxas, in the simulator: the version that this package is made with."""


def target_version(
    *, min_version: str | None = None, max_version: str | None = None,
    exact_version: str | None = None,
) -> bool:  # fmt: skip
    """Whether the CUDA toolkit's version lies within bounds, which count as inside.

    Args:
        min_version: such as "13.1".
        max_version: such as "13"; then every 13.x is inside.
        exact_version: both at once.

    Raises:
        ArgumentError: OC2239, a bound that is no version, or none at all.
    """
    low = _parsed(exact_version or min_version)
    high = _parsed(exact_version or max_version)
    if low is None and high is None:
        raise ArgumentError(
            "target_version() needs a version to compare with", code="OC2239",
            expected="min_version, max_version or exact_version",
        )  # fmt: skip
    try:
        found = find_ptxas().version or _ASSUMED
    except MissingPieceError:
        found = _ASSUMED
    above = low is None or found[: len(low)] >= low
    return above and (high is None or found[: len(high)] <= high)


def _parsed(version: str | None) -> tuple[int, ...] | None:
    if version is None:
        return None
    if not re.fullmatch(r"\d+(\.\d+)*", str(version)):
        raise ArgumentError("this is no version", code="OC2239", found=repr(version))
    return tuple(int(p) for p in str(version).split("."))
