# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors in registers, for lanes that differ and lanes that agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.dialects import arith, cute, vector
from opencute.dialects.cute import LayoutAttr
from opencute.ir.core import Value
from opencute.ir.types import BF16, F16, F32, I1, I8, I32, I64, Type, VectorType
from opencute.sim import Simulator
from opencute.sim.values import dtype_of
from sim.building import add, const, function_module, kernel_module, launch, mul, ptr, thread

pytestmark = pytest.mark.t0


def both(source: Type, n: int, target: Type, m: int, op: Callable[[Value], Value]) -> None:
    """`op` maps n elements to m; lanes that differ must give what one lane alone gives."""
    rng = np.random.default_rng(1)
    x = rng.integers(-100, 100, (6, n)).astype(dtype_of(source))
    out = np.zeros((6, m), dtype_of(target))

    def body(a: Any, b: Any) -> None:
        v = cute.tile_load(cute.ptr_add(a, mul(thread(), const(n)), 1), LayoutAttr((n,), (1,)))
        at = cute.ptr_add(b, mul(thread(), const(m)), 1)
        cute.tile_store(op(v), at, LayoutAttr((m,), (1,)))

    launch(kernel_module([ptr(source), ptr(target)], body), 2, 3, x, out)
    module = function_module([VectorType(n, source)], [VectorType(m, target)], lambda v: [op(v)])
    sim = Simulator()
    for row, got in zip(x, out, strict=True):
        (alone,) = sim.run_host(module, "f", [row])
        np.testing.assert_array_equal(alone.view(np.uint8), got.view(np.uint8))
        yield_row.append((row, got))


yield_row: list[tuple[Any, Any]] = []


@pytest.fixture(autouse=True)
def _empty() -> None:
    yield_row.clear()


def test_extract_insert_and_from_elements() -> None:
    def op(v: Value) -> Value:
        a = vector.insert(vector.extract(v, 3), v, 0)
        parts = [vector.extract(a, 0), vector.extract(v, 1), const(5)]
        return vector.from_elements(parts)

    both(I32, 4, I32, 3, op)
    assert all(got.tolist() == [row[3], row[1], 5] for row, got in yield_row)


def test_broadcast() -> None:
    both(F16, 2, F16, 5, lambda v: vector.broadcast(vector.extract(v, 1), 5))
    assert all((got == row[1]).all() for row, got in yield_row)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=9))
def test_shuffle(mask: list[int]) -> None:
    yield_row.clear()

    def op(v: Value) -> Value:
        w = vector.from_elements([vector.extract(v, 0), const(7)])
        return vector.shuffle(v, w, mask)

    both(I32, 4, I32, len(mask), op)
    for row, got in yield_row:
        assert got.tolist() == np.array([*row, row[0], 7])[mask].tolist()


@pytest.mark.parametrize("kind", ["add", "mul", "minnumf", "maxnumf", "minimumf", "maximumf"])
def test_float_reductions_go_from_the_first_to_the_last(kind: str) -> None:
    def op(v: Value) -> Value:
        w = arith.binary("divf", v, arith.constant(3.0, v.type))
        r = vector.reduction(kind, w, const(0.5, F32))
        return vector.broadcast(r, 1)

    both(F32, 5, F32, 1, op)
    fn = {"add": np.add, "mul": np.multiply, "minnumf": np.minimum, "maxnumf": np.maximum,
          "minimumf": np.minimum, "maximumf": np.maximum}[kind]  # fmt: skip
    for row, got in yield_row:
        want = np.float32(0.5)
        for v in row / np.float32(3):
            want = fn(want, v)
        assert got[0] == want


@pytest.mark.parametrize("target", [I8, I32, I64, F16, BF16], ids=str)
def test_bitcast(target: Type) -> None:
    m = 16 // dtype_of(target).itemsize
    both(I32, 4, target, m, lambda v: vector.bitcast(v, VectorType(m, target)))
    for row, got in yield_row:
        np.testing.assert_array_equal(row.view(np.uint8), got.view(np.uint8))


def test_vectors_of_bools_and_narrow_floats() -> None:
    def op(v: Value) -> Value:
        keep = arith.cmpi("sgt", v, arith.constant(0, v.type))
        return arith.cast("extui", keep, I32)

    both(I32, 4, I32, 4, op)
    for row, got in yield_row:
        assert got.tolist() == (row > 0).astype(int).tolist()

    def bits(v: Value) -> Value:
        keep = arith.cmpi("slt", v, arith.constant(0, v.type))
        packed = vector.bitcast(keep, VectorType(1, I8))
        again = vector.bitcast(packed, VectorType(8, I1))
        return arith.cast("extui", again, I32)

    yield_row.clear()
    both(I32, 8, I32, 8, bits)
    for row, got in yield_row:
        assert got.tolist() == (row < 0).astype(int).tolist()


def test_bf16_arithmetic_of_vectors() -> None:
    both(BF16, 8, BF16, 8, lambda v: arith.binary("mulf", v, v))
    for row, got in yield_row:
        want = (row.astype(np.float32) ** 2).astype(ml_dtypes.bfloat16)
        np.testing.assert_array_equal(got, want)


def test_scalar_condition_picks_a_whole_vector() -> None:
    def op(v: Value) -> Value:
        first = vector.extract(v, 0)
        positive = arith.cmpi("sgt", first, const(0))
        return arith.select(positive, v, vector.broadcast(add(first, const(1)), 3))

    both(I32, 3, I32, 3, op)
    for row, got in yield_row:
        assert got.tolist() == (row.tolist() if row[0] > 0 else [row[0] + 1] * 3)
