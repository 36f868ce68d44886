# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a kernel knows of its groups: sizes, and where their matrices are.

A grouped scheduler asks for sizes, `groups[group, 0]` for M, 1 for N, 2 for K; tensor maps are
made of `groups.matrix(which, group)`, where `which` is 0 for A, 1 for B and 2 for the result::

    groups = RowGroups(ends, matrices, plan)      # rows of one A, up to ends that stand in memory
    groups = SumGroups(ends, matrices, plan)      # sums over rows of one A and of one B
    groups = ListGroups(table, types, plan)       # matrices anywhere

All read memory that the host need not know. `mapped` says which of A, B and the result have maps of
their own for each group; others have one for all, and `start` and `batch` say where a group is.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.grouped_gemm.rows import Rows

__all__ = ["ListGroups", "RowGroups", "SumGroups"]


class RowGroups:
    """Groups that are rows of one A and of one result, each with a B of its own.

    Args:
        ends: for each group the row behind its last one.
        matrices: A (rows, K, 1), B (N, K, groups) and D (rows, N, 1), in global memory; and what
            the visitor is given, where matrices are (rows, columns, 1).
        plan: of which the visitor counts.
    """

    mapped = (False, False, False)
    hollow = False
    """Whether K may be 0."""
    tails = False
    """Whether steps are loaded with maps of whole matrices up to `tail`."""

    def __init__(self, ends: Any, matrices: tuple[Any, ...], plan: Any) -> None:
        self.ends, self.matrices, self.plan = ends, matrices, plan
        self.count = ends.shape[0]

    def __getitem__(self, at: tuple[Any, int]) -> Any:
        group, which = at
        if which == 0:
            start, end = self.reach(group)
            return end - start
        return self.matrices[1].shape[which - 1]

    def reach(self, group: Any) -> tuple[Any, Any]:
        """The first row of a group and the one behind its last."""
        return rows_of(self.ends, group, self.matrices[0].shape[0])

    def start(self, which: int, group: Any) -> Any:
        """Where a group's A, or B, begins in the matrix of which there is a map for all; None:
        where that does."""
        return (self.reach(group)[0], 0, 0) if which == 0 else None

    def tail(self, found: Any) -> Any:
        """The first step that needs the group's own maps, if there are some."""
        return 0

    def batch(self, which: int, group: Any) -> Any:
        """Which matrix of a batch is A, B or D of a group."""
        return group if which == 1 else 0

    def rows(self, group: Any) -> Rows | None:
        """How the epilogue moves what is a group's; None: as always."""
        start, end = self.reach(group)
        kinds = self.plan.visitor.kinds
        stores = tuple(m for k, m in zip(kinds, self.matrices[3:], strict=True) if k == "store")
        return Rows(start, end - start, self.matrices[2], stores)

    def operands(self, extra: tuple[Any, ...], group: Any) -> tuple[Any, ...]:
        """What the visitor is given for a group.

        Args:
            extra: for all groups.
        """
        start, end = self.reach(group)
        return tuple(
            _part(x, start, end - start) if kind == "row" else _of_group(x, group)
            if kind == "column" else x
            for kind, x in zip(self.plan.visitor.kinds, extra, strict=True)
        )  # fmt: skip


class SumGroups:
    """Groups that are sums over rows of one A and of one B; their results are a batch.

    Args:
        ends: for each group the row behind its last one.
        matrices: A (M, rows, 1), B (N, rows, 1) and D (M, N, groups), in global memory.
        plan: of which the visitor counts.
    """

    mapped = (True, True, False)
    hollow = True
    tails = True

    def __init__(self, ends: Any, matrices: tuple[Any, ...], plan: Any) -> None:
        self.ends, self.matrices, self.plan = ends, matrices, plan
        self.count = ends.shape[0]

    def __getitem__(self, at: tuple[Any, int]) -> Any:
        group, which = at
        if which == 2:
            start, end = rows_of(self.ends, group, self.matrices[0].shape[1])
            return end - start
        return self.matrices[which].shape[0]

    def matrix(self, which: int, group: Any) -> Any:
        """A, or B, of a group. One without rows has one, which nobody may read, and which is the
        last one of all where the group begins behind it: maps begin inside of arrays."""
        whole = self.matrices[which]
        start, end = rows_of(self.ends, group, whole.shape[1])
        here = cute.domain_offset((0, cutlass.min(start, whole.shape[1] - 1), 0), whole)
        shape = (whole.shape[0], cutlass.max(end - start, 1), 1)
        return cute.make_tensor(
            here.iterator.align(16), cute.make_layout(shape, stride=whole.stride)
        )

    def start(self, which: int, group: Any) -> Any:
        """As of `RowGroups`."""
        return 0, rows_of(self.ends, group, self.matrices[0].shape[1])[0], 0

    def tail(self, found: Any) -> Any:
        """As of `RowGroups`: the last step, if it is not full, or all there is of no rows."""
        return found.problem_shape_k // self.plan.tile[2]

    def batch(self, which: int, group: Any) -> Any:
        """As of `RowGroups`."""
        return group if which == 2 else 0

    def rows(self, group: Any) -> None:
        """As of `RowGroups`."""
        return None

    def operands(self, extra: tuple[Any, ...], group: Any) -> tuple[Any, ...]:
        """As of `RowGroups`."""
        kinds = self.plan.visitor.kinds
        return tuple(
            _of_group(x, group) if kind in ("row", "column") else x
            for kind, x in zip(kinds, extra, strict=True)
        )


