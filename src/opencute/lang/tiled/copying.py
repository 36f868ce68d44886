# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tiled copies: which thread moves which elements of a tile.

A tiled copy is an atom (one instruction), a thread-value layout and a tiler. `get_slice(thread)`
partitions tensors for one thread into ``(V, RestM, RestN, ...)``, where V are the values of the
atom and its repetitions.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from opencute import layout as la
from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.lang.numbers import Numeric
from opencute.lang.pointers import Pointer
from opencute.lang.tensors import TracedTensor, offset_coord
from opencute.lang.tiled import tv
from opencute.lang.tiled.atoms import CopyAtom
from opencute.layout import ComposedLayout, Layout, coord_add, make_layout

__all__ = [
    "ThrCopy",
    "TiledCopy",
    "check_thread",
    "make_cotiled_copy",
    "make_tiled_copy",
    "make_tiled_copy_A",
    "make_tiled_copy_B",
    "make_tiled_copy_C",
    "make_tiled_copy_C_atom",
    "make_tiled_copy_D",
    "make_tiled_copy_S",
    "make_tiled_copy_tv",
    "thread_part",
]


def thread_part(tensor: Any, view: Any, coord: Any, what: str) -> TracedTensor:
    """What a thread owns of a tensor.

    Args:
        tensor: a tensor, in memory or of coordinates.
        view: from its plain layout to (layout of threads, layout of (values, rest...)).
        coord: the thread, in the layout of threads.
        what: for messages.
    """
    if not isinstance(tensor, TracedTensor):
        raise TypeMismatchError(
            f"{what} takes a tensor", code="OC1276", found=type(tensor).__name__
        )
    layout = tensor.layout
    in_memory = isinstance(tensor.iterator, Pointer)
    plain = layout.outer if isinstance(layout, ComposedLayout) else layout
    threads, part = view(plain)
    offset = threads(offset_coord(coord, threads))
    if isinstance(layout, ComposedLayout):
        moved = ComposedLayout(layout.inner, coord_add(layout.offset, offset), part)
        return TracedTensor(tensor.iterator, moved)
    if in_memory:
        return TracedTensor(tensor.iterator + offset, part)
    return TracedTensor(coord_add(tensor.iterator, offset), part)


def check_thread(what: str, thr_idx: Any, size: Any) -> None:
    """Refuse the index of a thread that there is not, where it is known while tracing.

    Args:
        what: a tiled copy or MMA, for the message.
        thr_idx: the index.
        size: how many threads there are.

    Raises:
        LayoutError: OC1395, it is negative or not below `size`.
    """
    index = thr_idx.value if isinstance(thr_idx, Numeric) and not thr_idx.is_dynamic else thr_idx
    if type(index) is int and type(size) is int and not 0 <= index < size:
        raise LayoutError(
            f"the {what} has no such thread", code="OC1395", expected=f"0 to {size - 1}",
            found=index, hint="its size is the number of threads, which is that of the block in "
            "most kernels; a warpgroup's index counts from its own first thread",
        )  # fmt: skip


