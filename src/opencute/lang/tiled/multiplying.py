# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tiled MMAs: which threads multiply which elements of a tile.

A tiled MMA is an atom, a layout of atoms over (M, N, K), and a permutation: for each of M, N and K
a size, or a layout that says which elements of the tile the atoms' rows stand for.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from opencute import layout as la
from opencute.base.errors import LayoutError
from opencute.lang.numbers import Numeric
from opencute.lang.tensors import TracedTensor
from opencute.lang.tiled import tv
from opencute.lang.tiled.atoms import MmaAtom, make_mma_atom
from opencute.lang.tiled.copying import check_thread, thread_part
from opencute.layout import Layout, make_layout

__all__ = ["ThrMma", "TiledMma", "make_tiled_mma"]

_MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1), "E": (0, 2)}


class TiledMma(MmaAtom):
    """An MMA atom spread over threads.

    Args:
        atom: the instruction.
        atom_layout_mnk: (M, N, K) index of an atom to its number.
        permutation_mnk: for each mode the size of the tile, a layout of it, or None.
    """

    def __init__(self, atom: MmaAtom, atom_layout_mnk: Layout, permutation_mnk: Any) -> None:
        super().__init__(atom.op)
        self._atom = atom
        self.settings = atom.settings
        self.atom_layout_mnk = atom_layout_mnk
        self.permutation_mnk = permutation_mnk

    @property
    def key(self) -> Any:
        return (self.op, self.atom_layout_mnk, self.permutation_mnk)

    @property
    def atom(self) -> MmaAtom:
        """The atom."""
        return self._atom

    # ---- facts
    @cached_property
    def thr_layout_vmnk(self) -> Layout:
        """(V, M, N, K) to the thread index."""
        return tv.thread_layout(self.thr_id, self.atom_layout_mnk)

    @property
    def size(self) -> int:
        """Number of threads."""
        return la.size(self.thr_layout_vmnk)

    @cached_property
    def _atoms(self) -> tuple[int, int, int]:
        m, n, k = (la.size(self.thr_layout_vmnk, mode=[i]) for i in (1, 2, 3))
        return m, n, k

    @cached_property
    def tile_mnk(self) -> tuple[int, int, int]:
        """(M, N, K) of the tile that all threads multiply at once."""
        m, n, k = (
            a * s if p is None else la.size(p) if isinstance(p, Layout) else la.product(p)
            for a, s, p in zip(self._atoms, self.shape_mnk, self.permutation_mnk, strict=True)
        )
        return m, n, k

    def get_tile_size(self, mode_idx: int, *, loc: Any = None, ip: Any = None) -> int:
        """Extent of the tile in mode 0 (M), 1 (N) or 2 (K).

        Args:
            mode_idx: the mode.
        """
        return self.tile_mnk[mode_idx]

    def tile_of(self, which: str) -> tuple[int, int]:
        """Extents of the tile of an operand: "A", "B", "C", or "E", the metadata of a sparse A."""
        first, second = _MODES[which]
        return self.tile_mnk[first], self.tile_mnk[second] // self.k_part(which)

    def _permuted(self, mode: int, part: int) -> Any:
        """The tile of one mode, of which one in `part` is there."""
        p = self.permutation_mnk[mode]
        if p is None or (part > 1 and not isinstance(p, Layout)):
            return self.tile_mnk[mode] // part
        if part > 1:
            raise LayoutError(
                "K of a sparse product is not permuted", code="OC1375", expected="a size, or None",
                found=p,
            )  # fmt: skip
        return p

    def view(self, layout: Layout, which: str) -> Any:
        """An operand's layout as (threads, (values, first, second, rest...)); `which`: A, B, C, or
        E for metadata."""
        first, second = _MODES[which]
        part = self.k_part(which)
        tile = (self._permuted(first, 1), self._permuted(second, part))
        atom = (self.shape_mnk[first], self.shape_mnk[second] // part)
        own = getattr(self, f"tv_layout_{which}")
        if la.rank(layout) < 2:
            raise LayoutError(
                f"partition_{which} takes at least two modes", code="OC1374", found=layout
            )
        return tv.mma_view(layout, tile, atom, own, (self._atoms[first], self._atoms[second]))

    def _tiled(self, which: str) -> Layout:
        first, second = _MODES[which]
        tile = make_layout(self.tile_of(which))
        view = self.view(tile, which)
        return tv.mma_layout_tv(view, self.thr_layout_vmnk, (first + 1, second + 1))

    @cached_property
    def tv_layout_A_tiled(self) -> Layout:
        """(thread, value) to place in the M x K tile of all threads."""
        return self._tiled("A")

    @cached_property
    def tv_layout_B_tiled(self) -> Layout:
        """(thread, value) to place in the N x K tile of all threads."""
        return self._tiled("B")

    @cached_property
    def tv_layout_C_tiled(self) -> Layout:
        """(thread, value) to place in the M x N tile of all threads."""
        return self._tiled("C")

    @cached_property
    def tv_layout_E_tiled(self) -> Layout:
        """(thread, value) to place in the tile of metadata of all threads."""
        return self._tiled("E")

    # ---- partitions
    def get_slice(self, thr_idx: Any, *, loc: Any = None, ip: Any = None) -> ThrMma:
        """The part of one thread.

        Args:
            thr_idx: the thread's index, below `size`.

        Raises:
            LayoutError: OC1395, the index is known while tracing, and negative or not below `size`.
        """
        check_thread("tiled MMA", thr_idx, self.size)
        return ThrMma(self, thr_idx)

    def _partition_shape(self, shape: Any, which: str) -> Any:
        shape = getattr(shape, "shape", shape)
        shape = tuple(shape) if isinstance(shape, list) else shape
        return self.view(make_layout(shape), which)[1].shape

    def partition_shape_A(self, shape_mk: Any, *, loc: Any = None, ip: Any = None) -> Any:
        """Shape of what a thread owns of A of a shape.

        Args:
            shape_mk: extents (M, K, ...).

        Returns:
            (V, M, K, ...), as for `make_fragment_A`.
        """
        return self._partition_shape(shape_mk, "A")

    def partition_shape_B(self, shape_nk: Any, *, loc: Any = None, ip: Any = None) -> Any:
        """Shape of what a thread owns of B of a shape.

        Args:
            shape_nk: extents (N, K, ...).

        Returns:
            (V, N, K, ...).
        """
        return self._partition_shape(shape_nk, "B")

    def partition_shape_C(self, shape_mn: Any, *, loc: Any = None, ip: Any = None) -> Any:
        """Shape of what a thread owns of C of a shape.

        Args:
            shape_mn: extents (M, N, ...).

        Returns:
            (V, M, N, ...).
        """
        return self._partition_shape(shape_mn, "C")

    def __str__(self) -> str:
        tile = (
            str(p if isinstance(p, Layout) else "_" if p is None else Layout(p))
            for p in self.permutation_mnk
        )
        lines = [
            "Tiled MMA",
            f"  Thr Layout VMNK: {self.thr_layout_vmnk}",
            f"  Permutation MNK: ({','.join(tile)})",
            *self._atom_lines(),
        ]
        return "\n".join(lines)


class ThrMma(TiledMma):
    """One thread's part of a tiled MMA.

    Args:
        tiled_mma: the tiled MMA.
        thr_idx: the thread's index.
    """

    def __init__(self, tiled_mma: TiledMma, thr_idx: Any) -> None:
        self.__dict__.update(tiled_mma.__dict__)
        self.tiled_mma = tiled_mma
        self.thr_idx = thr_idx

    @property
    def key(self) -> Any:
        return (super().key, id(self.thr_idx))

    @cached_property
    def _coord(self) -> Any:
        """(V, M, N, K) of the thread."""
        threads = self.thr_layout_vmnk
        index = int(self.thr_idx) if not isinstance(self.thr_idx, Numeric) else self.thr_idx
        return threads.get_flat_coord(index)

    def _partition(self, tensor: Any, which: str) -> TracedTensor:
        v, *mnk = self._coord
        first, second = _MODES[which]
        coord = (v, (mnk[first], mnk[second]))
        return thread_part(
            tensor, lambda layout: self.view(layout, which), coord, f"partition_{which}"
        )

    def partition_A(self, input_mk: Any, *, loc: Any = None, ip: Any = None) -> TracedTensor:
        """The thread's part of A: (V, M, K, ...).

        Args:
            input_mk: a tensor (M, K, ...).
        """
        return self._partition(input_mk, "A")

    def partition_B(self, input_nk: Any, *, loc: Any = None, ip: Any = None) -> TracedTensor:
        """The thread's part of B: (V, N, K, ...).

        Args:
            input_nk: a tensor (N, K, ...).
        """
        return self._partition(input_nk, "B")

    def partition_E(self, input_mk: Any, *, loc: Any = None, ip: Any = None) -> TracedTensor:
        """The thread's part of the metadata of a sparse A: (V, M, K, ...).

        Args:
            input_mk: a tensor of the metadata.
        """
        return self._partition(input_mk, "E")

    def partition_C(self, input_mn: Any, *, loc: Any = None, ip: Any = None) -> TracedTensor:
        """The thread's part of C: (V, M, N, ...).

        Args:
            input_mn: a tensor (M, N, ...).
        """
        return self._partition(input_mn, "C")


def make_tiled_mma(
    op_or_atom: Any, atom_layout_mnk: Any = (1, 1, 1), permutation_mnk: Any = None,
    *, loc: Any = None, ip: Any = None,
) -> TiledMma:  # fmt: skip
    """A tiled MMA.

    Args:
        op_or_atom: an MMA operation or atom.
        atom_layout_mnk: how many atoms lie side by side in M, N and K: a shape or a layout.
        permutation_mnk: for each mode a size, a layout, or None for what the atoms cover.

    Raises:
        LayoutError: a permutation is no multiple of what the atoms cover.

    Example:
        >>> op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
        >>> tiled_mma = cute.make_tiled_mma(op, (2, 2, 1))
        >>> tiled_mma.size, tiled_mma.tile_mnk
        (128, (32, 16, 16))
    """
    atom = make_mma_atom(op_or_atom).atom
    layout = atom_layout_mnk
    if not isinstance(layout, Layout):
        layout = make_layout(tuple(layout))
    if la.rank(layout) < 3:
        layout = la.append_ones(layout, 3)
    permutation = (None, None, None) if permutation_mnk is None else tuple(permutation_mnk)
    permutation += (None,) * (3 - len(permutation))
    tiled = TiledMma(atom, layout, permutation)
    for mode, extent, size, p in zip(
        "MNK", tiled.tile_mnk, (la.size(layout, mode=[i]) for i in range(3)), permutation,
        strict=True,
    ):  # fmt: skip
        covered = size * atom.shape_mnk["MNK".index(mode)]
        if extent % covered:
            raise LayoutError(
                f"the permutation of {mode} is no multiple of what the atoms cover",
                code="OC1375", expected=f"a multiple of {covered}", found=p,
            )  # fmt: skip
    return tiled
