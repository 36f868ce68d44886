# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a kernel knows of its groups: sizes, and where their matrices are.

A grouped scheduler asks for sizes, `groups[group, 0]` for M, 1 for N, 2 for K; tensor maps are
made of `groups.matrix(which, group)`, where `which` is 0 for A, 1 for B and 2 for the result::

    groups = RowGroups(ends, (a, b, d), plan)      # rows of one A, up to ends that stand in memory
    groups = ListGroups(table, plan)               # matrices anywhere

Both read memory that the host need not know.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute

__all__ = ["ListGroups", "RowGroups"]


class RowGroups:
    """Groups that are rows of one A and of one result, each with a B of its own.

    Args:
        ends: for each group the row behind its last one.
        matrices: A (rows, K, 1), B (N, K, groups) and D (rows, N, 1), in global memory.
    """

    mapped = (True, False)
    """Whether groups have maps of their own of A, and of B, which is a whole batch."""

    def __init__(self, ends: Any, matrices: tuple[Any, Any, Any]) -> None:
        self.ends, self.matrices = ends, matrices
        self.count = ends.shape[0]

    def __getitem__(self, at: tuple[Any, int]) -> Any:
        group, which = at
        if which == 0:
            start, end = rows_of(self.ends, group, self.matrices[0].shape[0])
            return end - start
        return self.matrices[1].shape[which - 1]

    def matrix(self, which: int, group: Any) -> Any:
        """A, or D, of a group."""
        whole = self.matrices[which]
        start, end = rows_of(self.ends, group, whole.shape[0])
        here = cute.domain_offset((start, 0, 0), whole)
        layout = cute.make_layout((end - start, *whole.shape[1:]), stride=whole.stride)
        return cute.make_tensor(here.iterator.align(16), layout)

    def batch(self, group: Any) -> Any:
        """Which matrix of the batch is the B of a group."""
        return group


def rows_of(ends: Any, group: Any, rows: Any) -> tuple[Any, Any]:
    """The first row of a group and the one behind its last; ends that make no sense give no rows,
    and none outside of the matrix."""
    # The first group reads an end, too: a number is cheaper than a branch.
    before = ends[cutlass.max(group - 1, 0)] * cutlass.Int32(group > 0)
    start = cutlass.min(cutlass.max(before, 0), rows)
    return start, cutlass.max(cutlass.min(ends[group], rows), start)


class ListGroups:
    """Groups of matrices anywhere in memory.

    Args:
        table: (groups, 9) of Int64: M, N, K; the addresses of A, B and D; how many elements their
            rows (columns, where those are contiguous) are apart.
        plan: types and majors.
    """

    mapped = (True, True)

    def __init__(self, table: Any, plan: Any) -> None:
        self.table, self.plan = table, plan
        self.count = table.shape[0]

    def __getitem__(self, at: tuple[Any, int]) -> Any:
        return cutlass.Int32(self.table[at])

    def matrix(self, which: int, group: Any) -> Any:
        """A, B or D of a group."""
        rows, columns = (self[group, i] for i in ((0, 2), (1, 2), (0, 1))[which])
        dtype = self.plan.types[which]
        at = cute.make_ptr(
            dtype, self.table[group, 3 + which], cute.AddressSpace.gmem, assumed_align=16
        )
        vec = 128 // dtype.width
        apart = cute.assume(self.table[group, 6 + which] // vec * vec, divby=vec)
        contiguous = (*self.plan.k_major, True)[which]
        stride = (apart, 1, apart) if contiguous else (1, apart, apart)
        return cute.make_tensor(at, cute.make_layout((rows, columns, 1), stride=stride))

    def batch(self, group: Any) -> Any:
        """Which matrix of the batch is the B of a group: a map has but one."""
        return 0
