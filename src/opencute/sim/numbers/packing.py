# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Elements that are not whole bytes, as they lie in memory: a little-endian stream of bits.

Element k of a w-bit type takes the bits from ``k * w`` on; the elements of one lane begin and end
at whole bytes.

>>> to_bytes(np.int8([[[1, 2]]]), 4).tolist()
[[[33]]]
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.ir.types import FloatType, Type, element_type
from opencute.sim.values import Array, dtype_of, int_width, unsigned_dtype, wrap_array

__all__ = ["bit_width", "from_bytes", "mask_of_bytes", "mask_of_elements", "to_bytes"]


def bit_width(type: Type) -> int:
    """Bits of one element."""
    element = element_type(type)
    return element.width if isinstance(element, FloatType) else int_width(element)


def to_bytes(value: Array, width: int) -> Array:
    """Elements on the last axis as bytes on the last axis."""
    unsigned = np.dtype(np.uint8) if value.dtype.kind == "b" else unsigned_dtype(value.dtype)
    raw = np.ascontiguousarray(value).view(unsigned)[..., None].view(np.uint8)
    if width == 4:
        low, high = raw[..., 0::2, 0] & np.uint8(15), raw[..., 1::2, 0]
        return low | (high << np.uint8(4))
    bits = np.unpackbits(raw, axis=-1, count=width, bitorder="little")
    return np.packbits(bits.reshape(*value.shape[:-1], -1), axis=-1, bitorder="little")


def from_bytes(raw: Array, type: Type) -> Array:
    """Bytes on the last axis as elements of a type."""
    width, dtype = bit_width(type), dtype_of(type)
    raw = np.ascontiguousarray(raw)
    if width == 4:
        out = np.empty((*raw.shape[:-1], raw.shape[-1] * 2), np.uint8)
        out[..., 0::2] = raw & np.uint8(15)
        out[..., 1::2] = raw >> np.uint8(4)
    else:
        bits = np.unpackbits(raw, axis=-1, bitorder="little")
        bits = bits.reshape(*raw.shape[:-1], -1, width)
        out = np.packbits(bits, axis=-1, bitorder="little")
        whole = np.zeros((*out.shape[:-1], dtype.itemsize), np.uint8)
        whole[..., : out.shape[-1]] = out
        out = whole.view(unsigned_dtype(dtype))[..., 0]
    values = out.view(dtype)
    return wrap_array(values, width) if dtype.kind == "i" else values


def _ends(count: int, width: int) -> tuple[Any, Any]:
    """The first and last byte of each element."""
    first = np.arange(count) * width
    return first // 8, (first + width - 1) // 8


def mask_of_elements(mask: Array, count: int, width: int) -> Array:
    """Which elements have a byte in a mask of bytes."""
    first, last = _ends(count, width)
    if mask.shape[-1] == 1:
        mask = np.broadcast_to(mask, (*mask.shape[:-1], count * width // 8))
    return mask[..., first] | mask[..., last]


def mask_of_bytes(mask: Array, count: int, width: int) -> Array:
    """Which bytes belong to an element in a mask of elements."""
    mask = np.broadcast_to(mask, (*mask.shape[:-1], count))
    out = np.zeros((*mask.shape[:-1], count * width // 8), np.bool_)
    for k, (first, last) in enumerate(zip(*_ends(count, width), strict=True)):
        out[..., first] |= mask[..., k]
        if last != first:
            out[..., last] |= mask[..., k]
    return out
