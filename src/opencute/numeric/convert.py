# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion between any two element types, bit for bit as CUDA's ``cvt`` does it.

Goes in: an array and two types. Comes out: the array converted::

    >>> convert(np.float32([1.5, -2.5, 3e9, np.nan]), F32, I32)
    array([         1,         -2, 2147483647,          0], dtype=int32)

What is computed, and the PTX instruction that defines it:

| from | to | result |
|---|---|---|
| any | the same type | the same bits |
| float | wider float | exact |
| float | f64 f32 f16 bf16 | nearest, ties to even; too large gives infinity (``cvt.rn``) |
| float | tf32 | nearest, ties away from zero (``cvt.rna.tf32.f32``); the low 13 bits are 0 |
| float | f8, f6, f4, e8m0 | nearest even, clamped to the finite range (``cvt.rn.satfinite``) |
| float | integer | toward zero, clamped to the type's range (``cvt.rzi``); NaN: see below |
| integer | integer | sign- or zero-extended, or the low bits |
| integer | float | nearest, ties to even, one rounding |
| any | Boolean | 0 for ±0, else 1; NaN gives 1 |
| Boolean | any | 0 or 1 |

A NaN gives the destination's one NaN pattern (`DType.nan_bits`). In an integer it gives 0, except
that from f64, and to 64-bit integers from any float, it gives the pattern with only the top bit
set: PTX ISA, ``cvt``, "NaN input results in". There is one rounding, from the exact source value,
also where PTX needs two instructions (f64 to f8, for one).
"""

# NumPy's stubs give Any for most of what an array of unknown dtype does.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from functools import lru_cache

import numpy as np

from opencute.base.errors import TypeMismatchError
from opencute.numeric.codec import (
    Array,
    decode_float,
    decode_integer,
    encode_float,
    encode_integer,
    integer_to_float,
)
from opencute.numeric.dtypes import BF16, F32, F64, DType, from_numpy_dtype
from opencute.numeric.rounding import Rounding, check_rounding, default_saturate
from opencute.numeric.shortcuts import shortcut, to_bf16_odd

__all__ = [
    "bits_of",
    "convert",
    "convert_bits",
    "decode",
    "encode",
    "from_bits",
]


def bits_of(array: Array, t: DType) -> Array:
    """The patterns of an array in `t`'s NumPy dtype; shares its memory where it can.

    Raises:
        TypeMismatchError: OC1607, if the array has another dtype.
    """
    if array.dtype != t.numpy_dtype:
        raise TypeMismatchError(
            f"the array is not one of {t.display}", code="OC1607",
            expected=t.numpy_dtype, found=array.dtype,
        )  # fmt: skip
    if t.container_bits == 128:
        return encode_integer(array, t)
    bits = array.view(t.bits_dtype)
    # ml_dtypes reads narrow types by their low bits and may leave the others set.
    return bits & np.uint8((1 << t.width) - 1) if t.width < t.container_bits else bits


def from_bits(bits: Array, t: DType) -> Array:
    """The array in `t`'s NumPy dtype that has these patterns; the inverse of `bits_of`."""
    if t.container_bits == 128:
        return decode_integer(bits, t)
    return bits.astype(t.bits_dtype, copy=False).view(t.numpy_dtype)


def decode(bits: Array, t: DType) -> Array:
    """The values of patterns: float64, int64, uint64, bool, or Python ints for 128 bits."""
    bits = np.asarray(bits)
    if t.is_float:
        return np.asarray(decode_float(bits, t))
    values = decode_integer(bits, t)
    return values.astype(bool) if t.is_bool else values


def encode(
    values: Array, t: DType, rounding: Rounding | None = None, saturate: bool | None = None
) -> Array:
    """The patterns of `t` for numbers; the inverse of `decode` for numbers that `t` has.

    Args:
        values: an array of any element type's NumPy dtype, or of Python ints.
        t: the type to encode in.
        rounding: as for `convert`.
        saturate: as for `convert`.
    """
    values = np.asarray(values)
    if values.dtype != object:
        src = from_numpy_dtype(values.dtype)
        return convert_bits(bits_of(values, src), src, t, rounding, saturate)
    sat = default_saturate(t) if saturate is None else saturate
    if t.is_float:
        return integer_to_float(values, t, check_rounding(rounding, t), sat)
    return (values != 0).astype(np.uint8) if t.is_bool else encode_integer(values, t, sat)