class TiledCopy(CopyAtom):
    """A copy atom spread over threads.

    Args:
        atom: the instruction.
        layout_tv: (thread, value) to coordinate in the tile.
        tiler: shape of the tile, or a layout for each mode that picks it.
    """

    def __init__(self, atom: CopyAtom, layout_tv: Layout, tiler: Any) -> None:
        atom = atom.atom
        super().__init__(atom.op, atom.value_type, atom.num_bits, atom.hints)
        self._atom = atom
        self.layout_tv_tiled = layout_tv
        self.tiler_mn = tiler
        self._check()

    def _check(self) -> None:
        threads, values = (la.size(self.layout_tv_tiled, mode=[i]) for i in (0, 1))
        per, group = self.num_values, self.record.threads
        if values % per or threads % group:
            raise LayoutError(
                "the atom does not divide the thread-value layout", code="OC1361",
                expected=f"multiples of {group} threads and {per} values",
                found=f"{threads} threads, {values} values in {self.layout_tv_tiled}",
            )  # fmt: skip

    @property
    def key(self) -> Any:
        return (super().key, self.layout_tv_tiled, self.tiler_mn)

    @property
    def atom(self) -> CopyAtom:
        """The atom."""
        return self._atom

    @property
    def layout_tv(self) -> Layout:
        """(thread, value) to coordinate in the tile."""
        return self.layout_tv_tiled

    @property
    def tiler(self) -> Any:
        """Shape of the tile."""
        return self.tiler_mn

    @property
    def size(self) -> Any:
        """Number of threads."""
        return la.size(self.layout_tv_tiled, mode=[0])

    def get_slice(self, thr_idx: Any, *, loc: Any = None, ip: Any = None) -> ThrCopy:
        """The part of one thread.

        Args:
            thr_idx: the thread's index, below `size`.

        Raises:
            LayoutError: OC1395, the index is known while tracing, and negative or not below `size`.
        """
        check_thread("tiled copy", thr_idx, self.size)
        return ThrCopy(self, thr_idx)

    @cached_property
    def _atom_shape(self) -> tuple[int, int]:
        r = self.reference
        return la.size(r, mode=[0]), la.size(r, mode=[1])

    def _side_to_reference(self, side: Layout) -> Any:
        return None if side == self.reference else tv.atom_reference(self.reference, side)

    @cached_property
    def _src_to_reference(self) -> Any:
        return self._side_to_reference(self.layout_src_tv)

    @cached_property
    def _dst_to_reference(self) -> Any:
        return self._side_to_reference(self.layout_dst_tv)

    def view_src(self, layout: Layout) -> Any:
        """A source's layout as (threads, (values, rest...))."""
        return self._view(layout, self._src_to_reference)

    def view_dst(self, layout: Layout) -> Any:
        """A destination's layout as (threads, (values, rest...))."""
        return self._view(layout, self._dst_to_reference)

    def _view(self, layout: Layout, to_reference: Any) -> Any:
        if la.rank(layout) < la.rank(self.tiler_mn):
            raise LayoutError(
                "the tensor has fewer modes than the tile", code="OC1372",
                expected=f"at least {la.rank(self.tiler_mn)}", found=layout,
            )  # fmt: skip
        return tv.copy_view(
            layout, self.layout_tv_tiled, self.tiler_mn, self._atom_shape, to_reference
        )

    def _tiled(self, to_reference: Any) -> Layout:
        # Places in the tile are counted as the tiler orders them, whatever it picks.
        shape = tuple(la.size(t) if isinstance(t, Layout) else la.product(t) for t in self.tiler_mn)
        threads, values = tv.copy_view(
            make_layout(shape), self.layout_tv_tiled, shape, self._atom_shape, to_reference
        )
        return make_layout(threads, values[0])

    @property
    def layout_src_tv_tiled(self) -> Layout:
        """(thread, value) to coordinate in the tile, for the source."""
        return self._tiled(self._src_to_reference)

    @property
    def layout_dst_tv_tiled(self) -> Layout:
        """(thread, value) to coordinate in the tile, for the destination."""
        return self._tiled(self._dst_to_reference)

    def retile(self, src: Any, *, loc: Any = None, ip: Any = None) -> Any:
        """A register tensor of another partition, viewed as this copy's (V, Rest, ...).

        Args:
            src: a register tensor (V, Rest...) of the same values per thread.
        """
        layout = src.layout if isinstance(src, TracedTensor) else src
        if la.rank(layout) < la.rank(self.tiler_mn) + 1:
            raise LayoutError(
                "retile takes a partitioned tensor", code="OC1372",
                expected=f"at least {la.rank(self.tiler_mn) + 1} modes", found=layout,
            )  # fmt: skip
        new = tv.retiled(layout, self.layout_tv_tiled, self.tiler_mn, self.num_values)
        return TracedTensor(src.iterator, new) if isinstance(src, TracedTensor) else new

    def __str__(self) -> str:
        lines = [
            "Tiled Copy",
            f"  Tiler MN:        {_tiler_text(self.tiler_mn)}",
            f"  TV Layout tiled: {self.layout_tv_tiled}",
            *self._atom_lines(),
        ]
        return "\n".join(lines)


