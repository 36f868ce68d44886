# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Integers of more than 64 bits: arrays of Python ints, in the signed range of their width.

In memory they are items of 16 bytes, which NumPy knows as complex numbers::

    wide_binary("addi", 128)(2**127 - 1, 1)     # -2**127
    from_items(to_items(-5))                    # -5
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opencute.ir.types import FloatType, Type, element_type
from opencute.numeric.codec import integer_to_float
from opencute.numeric.dtypes import DTYPES

__all__ = [
    "ITEM", "from_items", "is_wide", "resized", "to_float", "to_items", "unsigned", "wide_binary",
    "wrapped",
]  # fmt: skip

ITEM = np.dtype(np.complex128)
"""What 128 bits are in memory; nobody calculates with it."""

_MLIR = {t.mlir: t for t in DTYPES.values() if t.is_float}


def is_wide(width: int) -> bool:
    """Whether integers of a width are Python ints here."""
    return width > 64


def wrapped(x: Any, width: int) -> Any:
    """A value, or an array of Python ints, in the signed range of a width."""
    half = 1 << (width - 1)
    return ((x + half) & ((half << 1) - 1)) - half


def unsigned(x: Any, width: int) -> Any:
    """The same bits read as an unsigned number."""
    return x & ((1 << width) - 1)


def _trunc_div(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


# name -> (function of two Python ints, whether they are read as unsigned)
_OPS: dict[str, tuple[Callable[[int, int], int], bool]] = {
    "addi": (lambda a, b: a + b, False),
    "subi": (lambda a, b: a - b, False),
    "muli": (lambda a, b: a * b, False),
    "andi": (lambda a, b: a & b, False),
    "ori": (lambda a, b: a | b, False),
    "xori": (lambda a, b: a ^ b, False),
    "divsi": (_trunc_div, False),
    "divui": (lambda a, b: a // b, True),
    "remsi": (lambda a, b: a - b * _trunc_div(a, b), False),
    "remui": (lambda a, b: a % b, True),
    "floordivsi": (lambda a, b: a // b, False),
    "ceildivsi": (lambda a, b: -(-a // b), False),
    "ceildivui": (lambda a, b: -(-a // b), True),
    "maxsi": (max, False),
    "maxui": (max, True),
    "minsi": (min, False),
    "minui": (min, True),
}


def wide_binary(name: str, width: int) -> Callable[[Any, Any], Any]:
    """The function of `arith.<name>` on such integers, without the check for zero."""
    mask = (1 << width) - 1

    def one(a: Any, b: Any) -> int:
        a, b = int(a), int(b)
        if name in ("shli", "shrsi", "shrui"):
            n = min(b & mask, width)
            shifted = a << n if name == "shli" else (a & mask if name == "shrui" else a) >> n
            return wrapped(shifted, width)
        fn, is_unsigned = _OPS[name]
        return wrapped(fn(a & mask, b & mask) if is_unsigned else fn(a, b), width)

    return _lifted(one, 2)


def _lifted(one: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A function of Python ints on arrays of them too."""
    ufunc = np.frompyfunc(one, count, 1)

    def run(*values: Any) -> Any:
        if any(type(v) is np.ndarray for v in values):
            return ufunc(*values)
        return one(*values)

    return run


def resized(old: int, new: int, dtype: np.dtype[Any], *, zero: bool) -> Callable[[Any], Any]:
    """A conversion between two widths, one of them wide.

    Args:
        old, new: widths.
        dtype: NumPy's type of the result.
        zero: extend by zeros instead of by the sign.
    """

    def one(x: Any) -> Any:
        n = int(x)
        if old == 1:
            n = int(bool(x)) if zero else -int(bool(x))
        elif zero:
            n &= (1 << old) - 1
        return bool(n & 1) if new == 1 else wrapped(n, new)

    fn = _lifted(one, 1)
    return lambda x: fn(x).astype(dtype) if type(x) is np.ndarray else fn(x)


def to_float(type: Type, width: int, dtype: np.dtype[Any], *, signed: bool) -> Callable[[Any], Any]:
    """A conversion of arrays to a float type, with one rounding."""
    element = element_type(type)
    assert isinstance(element, FloatType)
    kind = _MLIR[element.name]

    def convert(x: Any) -> Any:
        values = x if signed else unsigned(x, width)
        return integer_to_float(np.asarray(values, object), kind).view(dtype)

    return convert


def to_items(value: Any) -> Any:
    """128-bit integers as they lie in memory, low half first."""
    if type(value) is not np.ndarray:
        return to_items(np.array([value], object))[0]
    numbers = value.astype(object)
    words = np.empty((*numbers.shape, 2), np.uint64)
    mask = (1 << 64) - 1
    words[..., 0] = (numbers & mask).astype(np.uint64)
    words[..., 1] = ((numbers >> 64) & mask).astype(np.uint64)
    return words.view(ITEM)[..., 0]


def from_items(items: Any) -> Any:
    """What lies in memory as 128-bit integers with a sign."""
    if type(items) is not np.ndarray:
        return from_items(np.array([items], ITEM))[0]
    words = np.ascontiguousarray(items).view(np.uint64).reshape(*items.shape, 2)
    low, high = words[..., 0].astype(object), words[..., 1].astype(np.int64).astype(object)
    return (high << 64) | low
