# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""NaNs: arithmetic gives the hardware's one, moving keeps what was there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opencute.dialects import arith, cute, scf
from opencute.dialects import math as mathd
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Value
from opencute.ir.types import BF16, F16, F32, I32, FloatType
from opencute.sim.values import dtype_of
from sim.building import const, kernel_module, launch, ptr, thread

pytestmark = pytest.mark.t0
TYPES = (F16, BF16, F32)
ONE_NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}
# A quiet NaN with a payload and a sign, and a signalling one.
ODD_NANS = {"f16": [0xFE01, 0x7C01], "bf16": [0xFFC1, 0x7F81], "f32": [0xFFC00001, 0x7F800001]}


def bits_of(type: FloatType, op: Callable[[Value], Value], size: int) -> tuple[Any, Any]:
    """Bits before and after a kernel that applies `op` to `size` NaNs."""
    bits = np.dtype(f"u{type.width // 8}")
    x = np.resize(np.array(ODD_NANS[type.name], bits), size)
    out = np.zeros_like(x)

    def body(a: Any, b: Any) -> None:
        v = cute.load(cute.ptr_add(a, thread(), 1))
        cute.store(op(v), cute.ptr_add(b, thread(), 1))

    values = x.view(dtype_of(type))
    launch(kernel_module([ptr(type)] * 2, body), -(-size // 32), 32, values, out.view(values.dtype))
    return x, out


def loop(v: Value) -> Value:
    region, block = new_block([I32, v.type])
    with insert_at(block):
        scf.yield_([arith.binary("addf", block.args[1], v)])
    return scf.for_(const(0), const(2), const(1), [v], region).result


def picked(v: Value) -> Value:
    return arith.select(arith.cmpf("uno", v, v), v, arith.constant(0.0, v.type))


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("size", [64, 1 << 16])
def test_arithmetic_gives_one_nan(type: FloatType, size: int) -> None:
    other = F16 if type == F32 else F32
    ops: list[Callable[[Value], Value]] = [
        lambda v: arith.binary("addf", v, v),
        lambda v: arith.binary("subf", arith.constant(1.0, type), v),
        lambda v: arith.binary("maximumf", v, v),
        lambda v: mathd.unary("sqrt", v),
        lambda v: mathd.fma(v, v, v),
        lambda v: picked(arith.binary("mulf", v, v)),
        loop,
    ]
    if type == F32:
        ops.append(lambda v: arith.cast("extf", arith.cast("truncf", v, other), type))
    for op in ops if size == 64 else ops[:1]:
        _, after = bits_of(type, op, size)
        assert (after == ONE_NAN[type.name]).all()


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("size", [64, 1 << 16])
def test_moving_keeps_the_bits(type: FloatType, size: int) -> None:
    before, after = bits_of(type, picked, size)
    np.testing.assert_array_equal(after, before)
    before, after = bits_of(type, arith.negf, size)
    np.testing.assert_array_equal(after, before ^ (1 << (type.width - 1)))


def test_bits_of_a_computed_nan_read_as_an_integer() -> None:
    out = np.zeros(2, np.int32)

    def body(a: Any, b: Any) -> None:
        v = cute.load(cute.ptr_add(a, thread(), 1))
        r = arith.cast("bitcast", arith.binary("divf", v, v), I32)
        cute.store(r, cute.ptr_add(b, thread(), 1))

    launch(kernel_module([ptr(F32), ptr(I32)], body), 2, 1, np.zeros(2, np.float32), out)
    assert out.tolist() == [0x7FFFFFFF] * 2