def _tiler_text(tiler: Any) -> str:
    parts = (str(t if isinstance(t, Layout) else Layout(t)) for t in tiler)
    return f"({','.join(parts)})"


class ThrCopy(TiledCopy):
    """One thread's part of a tiled copy.

    Args:
        tiled_copy: the tiled copy.
        thr_idx: the thread's index.
    """

    def __init__(self, tiled_copy: TiledCopy, thr_idx: Any) -> None:
        self.__dict__.update(tiled_copy.__dict__)
        self.tiled_copy = tiled_copy
        self.thr_idx = thr_idx

    @property
    def key(self) -> Any:
        return (super().key, id(self.thr_idx))

    def partition_S(self, src: Any, *, loc: Any = None, ip: Any = None) -> TracedTensor:
        """The thread's part of a source tensor.

        Args:
            src: a tensor whose first modes the tile covers.

        Returns:
            A tensor (V, Rest...): the values of one use of the atom, then the uses.
        """
        return thread_part(src, self.tiled_copy.view_src, self.thr_idx, "partition_S")

    def partition_D(self, dst: Any, *, loc: Any = None, ip: Any = None) -> TracedTensor:
        """The thread's part of a destination tensor.

        Args:
            dst: a tensor whose first modes the tile covers.

        Returns:
            A tensor (V, Rest...): the values of one use of the atom, then the uses.
        """
        return thread_part(dst, self.tiled_copy.view_dst, self.thr_idx, "partition_D")


# ---------------------------------------------------------------- making them
def make_tiled_copy(
    atom: CopyAtom, layout_tv: Layout, tiler_mn: Any, *, loc: Any = None, ip: Any = None
) -> TiledCopy:
    """A tiled copy from a thread-value layout and its tile (a shape, or a layout for each mode).

    Args:
        atom: the copy atom.
        layout_tv: (thread, value) to position in the tile, counted colexicographically.
        tiler_mn: extents of the tile, or a layout for each mode that picks it.

    Raises:
        LayoutError: the atom does not divide the layout, or the layout leaves the tile.
    """
    given: Any = atom
    if not isinstance(given, CopyAtom):
        raise TypeMismatchError("not a copy atom", code="OC1237", found=repr(given))
    tiler = tuple(tiler_mn) if isinstance(tiler_mn, list) else tiler_mn
    tiler = tiler if isinstance(tiler, tuple) else (tiler,)
    size = la.product(tuple(la.size(t) if isinstance(t, Layout) else t for t in tiler))
    if la.is_static(layout_tv) and isinstance(size, int) and la.cosize(layout_tv) > size:
        raise LayoutError(
            "the thread-value layout leaves the tile", code="OC1373",
            expected=f"places below {size}", found=f"{la.cosize(layout_tv) - 1} of {layout_tv}",
        )  # fmt: skip
    return TiledCopy(atom, layout_tv, tiler)


def make_tiled_copy_tv(
    atom: CopyAtom, thr_layout: Layout, val_layout: Layout, *, loc: Any = None, ip: Any = None
) -> TiledCopy:
    """A tiled copy from a layout of threads and a layout of values per thread.

    Args:
        atom: the copy atom.
        thr_layout: (m, n) of a thread to its index; compact.
        val_layout: (m, n) of a value in the block that a thread has, to its number; compact.

    Raises:
        LayoutError: the values of the atom do not divide the values per thread.

    Example:
        >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32)
        >>> thr, val = cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((2, 4))
        >>> cute.make_tiled_copy_tv(atom, thr, val).size
        128
    """
    tiler, layout_tv = la.make_layout_tv(thr_layout, val_layout)
    return make_tiled_copy(atom, layout_tv, tiler)


