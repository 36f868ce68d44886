# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Neighbours in memory: read and written as vectors, or copied where a mask holds.

In: the address of the first, an SSA value, and how many. Out: a vector, or registers for one::

    held = fragment(Float32, 4)
    copy(address, held, Float32, 4, AccessHints("volatile"))
    read(held, Float32, 4)          # a TensorSSA
"""

from __future__ import annotations

import math

from opencute.arch.hints import AccessHints
from opencute.base.errors import LayoutError
from opencute.dialects import cute, registers
from opencute.dialects.cute import LayoutAttr, PtrType, Tile
from opencute.ir.core import Value
from opencute.lang.block.smem_plan import widened
from opencute.lang.numbers import Boolean, NumericMeta, Uint8
from opencute.lang.vectors import TensorSSA, splat
from opencute.layout import product

__all__ = ["copy", "fragment", "read", "write"]


def fragment(dtype: NumericMeta, count: int) -> Value:
    """Registers for some elements, uninitialised."""
    bits = dtype.dtype.memory_bits
    align = min(max(16, bits // 8), 32)
    if not dtype.dtype.is_subbyte:
        return cute.alloca(dtype.mlir_type, count, align)
    # Whole bytes, whose other bits are known when one element is written.
    unit = math.lcm(bits, 8) // bits
    count = -(-count // unit) * unit
    out = cute.alloca(dtype.mlir_type, count, align)
    whole = cute.recast(out, PtrType(Uint8.mlir_type, "rmem", align))
    write(whole, splat(0, count * bits // 8, Uint8))
    return out


def _layout(count: int) -> LayoutAttr:
    return LayoutAttr(count, 1 if count > 1 else 0)


def _with_room(pointer: Value, dtype: NumericMeta, count: int) -> Value:
    """A pointer that may be used for so many elements, also beyond a struct's member."""
    return widened(pointer, -(-count * dtype.dtype.memory_bits // 8))


def read(pointer: Value, dtype: NumericMeta, count: int) -> TensorSSA:
    """Some neighbours as a vector.

    Raises:
        LayoutError: OC1367, there are none.
    """
    if count == 0:
        raise LayoutError(
            "load() needs at least one element", code="OC1367", found="0 elements",
            hint="leave it out where there are none",
        )  # fmt: skip
    pointer = _with_room(pointer, dtype, count)
    known = None if dtype.dtype.is_subbyte else registers.elements(pointer, range(count))
    value = known if known is not None else cute.tile_load(pointer, _layout(count))
    return TensorSSA(value, count, dtype)


def write(pointer: Value, vector: TensorSSA) -> None:
    """Write the elements of a vector to neighbours."""
    count = product(vector.shape)
    pointer = _with_room(pointer, vector.dtype, count)
    cute.tile_store(vector.value, pointer, _layout(count))


def copy(
    src: Value, dst: Value, dtype: NumericMeta, count: int, hints: AccessHints,
    mask: TensorSSA | None = None,
) -> None:  # fmt: skip
    """Copy neighbours, those for which a mask has True.

    Args:
        src: the address of the first.
        dst: where it goes.
        dtype: numeric class of the elements.
        count: how many.
        hints: how memory is accessed.
        mask: a Boolean for each.
    """
    layout = LayoutAttr((count, 1), (1 if count > 1 else 0, 0))  # (elements of one use, uses)
    src, dst = _with_room(src, dtype, count), _with_room(dst, dtype, count)
    pred = None
    if mask is not None:
        held = fragment(Boolean, count)
        write(held, mask)
        pred = Tile(held, layout)
    cute.copy("universal_copy", 0, Tile(src, layout), Tile(dst, layout), pred, hints)
