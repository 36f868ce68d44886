# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tiled MMAs with a sparse A: of every four elements along k two are kept, of tf32 one of two.

In: A as the tensor (M, K / 2) of kept elements, and its metadata (M, K / 16) of Uint16 (K / 8 for
tf32): for each run of elements four bits, those of the first run lowest; for two kept elements
their places, the first one's lower. That is a row-major (M, K / 32) of Uint32, seen as Uint16::

    tiled_mma = cute.make_tiled_mma(warp.MmaSparseOp(Float16, Float32, (16, 8, 32)), (2, 2, 1))
    thr = tiled_mma.get_slice(tidx)
    tCrA = tiled_mma.make_fragment_A(thr.partition_A(sA))       # kept elements
    tCrE = tiled_mma.make_fragment_E(thr.partition_E(gE))
    cute.gemm(tiled_mma, acc, [tCrA, tCrE], tCrB, acc)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opencute import layout as la
from opencute.arch.mma import ELEMENT_BITS
from opencute.arch.sparse import SPARSE_MMA_ATOMS, SparseMmaAtom, sparse_mma_atom
from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.dialects import cute, ptx_matrix, vector
from opencute.dialects.cute import LayoutAttr
from opencute.ir.core import Value
from opencute.ir.types import I32, Type, VectorType, element_type
from opencute.lang.numbers import NumericMeta, Uint16
from opencute.lang.pointers import AddressSpace, Pointer
from opencute.lang.tensors import TracedTensor, layout_operands
from opencute.lang.tiled.operations import PTX_NAMES
from opencute.layout import ComposedLayout, Layout, make_layout

__all__ = ["MmaSparseOp", "gemm", "metadata_of", "metadata_words", "split_operand", "unit_of"]


def unit_of(type: str) -> int:
    """Elements of A along k that 16 bits of metadata are about."""
    return 8 if ELEMENT_BITS[type] == 32 else 16


