# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Groups that are rows of one matrix, as the epilogue moves them: no map for each of them.

Coordinates of TMA may begin at any row, so that parts with rows of the group only are moved with
the map of the whole matrix. Of a part that reaches behind the group's end, threads store the rows
that are the group's own; what is loaded there belongs to others, and is not stored.

    seen.rows = Rows(start, count, {"": d})      # of an `Epilogue`
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.gemm.sm90_epilogue import store_part
from opencute.kernels.gemm.sm90_plan import ROWS

__all__ = ["Rows"]

_THREADS = 128


class Rows:
    """The rows of a group.

    Args:
        start, count: the first of them, and how many.
        out: the result, (rows, columns, 1) in global memory.
        stores: other matrices that are written, in the order of the epilogue's.
    """

    def __init__(self, start: Any, count: Any, out: Any, stores: tuple[Any, ...]) -> None:
        self.start, self.count = start, count
        self.written = (out, *stores)

    def coords(self, matrix: Any) -> Any:
        """Coordinates of the parts of a matrix, from the group's first row on."""
        return matrix.parts(cute.domain_offset((self.start, 0, 0), matrix.coords))[1]

    def store(self, epilogue: Any, tile: Any, part: int) -> None:
        """Store a part of a tile from shared memory, by all threads of a warpgroup."""
        row, column, _ = epilogue.place(tile, part)
        _store(self, epilogue, tile, part, (row * ROWS, column))


@cute.jit
def _store(
    rows: Any, epilogue: Any, tile: Any, part: cutlass.Constexpr[int], at: Any
):  # fmt: skip
    """As `Rows.store`; `at` is the part's first row, and which part along columns it is."""
    if at[0] + ROWS <= rows.count:
        if epilogue.stored_by:
            store_part(epilogue, tile, part)
    else:
        buffer = epilogue.buffer(part)
        outs = (epilogue.out, *epilogue.stores)
        for i in cutlass.range_constexpr(len(outs)):
            here = cute.domain_offset((rows.start + at[0], 0, 0), rows.written[i])
            _copy(outs[i].smem[None, None, buffer], here, epilogue.tid, at[1], rows.count - at[0])
        if epilogue.stored_by:
            cute.arch.cp_async_bulk_commit_group()  # of none: those in flight are counted


@cute.jit
def _copy(smem: Any, whole: Any, tid: Any, part: Any, left: Any):
    """Copy the first rows of a part.

    Args:
        smem: (rows, columns).
        whole: in global memory, from the part's first row on.
        tid: the thread of the warpgroup.
        part: which part along columns.
        left: rows.
    """
    dtype, wide = smem.element_type, cute.size(smem, mode=[1])
    vec = 128 // dtype.width
    each = wide // vec
    for i in range(-(-ROWS * each // _THREADS)):
        row, column = (tid + _THREADS * i) // each, (tid + _THREADS * i) % each * vec
        if row < left:
            source = _vector(cute.domain_offset((row, column), smem), vec)
            at = part * wide + column
            into = _vector(cute.domain_offset((row, at, 0), whole), vec)
            if at + vec <= whole.shape[1]:
                cute.autovec_copy(source, into)
            else:
                for j in cutlass.range_constexpr(vec):
                    if at + j < whole.shape[1]:
                        into[j] = source[j]


def _vector(t: Any, vec: int) -> Any:
    """Neighbours from a tensor's first element on, at a multiple of 16 bytes."""
    return cute.make_tensor(t.iterator.align(16), cute.make_layout(vec))
