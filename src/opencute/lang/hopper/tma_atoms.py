# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Atoms that copy tiles by tensor maps: made by host code, passed to kernels as they are.

In: a tensor, the layout of its tile in shared memory, and the tile. Out: the atom, which carries
the tensor map, and the tensor of coordinates that partitions of the copies are made of::

    atom, coords = make_tiled_tma_atom(CopyBulkTensorTileG2SOp(), a, smem_layout, (128, 64))
    kernel(atom, coords, ...).launch(...)
"""

# Layouts hold nested tuples of any numbers.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from opencute import layout as la
from opencute.arch.tma import TMA_SWIZZLES, Tile, swizzle_word
from opencute.base.errors import ArgumentError, LayoutError, TypeMismatchError
from opencute.dialects import cute
from opencute.dialects.hopper import tensor_maps
from opencute.ir.core import Value
from opencute.lang.hopper.tma_ops import TmaOp
from opencute.lang.hopper.tma_plan import (
    TmaPlan,
    box_of,
    coordinate_strides,
    make_plan,
    map_extents,
)
from opencute.lang.numbers import Float32, Int64, Integer, NumericMeta, TFloat32
from opencute.lang.pointers import AddressSpace, Pointer, element_bits, pointer_type
from opencute.lang.tensors import TracedTensor
from opencute.lang.tiled.atoms import CopyAtom
from opencute.layout import ComposedLayout, Layout, Swizzle, make_layout

__all__ = [
    "TmaAtom",
    "TmaInfo",
    "element_word",
    "global_tensor",
    "make_map",
    "make_tiled_tma_atom",
    "make_tma_info",
    "map_values",
    "prefetch_descriptor",
    "shared_layout",
    "tma_atom_of",
]

_WORDS = {
    "f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64", "tf32": "tf32", "i16": "u16",
    "u16": "u16", "i32": "s32", "u32": "u32", "i64": "s64", "u64": "u64",
}  # fmt: skip


class TmaAtom(CopyAtom):
    """A copy of tiles of one tensor.

    Args:
        op: the operation.
        value_type: numeric class of the tensor's elements.
        plan: what one instruction moves.
        tile: the static part of the tensor map.
        map: the tensor map, an SSA value.
        num_multicast: blocks that share the tile.
        gmem_shape: the tensor's shape; only its modes count.
        internal_type: numeric class of the tensor map's elements; that of the tensor's if None.
    """

    def __init__(
        self, op: TmaOp, value_type: NumericMeta, plan: TmaPlan, tile: Tile, map: Value,
        num_multicast: int = 1, gmem_shape: Any = (), internal_type: NumericMeta | None = None,
    ) -> None:  # fmt: skip
        super().__init__(op, value_type, 0)
        self.plan = plan
        self.tile = tile
        self.map = map
        self.num_multicast = num_multicast
        self.gmem_shape = gmem_shape
        self.internal_type = value_type if internal_type is None else internal_type

    def moves(self, dtype: NumericMeta) -> bool:
        """Whether elements of this type in shared memory are what the atom moves.

        The bits stay as they are, so they are the tensor's elements, or what `internal_type` says
        that they are; tf32 lies in memory as f32 does.
        """
        if dtype in (self.value_type, self.internal_type):
            return element_bits(dtype) == element_bits(self.value_type)
        return {dtype, self.value_type} == {Float32, TFloat32}

    @property
    def key(self) -> Any:
        return (self.op, self.value_type, self.plan, self.tile, self.num_multicast, self.map)

    # ---- as an argument of a kernel
    def __extract_mlir_values__(self) -> list[Value]:
        return [self.map]

    def __new_from_mlir_values__(self, values: Any) -> TmaAtom:
        first = values[0]
        if isinstance(first, TmaAtom):
            return first
        return TmaAtom(
            self.op, self.value_type, self.plan, self.tile, first, self.num_multicast,
            self.gmem_shape, self.internal_type,
        )  # fmt: skip

    # ---- layouts
    @property
    def num_values(self) -> int:
        return self.plan.values

    @cached_property
    def thr_id(self) -> Layout:
        return Layout(1, 0)

    @cached_property
    def layout_src_tv(self) -> Layout:
        return Layout((1, self.num_values), (0, 1))

    @property
    def layout_dst_tv(self) -> Layout:  # type: ignore[override]
        """(thread, value) to position in the tile."""
        return self.layout_src_tv

    @property
    def reference(self) -> Layout:
        return self.layout_src_tv

    @property
    def smem_swizzle(self) -> tuple[int, ...]:
        """(bits, base, shift) of the swizzle of addresses in shared memory, () for none."""
        return TMA_SWIZZLES[self.tile.swizzle].swizzle

    def copy_tensors(self, src: Any, dst: Any, pred: Any = None, **options: Any) -> None:
        """What `cute.copy` does with this atom."""
        from opencute.lang.hopper.tma_copy import copy_tiles

        copy_tiles(self, src, dst, pred=pred, **options)


class TmaInfo:
    """An atom with its tensor of coordinates and its layout of shared memory; unpacks into the
    first two.

    Args:
        atom: the atom.
        tma_tensor: the tensor of coordinates.
        smem_layout: layout of the tile in shared memory.
    """

    def __init__(self, atom: TmaAtom, tma_tensor: TracedTensor, smem_layout: Any) -> None:
        self.atom = atom
        self.tma_tensor = tma_tensor
        self.smem_layout = smem_layout

    def __iter__(self) -> Iterator[Any]:
        return iter((self.atom, self.tma_tensor))

    def __getitem__(self, i: int) -> Any:
        return (self.atom, self.tma_tensor)[i]

    def __len__(self) -> int:
        return 2

    def __extract_mlir_values__(self) -> list[Value]:
        return [*self.atom.__extract_mlir_values__(), *self.tma_tensor.__extract_mlir_values__()]

    def __new_from_mlir_values__(self, values: Any) -> TmaInfo:
        atom = self.atom.__new_from_mlir_values__(values[:1])
        tensor = self.tma_tensor.__new_from_mlir_values__(values[1:])
        return TmaInfo(atom, tensor, self.smem_layout)


def _static_swizzle(layout: ComposedLayout) -> str:
    """The word of a layout's swizzle, which is one of byte addresses.

    Raises:
        LayoutError: the hardware has no such swizzle.
    """
    inner = layout.inner
    word = None
    if isinstance(inner, Swizzle) and la.is_static_int(layout.offset) and int(layout.offset) == 0:
        word = swizzle_word((inner.bits, inner.base, inner.shift))
    if word is None:
        raise LayoutError(
            "a tensor map has no such swizzle", code="OC1326", found=layout,
            expected="S<1,4,3>, S<2,4,3> or S<3,4,3> on byte addresses, offset 0",
            hint="give the tensor in shared memory its swizzle by its pointer: "
            "get_tensor(layout.outer, swizzle=layout.inner)",
        )  # fmt: skip
    return word


def shared_layout(layout: Any, tiler_size: Any) -> tuple[Layout, str]:
    """The plain layout of one tile, and the word of its swizzle; further stages are left out."""
    word = "none"
    if isinstance(layout, ComposedLayout):
        word, layout = _static_swizzle(layout), layout.outer
    if not isinstance(layout, Layout) or not la.is_static(layout):
        raise LayoutError(
            "the tile's layout in shared memory is static", code="OC1327", found=layout
        )
    if la.rank(layout) > 1 and la.size(layout) != tiler_size:
        one = make_layout(*(layout[i] for i in range(la.rank(layout) - 1)))
        if la.size(one) == tiler_size:
            layout = one  # the last mode is that of stages
    if la.size(layout) != tiler_size:
        raise LayoutError(
            "tile and shared memory differ in size", code="OC1328",
            expected=f"{tiler_size} elements", found=f"{la.size(layout)} in {layout}",
        )  # fmt: skip
    return layout, word


def element_word(dtype: NumericMeta) -> str:
    """The word of a tensor map's elements, empty if there are none such."""
    name = dtype.dtype.name
    return _WORDS.get(name, "u8" if element_bits(dtype) == 8 else "")


