# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What cross-entropy can be told: for `opencute tune cross_entropy`."""

from __future__ import annotations

from typing import Any

from opencute.kernels.cross_entropy.interface import cross_entropy, cross_entropy_backward
from opencute.kernels.tuning.operators import Case
from opencute.kernels.tuning.rows import on_rows

__all__ = ["OPERATORS"]


def _arguments(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (case.array(case["m"], case["n"]), case.array(case["m"], dtype="int64")), {}


def _backward_arguments(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (logits, target), _ = _arguments(case)
    grad, lse = (case.array(case["m"], dtype="float32") for _ in range(2))
    return (grad, logits, target, lse), {"out": case.array(case["m"], case["n"])}


OPERATORS = (
    on_rows("cross_entropy", cross_entropy, 1, _arguments),
    on_rows("cross_entropy_backward", cross_entropy_backward, 2, _backward_arguments),
)