def make_cotiled_copy(
    atom: CopyAtom, atom_layout_tv: Layout, data_layout: Layout, *, loc: Any = None, ip: Any = None
) -> TiledCopy:
    """A tiled copy whose (thread, value) layout gives addresses in `data_layout`.

    Args:
        atom: the copy atom.
        atom_layout_tv: (thread, value) to an address of `data_layout`.
        data_layout: from coordinates to addresses.
    """
    inverse = make_layout(la.left_inverse(data_layout), Layout(1, 0))
    places = la.composition(inverse, atom_layout_tv)
    layout_tv, tiler = tv.by_tiler(places, la.product_each(data_layout.shape))
    return make_tiled_copy(atom, layout_tv, tiler)


def make_tiled_copy_S(
    atom: CopyAtom, tiled_copy: TiledCopy, *, loc: Any = None, ip: Any = None
) -> TiledCopy:
    """A tiled copy by another atom whose threads own what they own of the source there.

    Args:
        atom: the copy atom.
        tiled_copy: the other tiled copy.
    """
    return make_tiled_copy(atom, tiled_copy.layout_src_tv_tiled, tiled_copy.tiler_mn)


def make_tiled_copy_D(
    atom: CopyAtom, tiled_copy: TiledCopy, *, loc: Any = None, ip: Any = None
) -> TiledCopy:
    """A tiled copy by another atom whose threads own what they own of the destination there.

    Args:
        atom: the copy atom.
        tiled_copy: the other tiled copy.
    """
    return make_tiled_copy(atom, tiled_copy.layout_dst_tv_tiled, tiled_copy.tiler_mn)


def make_tiled_copy_A(
    atom: CopyAtom, tiled_mma: Any, *, loc: Any = None, ip: Any = None
) -> TiledCopy:
    """A tiled copy whose threads own what they own of A in a tiled MMA.

    Args:
        atom: the copy atom.
        tiled_mma: the tiled MMA.
    """
    return make_tiled_copy(atom, tiled_mma.tv_layout_A_tiled, tiled_mma.tile_of("A"))


def make_tiled_copy_B(
    atom: CopyAtom, tiled_mma: Any, *, loc: Any = None, ip: Any = None
) -> TiledCopy:
    """A tiled copy whose threads own what they own of B in a tiled MMA.

    Args:
        atom: the copy atom.
        tiled_mma: the tiled MMA.
    """
    _, n, k = tiled_mma.tile_mnk
    return make_tiled_copy(atom, tiled_mma.tv_layout_B_tiled, (n, k))


def make_tiled_copy_C(
    atom: CopyAtom, tiled_mma: Any, *, loc: Any = None, ip: Any = None
) -> TiledCopy:
    """A tiled copy whose threads own what they own of C in a tiled MMA.

    Args:
        atom: the copy atom.
        tiled_mma: the tiled MMA.
    """
    m, n, _ = tiled_mma.tile_mnk
    return make_tiled_copy(atom, tiled_mma.tv_layout_C_tiled, (m, n))


def make_tiled_copy_C_atom(
    atom: CopyAtom, tiled_mma: Any, *, loc: Any = None, ip: Any = None
) -> TiledCopy:
    """The smallest tiled copy by `atom` whose threads own values of C as in a tiled MMA.

    Args:
        atom: the copy atom.
        tiled_mma: the tiled MMA.

    Raises:
        LayoutError: the atom moves more values than a thread has.
    """
    m, n, _ = tiled_mma.tile_mnk
    layout = tiled_mma.tv_layout_C_tiled
    have = la.size(layout, mode=[1])
    if atom.num_values > have:
        raise LayoutError(
            "the atom moves more values than a thread has of C", code="OC1361",
            expected=f"at most {have}", found=atom.num_values,
        )  # fmt: skip
    layout_tv, tiler = tv.by_tiler(tv.restrict(layout, atom.num_values), (m, n))
    return make_tiled_copy(atom, layout_tv, tiler)
