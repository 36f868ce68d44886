# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a Python number becomes as a constant of an element type."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.numeric.codec import encode_float, integer_to_float
from opencute.numeric.dtypes import DTYPES, DType
from opencute.numeric.rounding import Rounding
from opencute.numeric.scalars import (
    ScalarOverflowError,
    coerce_scalar,
    decode_scalar,
    encode_scalar,
)

pytestmark = pytest.mark.t0

FLOATS = [t for t in DTYPES.values() if t.is_float]
INTEGERS = [t for t in DTYPES.values() if t.is_integer]
MODES: tuple[Rounding, ...] = ("rne", "rna", "rtz", "rd", "ru")


@pytest.mark.parametrize(
    ("value", "name", "want"),
    [
        (300, "u8", 44),
        (-1, "u8", 255),
        (200, "i8", -56),
        (-1.9, "i32", -1),
        (1.9, "u4", 1),
        (9, "i4", -7),
        (2**127, "i128", -(2**127)),
        (-1, "u128", 2**128 - 1),
        (1e10, "i32", 1410065408),
        (True, "i32", 1),
        (0.1, "f16", 0.0999755859375),
        (0.1, "f64", 0.1),
        (1e6, "f16", math.inf),
        (1e6, "f8e4m3fn", 448.0),
        (3, "bf16", 3.0),
        (10**400, "f64", math.inf),
        (-(10**400), "f8e5m2", -57344.0),
        (7, "i1", True),
        (0.0, "i1", False),
        (-0.0, "i1", False),
        (math.nan, "i1", True),
    ],
)
def test_construction(value: Any, name: str, want: Any) -> None:
    got = coerce_scalar(value, DTYPES[name])
    assert got == want and type(got) is type(want)


@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_no_integer_holds_nan_or_infinity(t: DType) -> None:
    with pytest.raises(ValueError, match="NaN") as nan:
        coerce_scalar(math.nan, t)
    assert isinstance(nan.value, ArgumentError) and nan.value.code == "OC2021"
    for x in (math.inf, -math.inf):
        with pytest.raises(OverflowError, match="infinity") as inf:
            coerce_scalar(x, t)
        assert isinstance(inf.value, ScalarOverflowError) and inf.value.code == "OC2024"


@pytest.mark.parametrize("value", ["1", None, 1j, [1], b"1"])
def test_only_real_numbers(value: Any) -> None:
    for name in ("i32", "f32", "i1"):
        with pytest.raises(TypeMismatchError) as e:
            coerce_scalar(value, DTYPES[name])
        assert e.value.code == "OC1608"


@pytest.mark.parametrize("make", [np.int8, np.uint64, np.float16, np.float64, np.bool_])
def test_numpy_scalars(make: Any) -> None:
    assert coerce_scalar(make(1), DTYPES["i32"]) == 1
    assert coerce_scalar(make(1), DTYPES["f16"]) == 1.0
    assert coerce_scalar(make(0), DTYPES["i1"]) is False


@given(st.integers(-(2**63), 2**63 - 1))
@settings(max_examples=50, deadline=None)
def test_integers_wrap_like_a_numpy_cast(n: int) -> None:
    for name in ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"):
        want = np.array(n, np.int64).astype(DTYPES[name].numpy_dtype)
        assert coerce_scalar(n, DTYPES[name]) == int(want)


@given(x=st.floats(allow_nan=False), mode=st.sampled_from(MODES), sat=st.booleans())
@settings(max_examples=100, deadline=None)
def test_floats_agree_with_the_array_code(x: float, mode: Rounding, sat: bool) -> None:
    for t in FLOATS:
        want = encode_float(np.array([x]), t, mode, sat)[0]
        assert encode_scalar(x, t, mode, sat) == want, t


@given(n=st.integers(-(2**130), 2**130), mode=st.sampled_from(MODES), sat=st.booleans())
@settings(max_examples=60, deadline=None)
def test_whole_numbers_agree_with_the_array_code(n: int, mode: Rounding, sat: bool) -> None:
    for t in FLOATS:
        want = integer_to_float(np.array([n, None], object)[:1], t, mode, sat)[0]
        assert encode_scalar(n, t, mode, sat) == want, t


@given(st.floats(width=64))
@settings(max_examples=100, deadline=None)
def test_f64_is_exact(x: float) -> None:
    if not math.isnan(x):
        assert encode_scalar(x, DTYPES["f64"]) == struct.unpack("<Q", struct.pack("<d", x))[0]


@given(st.floats(width=32, allow_nan=False))
@settings(max_examples=100, deadline=None)
def test_f32_is_struct_packs(x: float) -> None:
    assert encode_scalar(x, DTYPES["f32"]) == struct.unpack("<I", struct.pack("<f", x))[0]


@pytest.mark.parametrize("t", [t for t in DTYPES.values() if t.width <= 16], ids=str)
def test_every_pattern_comes_back(t: DType) -> None:
    for code in range(0, 1 << t.width, 1 if t.width <= 8 else 7):
        x = decode_scalar(code, t)
        if x == x:
            assert encode_scalar(x, t, saturate=False) == code
        else:
            assert encode_scalar(x, t) == t.nan_bits


def test_tf32_reads_and_writes_no_low_bits() -> None:
    t = DTYPES["tf32"]
    assert decode_scalar(0x3F801FFF, t) == 1.0
    assert encode_scalar(1 + 2.0**-11, t) == 0x3F802000
    assert encode_scalar(1 + 2.0**-11, t, "rne") == 0x3F800000


def test_unknown_rounding() -> None:
    bad: Any = "up"
    with pytest.raises(ArgumentError, match="no rounding"):
        encode_scalar(1.0, DTYPES["f16"], bad)
