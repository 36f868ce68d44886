# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Expansion of division and of functions; ranges of integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.samples import unary_tile
from opencute.dialects import arith, cute, math, ptx
from opencute.ir.builder import insert_at
from opencute.ir.core import Block, Op, Value
from opencute.ir.types import F16, F32, I8, I32, I64
from opencute.passes.expand import expand
from opencute.passes.ranges import bounds, is_nonnegative
from passes.simulated import apply, run

pytestmark = pytest.mark.t0


def names(module: Op) -> set[str]:
    return {op.name for op in module.walk()}


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["floordivsi", "ceildivsi", "ceildivui"]),
    st.lists(st.integers(-128, 127), min_size=16, max_size=16),
    st.integers(-128, 127).filter(bool),
)
def test_divisions(name: str, values: list[int], divisor: int) -> None:
    if divisor == -1:
        values = [max(v, -127) for v in values]
    module = unary_tile(I8, 16, lambda v: arith.binary(name, v, arith.constant(divisor, v.type)))
    x = np.array(values, np.int8)
    args = [x, np.zeros_like(x)]
    want = run(module, 1, 1, args)[1]
    apply(module, expand)
    assert f"arith.{name}" not in names(module)
    assert (run(module, 1, 1, args)[1] == want).all()


def test_division_of_what_is_not_negative_is_unsigned() -> None:
    block = Block()
    with insert_at(block):
        tid = ptx.sreg("tid.x")
        assert is_nonnegative(tid) and not is_nonnegative(arith.binary("subi", tid, tid))
    module = unary_tile(I32, 1, lambda v: arith.binary("addi", v, _splat(arith.binary(
        "floordivsi", ptx.sreg("tid.x"), ptx.sreg("ntid.x")))))  # fmt: skip
    assert "arith.divui" in names(apply(module, expand))


def _splat(x: Value) -> Value:
    from opencute.dialects import vector

    return vector.broadcast(x, 1)


def test_functions_of_f16_go_through_f32() -> None:
    module = apply(unary_tile(F16, 8, lambda x: math.unary("tanh", x)), expand)
    assert {"arith.extf", "arith.truncf", "math.tanh"} <= names(module)
    assert not any(op.name == "math.tanh" and "f16" in str(op.result.type) for op in module.walk())


@pytest.mark.parametrize("name", ["exp", "log", "log10", "tan"])
def test_fast_functions_are_composed(name: str) -> None:
    module = unary_tile(F32, 4, lambda x: math.unary(name, x, fast=True))
    x = np.array([0.5, 1.0, 1.5, 1.25], np.float32)
    args = [x, np.zeros_like(x)]
    want = run(module, 1, 1, args)[1]
    apply(module, expand)
    assert f"math.{name}" not in names(module)
    assert np.allclose(run(module, 1, 1, args)[1], want, rtol=1e-5, atol=1e-6)


def test_fast_power() -> None:
    module = unary_tile(F32, 4, lambda x: math.binary("powf", x, x, fast=True))
    x = np.array([0.5, 1.0, 1.5, 2.0], np.float32)
    apply(module, expand)
    assert np.allclose(run(module, 1, 1, [x, np.zeros_like(x)])[1], x**x, rtol=1e-5)


def test_bounds() -> None:
    block = Block([I32, I64])
    x, wide = block.args
    with insert_at(block):

        def const(v: int) -> Value:
            return arith.constant(v, I32)

        tid = ptx.sreg("tid.x")
        assert bounds(tid) == (0, 1023)
        assert bounds(arith.binary("muli", tid, const(4))) == (0, 4092)
        assert bounds(arith.binary("muli", ptx.sreg("ctaid.x"), const(4)))[0] < 0  # may wrap
        assert bounds(arith.binary("remui", x, const(8))) == bounds(x)
        assert bounds(arith.binary("andi", x, const(31))) == (0, 31)
        assert bounds(arith.binary("remsi", tid, const(32))) == (0, 31)
        assert bounds(arith.binary("divsi", tid, const(32))) == (0, 31)
        assert bounds(arith.binary("shrsi", tid, const(5))) == (0, 31)
        assert bounds(arith.cast("extsi", tid, I64)) == (0, 1023)
        assert bounds(arith.cast("extui", x, I64)) == (0, 2**32 - 1)
        assert bounds(arith.binary("maxsi", x, const(0)))[0] == 0
        assert bounds(arith.binary("minsi", tid, const(-2))) == (-2, -2)
        flag = arith.cmpi("slt", x, tid)
        assert bounds(arith.select(flag, tid, const(-5))) == (-5, 1023)
        assert bounds(arith.cast("extsi", flag, I32)) == (-1, 0)
        assert bounds(cute.assume(tid, 4)) == (0, 1023)
        assert bounds(wide) == (-(2**63), 2**63 - 1)