def metadata_of(type: str, m: int, k: int) -> Layout:
    """(thread, value) to the place in the m x (k / unit) tile of an atom's metadata; m is 16 for a
    warp, 64 for a warpgroup. What threads repeat of each other counts once."""
    if ELEMENT_BITS[type] == 8:
        threads, values = ((2, 2, 8), (8, 2 * m if k > 32 else 0, 1)), Layout(2, m)
    else:
        threads, values = ((2, 2, 8), (m if k > unit_of(type) else 0, 0, 1)), Layout(2, 8)
    shape, stride = threads
    if m > 16:
        shape, stride = (*shape, m // 16), (*stride, 16)
    return make_layout(Layout(shape, stride), values)


@dataclass(frozen=True)
class MmaSparseOp:
    """mma.sp: a product of a warp whose A has half of its elements left out.

    Args:
        ab_dtype: type of A, and of B if that has none of its own.
        acc_dtype: type of the accumulator.
        shape_mnk: (16, 8, K), where K counts what is left out: 16 or 32 for 16-bit types, 8 or 16
            for TFloat32, 32 or 64 for bytes; 64 for 8-bit floats (sm_89 and later).
        b_dtype: type of B.

    Raises:
        TypeMismatchError: there is no such instruction; says which there are.
    """

    ab_dtype: Any
    acc_dtype: Any
    shape_mnk: Any
    b_dtype: Any = None

    def __post_init__(self) -> None:
        if self.b_dtype is None:
            object.__setattr__(self, "b_dtype", self.ab_dtype)
        assert self.record

    @property
    def a_dtype(self) -> NumericMeta:
        """Type of A."""
        return self.ab_dtype

    @property
    def record(self) -> SparseMmaAtom:
        """The instruction."""
        types = [PTX_NAMES.get(t, "?") for t in (self.acc_dtype, self.ab_dtype, self.b_dtype)]
        types.append(types[0])
        try:
            m, n, k = (int(x) for x in self.shape_mnk)
        except (TypeError, ValueError):
            m = n = k = 0
        name = f"sp.m{m}n{n}k{k}.{'.'.join(types)}"
        if name in SPARSE_MMA_ATOMS:
            return sparse_mma_atom(name)
        known = [str(r.mnk) for r in SPARSE_MMA_ATOMS.values() if list(r.types) == types]
        raise TypeMismatchError(
            "MmaSparseOp: there is no such instruction", code="OC1272",
            expected=" or ".join(known) or "Float16 or BFloat16 with Float32, TFloat32, Int8 or "
            "Uint8 with Int32, Float8E4M3FN or Float8E5M2",
            found=f"shape {self.shape_mnk}, A {self.ab_dtype}, B {self.b_dtype}, accumulator "
            f"{self.acc_dtype}",
        )  # fmt: skip

    @property
    def shape(self) -> tuple[int, int, int]:
        """(M, N, K) of one instruction."""
        return self.record.mnk

    @property
    def k_parts(self) -> dict[str, int]:
        """How many elements along k one of an operand stands for."""
        return {"A": 2, "E": unit_of(self.record.types[1])}

    @property
    def metadata_layout(self) -> Layout:
        """(thread, value) to place in the tile of metadata."""
        r = self.record
        return metadata_of(r.types[1], 16, r.mnk[2])

    def __str__(self) -> str:
        return f"MmaSparseOp {self.record.name}"


def split_operand(op: Any, a: Any) -> tuple[Any, TracedTensor]:
    """A and its metadata, as users give them: ``[a, e]``.

    Raises:
        TypeMismatchError: something else.
    """
    if not isinstance(a, list | tuple) or len(a) != 2:
        raise TypeMismatchError(
            "gemm: a sparse A comes with its metadata", code="OC1252", found=str(a),
            expected="[a, e]", hint="e = tiled_mma.make_fragment_E(thr_mma.partition_E(metadata))",
        )  # fmt: skip
    kept, e = a
    good = isinstance(e, TracedTensor) and e.element_type is Uint16
    if not good or not isinstance(e.iterator, Pointer) or e.memspace != AddressSpace.rmem:
        raise TypeMismatchError(
            "gemm: metadata is not in registers", code="OC1281", expected="a register tensor of "
            "Uint16", found=str(e),
            hint="e = tiled_mma.make_fragment_E(thr_mma.partition_E(metadata))",
        )  # fmt: skip
    if isinstance(e.layout, ComposedLayout) or not la.is_static(e.layout):
        raise LayoutError("gemm: metadata has no static plain layout", code="OC1379",
                          found=e.layout)  # fmt: skip
    return kept, e


def three_modes_of(e: TracedTensor) -> Layout:
    """The layout of metadata as (V, M, K)."""
    layout, one = e.layout, Layout(1, 0)
    rank = la.rank(layout)
    if rank == 3:
        return layout
    return make_layout(layout[0], layout[1], one) if rank == 2 else make_layout(layout, one, one)


def check_metadata(e: Layout, m: int, k: int) -> None:
    """Raise unless there is metadata for each tile of A."""
    found = tuple(la.size(e, mode=[i]) for i in range(3))
    if found != (2, m, k):
        raise LayoutError(
            "gemm: the metadata does not fit A", code="OC1382", expected=f"(2, {m}, {k})",
            found=e,
        )  # fmt: skip


def metadata_words(e: TracedTensor) -> list[Value]:
    """The thread's metadata of each tile of A, by m and then by k."""
    layout = three_modes_of(e)
    m, k = (la.size(layout, mode=[i]) for i in (1, 2))
    words: list[Value] = []
    for i in range(m * k):
        halves = _load(e, layout, (i % m, i // m))
        words.append(vector.extract(vector.bitcast(halves, VectorType(1, I32)), 0))
    return words


def _part(t: TracedTensor, layout: Layout, at: tuple[int, int]) -> tuple[Pointer, LayoutAttr]:
    """One atom's values."""
    offset = layout[1](at[0]) + layout[2](at[1])
    attr, _ = layout_operands(layout[0])
    return t.iterator + offset, attr


def _load(t: TracedTensor, layout: Layout, at: tuple[int, int]) -> Value:
    pointer, attr = _part(t, layout, at)
    return cute.tile_load(pointer.value, attr)


def _as_registers(value: Value, type: Type) -> Value:
    assert isinstance(type, VectorType)
    return value if value.type == type else vector.bitcast(value, type)


def gemm(
    record: SparseMmaAtom, operands: list[TracedTensor], layouts: list[Layout], e: TracedTensor
) -> None:
    """``d = a * b + c`` on fragments, one instruction for each m, n and k.

    Args:
        record: the instruction.
        operands: d, the kept elements of a, b, c.
        layouts: theirs, with three modes.
        e: the metadata.
    """
    d, a, b, c = operands
    ld, l_a, l_b, lc = layouts
    m, n = (la.size(ld, mode=[i]) for i in (1, 2))
    k = la.size(l_a, mode=[2])
    check_metadata(three_modes_of(e), m, k)
    ta, tb, tc = ptx_matrix.register_types(record)
    words = metadata_words(e)
    sums = {
        (i, j): _as_registers(_load(c, lc, (i, j)), tc) for j in range(n) for i in range(m)
    }  # fmt: skip
    for s in range(k):
        left = [_as_registers(_load(a, l_a, (i, s)), ta) for i in range(m)]
        right = [_as_registers(_load(b, l_b, (j, s)), tb) for j in range(n)]
        for i in range(m):
            for j in range(n) if i % 2 == 0 else range(n - 1, -1, -1):
                sums[i, j] = ptx_matrix.mma_sparse(
                    record.name, left[i], right[j], sums[i, j], words[i + m * s], 0
                )
    element = element_type(d.iterator.value.type.element)
    for (i, j), value in sums.items():
        pointer, attr = _part(d, ld, (i, j))
        own = VectorType(record.values[2], element)
        cute.tile_store(_as_registers(value, own), pointer.value, attr)