def make_tiled_tma_atom(
    op: Any,
    gmem_tensor: Any,
    smem_layout: Any,
    cta_tiler: Any,
    num_multicast: Any = 1,
    *,
    internal_type: Any = None,
    l2_promotion: str = "128b",
    loc: Any = None,
    ip: Any = None,
) -> TmaInfo:
    """An atom that copies tiles of a tensor, and the tensor of its coordinates.

    `cute.copy` with this atom elects a thread of the warp itself, so the whole warp has to reach
    it: call it under ``if warp_idx == 0:``, not under ``if tidx == 0:`` or in ``elect_one()``.

    Args:
        op: `CopyBulkTensorTileG2SOp()`, `CopyBulkTensorTileS2GOp()`, ...
        gmem_tensor: the tensor in global memory, in host code.
        smem_layout: layout of one tile in shared memory, possibly swizzled.
        cta_tiler: extents of the tile in the first modes of the tensor.
        num_multicast: blocks that share a tile, for the multicast operation.
        internal_type: element type of the tensor map, if it is another one.
        l2_promotion: bytes that L2 brings at once where a tile needs any of them: "none", "64b",
            "128b" or "256b".

    Raises:
        LayoutError: no tensor map describes such tiles.
        TypeMismatchError: not such an operation, or not a tensor in global memory.
    """
    tensor = global_tensor(gmem_tensor)
    tiler = tuple(cta_tiler) if isinstance(cta_tiler, list) else cta_tiler
    to_modes = la.composition(la.make_identity_layout(tensor.layout.shape), tiler)
    return make_tma_info(
        op, tensor, smem_layout, to_modes, num_multicast, internal_type, l2_promotion
    )  # fmt: skip


