# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Copying by tensor maps: the atom, and what `cute.copy` does with it.

In: shared memory and coordinates, in the order in which instructions move them
(`tma_atoms.tma_partition`): ``((elements of one instruction, instructions), rest...)``. Out: one
instruction for each of the second and of the rest, by one thread of the warp that is elected.
"""

# Layouts hold nested tuples of any numbers.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from opencute import layout as la
from opencute.arch.tma import SMEM_ALIGN, TMA_SWIZZLES, Tile
from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.dialects import arith, cute, ptx_warp, scf
from opencute.dialects.hopper import tensor_maps, tma
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Region, Value
from opencute.ir.types import I32, IntegerType
from opencute.lang.hopper.byte_counts import note_bytes
from opencute.lang.hopper.tma_ops import TmaOp
from opencute.lang.hopper.tma_plan import TmaPlan
from opencute.lang.numbers import Float32, NumericMeta, TFloat32, as_numeric
from opencute.lang.pointers import AddressSpace, Pointer, element_bits, pointer_type
from opencute.lang.tensors import TracedTensor
from opencute.lang.tiled.atoms import CopyAtom
from opencute.lang.tiled.hints import policy_bits
from opencute.layout import ComposedLayout, Layout, Swizzle, coord_add

__all__ = [
    "SmemSide",
    "TmaAtom",
    "barrier_of",
    "by_one_thread",
    "cache_policy_of",
    "copy_tiles",
    "map_of",
    "mask_of",
    "narrow",
    "plain_layout",
    "prefetch",
]


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
        copy_tiles(self, src, dst, pred=pred, **options)

    def prefetch_tensors(self, src: Any, **options: Any) -> None:
        """What `cute.prefetch` does with this atom."""
        prefetch(self, src, **options)


def plain_layout(layout: Any) -> Layout:
    """The part of a layout that coordinates go through."""
    return layout.outer if isinstance(layout, ComposedLayout) else layout


# ---------------------------------------------------------------- operands
def narrow(x: Any, width: int) -> Value:
    """An integer as one of `width` bits."""
    type = IntegerType(width)
    if isinstance(x, int):
        half = 1 << (width - 1)
        return arith.constant((x + half) % (2 * half) - half, type)
    number = as_numeric(x)
    value = number.ir_value()
    own: int = getattr(value.type, "width")  # noqa: B009 - every number has it
    if own == width:
        return value
    if own > width:
        return arith.cast("trunci", value, type)
    return arith.cast("extsi" if number.dtype.signed else "extui", value, type)


def cache_policy_of(policy: Any) -> Value | None:
    """A cache policy as an i64: a number that createpolicy made, or a word of CACHE_HINTS.

    Raises:
        ArgumentError: there is no such policy.
        TypeMismatchError: it is of no type that policies have.
    """
    if policy is None:
        return None
    return narrow(policy_bits(policy), 64)


def by_one_thread(build: Callable[[], None]) -> None:
    """Operations that one thread of the warp executes, whichever."""
    _, elected = ptx_warp.elect_sync(arith.constant(-1, I32))
    regions: list[Region] = []
    for body in (build, lambda: None):
        region, block = new_block()
        with insert_at(block):
            body()
            scf.yield_()
        regions.append(region)
    scf.if_(elected, (), *regions)


def map_of(atom: TmaAtom, tma_desc_ptr: Any) -> Value:
    """The address of the tensor map: the atom's own, or another one of the same kind."""
    if tma_desc_ptr is None:
        return tensor_maps.descriptor_address(atom.map)
    if not isinstance(tma_desc_ptr, Pointer):
        raise TypeMismatchError(
            "tma_desc_ptr is no pointer", code="OC1227", found=repr(tma_desc_ptr)
        )
    return tma_desc_ptr.value


