# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""One Python number at a time: what it becomes as a constant of an element type.

Goes in: a Python (or NumPy) number and a type. Comes out: the number that the type holds, or its
bits, as code generation prints them::

    >>> coerce_scalar(300, U8), coerce_scalar(-1.5, I32), coerce_scalar(0.1, F16)
    (44, -1, 0.0999755859375)
    >>> hex(encode_scalar(0.1, F16))
    '0x2e66'

The rules are those of `opencute.numeric.convert` for floats. To an integer, a Python number is cut
toward zero and wraps, as a NumPy cast does, where a run-time conversion would clamp: a literal that
is too large is kept modulo 2**width. Pure Python on exact integers; needs no NumPy, and serves as
the second opinion on the array code.
"""

from __future__ import annotations

import math
import operator
from typing import SupportsFloat, SupportsIndex, TypeAlias

from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.numeric.dtypes import DType
from opencute.numeric.rounding import Rounding, check_rounding, default_saturate

__all__ = ["Number", "ScalarOverflowError", "coerce_scalar", "decode_scalar", "encode_scalar"]

Number: TypeAlias = "SupportsIndex | SupportsFloat"
"""A Python bool, int or float, or a NumPy scalar."""


class ScalarOverflowError(ArgumentError, OverflowError):
    """Infinity cannot become an integer."""

    default_code = "OC2024"


def coerce_scalar(value: Number, t: DType) -> bool | int | float:
    """The number that `t` holds when it is constructed from a Python number.

    Args:
        value: the number.
        t: the type. Every type works, also the 4-bit and 128-bit integers.

    Returns:
        A bool for Boolean (False only for zero), an int for integers, a float for floats.

    Raises:
        ArgumentError: OC2021 (also a ValueError), for NaN to an integer.
        ScalarOverflowError: OC2024 (also an OverflowError), for infinity to an integer.
        TypeMismatchError: OC1608, if the value is not a real number.
    """
    if type(value) is int and t.is_integer:  # as below, for most numbers
        bits = value & ((1 << t.width) - 1)
        return bits - (1 << t.width) if t.signed and bits >> (t.width - 1) else bits
    return decode_scalar(encode_scalar(value, t), t)


def encode_scalar(
    value: Number, t: DType, rounding: Rounding | None = None, saturate: bool | None = None
) -> int:
    """The bits of `t` for a Python number; rules and errors as for `coerce_scalar`.

    Args:
        value: the number.
        t: the type.
        rounding: for floats; the type's default if omitted.
        saturate: for floats, largest finite value instead of infinity; the default if omitted.
    """
    number = _number(value, t)
    if t.is_bool:
        return int(number != 0)
    if t.is_integer:
        return _whole(number, t) & ((1 << t.width) - 1)
    mode = check_rounding(rounding, t)
    sat = default_saturate(t) if saturate is None else saturate
    return _encode_float(number, t, mode, sat)


def decode_scalar(bits: int, t: DType) -> bool | int | float:
    """The value of a pattern, as bool, int or float."""
    bits &= (1 << t.width) - 1
    if t.is_bool:
        return bool(bits)
    if t.is_integer:
        return bits - (1 << t.width) if t.signed and bits >> (t.width - 1) else bits
    code = bits >> t.pad_bits
    field = t.exponent_bits + t.mantissa_bits
    negative, code = (bool(code >> field), code & ((1 << field) - 1)) if t.signed else (False, code)
    if (t.unsigned_zero and negative and code == 0) or code > t.max_code + t.has_inf:
        return math.nan
    magnitude = math.inf if code > t.max_code else t.value_of(code)
    return -magnitude if negative else magnitude


def _number(value: Number, t: DType) -> int | float:
    # A NumPy bool has no __index__; complex numbers and text have neither method.
    if hasattr(value, "__index__"):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            pass
    if hasattr(value, "__float__"):
        return float(value)  # type: ignore[arg-type]
    raise TypeMismatchError(
        f"{t.display} is made from a real number", code="OC1608",
        expected="bool, int or float", found=type(value).__name__,
    )  # fmt: skip


def _whole(number: int | float, t: DType) -> int:
    if isinstance(number, int):
        return number
    if math.isnan(number):
        raise ArgumentError(f"NaN cannot become an {t.display}", code="OC2021")
    if math.isinf(number):
        raise ScalarOverflowError(f"infinity cannot become an {t.display}")
    return math.trunc(number)


def _encode_float(number: int | float, t: DType, mode: Rounding, saturate: bool) -> int:
    negative = number < 0 or (number == 0 and math.copysign(1.0, number) < 0)
    if number != number or (negative and not t.signed) or (number == 0 and not t.has_zero):
        return _nan(t)
    if number == 0:
        code = 0
    elif isinstance(number, float) and math.isinf(number):
        code = t.max_code + (t.has_inf and not saturate)
        if t.has_nan and not t.has_inf and not saturate:
            return _nan(t)
    else:
        significand, exponent = _parts(abs(number))
        code = _round(significand, exponent, negative, t, mode)
        if code > t.max_code:
            # Directed modes stop at the largest value on the side that they round away from.
            stays = mode == "rtz" or (mode in ("rd", "ru") and negative == (mode == "ru"))
            if saturate or stays or not (t.has_inf or t.has_nan):
                code = t.max_code
            elif t.has_inf:
                code = t.max_code + 1
            else:
                return _nan(t)
    sign = negative and t.signed and not (t.unsigned_zero and code == 0)
    return (code | (sign << (t.exponent_bits + t.mantissa_bits))) << t.pad_bits


def _nan(t: DType) -> int:
    return t.max_code if t.nan_bits is None else t.nan_bits


def _parts(magnitude: int | float) -> tuple[int, int]:
    """A positive number as (n, e) with ``n * 2**e`` equal to it, exactly."""
    if isinstance(magnitude, int):
        return magnitude, 0
    fraction, exponent = math.frexp(magnitude)
    return int(fraction * 2.0**53), exponent - 53


def _round(n: int, e: int, negative: bool, t: DType, mode: Rounding) -> int:
    """The code of ``n * 2**e``; may exceed the largest one."""
    lowest = 1 - t.bias if t.has_zero else -t.bias
    leading = max(e + n.bit_length() - 1, lowest)
    shift = leading - t.mantissa_bits - e
    kept = n << -shift if shift <= 0 else n >> shift
    rest = n - (kept << shift) if shift > 0 else 0
    half = 1 << (shift - 1) if shift > 0 else 1
    up = {
        "rne": rest > half or (rest == half and kept & 1),
        "rna": rest >= half,
        "rtz": False,
        "rd": negative and rest > 0,
        "ru": not negative and rest > 0,
    }[mode]
    code = ((leading - lowest) << t.mantissa_bits) + kept + bool(up)
    return code if t.has_zero else max(code - 1, 0)