def make_tma_info(
    op: Any, tensor: TracedTensor, smem_layout: Any, to_modes: Layout, num_multicast: Any,
    internal_type: Any, l2_promotion: str = "128b",
) -> TmaInfo:  # fmt: skip
    """`make_tiled_tma_atom` for any map from the tile's elements to the tensor's modes."""
    if not isinstance(op, TmaOp):
        raise TypeMismatchError(
            "not a copy by tensor maps", code="OC1226", found=repr(op),
            expected="an operation such as cute.nvgpu.cpasync.CopyBulkTensorTileG2SOp()",
        )  # fmt: skip
    count = int(num_multicast)
    if count > 1 and not op.multicast:
        raise TypeMismatchError(
            f"{op} is for one block", code="OC1227", found=f"num_multicast={count}",
            expected="CopyBulkTensorTileG2SMulticastOp()",
        )  # fmt: skip
    element = tensor.element_type
    inner = internal_type if internal_type is not None else element
    word = element_word(inner)
    if not word:
        raise TypeMismatchError(
            "a tensor map has no such elements", code="OC1228", found=inner,
            expected=f"elements of 8 bits, or {', '.join(_WORDS)}",
        )  # fmt: skip
    smem, swizzle = shared_layout(smem_layout, la.size(to_modes))
    plan = make_plan(tensor.layout, smem, to_modes, element_bits(element), element_bits(inner))
    try:
        tile = Tile(word, box_of(plan, count), swizzle=swizzle, l2=l2_promotion)
    except ArgumentError as e:
        _check_width(inner, plan, swizzle)
        raise LayoutError(
            f"no tensor map has such tiles: {e.message.partition(': ')[2]}", code="OC1329",
            found=f"tensor {tensor.layout}, shared memory {smem_layout}",
        ) from None  # fmt: skip
    map_ = make_map(tensor, plan, tile)
    strides = coordinate_strides(tensor.layout, plan)
    coords = TracedTensor((0,) * plan.rank, Layout(tensor.layout.shape, strides))
    modes = la.transform_leaf(lambda _: 1, tensor.layout.shape)
    atom = TmaAtom(op, element, plan, tile, map_, count, modes, inner)
    return TmaInfo(atom, coords, smem_layout)


