# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The table of elementary functions."""

from __future__ import annotations

import pytest

from opencute.arch.mathfns import MATH_FNS, MathFn, math_fn
from opencute.base.errors import ArgumentError

pytestmark = pytest.mark.t0

UNARY = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "erf",
    "erfc",
    "absf",
    "floor",
    "ceil",
    "trunc",
    "round",
    "roundeven",
]


@pytest.mark.parametrize("type", ["f16", "bf16", "f32", "f64"])
def test_every_function_has_a_row(type: str) -> None:
    for name in (*UNARY, "atan2", "copysign", "powf"):
        for fast in (False, True):
            row = math_fn(f"math.{name}", type, fast=fast)
            assert row is not None and row.type == type


def test_fast_falls_back_to_exact() -> None:
    row = math_fn("math.erf", "f32", fast=True)
    assert row is not None and not row.fast
    assert math_fn("math.exp", "f64", fast=True) is MATH_FNS["math.exp", "f64", False]
    assert math_fn("arith.addf", "f32") is None
    assert math_fn("arith.divf", "f32") is None


def test_narrow_rows_round_once_more() -> None:
    sqrt, exp = math_fn("math.sqrt", "f16"), math_fn("math.exp", "bf16")
    assert sqrt is not None and sqrt.kind == "via_f32" and sqrt.ulp == 0
    assert exp is not None and exp.kind == "via_f32" and exp.ulp == 1


def test_rows_check_themselves() -> None:
    with pytest.raises(ArgumentError, match="OC2914"):
        MathFn("math.exp", "f32", False, "libdevice")
    with pytest.raises(ArgumentError, match="OC2914"):
        MathFn("math.exp", "f32", False, "steps", "", -1)
