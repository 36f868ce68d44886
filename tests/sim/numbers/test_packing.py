# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Elements of less than a byte in memory, registers and bitcasts, against the numeric package."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute.base.errors import MisalignedError, SimulationError, UninitializedError
from opencute.dialects import arith, cute, vector
from opencute.dialects.cute import LayoutAttr, Tile
from opencute.ir.types import I8, I32, FloatType, IntegerType, Type, VectorType
from opencute.numeric.dtypes import DTYPES
from opencute.numeric.packing import pack
from opencute.sim.numbers.packing import (
    bit_width,
    from_bytes,
    mask_of_bytes,
    mask_of_elements,
    to_bytes,
)
from sim.building import const, kernel_module, launch, mul, ptr, thread

pytestmark = pytest.mark.t0
I4 = IntegerType(4)
F4 = FloatType("f4E2M1FN", 4)
F6 = FloatType("f6E2M3FN", 6)
EIGHT = LayoutAttr((8,), (1,))


@pytest.mark.parametrize("type", [I4, F4, F6, IntegerType(1), IntegerType(12)], ids=str)
def test_round_trip(type: Type) -> None:
    raw = np.random.default_rng(0).integers(0, 256, (3, 4, 12), np.uint8)
    values = from_bytes(raw, type)
    assert values.shape == (3, 4, 96 // bit_width(type))
    np.testing.assert_array_equal(to_bytes(values, bit_width(type)), raw)


@pytest.mark.parametrize(("type", "name"), [(I4, "i4"), (F4, "f4e2m1fn"), (F6, "f6e2m3fn")])
def test_bits_lie_where_the_numeric_package_says(type: Type, name: str) -> None:
    known = DTYPES[name]
    codes = np.arange(16, dtype=np.uint8) * 3 % (1 << known.width)
    raw = pack(codes, known)
    values = from_bytes(raw[None, None], type)[0, 0]
    got = values.view(np.uint8) & np.uint8((1 << known.width) - 1)
    np.testing.assert_array_equal(got, codes)


def test_masks() -> None:
    elements = np.zeros((1, 1, 4), np.bool_)
    elements[..., 1] = True
    assert mask_of_bytes(elements, 4, 6).tolist() == [[[True, True, False]]]
    assert mask_of_elements(np.array([[[False, True, False]]]), 4, 6).tolist() == [
        [[False, True, True, False]]
    ]


def test_int4_through_registers() -> None:
    """dst = src + 1, eight 4-bit elements for each thread, by way of a fragment."""

    def body(a: Any, b: Any) -> None:
        at = mul(thread(), const(8))
        r = cute.alloca(I4, 8)
        cute.copy("universal", 0, Tile(cute.ptr_add(a, at, 4), EIGHT), Tile(r, EIGHT))
        v = cute.tile_load(r, EIGHT)
        v = arith.binary("addi", v, arith.constant(1, v.type))
        cute.tile_store(v, cute.ptr_add(b, at, 4), EIGHT)

    codes = np.random.default_rng(0).integers(0, 16, 64, np.uint8)
    a = pack(codes, DTYPES["u4"])
    b = np.zeros_like(a)
    launch(kernel_module([ptr(I4, 4)] * 2, body), 2, 4, a, b)
    np.testing.assert_array_equal(b, pack((codes + 1) & 15, DTYPES["u4"]))


def test_bitcasts_of_narrow_elements() -> None:
    def body(a: Any, b: Any) -> None:
        word = cute.load(cute.ptr_add(a, thread(), 4))
        nibbles = vector.bitcast(vector.from_elements([word]), VectorType(8, I4))
        turned = vector.shuffle(nibbles, nibbles, range(7, -1, -1))
        out = vector.bitcast(turned, VectorType(1, I32))
        cute.store(vector.extract(out, 0), cute.ptr_add(b, thread(), 4))

    a = np.array([0x12345678, -1, 0x70000001], np.int32)
    b = np.zeros_like(a)
    launch(kernel_module([ptr(I32)] * 2, body), 1, 3, a, b)
    want = [int(f"{int(x) & 0xFFFFFFFF:08x}"[::-1], 16) for x in a]
    assert (b.view(np.uint32)).tolist() == want


def test_garbage_in_half_a_byte() -> None:
    def body(b: Any, read: int) -> None:
        r = cute.alloca(I4, 4)
        two = LayoutAttr((2,), (1,))
        cute.tile_store(arith.constant(3, VectorType(2, I4)), r, two)
        v = cute.tile_load(r, LayoutAttr((4,), (1,)))
        out = arith.cast("extsi", vector.extract(v, read), I8)
        cute.store(out, cute.ptr_add(b, thread(), 1))

    out = np.zeros(2, np.int8)
    launch(kernel_module([ptr(I8)], lambda b: body(b, 1)), 1, 2, out)
    assert out.tolist() == [3, 3]
    with pytest.raises(UninitializedError):
        launch(kernel_module([ptr(I8)], lambda b: body(b, 2)), 1, 2, out)


def test_half_a_byte_has_no_address() -> None:
    def odd(a: Any) -> None:
        cute.tile_load(cute.ptr_add(a, thread(), 1), EIGHT)

    with pytest.raises(MisalignedError, match=r"middle of a byte .*thread \(1, 0, 0\)"):
        launch(kernel_module([ptr(I4, 1)], odd), 1, 2, np.zeros(16, np.uint8))

    def runs(a: Any) -> None:
        cute.tile_load(a, LayoutAttr((2, 2), (1, 3)))

    with pytest.raises(MisalignedError, match="OC3202"):
        launch(kernel_module([ptr(I4, 1)], runs), 1, 2, np.zeros(16, np.uint8))

    def single(a: Any) -> None:
        cute.load(a)

    with pytest.raises(SimulationError, match="not whole bytes"):
        launch(kernel_module([ptr(I4, 1)], single), 1, 2, np.zeros(16, np.uint8))