def _check_width(dtype: NumericMeta, plan: TmaPlan, swizzle: str) -> None:
    """Raise if rows of a tile fit the swizzle of its layout for elements of another width only."""
    if swizzle == "none":
        return
    span, row = TMA_SWIZZLES[swizzle].span, plan.shape[0]
    bits = span * 8 // row if row and span * 8 % row == 0 else 0
    if bits in (8, 16, 32, 64) and bits < element_bits(dtype):
        raise TypeMismatchError(
            "the layout of shared memory is for narrower elements than the tensor's",
            code="OC1238", expected=f"{dtype}, of {element_bits(dtype)} bits",
            found=f"elements of {bits} bits, as swizzled rows of {row} have no more than the "
            f"{span} bytes of a swizzle",
            hint="make the layout for the tensor's type, or with a wider swizzle",
        )  # fmt: skip


def global_tensor(tensor: Any) -> TracedTensor:
    """A tensor in global memory with a plain layout, or an error."""
    ok = isinstance(tensor, TracedTensor) and isinstance(tensor.iterator, Pointer)
    if not ok or tensor.memspace not in (AddressSpace.gmem, AddressSpace.generic):
        raise TypeMismatchError(
            "a tensor map is of a tensor in global memory", code="OC1229", found=str(tensor)
        )
    if not isinstance(tensor.layout, Layout):
        raise LayoutError("a tensor map needs a plain layout", code="OC1337", found=tensor.layout)
    return tensor


def map_values(tensor: TracedTensor, plan: TmaPlan, bits: int) -> tuple[list[Any], list[Any]]:
    """Extents and strides in bytes (without the innermost) of a tensor's map, as Int64.

    Raises:
        LayoutError: a stride is known to be no multiple of 16 bytes.
    """
    extents, strides = map_extents(tensor.layout, plan)
    in_bytes: list[Any] = []
    for i, d in enumerate(strides[1:], 1):
        if la.is_static_int(d) and int(d) * bits // 8 % 16:
            raise LayoutError(
                "a stride of the tensor is no multiple of 16 bytes", code="OC1325",
                expected=f"multiples of {128 // bits} elements", found=tensor.layout,
                hint=f"mode {'.'.join(map(str, plan.modes[i][0]))} has stride {d}: pad the rows",
            )  # fmt: skip
        wide: Any = Int64(d)
        in_bytes.append(wide * (bits // 8))
    return [Int64(n) for n in extents], in_bytes


def make_map(tensor: TracedTensor, plan: TmaPlan, tile: Tile) -> Value:
    """The tensor map of a tensor, an SSA value."""
    extents, strides = map_values(tensor, plan, tile.type.bits)
    pointer = tensor.iterator
    if pointer.memspace != AddressSpace.gmem:
        type = pointer_type(pointer.dtype, AddressSpace.gmem, pointer.alignment)
        pointer = Pointer(cute.recast(pointer.value, type), pointer.dtype)
    return tensor_maps.descriptor(
        pointer.value, [_value(n) for n in extents], [_value(d) for d in strides], tile
    )


def _value(x: Integer) -> Value:
    return x.ir_value()


def prefetch_descriptor(tma_atom: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Fetch an atom's tensor map into the cache that copies read it from.

    Raises:
        TypeMismatchError: not such an atom.
    """
    tensor_maps.prefetch_tensormap(tensor_maps.descriptor_address(tma_atom_of(tma_atom).map))


def tma_atom_of(atom: Any) -> TmaAtom:
    """An atom with a tensor map, or an error."""
    found = atom.atom if isinstance(atom, TmaInfo) else atom
    if not isinstance(found, TmaAtom):
        raise TypeMismatchError(
            "this atom has no tensor map", code="OC1616", found=repr(atom),
            expected="what make_tiled_tma_atom gives",
        )  # fmt: skip
    return found
