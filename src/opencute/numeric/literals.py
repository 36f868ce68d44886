# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of Python and NumPy as operands: the type they count as, and whether they fit.

In: a bare number and the type beside it. Out: the type that it counts as there::

    literal_kind(5, int, DTYPES["i8"])       # int: takes the type of the other operand
    literal_kind(300, int, DTYPES["i8"])     # i32
    decided("lt", -1, DTYPES["u32"], False)  # False: no Uint32 is less than -1

A NumPy scalar has the type of its dtype, except that np.float64 is a Python float and counts as
one.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from opencute.base.errors import TypeMismatchError
from opencute.numeric.dtypes import DTYPES, DType, from_numpy_dtype

__all__ = ["check_fits", "decided", "literal_kind", "plain_kind", "plain_type"]


def plain_kind(value: Any) -> Any:
    """`bool`, `int` or `float` for a Python number, the element type of a NumPy scalar; None for
    what is no number."""
    if isinstance(value, bool | int | float):
        return float if isinstance(value, float) else bool if isinstance(value, bool) else int
    if isinstance(value, np.generic):
        try:
            return from_numpy_dtype(value.dtype)
        except TypeMismatchError:
            return None
    if isinstance(getattr(value, "dtype", None), DType):
        return None  # a number of the language
    return int if hasattr(value, "__index__") else None


def plain_type(value: Any) -> DType | None:
    """The type that a bare number has by itself: Int32 (or Int64, Uint64), Float32, Boolean,
    or that of a NumPy scalar.

    Raises:
        TypeMismatchError: an int that does not fit in 64 bits.
    """
    kind = plain_kind(value)
    if kind is None or isinstance(kind, DType):
        return kind
    if kind is not int:
        return DTYPES["i1" if kind is bool else "f32"]
    number = operator.index(value)
    for name in ("i32", "i64", "u64"):
        if DTYPES[name].min <= number <= DTYPES[name].max:
            return DTYPES[name]
    raise _too_large(number)


def literal_kind(value: Any, kind: Any, other: Any) -> Any:
    """The kind of an operand; a Python int whose bits the other operand's integer type cannot hold
    counts as Int32, or Int64 if that cannot hold it either.

    Raises:
        TypeMismatchError: it does not fit in 64 bits.
    """
    if kind is not int or not isinstance(other, DType) or not other.is_integer:
        return kind
    number = operator.index(value)
    for name in (other.name, "i32", "i64"):
        if _holds_bits(number, DTYPES[name]):
            return int if name == other.name else DTYPES[name]
    raise _too_large(number)


def _holds_bits(number: int, dtype: DType) -> bool:
    """Whether a type holds a number, taken as signed or as unsigned."""
    return -(1 << (dtype.width - 1)) <= number < 1 << dtype.width


def _too_large(number: int) -> TypeMismatchError:
    return TypeMismatchError(
        "an integer does not fit in 64 bits", code="OC1242", found=number,
        hint="write it as Int128(...), or as a float",
    )  # fmt: skip


def check_fits(value: Any, dtype: DType) -> None:
    """Refuse a Python int that is stored to a type that cannot hold its bits.

    Numbers that fit as signed or as unsigned are taken: -1 and 255 are both eight ones.

    Raises:
        TypeMismatchError: it does not fit.
    """
    if not dtype.is_integer or plain_kind(value) is not int:
        return
    number = operator.index(value)
    if not _holds_bits(number, dtype):
        raise TypeMismatchError(
            f"an integer does not fit in {dtype.display}", code="OC1243",
            expected=f"{dtype.min} to {dtype.max}", found=number,
            hint=f"write {dtype.display}(...) to keep its low {dtype.width} bits",
        )  # fmt: skip


def decided(name: str, value: Any, other: Any, flip: bool) -> bool | None:
    """The answer to a comparison of an integer of a type with a Python int that the type does not
    hold; None if it depends on the integer.

    Args:
        name: "eq", "ne", "lt", "le", "gt" or "ge".
        value: the Python int.
        other: the type of the integer.
        flip: whether the Python int is the left operand.
    """
    if not isinstance(other, DType) or not other.is_integer or plain_kind(value) is not int:
        return None
    number = operator.index(value)
    if other.min <= number <= other.max:
        return None
    # Any value of the type gives the same answer.
    sides = (number, other.min) if flip else (other.min, number)
    return bool(getattr(operator, name)(*sides))
