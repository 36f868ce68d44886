# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Patterns to values and back: against ml_dtypes, and against the order of the patterns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.numeric.codec import (
    Array,
    decode_float,
    decode_integer,
    encode_float,
    encode_integer,
    integer_to_float,
)
from opencute.numeric.dtypes import DTYPES, DType
from opencute.numeric.rounding import Rounding

pytestmark = pytest.mark.t0

FLOATS = [t for t in DTYPES.values() if t.is_float]
SMALL = [t for t in FLOATS if t.width <= 16]
MODES: list[Rounding] = ["rne", "rna", "rtz", "rd", "ru"]


def same(a: Array, b: Array) -> bool:
    """Equal values, minus zero told from zero, all NaNs alike."""
    nan = np.isnan(a) & np.isnan(b)
    return bool((nan | ((a == b) & (np.signbit(a) == np.signbit(b)))).all())


def patterns(t: DType) -> Array:
    """Every pattern of a type of at most 16 bits."""
    return np.arange(1 << t.width, dtype=t.bits_dtype)


def oracle_values(t: DType) -> Array:
    with np.errstate(invalid="ignore"):
        return patterns(t).view(t.numpy_dtype).astype(np.float64)


@pytest.mark.parametrize("t", SMALL, ids=str)
def test_decode_of_every_pattern_is_ml_dtypes(t: DType) -> None:
    assert same(decode_float(patterns(t), t), oracle_values(t))


