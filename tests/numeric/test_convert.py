# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion between every pair of types: the documented table, and a second opinion in Python."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.numeric.codec import Array
from opencute.numeric.convert import bits_of, convert, convert_bits, decode, encode, from_bits
from opencute.numeric.dtypes import DTYPES, F16, F32, F64, I8, I32, I64, TF32, U8, U32, U64, DType
from opencute.numeric.rounding import Rounding
from opencute.numeric.scalars import decode_scalar, encode_scalar

pytestmark = pytest.mark.t0

ALL = list(DTYPES.values())
F8 = DTYPES["f8e4m3fn"]


def sample(t: DType) -> Array:
    """Every pattern of a small type; boundaries and random patterns of a large one."""
    if t.width <= 8:
        return np.arange(1 << t.width, dtype=np.uint8)
    rng = np.random.default_rng(11)
    ones = (1 << t.width) - 1
    codes = [0, 1, ones, ones >> 1, (ones >> 1) + 1]
    codes += [((1 << k) + d) & ones for k in range(t.width) for d in (-1, 0, 1)]
    if t.is_float:
        for x in (1.5, 2.5, 127.5, 128.0, 255.5, 448.0, 464.0, 465.0, 65504.0, 65520.0, 2.0**31,
                  2.0**31 - 128, 2.0**63, 2.0**64, 1e-8, 2.0**-24, 2.0**-25, 6.1e-5):  # fmt: skip
            codes += [encode_scalar(x, t), encode_scalar(-x, t)]
    codes += [int.from_bytes(rng.bytes(t.width // 8), "little") for _ in range(150)]
    return np.array([*codes, None], object)[:-1].astype(t.bits_dtype)


def expected(code: int, src: DType, dst: DType) -> int:
    """The table of the module's docstring, one Python number at a time."""
    x = decode_scalar(code, src)
    if src is dst:
        return code
    if dst.is_integer and src.is_float:
        if math.isnan(x):
            return 1 << (dst.width - 1) if src is F64 or dst.width == 64 else 0
        x = min(max(x, dst.min), dst.max) if math.isinf(x) else math.trunc(x)
        x = min(max(x, int(dst.min)), int(dst.max))
    return encode_scalar(x, dst)


@pytest.mark.parametrize("src", ALL, ids=str)
@pytest.mark.parametrize("dst", ALL, ids=str)
def test_every_pair_agrees_with_python_arithmetic(src: DType, dst: DType) -> None:
    bits = sample(src)
    got = convert_bits(bits, src, dst)
    assert got.dtype == dst.bits_dtype
    want = [expected(int(b), src, dst) for b in bits]
    bad = [(hex(b), hex(g), hex(w)) for b, g, w in zip(bits, got, want, strict=True) if int(g) != w]
    assert not bad, bad[:5]


@pytest.mark.parametrize("src", [t for t in ALL if t.width < 128 and t is not TF32], ids=str)
@pytest.mark.parametrize("name", ["f64", "f32", "f16", "bf16", "f8e5m2", "f8e4m3fn"])
def test_floats_agree_with_numpy_and_ml_dtypes(src: DType, name: str) -> None:
    """Unsaturated, nearest even; sources that float64 holds exactly, so that it rounds once."""
    dst = DTYPES[name]
    bits = np.arange(1 << src.width).astype(src.bits_dtype) if src.width <= 16 else sample(src)
    if src.is_integer and src.width == 64:
        bits &= np.uint64((1 << 53) - 1)
    # ml_dtypes goes through float32 from wider sources: give it what that holds.
    if src in (F64, I64, U64, I32, U32) and dst.width < 32:
        exact = encode(convert(from_bits(bits, src), src, F32), src)
        bits = exact[decode(exact, src) == decode(exact, src)]
    with np.errstate(all="ignore"):
        want = from_bits(bits, src).astype(np.float64).astype(dst.numpy_dtype).astype(np.float64)
    got = decode(convert_bits(bits, src, dst, "rne", saturate=False), dst)
    nan = np.isnan(want) & np.isnan(got)
    assert (nan | ((want == got) & (np.signbit(want) == np.signbit(got)))).all()


def test_float_to_integer_truncates_and_clamps() -> None:
    x = np.array([1.99, -1.99, 0.5, -0.5, 3e9, -3e9, np.inf, -np.inf, np.nan, -0.0], np.float32)
    top, low = 2**31 - 1, -(2**31)
    assert list(convert(x, F32, I32)) == [1, -1, 0, 0, top, low, top, low, 0, 0]
    assert list(convert(x, F32, U32)) == [1, 0, 0, 0, 3000000000, 0, 2**32 - 1, 0, 0, 0]
    assert list(convert(x, F32, I8)) == [1, -1, 0, 0, 127, -128, 127, -128, 0, 0]
    assert list(convert(x, F32, DTYPES["i4"]).astype(int))[4:8] == [7, -8, 7, -8]


def test_the_largest_integers_are_reached_exactly() -> None:
    below = np.nextafter(np.float64(2.0**63), 0)
    x = np.array([2.0**63, below, -(2.0**63), 2.0**64, np.nextafter(2.0**64, 0)])
    top = 2**63 - 1
    assert list(convert(x, F64, I64)) == [top, int(below), -(2**63), top, top]
    assert list(convert(x, F64, U64)) == [2**63, int(below), 0, 2**64 - 1, 2**64 - 2048]


@pytest.mark.parametrize(
    ("src", "dst", "want"),
    [
        ("f32", "i32", 0),
        ("f16", "u16", 0),
        ("bf16", "i8", 0),
        ("f32", "i64", -(2**63)),
        ("f16", "u64", 2**63),
        ("f64", "i32", -(2**31)),
        ("f64", "u32", 2**31),
        ("f64", "i64", -(2**63)),
    ],
)
def test_nan_to_integer_is_what_ptx_says(src: str, dst: str, want: int) -> None:
    s, d = DTYPES[src], DTYPES[dst]
    nan = np.array([np.nan]).astype(s.numpy_dtype)
    assert int(convert(nan, s, d)[0]) == want


@pytest.mark.parametrize(
    ("mode", "want"),
    [
        ("rtz", [0, 1, 2, 0, -1, -2, 2]),
        ("rne", [0, 2, 2, 0, -2, -2, 3]),
        ("rna", [1, 2, 3, -1, -2, -3, 3]),
        ("rd", [0, 1, 2, -1, -2, -3, 2]),
        ("ru", [1, 2, 3, 0, -1, -2, 3]),
    ],
)
def test_float_to_integer_in_every_mode(mode: Rounding, want: list[int]) -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 2.75])
    assert list(convert(x, F64, I32, mode)) == want


def test_away_from_zero_does_not_add_a_half_inexactly() -> None:
    x = np.array([0.49999999999999994, -0.49999999999999994, 4503599627370497.0])
    assert list(convert(x, F64, I64, "rna")) == [0, 0, 4503599627370497]


def test_boolean() -> None:
    x = np.array([0.0, -0.0, 1e-45, -3.0, np.nan, np.inf], np.float32)
    boolean = DTYPES["i1"]
    assert list(convert(x, F32, boolean)) == [False, False, True, True, True, True]
    assert convert(x, F32, boolean).dtype == np.bool_
    assert list(convert(np.array([0, -256, 256], np.int32), I32, boolean)) == [False, True, True]
    b = np.array([True, False])
    assert list(convert(b, boolean, I32)) == [1, 0]
    assert list(convert(b, boolean, F16)) == [1.0, 0.0]


def test_narrow_floats_saturate_unless_told_not_to() -> None:
    x = np.array([448, 464, 465, 1e9, np.inf, -np.inf, np.nan], np.float32)
    assert list(convert_bits(bits_of(x, F32), F32, F8)) == [0x7E] * 5 + [0xFE, 0x7F]
    free = convert_bits(bits_of(x, F32), F32, F8, saturate=False)
    assert list(free) == [0x7E, 0x7E, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F]
    e5m2 = DTYPES["f8e5m2"]
    assert list(convert_bits(bits_of(x, F32), F32, e5m2))[3:] == [0x7B, 0x7B, 0xFB, 0x7F]
    assert list(convert_bits(bits_of(x, F32), F32, e5m2, saturate=False))[3:6] == [0x7C, 0x7C, 0xFC]


def test_f16_overflows_to_infinity_unless_told_to_saturate() -> None:
    x = np.array([65519.996, 65520.0, -1e6], np.float32)
    assert list(convert(x, F32, F16)) == [65504.0, np.inf, -np.inf]
    assert list(convert(x, F32, F16, saturate=True)) == [65504.0, 65504.0, -65504.0]
    assert list(convert(x, F32, F16, "rtz")) == [65504.0, 65504.0, -65504.0]


def test_tf32_rounds_ties_away_and_clears_the_low_bits() -> None:
    bits = np.array([0x3F801000, 0x3F800FFF, 0xBF801000, 0x3F803000, 0x7F7FFFFF, 0x7F800001])
    src = bits.astype(np.uint32)
    away = [0x3F802000, 0x3F800000, 0xBF802000, 0x3F804000, 0x7F800000, TF32.nan_bits]
    assert list(convert_bits(src, F32, TF32)) == away
    even = [0x3F800000, 0x3F800000, 0xBF800000, 0x3F804000, 0x7F800000, TF32.nan_bits]
    assert list(convert_bits(src, F32, TF32, "rne")) == even
    cut = [int(b) & 0xFFFFE000 for b in bits[:5]] + [TF32.nan_bits]
    assert list(convert_bits(src, F32, TF32, "rtz")) == cut
    # A register that was never rounded is read as if its low bits were zero.
    assert list(convert_bits(src[:1], TF32, F32)) == [0x3F800000]


def test_integers_wrap_or_clamp() -> None:
    x = np.array([300, -1, 127, -129], np.int32)
    assert list(convert(x, I32, I8)) == [44, -1, 127, 127]
    assert list(convert(x, I32, U8)) == [44, 255, 127, 127]
    assert list(convert(x, I32, U8, saturate=True)) == [255, 0, 127, 0]
    assert list(convert(x, I32, I8, saturate=True)) == [127, -1, 127, -128]
    assert list(convert(x, I32, DTYPES["u128"]))[1] == 2**128 - 1
    assert list(convert(x.view(np.uint32), U32, I64))[1] == 2**32 - 1


def test_encode_takes_any_numbers() -> None:
    assert list(encode(np.array([1.0, -2.0]), F16)) == [0x3C00, 0xC000]
    assert list(encode(np.array([1, 2], np.int8), F16)) == [0x3C00, 0x4000]
    assert list(encode(np.array([True]), F16)) == [0x3C00]
    assert list(encode(np.array([1.0], ml_dtypes.bfloat16), F32)) == [0x3F800000]
    big = np.array([10**40, -(10**40), None], object)[:2]
    assert list(encode(big, F32).view(np.float32)) == [np.inf, -np.inf]
    assert list(encode(big, I8)) == [(10**40) % 256, (-(10**40)) % 256]
    assert list(encode(big, DTYPES["i1"])) == [1, 1]
    assert list(encode(np.array(2.0), F16).reshape(1)) == [0x4000]


@pytest.mark.parametrize("t", ALL, ids=str)
def test_bits_of_and_from_bits_are_inverse(t: DType) -> None:
    bits = sample(t)
    array = from_bits(bits, t)
    assert array.dtype == t.numpy_dtype
    assert (bits_of(array, t) == bits).all()
    if t is not TF32:
        values = decode(bits, t)
        keep = np.asarray([v == v for v in values], bool)  # numbers, not NaN
        assert (encode(values[keep], t, saturate=False) == bits[keep]).all()


def test_bits_of_hides_what_ml_dtypes_leaves_above_a_narrow_value() -> None:
    a = np.array([0xF9, 0x19], np.uint8).view(ml_dtypes.int4)
    assert list(bits_of(a, DTYPES["i4"])) == [9, 9]
    assert list(convert(a, DTYPES["i4"], I32)) == [-7, -7]


@pytest.mark.parametrize("src", ALL, ids=str)
def test_shapes_and_strides(src: DType) -> None:
    bits = np.resize(sample(src), (4, 6)).astype(src.bits_dtype)[::2, ::3]
    for dst in ALL:
        got = convert_bits(bits, src, dst)
        flat = convert_bits(np.ascontiguousarray(bits).reshape(-1), src, dst)
        assert got.shape == (2, 2) and (got.reshape(-1) == flat).all()
        one = convert_bits(bits[0, 0:1].reshape(()), src, dst)
        assert one.shape == () and one == flat[0]
        assert convert_bits(bits[:0], src, dst).shape == (0, 2)


def test_results_may_be_written_to() -> None:
    """Results that came out of a table or are unchanged must not share memory with it."""
    bits = np.array([1, 2], np.uint8)
    for dst in (F8, U8, F16, I32):
        convert_bits(bits, U8, dst)[0] = 77
    assert list(bits) == [1, 2]
    assert float(convert(bits, U8, F16)[0]) == 1.0


def test_wrong_arguments() -> None:
    with pytest.raises(TypeMismatchError, match="not one of Float16"):
        convert(np.zeros(1), F16, F32)
    bad: Any = "nearest"
    with pytest.raises(ArgumentError, match="no rounding"):
        convert(np.zeros(1), F64, F32, bad)
