# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Each shortcut gives the bits of the definition."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.numeric.codec import Array
from opencute.numeric.convert import (
    _convert,  # pyright: ignore[reportPrivateUsage]
    convert_bits,
)
from opencute.numeric.dtypes import DTYPES, F32, DType
from opencute.numeric.rounding import Rounding
from opencute.numeric.shortcuts import shortcut, to_bf16_odd

pytestmark = pytest.mark.t0

MODES: tuple[Rounding, ...] = ("rne", "rna", "rtz", "rd", "ru")
WIDE = [t for t in DTYPES.values() if t.container_bits in (32, 64)]
NARROW_FLOATS = [t for t in DTYPES.values() if t.is_float and t.width <= 8]
PATHS = [
    (src, dst, mode, sat)
    for src, dst, mode, sat in product(WIDE, DTYPES.values(), MODES, (False, True))
    if src is not dst and shortcut(src, dst, mode, sat) is not None
]


def edges(t: DType) -> Array:
    """Patterns around every power of two, every exponent and the ends, and random ones."""
    ones = (1 << t.width) - 1
    steps = [1 << k for k in range(t.width)]
    exponents = [k << (t.width - 9) for k in range(512)]
    tops = [0x1000, 0x2000, 0x7FFF, 0x8000, 0x8001, 0x17FFF, 0x18000, 0x18001]
    codes = [(a + b) & ones for a in [0, *steps, *exponents] for b in (-1, 0, 1, *tops)]
    rng = np.random.default_rng(5)
    random = rng.integers(0, 1 << 63, 20000, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    return np.concatenate([np.array(codes, np.uint64), random]).astype(t.bits_dtype)


@pytest.mark.parametrize(("src", "dst", "mode", "sat"), PATHS, ids=str)
def test_shortcuts_agree_with_the_definition(
    src: DType, dst: DType, mode: Rounding, sat: bool
) -> None:
    bits = edges(src)
    quick = shortcut(src, dst, mode, sat)
    assert quick is not None
    got, want = quick(bits), _convert(bits, src, dst, mode, sat)
    assert got.dtype == want.dtype
    bad = np.flatnonzero(got != want)
    assert not len(bad), [(hex(bits[i]), hex(got[i]), hex(want[i])) for i in bad[:5]]


@pytest.mark.parametrize("dst", NARROW_FLOATS, ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_f32_to_narrow_floats_by_way_of_odd_bf16(dst: DType, mode: Rounding) -> None:
    bits = edges(F32)
    for sat in (False, True):
        want = _convert(bits, F32, dst, mode, sat)
        assert (convert_bits(bits, F32, dst, mode, sat) == want).all()


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=30))
@settings(max_examples=100, deadline=None)
def test_odd_rounding_keeps_what_was_lost_visible(codes: list[int]) -> None:
    bits = np.array(codes, np.uint32)
    odd = to_bf16_odd(bits)
    exact = (bits & np.uint32(0xFFFF)) == 0
    assert (odd[exact] == (bits[exact] >> np.uint32(16))).all()
    assert (odd[~exact] & 1 == 1).all()
    assert ((odd.astype(np.uint32) | 1) == (bits >> np.uint32(16)) | 1).all()


def test_the_common_conversions_have_a_shortcut() -> None:
    names = {(s.name, d.name) for s, d, m, sat in PATHS if m == "rne" and not sat}
    common = {("f32", "f16"), ("f32", "bf16"), ("f32", "f64"), ("f64", "f32"), ("i32", "f32"),
              ("u64", "f64"), ("i32", "i64"), ("i64", "i32"), ("u32", "i8")}  # fmt: skip
    assert common <= names