@pytest.mark.parametrize("t", SMALL, ids=str)
def test_decode_ignores_bits_above_the_type(t: DType) -> None:
    full = np.arange(1 << t.container_bits, dtype=t.bits_dtype)
    low = full & t.bits_dtype.type((1 << t.width) - 1)
    assert same(decode_float(full, t), decode_float(low, t))


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=50))
@settings(max_examples=100, deadline=None)
def test_decode_of_f32_and_tf32(codes: list[int]) -> None:
    bits = np.array(codes, np.uint32)
    with np.errstate(invalid="ignore"):
        assert same(decode_float(bits, DTYPES["f32"]), bits.view(np.float32).astype(np.float64))
        cut = (bits & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    assert same(decode_float(bits, DTYPES["tf32"]), cut)


@pytest.mark.parametrize("t", SMALL, ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_encode_inverts_decode_whatever_the_rounding(t: DType, mode: Rounding) -> None:
    values = decode_float(patterns(t), t)
    number = ~np.isnan(values)
    assert (encode_float(values, t, mode)[number] == patterns(t)[number]).all()
    assert same(decode_float(encode_float(values, t, mode), t), values)


def neighbours(t: DType) -> tuple[Array, Array]:
    """Codes c (without padding and sign) such that c and c + 1 are both finite: all, or many."""
    if t.width <= 16:
        low = np.arange(t.max_code, dtype=np.int64)
    else:
        rng = np.random.default_rng(3)
        edge = [k << t.mantissa_bits for k in range(1, min(1 << t.exponent_bits, 300) - 1)]
        tiny = [*range(70), t.max_code - 1]
        low = np.concatenate([rng.integers(0, t.max_code, 4000), edge, np.array(edge) - 1, tiny])
    return low, low + 1


def value(code: Array, t: DType) -> Array:
    return decode_float((code << t.pad_bits).astype(t.bits_dtype), t)


@pytest.mark.parametrize(
    ("t", "negative"),
    [(t, n) for t in FLOATS for n in (False, True) if t.name != "f64" and t.signed >= n],
    ids=str,
)
@pytest.mark.parametrize("mode", MODES)
def test_rounding_between_every_two_neighbours(t: DType, negative: bool, mode: Rounding) -> None:
    """Below, at and above the middle of two neighbouring values the right one is taken."""
    low, high = neighbours(t)
    a, b = value(low, t), value(high, t)
    middle = (a + b) / 2
    assert ((a < middle) & (middle < b)).all()
    even = np.where(low % 2 == 0, low, high)
    if not t.has_zero:  # one significand, so "even" is the one with the larger exponent
        even = high
    up = mode == ("rd" if negative else "ru")
    directed = high if up else low
    by_mode = {"rne": (low, even, high), "rna": (low, high, high)}
    below, at, above = by_mode.get(mode, (directed, directed, directed))
    for x, want in (
        (a, low),
        (np.nextafter(a, b), by_mode.get(mode, (directed,))[0]),
        (np.nextafter(middle, a), below),
        (middle, at),
        (np.nextafter(middle, b), above),
        (np.nextafter(b, a), by_mode.get(mode, (directed,) * 3)[2]),
        (b, high),
    ):
        got = encode_float(-x if negative else x, t, mode).astype(np.int64) >> t.pad_bits
        if negative:
            sign = 1 << (t.exponent_bits + t.mantissa_bits)
            want = np.where((want == 0) & t.unsigned_zero, 0, want | sign)
        bad = np.flatnonzero(got != want)
        assert not len(bad), [(hex(low[i]), x[i], hex(got[i]), hex(want[i])) for i in bad[:5]]


@pytest.mark.parametrize("t", [t for t in FLOATS if t.name not in ("tf32", "f64")], ids=str)
def test_overflow_is_ml_dtypes(t: DType) -> None:
    """Around the largest value: nearest even, without saturation."""
    step = float(t.max) - t.value_of(t.max_code - 1)
    x = float(t.max) + step * np.array([0.0, 0.25, 0.499, 0.5, 0.501, 1.0, 2.0, 1e3])
    if t.signed:
        x = np.concatenate([x, -x])
    with np.errstate(over="ignore"):
        want = x.astype(t.numpy_dtype).astype(np.float64)
    assert same(decode_float(encode_float(x, t), t), want)


@pytest.mark.parametrize("t", FLOATS, ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_saturation_and_directed_overflow(t: DType, mode: Rounding) -> None:
    top = float(t.max)
    with np.errstate(over="ignore"):
        x = np.array([top * 2, np.inf]) if t.name != "f64" else np.array([np.inf, np.inf])
    assert (decode_float(encode_float(x, t, mode, saturate=True), t) == top).all()
    got = decode_float(encode_float(x, t, mode), t)
    if not (t.has_inf or t.has_nan):
        assert (got == top).all()
    elif mode in ("rtz", "rd") and t.name != "f64":
        assert got[0] == top  # infinity itself stays infinite
    else:
        assert np.isinf(got[0]) if t.has_inf else np.isnan(got[0])
    assert np.isinf(got[1]) if t.has_inf else np.isnan(got[1]) == t.has_nan
    if t.signed:
        flipped: dict[Rounding, Rounding] = {"rd": "ru", "ru": "rd"}
        mirror = encode_float(-x, t, flipped.get(mode, mode))
        assert same(np.abs(decode_float(mirror, t)), got)


@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_nan_becomes_the_one_nan(t: DType) -> None:
    nans = np.array([np.nan, -np.nan, 0.0], np.float64)
    nans.view(np.uint64)[2] = 0xFFF0000000000001  # signalling, negative, with a payload
    got = encode_float(nans, t)
    assert (got == (t.max_code if t.nan_bits is None else t.nan_bits)).all()
    assert np.isnan(decode_float(got, t)).all() == t.has_nan


def test_e8m0_has_neither_sign_nor_zero() -> None:
    t = DTYPES["f8e8m0fnu"]
    x = np.array([0.0, -0.0, -1.0, -np.inf, 1e-300, 2.0**-128, 1.0, 2.0**127, np.inf])
    assert list(encode_float(x, t)) == [255, 255, 255, 255, 0, 0, 127, 254, 255]
    assert list(encode_float(x, t, saturate=True)[-1:]) == [254]


@given(st.lists(st.floats(allow_subnormal=True, width=64), min_size=1, max_size=40))
@settings(max_examples=100, deadline=None)
def test_any_float64_rounds_like_numpy(xs: list[float]) -> None:
    x = np.array(xs)
    for name in ("f32", "f16"):
        t = DTYPES[name]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            want = x.astype(t.numpy_dtype).astype(np.float64)
        assert same(decode_float(encode_float(x, t), t), want)
    assert same(decode_float(encode_float(x, DTYPES["f64"]), DTYPES["f64"]), x)


@pytest.mark.parametrize("t", [t for t in SMALL if t.width == 8], ids=str)
def test_every_f16_to_f8_is_ml_dtypes(t: DType) -> None:
    f16 = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):
        want = f16.astype(np.float32).astype(t.numpy_dtype).astype(np.float64)
    assert same(decode_float(encode_float(f16, t), t), want)


def test_integers_round_once() -> None:
    """Through float64 these would round twice, to a different neighbour."""
    n = (1 << 62) + (1 << 38) + 1  # just above the middle of two f32
    bits = integer_to_float(np.array([n, -n], np.int64), DTYPES["f32"])
    up = np.nextafter(np.float32(2.0**62), np.float32(np.inf))
    assert list(bits.view(np.float32)) == [up, -up]
    assert np.float32(float(n)) != up


@pytest.mark.parametrize("name", ["f64", "f32", "tf32", "bf16"])
def test_the_last_bit_of_a_128_bit_integer_decides_a_tie(name: str) -> None:
    t = DTYPES[name]
    middle = (1 << 126) + (1 << (125 - t.mantissa_bits))  # of two neighbours, the lower one even
    n = np.array([middle - 1, middle, middle + 1, None], object)[:-1]
    codes = integer_to_float(n, t) >> t.bits_dtype.type(t.pad_bits)
    assert list(codes - codes[0]) == [0, 0, 1]


@pytest.mark.parametrize("t", [t for t in FLOATS if t.name in ("f64", "f32")], ids=str)
@given(xs=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=40))
@settings(max_examples=50, deadline=None)
def test_any_int64_rounds_like_numpy(t: DType, xs: list[int]) -> None:
    x = np.array(xs, np.int64)
    assert (integer_to_float(x, t).view(t.numpy_dtype) == x.astype(t.numpy_dtype)).all()
    u = x.view(np.uint64)
    assert (integer_to_float(u, t).view(t.numpy_dtype) == u.astype(t.numpy_dtype)).all()


@given(st.lists(st.integers(-(2**127), 2**128 - 1), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_128_bit_integers_round_like_python(xs: list[int]) -> None:
    x = np.array([*xs, None], object)[:-1]
    got = integer_to_float(x, DTYPES["f64"]).view(np.float64)
    assert list(got) == [float(n) for n in xs]


INTEGERS = [t for t in DTYPES.values() if t.is_integer]


@pytest.mark.parametrize("t", INTEGERS, ids=str)
@given(xs=st.lists(st.integers(-(2**130), 2**130), min_size=1, max_size=20))
@settings(max_examples=30, deadline=None)
def test_integers_wrap_modulo_their_width(t: DType, xs: list[int]) -> None:
    x = np.array([*xs, None], object)[:-1]
    back = decode_integer(encode_integer(x, t), t)
    for n, m in zip(xs, back, strict=True):
        assert t.min <= int(m) <= t.max
        assert (n - int(m)) % (1 << t.width) == 0
    clamped = decode_integer(encode_integer(x, t, saturate=True), t)
    assert [int(m) for m in clamped] == [min(max(n, int(t.min)), int(t.max)) for n in xs]


@pytest.mark.parametrize("t", [t for t in INTEGERS if t.width <= 16], ids=str)
def test_every_small_integer_pattern_is_ml_dtypes(t: DType) -> None:
    want = patterns(t).view(t.numpy_dtype).astype(np.int64)
    got = decode_integer(patterns(t), t)
    assert (got.astype(np.int64) == want).all()
    assert (encode_integer(got, t) == patterns(t)).all()


@pytest.mark.parametrize("name", ["int64", "uint64"])
@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_machine_integers_wrap_and_clamp_like_python_ints(t: DType, name: str) -> None:
    info = np.iinfo(name)
    xs = [int(info.min), int(info.max), 0, 7, 8, 127, 128, 255, 256, 32768, 65535, 1 << 31]
    x = np.array(xs, name)
    objects = np.array([*xs, None], object)[:-1]
    for saturate in (False, True):
        got, want = (encode_integer(v, t, saturate) for v in (x, objects))
        assert list(got) == list(want) and got.dtype == want.dtype == t.bits_dtype


def test_shapes_are_kept() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)[:, ::2]
    for t in FLOATS:
        assert encode_float(x + 1, t).shape == decode_float(encode_float(x + 1, t), t).shape
        assert encode_float(x + 1, t).shape == (2, 2, 4)
    empty = np.zeros((0, 3))
    assert encode_float(empty, DTYPES["f16"]).shape == (0, 3)
    assert integer_to_float(empty.astype(np.int64), DTYPES["f16"]).shape == (0, 3)
    assert decode_integer(np.zeros((0, 2), object), DTYPES["i128"]).shape == (0, 2)
