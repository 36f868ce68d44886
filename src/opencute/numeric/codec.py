# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Bits to values and values to bits, for every element type, with one rounding.

Goes in: arrays of bit patterns (unsigned, one element per item) or of numbers.
Comes out: exact numbers, or the patterns nearest to the numbers::

    >>> decode_float(np.array([0x3C00, 0x7BFF], np.uint16), F16)
    array([1.0000e+00, 6.5504e+04])
    >>> encode_float(np.array([65519.0, 65520.0]), F16)
    array([31743, 31744], dtype=uint16)

Every float format is exact in float64, so float64 is what they are decoded to. 128-bit integers are
arrays of Python ints (dtype object). All functions take any shape and keep it.
"""

# NumPy's stubs give Any for most of what an array of unknown dtype does.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np

from opencute.numeric.dtypes import DType
from opencute.numeric.rounding import Rounding

__all__ = [
    "Array",
    "decode_float",
    "decode_integer",
    "encode_float",
    "encode_integer",
    "integer_to_float",
]

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_U1 = np.uint64(1)
_TOP = 62  # significands are normalised to this bit: one spare bit above, sticky bits below


def decode_float(bits: Array, t: DType) -> Array:
    """The exact values of float patterns, as float64; a NaN stays a NaN, its payload is lost."""
    if t.width == 64:
        return bits.view(np.float64)
    if t.width == 32:
        mask = np.uint32((0xFFFFFFFF << t.pad_bits) & 0xFFFFFFFF)
        with np.errstate(invalid="ignore"):  # a signalling NaN is no error here
            return (bits & mask).view(np.float32).astype(np.float64)
    return _values(t)[bits]


@cache
def _values(t: DType) -> Array:
    """The value of each pattern of a float of at most 16 bits, from the record's fields."""
    code = np.arange(1 << (t.exponent_bits + t.mantissa_bits), dtype=np.int64)
    exponent, fraction = code >> t.mantissa_bits, code & ((1 << t.mantissa_bits) - 1)
    hidden = (exponent > 0).astype(np.int64) if t.has_zero else np.ones_like(code)
    significand = fraction + (hidden << t.mantissa_bits)
    scale = np.maximum(exponent, int(t.has_zero)) - t.bias - t.mantissa_bits
    values = np.ldexp(significand.astype(np.float64), scale)
    values[t.max_code + 1 :] = np.nan
    if t.has_inf:
        values[t.max_code + 1] = np.inf
    if t.signed:
        values = np.concatenate([values, -values])
    if t.unsigned_zero:
        values[len(code)] = np.nan
    # Patterns wider than the type (an f4 in a byte) are read by their low bits.
    values = np.tile(values, max(1, (1 << t.container_bits) // len(values)))
    values.flags.writeable = False
    return values


def encode_float(
    values: Array, t: DType, rounding: Rounding = "rne", saturate: bool = False
) -> Array:
    """The patterns of `t` nearest to floating-point numbers.

    Args:
        values: a float16, float32 or float64 array.
        t: a float type.
        rounding: which neighbour to take.
        saturate: give the largest finite value instead of infinity (or instead of NaN in a format
            with no infinity), also for infinite inputs, as PTX's ``.satfinite`` does. Formats with
            neither infinity nor NaN always do, and take NaN to their largest value.

    Returns:
        Bits in `t`'s container. A NaN becomes the record's `nan_bits`. In e8m0, which has no sign
        and no zero, zero and negative numbers become NaN, and tiny ones the smallest value.
    """
    with np.errstate(invalid="ignore"):
        values = np.asarray(values).astype(np.float64)
    raw = values.view(np.uint64)
    negative = (raw >> np.uint64(63)).astype(bool)
    exponent = ((raw >> np.uint64(52)) & np.uint64(0x7FF)).astype(np.int64)
    significand = raw & np.uint64((1 << 52) - 1)
    significand |= (exponent != 0).astype(np.uint64) << np.uint64(52)
    code = _round(negative, significand, np.maximum(exponent, 1) - 1075, t, rounding, saturate)
    infinite, nan = np.isinf(values), np.isnan(values)
    if infinite.any():
        limit = t.max_code if saturate or not (t.has_inf or t.has_nan) else _overflow_code(t)
        code = np.where(infinite, limit, code)
    if not t.signed:
        nan |= negative
    return _assemble(code, negative, nan | ((values == 0) & (not t.has_zero)), t)


def integer_to_float(
    values: Array, t: DType, rounding: Rounding = "rne", saturate: bool = False
) -> Array:
    """The patterns of `t` nearest to whole numbers, rounded once; arguments as `encode_float`.

    Args:
        values: an int64, uint64 or object (Python ints) array.
        t: a float type.
        rounding: which neighbour to take.
        saturate: give the largest finite value instead of infinity or NaN.
    """
    negative = np.asarray(values < 0, dtype=bool)
    if values.dtype == object:
        parts = [_reduce(abs(int(v))) for v in values.flat]
        magnitude = np.array([p[0] for p in parts], np.uint64).reshape(values.shape)
        exponent = np.array([p[1] for p in parts], np.int64).reshape(values.shape)
    else:
        # Two's complement negation, so that -2**63 becomes 2**63.
        unsigned = values.astype(np.uint64)
        magnitude = np.where(negative, ~unsigned + _U1, unsigned)
        exponent = np.zeros(values.shape, np.int64)
    code = _round(negative, magnitude, exponent, t, rounding, saturate)
    nan = np.zeros(values.shape, bool)
    if not t.signed:
        nan |= negative
    if not t.has_zero:
        nan |= magnitude == 0
    return _assemble(code, negative, nan, t)


def _reduce(n: int) -> tuple[int, int]:
    """A non-negative int as (significand of at most 62 bits, exponent); lost bits set bit 0."""
    shift = max(n.bit_length() - _TOP, 0)
    return (n >> shift) | (n & ((1 << shift) - 1) != 0), shift


def _normalise(significand: Array, exponent: Array) -> tuple[Array, Array]:
    """The same numbers with the leading one at bit `_TOP`; a bit that is shifted out sets bit 0."""
    top = significand >> np.uint64(63)
    significand = (significand >> top) | (significand & top)
    exponent = exponent + top.astype(np.int64)
    for step in (32, 16, 8, 4, 2, 1):
        low = significand < np.uint64(1 << (_TOP + 1 - step))
        significand = np.where(low, significand << np.uint64(step), significand)
        exponent = np.where(low, exponent - step, exponent)
    return significand, exponent


def _round(
    negative: Array, significand: Array, exponent: Array, t: DType, rounding: Rounding, sat: bool
) -> Array:
    """Codes (no sign, no padding) of ``significand * 2**exponent``."""
    zero = significand == 0
    significand, exponent = _normalise(significand, exponent)
    # Below the smallest normal the spacing stays that of the smallest normal.
    lowest = 1 - t.bias if t.has_zero else -t.bias
    leading = np.maximum(exponent + _TOP, lowest)
    shift = leading - t.mantissa_bits - exponent
    # Whatever lies entirely below half a step differs from zero only by being inexact.
    significand = np.where(shift > 63, _U1, significand)
    shift = np.minimum(shift, 63).astype(np.uint64)
    kept = significand >> shift
    rest = significand & ((_U1 << shift) - _U1)
    half = _U1 << (shift - _U1)
    if rounding == "rne":
        up = (rest > half) | ((rest == half) & ((kept & _U1) == _U1))
    elif rounding == "rna":
        up = rest >= half
    elif rounding == "rtz":
        up = np.zeros_like(negative)
    else:
        up = (rest != 0) & (negative == (rounding == "rd"))
    # The hidden bit of a normal number adds one to the exponent field, and so does a carry.
    code = ((leading - lowest) << t.mantissa_bits) + kept.astype(np.int64) + up
    if not t.has_zero:
        code = np.maximum(code - 1, 0)  # the hidden bit is always there
    over = code > t.max_code
    if over.any():
        toward_zero = rounding == "rtz" or sat or not (t.has_inf or t.has_nan)
        stays = negative == (rounding == "ru") if rounding in ("rd", "ru") else False
        limit = np.where(toward_zero | np.asarray(stays), t.max_code, _overflow_code(t))
        code = np.where(over, limit, code)
    return np.where(zero, 0, code)


def _overflow_code(t: DType) -> int:
    """Infinity, or -1 where a format without infinity gives NaN instead."""
    return t.max_code + 1 if t.has_inf else -1


def _assemble(code: Array, negative: Array, nan: Array, t: DType) -> Array:
    """Sign, padding and NaNs onto codes; code -1 is a NaN."""
    nan = nan | (code < 0)
    if t.signed:
        signed = negative & (code != 0) if t.unsigned_zero else negative
        code = code | (signed.astype(np.int64) << (t.exponent_bits + t.mantissa_bits))
    bits = code.astype(np.uint64) << np.uint64(t.pad_bits)
    nan_bits = t.max_code if t.nan_bits is None else t.nan_bits
    return np.where(nan, np.uint64(nan_bits), bits).astype(t.bits_dtype)


def decode_integer(bits: Array, t: DType) -> Array:
    """The values of integer or Boolean patterns: int64, uint64, or Python ints for 128 bits."""
    if t.width == 128:
        half, full = 1 << 127, 1 << 128
        values = [int(b) % full for b in bits.flat]
        if t.signed:
            values = [v - full if v >= half else v for v in values]
        return _objects(values, bits.shape)
    wide = bits.astype(np.uint64)
    if t.width < t.container_bits:
        wide &= np.uint64((1 << t.width) - 1)
    if not t.signed:
        return wide
    spare = np.int64(64 - t.width)
    return (wide.view(np.int64) << spare) >> spare


def encode_integer(values: Array, t: DType, saturate: bool = False) -> Array:
    """The patterns of whole numbers in an integer type.

    Args:
        values: an int64, uint64 or object (Python ints) array.
        t: an integer type.
        saturate: clamp to the type's range instead of wrapping modulo ``2**width``.
    """
    if saturate:
        values = _clamp(values, t)
    if t.width == 128 or values.dtype == object:
        mask = (1 << t.width) - 1
        wrapped = _objects([int(v) & mask for v in values.flat], values.shape)
        return wrapped if t.width == 128 else wrapped.astype(t.bits_dtype)
    return (values.astype(np.uint64) & np.uint64((1 << t.width) - 1)).astype(t.bits_dtype)


def _clamp(values: Array, t: DType) -> Array:
    if values.dtype == object:
        return _objects(
            [min(max(int(v), int(t.min)), int(t.max)) for v in values.flat], values.shape
        )
    info = np.iinfo(values.dtype)
    return np.clip(values, max(int(t.min), int(info.min)), min(int(t.max), int(info.max)))


def _objects(values: list[int], shape: tuple[int, ...]) -> Array:
    """An object array; filled item by item, because NumPy would guess a narrower dtype."""
    out = np.empty(len(values), object)
    out[:] = values
    return out.reshape(shape)
