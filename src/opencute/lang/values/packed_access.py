# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Single elements of types narrower than a byte.

In: a pointer and an offset in elements. Out: the element, whatever bits of the bytes it takes::

    load_element(p, 3)           # Float4E2M1FN: the upper half of the second byte
    store_element(p, 3, x)       # the lower half stays

A store reads the byte first: two threads that store to one byte race, as in C++ CuTe.
"""

from __future__ import annotations

from typing import Any

from opencute.dialects import arith
from opencute.ir.types import IntegerType
from opencute.lang.numbers import Int64, Uint8, Uint16
from opencute.lang.pointers import Pointer

__all__ = ["is_packed", "load_element", "store_element"]


def is_packed(pointer: Any) -> bool:
    """Whether the elements of a pointer share bytes."""
    return isinstance(pointer, Pointer) and pointer.dtype.dtype.is_subbyte


def _place(pointer: Pointer, offset: Any) -> tuple[Pointer, Pointer, Any]:
    """The first and last byte of an element, and where in the first it begins."""
    width = pointer.dtype.width
    bit: Any = offset * width if isinstance(offset, int) else Int64(offset) * width
    base = pointer.recast(Uint8)
    first = base + (bit >> 3)
    last = first if 8 % width == 0 else base + ((bit + (width - 1)) >> 3)
    return first, last, bit & 7


def load_element(pointer: Pointer, offset: Any) -> Any:
    """The element at an offset."""
    first, last, shift = _place(pointer, offset)
    both = first.load().to(Uint16)
    if last is not first:
        both = both | (last.load().to(Uint16) << 8)
    numeric: Any = pointer.dtype
    width = numeric.width
    value = arith.cast("trunci", (both >> _amount(shift)).ir_value(), IntegerType(width))
    if numeric.dtype.is_float:
        value = arith.cast("bitcast", value, numeric.mlir_type)
    return numeric(value)


def store_element(pointer: Pointer, offset: Any, value: Any) -> None:
    """Write the element at an offset; its neighbours keep their bits."""
    first, last, shift = _place(pointer, offset)
    numeric: Any = pointer.dtype
    width = numeric.width
    raw = numeric(value).ir_value()
    if numeric.dtype.is_float:
        raw = arith.cast("bitcast", raw, IntegerType(width))
    bits = Uint16(arith.cast("extui", raw, IntegerType(16))) << _amount(shift)
    mask = Uint16((1 << width) - 1) << _amount(shift)
    for k, byte in enumerate((first,) if last is first else (first, last)):
        new, kept = (((v >> (8 * k)).to(Uint8)) for v in (bits, ~mask))
        byte.store((byte.load() & kept) | new)


def _amount(shift: Any) -> Any:
    return shift if isinstance(shift, int) else shift.to(Uint16)