def convert(
    array: Array,
    src: DType,
    dst: DType,
    rounding: Rounding | None = None,
    saturate: bool | None = None,
) -> Array:
    """The array's values in another type, by the table at the top of this module.

    Args:
        array: in `src`'s NumPy dtype, any shape.
        src: the type of the array's elements.
        dst: the type wanted.
        rounding: ``rne``, ``rna``, ``rtz``, ``rd`` or ``ru``; `default_rounding` if omitted.
        saturate: for floats, the largest finite value instead of infinity or NaN; for integers from
            integers, clamp instead of wrap (``cvt.sat``); `default_saturate` if omitted.

    Returns:
        An array in `dst`'s NumPy dtype.

    Raises:
        TypeMismatchError: OC1607, if the array has not `src`'s NumPy dtype.
        ArgumentError: OC2020, for an unknown rounding.
    """
    bits = convert_bits(bits_of(array, src), src, dst, rounding, saturate)
    return from_bits(bits, dst)


def convert_bits(
    bits: Array,
    src: DType,
    dst: DType,
    rounding: Rounding | None = None,
    saturate: bool | None = None,
) -> Array:
    """`convert` on patterns: unsigned bits of `src` in, unsigned bits of `dst` out."""
    mode = check_rounding(rounding, dst)
    sat = default_saturate(dst) if saturate is None else saturate
    if bits.ndim == 0:  # NumPy would compute with scalars, which warn where arrays wrap
        return convert_bits(bits.reshape(1), src, dst, mode, sat).reshape(())
    if src is dst:
        return bits.astype(dst.bits_dtype)
    if src.container_bits <= 16:
        return _table(src, dst, mode, sat)[bits]
    if src is F32 and dst.is_float and dst.width <= 8:
        return _table(BF16, dst, mode, sat)[to_bf16_odd(bits)]
    quick = shortcut(src, dst, mode, sat)
    return quick(bits) if quick is not None else _convert(bits, src, dst, mode, sat)


@lru_cache(maxsize=256)
def _table(src: DType, dst: DType, mode: Rounding, sat: bool) -> Array:
    """The result for every pattern of a type of at most 16 bits."""
    patterns = np.arange(1 << src.container_bits, dtype=src.bits_dtype)
    table = _convert(patterns, src, dst, mode, sat)
    table.flags.writeable = False
    return table


def _convert(bits: Array, src: DType, dst: DType, mode: Rounding, sat: bool) -> Array:
    """The definition; every other path must agree with it."""
    if src.is_float:
        values = decode_float(bits, src)
        if dst.is_float:
            return encode_float(values, dst, mode, sat)
        if dst.is_bool:
            return (values != 0).astype(np.uint8)
        return _float_to_integer(values, src, dst, mode)
    values = decode_integer(bits, src)
    if dst.is_float:
        return integer_to_float(values, dst, mode, sat)
    if dst.is_bool:
        return (values != 0).astype(np.uint8)
    return encode_integer(values, dst, sat)


def _float_to_integer(values: Array, src: DType, dst: DType, mode: Rounding) -> Array:
    with np.errstate(invalid="ignore"):
        whole = _round_to_whole(values, mode)
    nan = np.isnan(whole)
    # Powers of two, exact in float64, unlike the largest integer itself.
    low, above = float(dst.min), float(int(dst.max) + 1)
    inside = (whole >= low) & (whole < above)
    if dst.width == 128:
        items = [int(v) if ok else 0 for v, ok in zip(whole.flat, inside.flat, strict=True)]
        exact = np.array([*items, None], object)[:-1].reshape(whole.shape)
    else:
        exact = np.where(inside, whole, 0.0).astype(np.int64 if dst.signed else np.uint64)
    code = encode_integer(exact, dst)
    if inside.all():
        return code
    limits = encode_integer(np.array([dst.min, dst.max, _nan_integer(src, dst)], object), dst)
    code = np.where(whole >= above, limits[1], np.where(whole < low, limits[0], code))
    return np.where(nan, limits[2], code)


def _nan_integer(src: DType, dst: DType) -> int:
    """What a NaN becomes in an integer (PTX ISA, ``cvt``)."""
    return 1 << (dst.width - 1) if src is F64 or dst.width == 64 else 0


def _round_to_whole(values: Array, mode: Rounding) -> Array:
    if mode == "rtz":
        return np.trunc(values)
    if mode == "rne":
        return np.rint(values)
    if mode == "rd":
        return np.floor(values)
    if mode == "ru":
        return np.ceil(values)
    whole = np.trunc(values)
    return np.where(np.abs(values - whole) >= 0.5, whole + np.copysign(1.0, values), whole)
