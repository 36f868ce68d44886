# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What softmax can be told: for `opencute tune softmax`."""

from __future__ import annotations

from typing import Any

from opencute.kernels.softmax.interface import softmax, softmax_backward
from opencute.kernels.tuning.operators import Case
from opencute.kernels.tuning.rows import on_rows

__all__ = ["OPERATORS"]


def _arguments(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    x, out = (case.array(case["m"], case["n"]) for _ in range(2))
    return (x,), {"out": out}


def _backward_arguments(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    grad, y, out = (case.array(case["m"], case["n"]) for _ in range(3))
    return (grad, y), {"out": out}


OPERATORS = (
    on_rows("softmax", softmax, 2, _arguments),
    on_rows("softmax_backward", softmax_backward, 3, _backward_arguments),
)
