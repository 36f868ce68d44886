# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The type of a mixed-type operation.

Goes in: the element types of two operands, or a Python scalar type for an operand that is a bare
Python number. Comes out: the type that both are converted to::

    >>> promote(F16, I32), promote(F16, BF16), promote(I32, U32), promote(F16, float)
    (DType(f16), DType(f32), DType(u32), DType(f16))

The rules, first match wins:

| operands | result |
|---|---|
| the same type | that type |
| Python `bool`, `int` or `float` with a typed operand | the typed operand's type, if it is of the number's kind or a higher one; else bool literal → i1, int literal → i32, float literal → f32 |
| bool with anything | the other |
| integers of different width | the wider (so i64 beats u32) |
| integers of one width | the unsigned one, as in C |
| integer with float | the float |
| f64 with a float | f64 |
| f32 with a float | f32 |
| two of f16, bf16, tf32 | f32 |
| a float under 16 bits with f16, bf16 or tf32 | the latter if it holds every value of the former (all but e8m0 with f16), else f32 |
| two floats under 16 bits | the one that holds every value of the other, else f16 if it holds both, else f32 |

The function is symmetric and idempotent, and a float result holds every value of both floats. It
is associative with two exceptions. Two floats under 16 bits of which neither holds the other go to
f16 (or f32) at once, although a third operand (f8e4m3fn for the two f6, bf16, tf32) may hold both.
And a Python float beside an integer is f32 before a narrower float is seen.
"""  # noqa: E501 (a table's row cannot be wrapped)

from __future__ import annotations

from typing import TypeAlias

from opencute.base.errors import TypeMismatchError
from opencute.numeric.dtypes import BF16, BOOL, F16, F32, F64, I32, TF32, DType, from_python_type

__all__ = ["Operand", "holds", "promote"]

Operand: TypeAlias = "DType | type[bool] | type[int] | type[float]"
"""A type, or `bool`, `int` or `float` for a Python number that has no type of its own yet."""

_HALF = (F16, BF16, TF32)
_WEAK_RANK: dict[type, int] = {bool: 0, int: 1, float: 2}
_WEAK_DEFAULT: dict[type, DType] = {bool: BOOL, int: I32, float: F32}


def _rank(t: DType) -> int:
    return 0 if t.is_bool else 1 if t.is_integer else 2


def holds(wide: DType, narrow: DType) -> bool:
    """Whether every value of one float format, NaN and infinity included, is one of the other's."""
    return (
        wide.has_nan >= narrow.has_nan
        and wide.has_inf >= narrow.has_inf
        and wide.has_zero >= narrow.has_zero
        and wide.unsigned_zero <= narrow.unsigned_zero
        and wide.signed >= narrow.signed
        and wide.mantissa_bits >= narrow.mantissa_bits
        and wide.max >= narrow.max
        and wide.smallest_subnormal <= narrow.smallest_subnormal
    )


def _promote_floats(a: DType, b: DType) -> DType:
    for t in (F64, F32):
        if t in (a, b):
            return t
    if a in _HALF or b in _HALF:
        if a in _HALF and b in _HALF:
            return F32
        half, narrow = (a, b) if a in _HALF else (b, a)
        return half if holds(half, narrow) else F32
    for wide, narrow in ((a, b), (b, a)):
        if holds(wide, narrow):
            return wide
    return F16 if holds(F16, a) and holds(F16, b) else F32


def _promote_types(a: DType, b: DType) -> DType:
    if a is b:
        return a
    if _rank(a) != _rank(b):
        return a if _rank(a) > _rank(b) else b
    if a.is_float:
        return _promote_floats(a, b)
    if a.width != b.width:
        return a if a.width > b.width else b
    return b if a.signed else a


def promote(a: Operand, b: Operand) -> DType:
    """The common type of two operands, by the table at the top of this module.

    Args:
        a: an element type, or `bool`, `int`, `float` for a bare Python number.
        b: the other operand, likewise.

    Returns:
        The type to convert both operands to.

    Raises:
        TypeMismatchError: OC1609, if an operand is neither.
    """
    for x in (a, b):
        if not isinstance(x, DType) and x not in _WEAK_RANK:
            raise TypeMismatchError(
                "an operand has no element type", code="OC1609",
                expected="a DType, or bool, int or float for a Python number", found=x,
            )  # fmt: skip
    if isinstance(a, DType):
        if isinstance(b, DType):
            return _promote_types(a, b)
        a, b = b, a
    if isinstance(b, DType):
        assert not isinstance(a, DType)
        return b if _rank(b) >= _WEAK_RANK[a] else _WEAK_DEFAULT[a]
    assert not isinstance(a, DType)
    return from_python_type(a if _WEAK_RANK[a] >= _WEAK_RANK[b] else b)
