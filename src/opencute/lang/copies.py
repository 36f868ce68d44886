# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Copy atoms, tiled copies, and `copy`.

A tiled copy says which thread moves which elements of a tile: it is an atom (one instruction), a
thread-value layout and a tiler. `get_slice(thread)` partitions tensors for one thread into
``(V, RestM, RestN, ...)``, where V are the values of the atom times its repetitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opencute import layout as la
from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.dialects import cute
from opencute.lang.numbers import Boolean, NumericMeta
from opencute.lang.pointers import Pointer
from opencute.lang.tensors import TracedTensor, offset_coord, tile
from opencute.layout import Layout, coord_add, make_layout

__all__ = [
    "CopyAtom",
    "CopyUniversalOp",
    "ThrCopy",
    "TiledCopy",
    "autovec_copy",
    "basic_copy",
    "basic_copy_if",
    "copy",
    "make_copy_atom",
    "make_tiled_copy",
    "make_tiled_copy_tv",
]


@dataclass(frozen=True)
class CopyUniversalOp:
    """Ordinary loads and stores, of any type between any two memory spaces."""

    name = "universal_copy"

    def __str__(self) -> str:
        return "Universal copy"


@dataclass(frozen=True)
class CopyAtom:
    """One copy instruction for elements of a type.

    Args:
        op: the instruction, such as `CopyUniversalOp()`.
        value_type: numeric class of the elements.
        num_bits: bits moved at once by a thread; 0: one element here, and in `copy` as many as
            alignment and layout allow.
    """

    op: Any
    value_type: NumericMeta
    num_bits: int = 0

    @property
    def num_values(self) -> int:
        """Elements per thread and instruction."""
        return max(self.num_bits // self.value_type.dtype.memory_bits, 1)

    @property
    def thr_id(self) -> Layout:
        """Layout of the threads that execute the instruction together."""
        return make_layout(1)

    @property
    def layout_src_tv(self) -> Layout:
        """(thread, value) to position in the atom, for the source."""
        return make_layout((1, self.num_values), stride=(0, 1))

    layout_dst_tv = layout_src_tv

    def __str__(self) -> str:
        return f"Copy Atom<{self.op}, {self.value_type}, {self.num_bits} bits>"


@dataclass(frozen=True)
class TiledCopy:
    """A copy atom spread over threads.

    Args:
        atom: the instruction.
        layout_tv: (thread, value) to coordinate in the tile.
        tiler: shape of the tile.
    """

    atom: CopyAtom
    layout_tv: Layout
    tiler: Any

    @property
    def layout_tv_tiled(self) -> Layout:
        """(thread, value) to coordinate in the tile."""
        return self.layout_tv

    @property
    def tiler_mn(self) -> Any:
        """Shape of the tile."""
        return self.tiler

    @property
    def size(self) -> Any:
        """Number of threads."""
        return la.size(self.layout_tv, mode=[0])

    def get_slice(self, thr_idx: Any) -> ThrCopy:
        """The part of one thread."""
        return ThrCopy(self, thr_idx)

    def partition(self, tensor: TracedTensor, thr_idx: Any) -> TracedTensor:
        """What a thread owns of a tensor, as (V, RestM, RestN, ...)."""
        divided = la.zipped_divide(tensor.layout, self.tiler)
        atom = (1, self.atom.num_values)
        tv = la.zipped_divide(self.layout_tv, atom)  # ((thr, val), (rest_thr, rest_val))
        zipped = la.coalesce(la.zip_modes(tv), (1, (1, 1)))  # ((thr, rest), (val, rest)) -> (m, n)
        by_thread = la.composition(divided, (zipped, None))
        rest = la.rank(tensor.layout)
        keep = ((thr_idx, None), (None,) * rest)
        layout, offset = la.slice_and_offset(
            offset_coord(keep, by_thread, wide=isinstance(tensor.iterator, Pointer)), by_thread
        )
        if isinstance(tensor.iterator, Pointer):
            return TracedTensor(tensor.iterator + offset, layout)
        return TracedTensor(coord_add(tensor.iterator, offset), layout)

    def __str__(self) -> str:
        return f"Tiled Copy<{self.atom}, TV {self.layout_tv}, tiler {la.to_str(self.tiler)}>"


@dataclass(frozen=True)
class ThrCopy:
    """One thread's part of a tiled copy."""

    tiled_copy: TiledCopy
    thr_idx: Any

    def partition_S(self, src: TracedTensor, *, loc: Any = None, ip: Any = None) -> TracedTensor:
        """The thread's part of a source tensor."""
        return self.tiled_copy.partition(src, self.thr_idx)

    def partition_D(self, dst: TracedTensor, *, loc: Any = None, ip: Any = None) -> TracedTensor:
        """The thread's part of a destination tensor."""
        return self.tiled_copy.partition(dst, self.thr_idx)

    def retile(self, src: TracedTensor, *, loc: Any = None, ip: Any = None) -> TracedTensor:
        """A register tensor of another partition, viewed as this copy's (V, Rest, ...)."""
        n = self.tiled_copy.atom.num_values
        layout = la.logical_divide(src.layout[0], n)
        rest = [src.layout[i] for i in range(1, src.rank)]
        return TracedTensor(src.iterator, make_layout(layout, *rest))


def make_copy_atom(
    op: Any, copy_internal_type: NumericMeta, *, num_bits_per_copy: int = 0,
    loc: Any = None, ip: Any = None, **options: Any,
) -> CopyAtom:  # fmt: skip
    """A copy atom.

    Args:
        op: the instruction, such as `CopyUniversalOp()`.
        copy_internal_type: numeric class of the elements.
        num_bits_per_copy: bits per thread and instruction; 0 leaves it to alignment and layout.

    Raises:
        LayoutError: the bits are no multiple of the element's.
    """
    bits = copy_internal_type.dtype.memory_bits
    if num_bits_per_copy % bits:
        raise LayoutError(
            "num_bits_per_copy is no multiple of the element", code="OC1360",
            expected=f"a multiple of {bits}", found=num_bits_per_copy,
        )  # fmt: skip
    return CopyAtom(op, copy_internal_type, int(num_bits_per_copy))


def make_tiled_copy_tv(
    atom: CopyAtom, thr_layout: Layout, val_layout: Layout, *, loc: Any = None, ip: Any = None
) -> TiledCopy:
    """A tiled copy from a layout of threads and a layout of values per thread.

    Raises:
        LayoutError: the values of the atom do not divide the values per thread.
    """
    tiler, layout_tv = la.make_layout_tv(thr_layout, val_layout)
    return make_tiled_copy(atom, layout_tv, tiler)


def make_tiled_copy(
    atom: CopyAtom, layout_tv: Layout, tiler_mn: Any, *, loc: Any = None, ip: Any = None
) -> TiledCopy:
    """A tiled copy from a thread-value layout and the shape of its tile."""
    values = la.size(layout_tv, mode=[1])
    if values % atom.num_values:
        raise LayoutError(
            "the atom's values do not divide the values of a thread", code="OC1361",
            expected=f"a multiple of {atom.num_values}", found=f"{values} in {layout_tv}",
        )  # fmt: skip
    return TiledCopy(atom, layout_tv, tiler_mn)


def _grouped(layout: Layout) -> Layout:
    """(V, rest): the form that `cute.copy` takes."""
    if la.rank(layout) == 1:
        return make_layout(layout, make_layout(1, stride=0))
    if la.rank(layout) == 2:
        return layout
    return la.group_modes(layout, 1, la.rank(layout))


def _operand(name: str, x: Any) -> TracedTensor:
    if not isinstance(x, TracedTensor) or not isinstance(x.iterator, Pointer):
        raise TypeMismatchError(
            f"copy: {name} is not a tensor in memory", code="OC1236", found=str(x)
        )
    if not la.is_static(x.layout.shape):
        raise LayoutError(
            f"copy: {name} needs a static shape", code="OC1362", found=x.layout,
            hint="tile or slice it to compile-time extents",
        )  # fmt: skip
    return TracedTensor(x.iterator, _grouped(x.layout))


def copy(
    atom: Any, src: Any, dst: Any, *, pred: Any = None, loc: Any = None, ip: Any = None,
    **options: Any,
) -> None:  # fmt: skip
    """Copy `src` to `dst` by an atom.

    Args:
        atom: a CopyAtom, TiledCopy or ThrCopy.
        src: tensor of shape (V, Rest...).
        dst: tensor with as many elements.
        pred: Boolean register tensor with one entry per coordinate of Rest, or one per element;
            elements whose entry is false are neither read nor written.

    Raises:
        LayoutError: sizes differ, or a shape is not static.
        TypeMismatchError: element types differ.
    """
    while not isinstance(atom, CopyAtom):
        inner = getattr(atom, "tiled_copy", None) or getattr(atom, "atom", None)
        if inner is None:
            raise TypeMismatchError("copy: not a copy atom", code="OC1237", found=repr(atom))
        atom = inner
    s, d = _operand("src", src), _operand("dst", dst)
    if s.element_type is not d.element_type:
        raise TypeMismatchError(
            "copy: element types differ", code="OC1238",
            expected=s.element_type, found=d.element_type,
            hint="load, convert with .to(...), and store",
        )  # fmt: skip
    if la.size(s.layout) != la.size(d.layout):
        raise LayoutError(
            "copy: source and destination differ in size", code="OC1363",
            expected=s.layout, found=d.layout,
        )  # fmt: skip
    p = None if pred is None else _predicate(pred, s)
    cute.copy(atom.op.name, atom.num_bits, tile(s), tile(d), None if p is None else tile(p))


def _predicate(pred: Any, src: TracedTensor) -> TracedTensor:
    if not isinstance(pred, TracedTensor) or pred.element_type is not Boolean:
        raise TypeMismatchError(
            "copy: pred must be a Boolean tensor", code="OC1239", found=str(pred)
        )
    total, rest = la.size(src.layout), la.size(src.layout, mode=[1])
    if la.size(pred.layout) == total and (total != rest or la.rank(pred.layout) == 1):
        return TracedTensor(pred.iterator, _grouped(pred.layout))
    if la.size(pred.layout) == rest:
        return pred
    if la.size(pred.layout) == total:
        return TracedTensor(pred.iterator, _grouped(pred.layout))
    raise LayoutError(
        "copy: pred does not fit", code="OC1364",
        expected=f"{rest} entries (one per rest coordinate) or {total} (one per element)",
        found=pred.layout,
    )  # fmt: skip


def _auto(src: TracedTensor) -> CopyAtom:
    return CopyAtom(CopyUniversalOp(), src.element_type, 0)


def autovec_copy(src: Any, dst: Any, *, loc: Any = None, ip: Any = None, **options: Any) -> None:
    """Copy with the widest accesses that alignment and both layouts allow."""
    copy(_auto(src), src, dst)


def basic_copy(src: Any, dst: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Copy element by element; as fast accesses as alignment allows are still used."""
    copy(_auto(src), src, dst)


def basic_copy_if(pred: Any, src: Any, dst: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Copy the elements whose predicate holds."""
    copy(_auto(src), src, dst, pred=pred)