class SmemSide:
    """The side in shared memory: places of runs, each of which one instruction moves."""

    def __init__(self, atom: TmaAtom, t: Any) -> None:
        if not isinstance(t, TracedTensor) or not isinstance(t.iterator, Pointer):
            raise TypeMismatchError("copy: not a tensor in memory", code="OC1236", found=str(t))
        if t.memspace != AddressSpace.smem:
            raise TypeMismatchError(
                f"copy: {atom.op} is between shared and global memory", code="OC1277",
                expected="a tensor in shared memory, and coordinates of the atom's tensor",
                found=str(t),
            )  # fmt: skip
        bits = element_bits(t.element_type)
        if not atom.moves(t.element_type):
            raise TypeMismatchError(
                "copy: the elements in shared memory are not those of the tensor", code="OC1238",
                expected=atom.value_type, found=t.element_type,
                hint="the copy moves bits as they are: give shared memory the tensor's type, or "
                "say internal_type= when the atom is made",
            )  # fmt: skip
        self.layout = plain_layout(t.layout)
        pointer = t.iterator
        swizzle = pointer.swizzle
        if isinstance(t.layout, ComposedLayout):
            inner = t.layout.inner
            if not isinstance(inner, Swizzle) or swizzle:
                raise LayoutError("copy: no such layout", code="OC1355", found=t.layout)
            shift = bits.bit_length() - 1 - 3
            swizzle = (inner.bits, inner.base + shift, inner.shift) if inner.bits else ()
        self._check_swizzle(atom, swizzle, t)
        type = pointer_type(pointer.dtype, AddressSpace.smem, pointer.alignment)
        self.pointer = pointer
        if pointer.swizzle:
            self.pointer = Pointer(cute.recast(pointer.value, type), pointer.dtype)
        if isinstance(t.layout, ComposedLayout):
            self.pointer = self.pointer + t.layout.offset

    @staticmethod
    def _check_swizzle(atom: TmaAtom, swizzle: tuple[int, ...], t: TracedTensor) -> None:
        if swizzle and swizzle != atom.smem_swizzle:
            raise LayoutError(
                "copy: the tensor in shared memory has another swizzle than the tensor map",
                code="OC1339", found=str(t),
                expected=f"S<{','.join(map(str, atom.smem_swizzle))}>"
                if atom.smem_swizzle else "none",
                hint="make atom and tensor from the same layout",
            )  # fmt: skip

    def at(self, index: int) -> Value:
        """The place of the run that starts at an element, aligned as instructions need it."""
        pointer = self.pointer + self.layout(index)
        if pointer.alignment < SMEM_ALIGN:
            pointer = pointer.align(SMEM_ALIGN)
        return pointer.value


# ---------------------------------------------------------------- copying
def _coords_of(atom: TmaAtom, t: Any, what: str) -> TracedTensor:
    if not isinstance(t, TracedTensor) or isinstance(t.iterator, Pointer):
        raise TypeMismatchError(
            f"copy: {what} is no part of the tensor of coordinates", code="OC1236", found=str(t),
            expected="a partition of the second value that make_tiled_tma_atom gives",
        )  # fmt: skip
    if not la.is_static(t.layout.shape):
        raise LayoutError(
            "copy: the tile needs a static shape", code="OC1362", found=t.layout,
            hint="tile or slice it to compile-time extents",
        )  # fmt: skip
    return t


def _coordinate(atom: TmaAtom, t: TracedTensor, index: int) -> list[Value]:
    """The coordinates, innermost first, of the tile that starts at an element."""
    flat = la.flatten_to_tuple(coord_add(t.iterator, t.layout(index)))
    flat = (*flat, *(0,) * (atom.plan.rank - len(flat)))
    if len(flat) != atom.plan.rank:
        raise LayoutError(
            "copy: these are not coordinates of the atom's tensor map", code="OC1340",
            expected=f"{atom.plan.rank} coordinates", found=la.to_str(flat),
        )  # fmt: skip
    return [narrow(c, 32) for c in flat]


