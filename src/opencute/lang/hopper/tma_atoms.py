# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Atoms that copy tiles by tensor maps: made by host code, passed to kernels as they are.

In: a tensor, the layout of its tile in shared memory, and the tile. Out: the atom, which carries
the tensor map, and the tensor of coordinates that partitions of the copies are made of::

    atom, coords = make_tiled_tma_atom(CopyBulkTensorTileG2SOp(), a, smem_layout, (128, 64))
    kernel(atom, coords, ...).launch(...)

In kernels `tma_partition` orders a tile of coordinates, and the same tile of shared memory, as
instructions move them; `tma_copy` copies them.
"""

# Layouts hold nested tuples of any numbers.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opencute import layout as la
from opencute.arch.tma import TMA_SWIZZLES, Tile, reductions_of, swizzle_word
from opencute.base.errors import ArgumentError, LayoutError, TypeMismatchError
from opencute.dialects import cute
from opencute.dialects.hopper import tensor_maps
from opencute.ir.core import Value
from opencute.lang.hopper.tma_copy import TmaAtom, plain_layout
from opencute.lang.hopper.tma_ops import TmaOp
from opencute.lang.hopper.tma_plan import (
    TmaPlan,
    box_of,
    coordinate_strides,
    make_plan,
    map_extents,
)
from opencute.lang.numbers import Int16, Int32, Int64, Integer, Numeric, NumericMeta
from opencute.lang.pointers import AddressSpace, Pointer, element_bits, pointer_type
from opencute.lang.tensors import TracedTensor
from opencute.layout import ComposedLayout, Layout, Swizzle, coord_add, make_layout
from opencute.layout.ints import is_tuple

__all__ = [
    "TmaInfo",
    "check_reduction",
    "create_tma_multicast_mask",
    "element_word",
    "global_tensor",
    "make_map",
    "make_tiled_tma_atom",
    "make_tma_info",
    "map_values",
    "prefetch_descriptor",
    "shared_layout",
    "tma_atom_of",
    "tma_partition",
]

_WORDS = {
    "f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64", "tf32": "tf32", "i16": "u16",
    "u16": "u16", "i32": "s32", "u32": "u32", "i64": "s64", "u64": "u64",
}  # fmt: skip


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


def check_reduction(op: TmaOp, word: str, dtype: NumericMeta) -> None:
    """Refuse a reduction that the hardware does not have for elements of this type.

    Args:
        op: the operation; one without a reduction passes.
        word: the tensor map's word of the elements.
        dtype: numeric class of the elements.

    Raises:
        TypeMismatchError: there is no such reduction.
    """
    if op.reduction and op.reduction not in (known := reductions_of(word)):
        raise TypeMismatchError(
            f"no copy combines elements of {dtype.__name__} in memory by {op.reduction!r}",
            code="OC1601", found=op.reduction, expected=", ".join(known) or
            "elements of another type: of 8 and of 16 bits only Float16 and BFloat16 are combined",
        )  # fmt: skip


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
    if not isinstance(op, TmaOp) or op.im2col:
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
    check_reduction(op, word, inner)
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

    Args:
        tma_atom: the atom.

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


# ---------------------------------------------------------------- partitioning
def tma_partition(
    atom: Any,
    cta_coord: Any,
    cta_layout: Any,
    smem_tensor: Any,
    gmem_tensor: Any,
    *,
    loc: Any = None,
    ip: Any = None,
) -> tuple[TracedTensor, TracedTensor]:
    """Shared memory and coordinates in the order in which instructions move them.

    Args:
        atom: the atom.
        cta_coord: which of the blocks that share the tile this one is.
        cta_layout: layout of those blocks.
        smem_tensor: shared memory, (tile, rest...).
        gmem_tensor: coordinates, (tile, rest...).

    Returns:
        Both as ((elements of one instruction, instructions), rest...), the part of this block.

    Raises:
        LayoutError: the tiles differ in size.
        TypeMismatchError: not such an atom, not tensors, or an atom of columns of pixels (of
            `make_im2col_tma_atom`), whose copies take the tile as it is.
    """
    tma_atom = tma_atom_of(atom)
    if tma_atom.tile.im2col:
        modes = "(n, p, q, c, r, s)" if tma_atom.op.loads else "(n, p, q, c)"
        here = f"cute.domain_offset({modes}, coords)"
        copy = f"{here}, smem, tma_bar_ptr=bar" if tma_atom.op.loads else f"smem, {here}"
        raise TypeMismatchError(
            "tma_partition: copies of columns of pixels are not partitioned", code="OC1620",
            expected="an atom of make_tiled_tma_atom", found=str(tma_atom.op),
            hint=f"write cute.copy(atom, {copy}), by a whole warp, where smem is the tile "
            "(pixels, channels)",
        )  # fmt: skip
    for name, t in (("smem_tensor", smem_tensor), ("gmem_tensor", gmem_tensor)):
        if not isinstance(t, TracedTensor):
            raise TypeMismatchError(
                f"tma_partition: {name} is no tensor", code="OC1249", found=str(t)
            )
    smem = plain_layout(smem_tensor.layout)
    first = smem[0] if la.rank(smem) > 1 or is_tuple(smem.shape) else smem
    size, values = la.size(first), tma_atom.num_values
    coords = gmem_tensor.layout
    own = coords[0] if la.rank(coords) > 1 or is_tuple(coords.shape) else coords
    if la.size(own) != size or size % values:
        raise LayoutError(
            "tma_partition: the first modes are not one tile of the atom", code="OC1338",
            expected=f"a multiple of {values} elements", found=f"{smem.shape} and {coords.shape}",
            hint="group the modes of the tile: cute.group_modes(tensor, 0, 2)",
        )  # fmt: skip
    order = la.tile_to_shape(make_layout(la.right_inverse(first)), size)
    order = la.logical_divide(order, make_layout(values))  # (one instruction, instructions)
    who = cta_layout(cta_coord) if isinstance(cta_layout, Layout) else 0
    blocks = la.cosize(cta_layout) if isinstance(cta_layout, Layout) else 1
    step = values // blocks if isinstance(blocks, int) and blocks > 1 else values
    return (
        _part(smem_tensor, order, who, step, blocks),
        _part(gmem_tensor, order, who, step, blocks),
    )


def _part(t: TracedTensor, order: Layout, who: Any, step: int, blocks: Any) -> TracedTensor:
    """One tensor in the order of instructions, moved to the block's own part."""
    plain = plain_layout(t.layout)
    modes = [plain[i] for i in range(la.rank(plain))] if is_tuple(plain.shape) else [plain]
    tile = la.composition(modes[0], order)
    tile = make_layout(la.coalesce(tile[0]), la.coalesce(tile[1]))
    offset: Any = 0
    if not (isinstance(blocks, int) and blocks == 1):
        index = who if isinstance(who, Numeric) else int(who)
        offset = tile[0](index * step)
    new = make_layout(tile, *modes[1:])
    if isinstance(t.layout, ComposedLayout):
        moved = coord_add(t.layout.offset, offset)
        return TracedTensor(t.iterator, ComposedLayout(t.layout.inner, moved, new))
    if isinstance(t.iterator, Pointer):
        return TracedTensor(t.iterator + offset, new)
    return TracedTensor(coord_add(t.iterator, offset), new)


def create_tma_multicast_mask(
    cta_layout_vmnk: Any, cta_coord_vmnk: Any, mcast_mode: Any, *, loc: Any = None, ip: Any = None
) -> Any:
    """The blocks that share a tile, as a mask of their ranks in the cluster.

    Args:
        cta_layout_vmnk: layout of the cluster, from coordinates to ranks.
        cta_coord_vmnk: coordinate of this block.
        mcast_mode: the mode along which the blocks lie.

    Returns:
        An Int16.
    """
    layout = cta_layout_vmnk
    coord = list(cta_coord_vmnk)
    coord[int(mcast_mode)] = None
    along, first = la.slice_and_offset(tuple(coord), layout)
    mask = 0
    for i in range(la.size(along)):
        mask |= 1 << int(along(i))
    base: Any = Int32(first) if not isinstance(first, Numeric) else first.to(Int32)
    wide: Any = Int32(mask) << base
    return wide.to(Int16)