def rows_of(ends: Any, group: Any, rows: Any) -> tuple[Any, Any]:
    """The first row of a group and the one behind its last; ends that make no sense give no rows,
    and none outside of the matrix."""
    # The first group reads an end, too: a number is cheaper than a branch.
    before = ends[cutlass.max(group - 1, 0)] * cutlass.Int32(group > 0)
    start = cutlass.min(cutlass.max(before, 0), rows)
    return start, cutlass.max(cutlass.min(ends[group], rows), start)


def _part(vector: Any, start: Any, count: Any) -> Any:
    """Elements of a vector from one on; of none there is one, which is not used."""
    here = cute.domain_offset((start,), vector)
    shape = (cutlass.max(count, 1),)
    return cute.make_tensor(here.iterator, cute.make_layout(shape, stride=vector.stride))


def _of_group(vectors: Any, group: Any) -> Any:
    """A group's vector, or the one of all groups."""
    return vectors if cute.rank(vectors) == 1 else vectors[group, None]


class ListGroups:
    """Groups of matrices anywhere in memory.

    Args:
        table: (groups, 9 or more) of Int64: M, N, K; the addresses of A, B and D; how many elements
            their rows (columns, where those are contiguous) are apart; for each vector that the
            visitor is given, where it is, and how many elements its own are apart.
        vectors: types of these.
        plan: types and majors.
    """

    mapped = (True, True, True)
    hollow = True
    tails = False

    def __init__(self, table: Any, vectors: tuple[Any, ...], plan: Any) -> None:
        self.table, self.vectors, self.plan = table, vectors, plan
        self.count = table.shape[0]

    def __getitem__(self, at: tuple[Any, int]) -> Any:
        return cutlass.Int32(self.table[at])

    def matrix(self, which: int, group: Any) -> Any:
        """A, B or D of a group. One without columns has one, which nobody may read."""
        rows, columns = (self[group, i] for i in ((0, 2), (1, 2), (0, 1))[which])
        if which == 2 and self.plan.visitor.gated is not None:
            columns = columns // 2
        dtype = self.plan.types[which]
        at = cute.make_ptr(
            dtype, self.table[group, 3 + which], cute.AddressSpace.gmem, assumed_align=16
        )
        vec = 128 // dtype.width
        apart = cute.assume(self.table[group, 6 + which] // vec * vec, divby=vec)
        contiguous = (*self.plan.k_major, True)[which]
        stride = (apart, 1, apart) if contiguous else (1, apart, apart)
        shape = (rows, cutlass.max(columns, 1), 1)
        return cute.make_tensor(at, cute.make_layout(shape, stride=stride))

    def start(self, which: int, group: Any) -> Any:
        """As of `RowGroups`."""
        return None

    def tail(self, found: Any) -> Any:
        """As of `RowGroups`."""
        return 0

    def batch(self, which: int, group: Any) -> Any:
        """As of `RowGroups`: a map has but one."""
        return 0

    def rows(self, group: Any) -> None:
        """As of `RowGroups`."""
        return None

    def operands(self, extra: tuple[Any, ...], group: Any) -> tuple[Any, ...]:
        """As of `RowGroups`; `extra` has None for vectors."""
        out, next_one = [], 0
        for kind, x in zip(self.plan.visitor.kinds, extra, strict=True):
            if kind not in ("row", "column"):
                out.append(x)
                continue
            at, apart = (self.table[group, 9 + 2 * next_one + i] for i in range(2))
            dtype = self.vectors[next_one]
            pointer = cute.make_ptr(
                dtype, at, cute.AddressSpace.gmem, assumed_align=dtype.width // 8
            )
            count = cutlass.max(self[group, 0 if kind == "row" else 1], 1)
            out.append(cute.make_tensor(pointer, cute.make_layout((count,), stride=(apart,))))
            next_one += 1
        return tuple(out)
