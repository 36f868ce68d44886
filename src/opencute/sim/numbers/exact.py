# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Conversions and fused multiply-add that round exactly once.

Rounding twice gives wrong results unless the first rounding is to odd: then, with at least two more
bits than the target, the second rounding is right (Boldo and Melquiond, "Emulation of a FMA and
correctly rounded sums: proved algorithms using rounding to odd", IEEE TC 57, 2008).
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from opencute.sim.fused.products import fma as fused_fma
from opencute.sim.numbers.bulk import from_f32, to_f32
from opencute.sim.values import Array

__all__ = ["fma", "narrow", "round_to_odd", "round_to_odd_f64", "two_product", "two_sum"]

_BITS = {4: np.dtype(np.int32), 8: np.dtype(np.int64)}


def round_to_odd(rounded: Array, error_sign: Array) -> Array:
    """`rounded` (to nearest) corrected to odd, given the sign of exact minus rounded."""
    bits = rounded.view(_BITS[rounded.dtype.itemsize])
    fix = (error_sign != 0) & (bits & 1 == 0)
    if not fix.any():
        return rounded
    # One step toward the exact value: bits grow when it is farther from zero.
    away = (error_sign > 0) == (rounded > 0)
    zero = rounded == 0
    step = np.where(away, 1, -1).astype(bits.dtype)
    moved = (bits + step).view(rounded.dtype)
    tiny = np.copysign(np.nextafter(rounded.dtype.type(0), rounded.dtype.type(1)), error_sign)
    return np.where(fix, np.where(zero, tiny.astype(rounded.dtype), moved), rounded)


def narrow(x: Array, dtype: np.dtype[Any]) -> Array:
    """Floats in another float type, rounded to nearest even once."""
    if x.dtype == dtype:
        return x
    if x.dtype == np.float64 and dtype.itemsize < 4 and dtype != np.float16:
        # The narrow types convert from f32 only.
        single = x.astype(np.float32)
        finite = np.isfinite(single)
        error = np.where(finite, np.sign(x - np.where(finite, single, 0)), 0)
        x = round_to_odd(single, error)
    if x.dtype == np.float32:
        return from_f32(x, dtype)
    return to_f32(x) if dtype == np.float32 else x.astype(dtype)


def round_to_odd_f64(x: Array) -> Array:
    """Integers as f64, rounded to odd where they do not fit."""
    out = x.astype(np.float64)
    if x.dtype.itemsize < 8:
        return out
    top = out >= 2.0**63 if x.dtype.kind == "i" else out >= 2.0**64
    back = np.where(top, 0.0, out).astype(x.dtype)
    # 2^63 (2^64) itself is beyond the type: whatever rounded up to it is smaller.
    sign = np.where(top, -1, np.where(x > back, 1, np.where(x < back, -1, 0)))
    return round_to_odd(out, sign)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The sum and its rounding error."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def fma(a: Any, b: Any, c: Any, dtype: np.dtype[Any]) -> Array:
    """`a * b + c` rounded once; arrays (or scalars) of `dtype`."""
    a, b, c = (np.asarray(v, dtype) for v in (a, b, c))
    if dtype == np.float64:
        return _fma64(a, b, c)
    if dtype == np.float32:
        out = fused_fma(a, b, c)
        if out is not None:
            return out
    wide = [v.astype(np.float64) for v in (a, b, c)]
    # At most 24 + 24 bits: the product is exact in 53, and its exponent fits.
    product = wide[0] * wide[1]
    total, error = two_sum(product, wide[2])
    error = np.where(np.isfinite(total), np.nan_to_num(error), 0)
    return narrow(round_to_odd(np.asarray(total), np.sign(error)), dtype)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The product and its rounding error."""
    split = 134217729.0  # 2^27 + 1
    p = a * b
    x = a * split
    ah = x - (x - a)
    al = a - ah
    y = b * split
    bh = y - (y - b)
    bl = b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def _fma64(a: Array, b: Array, c: Array) -> Array:
    a, b, c = np.broadcast_arrays(a, b, c)
    shape = a.shape
    a, b, c = (np.ascontiguousarray(v).reshape(-1) for v in (a, b, c))
    plain = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, a * b + c)
    # Error-free transformations need room for the low halves at both ends of the exponent range.
    product = np.abs(a * b)
    size = np.maximum(np.abs(a), np.abs(b))
    safe = (product < 2.0**900) & (product > 2.0**-850) & (size < 2.0**900)
    safe &= (np.abs(c) < 2.0**900) & ((np.abs(c) > 2.0**-850) | (c == 0))
    out = plain.copy()
    if safe.any():
        x, y, z = a[safe], b[safe], c[safe]
        uh, ul = two_product(x, y)
        th, tl = two_sum(z, ul)
        vh, vl = two_sum(uh, th)
        s, e = two_sum(tl, vl)
        out[safe] = vh + round_to_odd(s, np.sign(e))
    rest = ~safe & np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    for i in np.flatnonzero(rest):
        out[i] = _fma_exact(float(a[i]), float(b[i]), float(c[i]))
    return out.reshape(shape)


def _fma_exact(a: float, b: float, c: float) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c if a == 0 or b == 0 or c == 0 else 0.0
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")