def _corners(atom: TmaAtom) -> list[tuple[int, tuple[int, ...]]]:
    """Elements of a tile that are one step along each dimension, and where in the box they are."""
    plan = atom.plan
    corners = [(0, (0,) * plan.rank)]
    index = 1
    for i, n in enumerate(plan.shape):
        extent, step = (n // plan.scale, plan.scale) if i == 0 else (n, 1)
        if extent > 1:
            corners.append((index, tuple(step if j == i else 0 for j in range(plan.rank))))
        index *= extent
    return corners


def _check_order(atom: TmaAtom, smem: SmemSide, coords: TracedTensor) -> None:
    """Check that elements follow each other as one instruction moves them."""
    origin = (0,) * atom.plan.rank
    for index, step in _corners(atom):
        found = la.flatten_to_tuple(coord_add(origin, coords.layout(index)))
        if smem.layout(index) == index and found == step:
            continue
        raise LayoutError(
            "copy: the tiles are not in the order in which the instruction moves them",
            code="OC1334", found=f"{coords.layout} and {smem.layout}",
            hint="partition both tensors by cpasync.tma_partition",
        )  # fmt: skip


def _runs(atom: TmaAtom, smem: SmemSide, coords: TracedTensor) -> range:
    """The elements at which instructions start."""
    a, b, n = la.size(coords.layout), la.size(smem.layout), atom.num_values
    if a != b or a % n:
        raise LayoutError(
            "copy: the tiles differ in size, or are not whole instructions", code="OC1363",
            expected=f"equal multiples of {n} elements", found=f"{coords.layout}, {smem.layout}",
            hint="partition both tensors by cpasync.tma_partition",
        )  # fmt: skip
    _check_order(atom, smem, coords)
    return range(0, int(a), n)


def copy_tiles(
    atom: TmaAtom,
    src: Any,
    dst: Any,
    *,
    pred: Any = None,
    tma_bar_ptr: Any = None,
    mcast_mask: Any = None,
    tma_desc_ptr: Any = None,
    cache_policy: Any = None,
    loc: Any = None,
    ip: Any = None,
) -> None:
    """Copy tiles; all threads of a warp call it, and one of them starts the copies.

    Args:
        atom: the atom.
        src: coordinates (or, for stores, shared memory).
        dst: shared memory (or coordinates).
        pred: refused: a condition around the copy does the same.
        tma_bar_ptr: for loads, the mbarrier that counts their bytes.
        mcast_mask: for multicast loads, the blocks that get the tile.
        tma_desc_ptr: another tensor map, in global memory.
        cache_policy: a cache policy.

    Raises:
        LayoutError: the tensors are not partitioned for this atom.
        TypeMismatchError: an operand is missing, or not of this kind.
    """
    if pred is not None:
        raise TypeMismatchError(
            "copy: a copy of tiles takes no predicate", code="OC1227",
            hint="extents are checked by the hardware; put the copy into an `if`",
        )  # fmt: skip
    cache = cache_policy_of(cache_policy)
    if atom.op.loads:
        bar = barrier_of(atom, tma_bar_ptr)
        mask = mask_of(atom, mcast_mask)
        smem, coords = SmemSide(atom, dst), _coords_of(atom, src, "src")

        def load(index: int) -> None:
            tma.tma_load(
                smem.at(index), map_, bar, _coordinate(atom, coords, index), mask=mask, cache=cache
            )

        one = load
    else:
        if tma_bar_ptr is not None or mcast_mask is not None:
            raise TypeMismatchError(
                f"copy: {atom.op} has neither barrier nor mask", code="OC1227",
                hint="wait with cute.arch.cp_async_bulk_commit_group() and "
                "cute.arch.cp_async_bulk_wait_group(0)",
            )  # fmt: skip
        smem, coords = SmemSide(atom, src), _coords_of(atom, dst, "dst")

        def store(index: int) -> None:
            at, place = smem.at(index), _coordinate(atom, coords, index)
            if atom.op.reduction:
                tma.tma_reduce(atom.op.reduction, map_, at, place, cache=cache)
            else:
                tma.tma_store(map_, at, place, cache=cache)

        one = store
    map_ = map_of(atom, tma_desc_ptr)
    runs = _runs(atom, smem, coords)
    note_bytes(tma_bar_ptr, runs.stop * element_bits(atom.value_type) // 8)

    def all_of_them() -> None:
        for index in runs:
            one(index)

    by_one_thread(all_of_them)


def barrier_of(atom: TmaAtom, pointer: Any) -> Value:
    if pointer is None:
        raise TypeMismatchError(
            f"copy: {atom.op} needs an mbarrier", code="OC1227",
            expected="tma_bar_ptr=, a pointer to 8 bytes of shared memory",
        )  # fmt: skip
    if not isinstance(pointer, Pointer) or pointer.memspace != AddressSpace.smem:
        raise TypeMismatchError(
            "copy: tma_bar_ptr is no pointer to shared memory", code="OC1227", found=str(pointer)
        )
    return (pointer if pointer.alignment >= 8 else pointer.align(8)).value


def mask_of(atom: TmaAtom, mask: Any) -> Value | None:
    """The blocks that get what a load brings, an i16; None for loads of one block.

    Raises:
        TypeMismatchError: there is one and the load is for one block, or the other way round.
    """
    if not atom.op.multicast:
        if mask is not None and not (isinstance(mask, int) and mask in (0, 1)):
            raise TypeMismatchError(
                f"copy: {atom.op} is for one block", code="OC1227", found="mcast_mask",
                expected="the operation that ends in MulticastOp()",
            )  # fmt: skip
        return None
    if mask is None:
        raise TypeMismatchError(
            f"copy: {atom.op} needs the blocks that get the tile", code="OC1227",
            expected="mcast_mask=, see create_tma_multicast_mask",
        )  # fmt: skip
    return narrow(mask, 16)


def prefetch(atom: TmaAtom, src: Any, *, tma_desc_ptr: Any = None, cache_policy: Any = None,
             loc: Any = None, ip: Any = None) -> None:  # fmt: skip
    """Fetch tiles into the L2 cache; all threads of a warp call it.

    Args:
        atom: the atom.
        src: coordinates.
        tma_desc_ptr: another tensor map, in global memory.
        cache_policy: a cache policy.
    """
    coords = _coords_of(atom, src, "src")
    map_ = map_of(atom, tma_desc_ptr)
    cache, n = cache_policy_of(cache_policy), atom.num_values

    def all_of_them() -> None:
        for index in range(0, int(la.size(coords.layout)), n):
            tma.tma_prefetch(map_, _coordinate(atom, coords, index), cache=cache)

    by_one_thread(all_of_them)
