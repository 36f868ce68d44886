# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Any value as 32-bit words: what goes through a warp's shuffles.

``Float16(x)`` is one word, ``Int64(x)`` two, a `TensorSSA` of eight halves four.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.dialects import arith, vector
from opencute.ir.core import Value
from opencute.ir.types import F32, I1, I32, FloatType, IntegerType, Type, VectorType
from opencute.lang.numbers import Numeric, as_numeric
from opencute.lang.vectors import TensorSSA

__all__ = ["by_words", "flag", "mask_of"]


def mask_of(mask: Any) -> Value:
    """A mask of lanes as an i32; -1 and 0xFFFFFFFF are all of them."""
    if isinstance(mask, int):
        return arith.constant(mask & 0xFFFFFFFF, I32)
    return word(mask)


def word(x: Any) -> Value:
    """An integer as an i32."""
    if isinstance(x, int):
        return arith.constant(x & 0xFFFFFFFF, I32)
    number = as_numeric(x)
    value = number.ir_value()
    if not isinstance(value.type, IntegerType):
        raise TypeMismatchError("an integer is needed", code="OC1290", found=repr(x))
    if value.type.width == 32:
        return value
    if value.type.width > 32:
        return arith.cast("trunci", value, I32)
    signed = number.dtype.signed and not number.dtype.is_bool
    return arith.cast("extsi" if signed else "extui", value, I32)


def flag(x: Any) -> Value:
    """A condition as an i1."""
    from opencute.lang.numbers import Boolean

    boolean: Any = Boolean
    return (x.to(Boolean) if isinstance(x, Numeric) else boolean(x)).ir_value()


def _scalar_words(value: Value) -> list[Value]:
    """Words of a scalar of at most 32 bits, or of any whole number of words."""
    type = value.type
    if type in (I32, F32):
        return [value]
    width: int = getattr(type, "width")  # noqa: B009 - every element type has it
    bits = value
    if isinstance(type, FloatType):
        bits = arith.cast("bitcast", value, IntegerType(width))
    if width < 32:
        return [arith.cast("extui", bits, I32)]
    if width == 32:
        return [bits]
    parts: list[Value] = []
    for i in range(width // 32):
        shift = arith.constant(32 * i, IntegerType(width))
        part = bits if i == 0 else arith.binary("shrui", bits, shift)
        parts.append(arith.cast("trunci", part, I32))
    return parts


def _scalar_from(words: list[Value], type: Type) -> Value:
    """The inverse of `_scalar_words`."""
    if type in (I32, F32):
        return words[0]
    width: int = getattr(type, "width")  # noqa: B009 - every element type has it
    bits = words[0]
    if width < 32:
        bits = arith.cast("trunci", bits, IntegerType(width))
    elif width > 32:
        whole = IntegerType(width)
        bits = arith.cast("extui", bits, whole)
        for i, w in enumerate(words[1:], 1):
            high = arith.binary(
                "shli", arith.cast("extui", w, whole), arith.constant(32 * i, whole)
            )
            bits = arith.binary("ori", bits, high)
    return arith.cast("bitcast", bits, type) if isinstance(type, FloatType) else bits


def _vector(value: Value, fn: Callable[[Value], Value]) -> Value:
    type = value.type
    assert isinstance(type, VectorType)
    width: int = getattr(type.element, "width")  # noqa: B009 - every element type has it
    bits = width * type.length
    if type.element == I1 or bits % 32:
        parts = [_scalar(vector.extract(value, i), fn) for i in range(type.length)]
        return vector.from_elements(parts)
    words = vector.bitcast(value, VectorType(bits // 32, I32))
    out = [fn(vector.extract(words, i)) for i in range(bits // 32)]
    return vector.bitcast(vector.from_elements(out), type)


def _scalar(value: Value, fn: Callable[[Value], Value]) -> Value:
    return _scalar_from([fn(w) for w in _scalar_words(value)], value.type)


def by_words(x: Any, fn: Callable[[Value], Value]) -> Any:
    """A number or vector with `fn` applied to each of its words (i32 or f32).

    Raises:
        TypeMismatchError: `x` is neither.
    """
    if isinstance(x, TensorSSA):
        return TensorSSA(_vector(x.value, fn), x.shape, x.dtype)
    number = as_numeric(x)
    cls: Any = type(number)
    return cls(_scalar(number.ir_value(), fn))
