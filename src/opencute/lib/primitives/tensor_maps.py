# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensor maps as values: what `cutlass.experimental.cuda` is made of.

Host code makes one, a kernel takes it as an argument and hands its address to copies of tiles::

    desc = create_tensor_map_tiled(
        global_address=a.iterator.toint(), dtype=Float16, global_dims=[k, m],
        global_strides=[k * 2 // 16], box_dims=[64, 128], swizzle=TensorMapSwizzle.s128b,
    )
    kernel(desc, ...)        # def kernel(desc: GridConstant[TensorMap], ...)
"""

# Layouts hold nested tuples of any numbers.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from opencute import layout as la
from opencute.arch.tma import Tile
from opencute.base.errors import ArgumentError, LayoutError, TypeMismatchError
from opencute.dialects.hopper import tensor_maps
from opencute.ir.core import Value
from opencute.lang.external_pointers import make_ptr
from opencute.lang.hopper.tma_atoms import element_word, global_tensor
from opencute.lang.numbers import Int64, NumericMeta, Uint8
from opencute.lang.pointers import AddressSpace, Pointer, RawPointer, element_bits

__all__ = [
    "TensorMap",
    "TensorMapDataFormat",
    "TensorMapSwizzle",
    "create_tensor_map_tiled",
    "create_tensor_map_tiled_from_view",
]

_UNIT = 16  # bytes that strides are given in, and multiples of


class TensorMapSwizzle(enum.Enum):
    """How rows of a tile are swizzled in shared memory."""

    none = 0
    s32b = 1
    s64b = 2
    s128b = 3

    @property
    def word(self) -> str:
        """The word of a `Tile`."""
        return self.name.removeprefix("s")


class TensorMapDataFormat(enum.Enum):
    """What the elements are to the copy unit."""

    DEFAULT = 0
    BYTE = 1
    B4X16 = 2
    B4X16_P64 = 3
    B6X16_P32 = 4


class TensorMap:
    """A tensor map: made by host code, an argument of kernels.

    Args:
        map: an SSA value.
        tile: its static part.
    """

    def __init__(self, map: Value, tile: Tile) -> None:
        self.map = map
        self.tile = tile

    def get_ptr(self, *, loc: Any = None, ip: Any = None) -> RawPointer:
        """A pointer to the map, which the copies take."""
        return RawPointer(tensor_maps.descriptor_address(self.map), Uint8)

    def global_tx_bytes(self, *, loc: Any = None, ip: Any = None) -> int:
        """Bytes that one load counts on its mbarrier."""
        return self.tile.bytes

    def __extract_mlir_values__(self) -> list[Value]:
        return [self.map]

    def __new_from_mlir_values__(self, values: Any) -> TensorMap:
        first = values[0]
        return first if isinstance(first, TensorMap) else TensorMap(first, self.tile)

    def __str__(self) -> str:
        return f"TensorMap({self.tile.element}, {self.tile.box}, {self.tile.swizzle})"

    __repr__ = __str__


def _word(dtype: Any, tma_format: Any) -> str:
    """The word of the elements."""
    if tma_format in (TensorMapDataFormat.BYTE,):
        return "u8"
    word = element_word(dtype) if isinstance(dtype, NumericMeta) else ""
    if not word or tma_format not in (None, TensorMapDataFormat.DEFAULT):
        raise TypeMismatchError(
            "a tensor map has no such elements", code="OC1228", found=f"{dtype}, {tma_format}",
            expected="elements of 8 bits or more, DEFAULT or BYTE",
            hint="formats of 4 and 6 bits begin with sm_100" if tma_format is not None else None,
        )  # fmt: skip
    return word


def _tile(dtype: Any, tma_format: Any, box: Sequence[Any], swizzle: Any) -> Tile:
    if not isinstance(swizzle, TensorMapSwizzle):
        raise ArgumentError(
            "no such swizzle", code="OC2940", found=repr(swizzle),
            expected=", ".join(f"TensorMapSwizzle.{s.name}" for s in TensorMapSwizzle),
        )  # fmt: skip
    word = _word(dtype, tma_format)
    return Tile(word, tuple(int(n) for n in box), swizzle=swizzle.word)


def _made(pointer: Pointer, dims: Sequence[Any], strides: Sequence[Any], tile: Tile) -> TensorMap:
    """The map of a tensor; strides are Int64 and in bytes."""
    if len(dims) != tile.rank or len(strides) != tile.rank - 1:
        raise ArgumentError(
            "extents, strides and box of a tensor map differ in rank", code="OC2941",
            expected=f"{tile.rank} extents and {tile.rank - 1} strides",
            found=f"{len(dims)} and {len(strides)}",
        )  # fmt: skip
    extents: list[Any] = [Int64(n) for n in dims]
    return TensorMap(
        tensor_maps.descriptor(
            pointer.value, [n.ir_value() for n in extents], [d.ir_value() for d in strides], tile
        ),
        tile,
    )


def create_tensor_map_tiled(
    global_address: Any,
    dtype: Any,
    global_dims: Sequence[Any],
    global_strides: Sequence[Any],
    box_dims: Sequence[Any],
    swizzle: Any = TensorMapSwizzle.none,
    tma_format: Any = None,
    *,
    loc: Any = None,
    ip: Any = None,
) -> TensorMap:
    """The map of a tensor at an address; all lists are innermost first.

    Args:
        global_address: of the first element, an integer or a pointer.
        dtype: numeric class of the elements.
        global_dims: extents, in elements.
        global_strides: of all dimensions but the innermost, in units of 16 bytes.
        box_dims: extents of the tile that one instruction moves.
        swizzle: a `TensorMapSwizzle`.
        tma_format: a `TensorMapDataFormat`; what fits `dtype` when omitted.

    Raises:
        ArgumentError: the lists do not fit each other, or the hardware has no such tile.
        TypeMismatchError: the hardware has no such elements.
    """
    tile = _tile(dtype, tma_format, box_dims, swizzle)
    pointer = make_ptr(dtype, global_address, AddressSpace.gmem, _UNIT)
    strides: list[Any] = [Int64(d) * _UNIT for d in global_strides]
    return _made(pointer, global_dims, strides, tile)


def _order(shape: Sequence[Any], strides: Sequence[Any], box: Sequence[int]) -> list[int]:
    """The modes in the order of the map's dimensions: those of which the box takes more than one
    element, by their strides, then the others as they come.

    Raises:
        LayoutError: the strides are not known.
    """
    rest = [i for i in range(len(shape)) if box[i] == 1]
    inner = [i for i in range(len(shape)) if box[i] != 1]
    if len(inner) > 1 and not all(la.is_static_int(strides[i]) for i in inner):
        raise LayoutError(
            "the order of the tensor's modes in memory is not known", code="OC1390",
            expected="static strides", found=f"{la.to_str(tuple(strides))}",
            hint="say it: stride_order=(1, 0) for rows of which the second mode is contiguous",
        )  # fmt: skip
    return sorted(inner, key=lambda i: int(strides[i]) if len(inner) > 1 else 0) + rest


def create_tensor_map_tiled_from_view(
    tensor: Any,
    box_dims: Sequence[Any],
    stride_order: Sequence[int] | None = None,
    swizzle: Any = TensorMapSwizzle.none,
    dtype: Any = None,
    tma_format: Any = None,
    *,
    loc: Any = None,
    ip: Any = None,
) -> TensorMap:
    """The map of a tensor.

    Args:
        tensor: in global memory, with flat modes.
        box_dims: extents of the tile, in the order of the tensor's modes.
        stride_order: the modes in the order of the map's dimensions, the contiguous one first.
            When omitted: the modes of which the tile has more than one element, by their strides,
            then the others.
        swizzle: a `TensorMapSwizzle`.
        dtype: another numeric class for the elements, as wide as the tensor's.
        tma_format: a `TensorMapDataFormat`; what fits `dtype` when omitted.

    Raises:
        ArgumentError: the lists do not fit the tensor, or the hardware has no such tile.
        LayoutError: the first mode is not contiguous, or strides are no multiples of 16 bytes.
        TypeMismatchError: the hardware has no such elements.
    """
    view = global_tensor(tensor)
    numeric: Any = view.element_type if dtype is None else dtype
    shape, steps = (la.flatten_to_tuple(x) for x in (view.layout.shape, view.layout.stride))
    box = [int(n) for n in box_dims]
    if len(box) != len(shape):
        raise ArgumentError(
            "the box has another rank than the tensor", code="OC2941", expected=len(shape),
            found=tuple(box),
        )  # fmt: skip
    order = list(stride_order) if stride_order is not None else _order(shape, steps, box)
    if sorted(order) != list(range(len(shape))):
        raise ArgumentError(
            "stride_order names each mode once", code="OC2941", found=tuple(order),
            expected=f"a permutation of 0 to {len(shape) - 1}",
        )  # fmt: skip
    tile = _tile(numeric, tma_format, [box[i] for i in order], swizzle)
    if element_bits(numeric) != element_bits(view.element_type):
        raise TypeMismatchError(
            "the elements are not as wide as those of the tensor", code="OC1618",
            expected=view.element_type, found=numeric,
        )  # fmt: skip
    _check_inner(steps[order[0]], order[0], view.layout)
    strides = [_in_bytes(steps[i], element_bits(numeric), view.layout) for i in order[1:]]
    pointer = make_ptr(numeric, view.iterator, AddressSpace.gmem, max(view.max_alignment, _UNIT))
    return _made(pointer, [shape[i] for i in order], strides, tile)


def _check_inner(stride: Any, mode: int, layout: Any) -> None:
    if la.is_static_int(stride) and int(stride) != 1:
        raise LayoutError(
            "the innermost elements of the tile are no neighbours in global memory", code="OC1322",
            expected=f"stride 1 in mode {mode}", found=layout,
            hint="stride_order lists the tensor's modes from the contiguous one outwards",
        )  # fmt: skip


def _in_bytes(stride: Any, bits: int, layout: Any) -> Any:
    if la.is_static_int(stride) and int(stride) * bits // 8 % _UNIT:
        raise LayoutError(
            "a stride of the tensor is no multiple of 16 bytes", code="OC1325",
            expected=f"multiples of {8 * _UNIT // bits} elements", found=layout,
            hint="pad the rows",
        )  # fmt: skip
    wide: Any = Int64(stride)
    return wide * (bits // 8)
