# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Results of blocks that share the keys of a sequence, put together by these blocks themselves.

`ClusterMerge`: they are a cluster. Each block finishes some columns of all rows, and gets them from
the others in its shared memory: numbers that are sent count their bytes there, so that nobody
waits for anything but those. What is sent is a vector for each row of a block, once.

`FlagMerge`: each block leaves what it has in memory, and then a flag; the last one waits for the
flags of the others. It is started after them, so that they are running or done. Flags are those of
the call, as in stream-K products: up while they are the call's own number, and taken down by
whoever has waited for them, so that memory may hold anything before, calls on several streams
share none, and a captured call may be made again.

Both replace `finish`'s `Results`::

    merge = ClusterMerge(memory, block, plan)
    merge.begin(tid, rows)                    # before the first tile
    finish(walk, softmax, rO, ..., merge.results(Results(...)), tid)
    merge.end(tid, rows)

Floor: one way from a multiprocessor to another; for flags, to memory and back.
"""

from __future__ import annotations

import math
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.decode.combine import LOWEST, inverse, weight_of
from opencute.kernels.decode.parts import DecodePlan, Results, merged

__all__ = ["ClusterMerge", "FlagMerge", "splits_ahead"]

_VEC = 4
_MOST_AHEAD = 16  # vectors of splits that a thread reads at a time


def splits_ahead(splits: int) -> int:
    """How many of so many splits a thread reads at a time: a power of two, so that few kernels are
    compiled."""
    return min(_MOST_AHEAD, 1 << (splits - 1).bit_length())


class ClusterMerge:
    """Blocks of a cluster that send each other what they finish.

    Args:
        memory: the allocator of shared memory.
        block: this block. The cluster may have several heads of keys or sequences: the order of
            blocks in a cluster is that of heads, then splits, then sequences.
        plan: the plan.
    """

    def __init__(self, memory: Any, block: Any, plan: DecodePlan) -> None:
        self.plan, self.split, self.splits = plan, block.split, plan.config.splits
        heads, batches = plan.beyond
        self.step = heads
        self.rank = 0 if heads == 1 else block.place % heads  # of the first split
        if batches > 1:
            self.rank = self.rank + block.batch % batches * (heads * self.splits)
        self.each = plan.head_dim // _VEC // self.splits
        rows, size = min(plan.config.rows, plan.queries * plan.group), _VEC * self.each
        layout = cute.make_layout((rows, size, self.splits), stride=(size, 1, rows * size))
        self.sums = memory.allocate_tensor(cutlass.Float32, layout, 16)
        layout = cute.make_layout((rows, self.splits, 2), stride=(2, 2 * rows, 1))
        self.stats = memory.allocate_tensor(cutlass.Float32, layout, 16)
        self.barrier = memory.allocate_array(cutlass.Int64, 1, 8)
        self.into: Any = None

    def begin(self, tid: Any, rows: Any) -> None:
        """Make the barrier, and tell the other blocks.

        Args:
            rows: of the block, that there are.
        """
        _begin_cluster(self, tid, rows)

    def results(self, into: Results) -> ClusterMerge:
        """What `finish` stores with.

        Args:
            into: where the results of all blocks go.
        """
        self.into = into
        cute.arch.cluster_wait()  # the others have their barriers
        return self

    @property
    def first(self) -> Any:
        """The block's first row."""
        return self.into.first

    def put(self, row: Any, column: Any, level: Any, total: Any, sums: Any) -> None:
        """Send a vector to the block that finishes it; levels go with the first of its vectors."""
        _send(self, row, column, level, total, sums)

    def end(self, tid: Any, rows: Any) -> None:
        """Store what this block finishes, when it has come."""
        _end_cluster(self, tid, rows)


@cute.jit
def _begin_cluster(merge: cutlass.Constexpr[ClusterMerge], tid: Any, rows: Any) -> None:
    if tid == 0:
        cute.arch.mbarrier_init(merge.barrier, 1)
        cute.arch.mbarrier_init_fence()
        each = 4 * (_VEC * merge.each + 2)  # bytes that a block sends of a row
        cute.arch.mbarrier_arrive_and_expect_tx(merge.barrier, rows * (merge.splits * each))
    cute.arch.cluster_arrive_relaxed()


@cute.jit
def _send(
    merge: cutlass.Constexpr[ClusterMerge], row: Any, column: Any, level: Any, total: Any,
    sums: Any,
) -> None:  # fmt: skip
    owner, place = column // merge.each, column % merge.each
    owner = merge.rank + owner * merge.step
    into = merge.sums.iterator + merge.sums.layout((row, place * _VEC, merge.split))
    cute.arch.st_async(into, tuple(sums[i] for i in range(_VEC)), merge.barrier, owner)
    if place == 0:
        into = merge.stats.iterator + merge.stats.layout((row, merge.split, 0))
        cute.arch.st_async(into, (level, total), merge.barrier, owner)


@cute.jit
def _end_cluster(merge: cutlass.Constexpr[ClusterMerge], tid: Any, rows: Any) -> None:
    plan = merge.plan
    cute.arch.mbarrier_wait(merge.barrier, 0)
    for at in range(tid, rows * merge.each, plan.threads * plan.config.groups):
        row, place = at // merge.each, at % merge.each
        column = merge.split * merge.each + place
        merge.into.put(row, column, *merged(merge.sums, merge.stats, row, place))


class FlagMerge:
    """A block that puts together what the others have left in memory.

    Args:
        parts: (rows, D, splits) of its head, in f32; logs: (splits, H, Sq).
        flags: (splits,), with anything in them but `tag`.
        tag: the call's own number, not 0.
        split: which block this is.
        plan: the plan.
    """

    def __init__(
        self, parts: Any, logs: Any, flags: Any, tag: Any, split: Any, plan: DecodePlan
    ) -> None:
        self.parts, self.logs, self.flags, self.tag = parts, logs, flags, tag
        self.split, self.plan = split, plan
        self.into: Any = None

    def results(self, into: Results) -> Results:
        """What `finish` stores with: the block's own part.

        Args:
            into: where the results of all blocks go, in the places of `parts`.
        """
        self.into = into
        own = (self.parts[None, None, self.split], self.logs[self.split, None, None])
        return Results(*own, into.first, into.head, into.scale, into.group)

    def end(self, tid: Any, rows: Any) -> None:
        """Leave the flag; or wait for all flags, and store what they stand for."""
        _end_flags(self, tid, rows)


@cute.jit
def _end_flags(merge: cutlass.Constexpr[FlagMerge], tid: Any, rows: Any) -> None:
    plan = merge.plan
    threads = plan.threads * plan.config.groups
    across = plan.head_dim // _VEC
    others = cute.arch.grid_dim()[1] - 1
    cute.arch.sync_threads()  # all of the part is written
    if merge.split < others:
        if tid == 0:
            flag = merge.flags.iterator + merge.split
            cute.arch.store(flag, merge.tag, sem="release", scope="gpu")
    else:
        for i in range(tid, others, threads):
            flag = merge.flags.iterator + i
            while cute.arch.load(flag, cutlass.Int64, sem="acquire", scope="gpu") != merge.tag:
                pass
            cute.arch.store(flag, cutlass.Int64(0), sem="relaxed", scope="gpu")
        cute.arch.sync_threads()
        for at in range(tid, rows * across, threads):
            _collect(merge, at // across, at % across)


@cute.jit
def _collect(merge: cutlass.Constexpr[FlagMerge], row: Any, column: Any) -> None:
    """Put a vector of all splits together, and store it."""
    ahead, into = merge.plan.slots, merge.into
    splits = cute.arch.grid_dim()[1]
    level = cutlass.Float32(LOWEST)
    total = cutlass.Float32(0.0)
    sums = cute.make_rmem_tensor(_VEC, cutlass.Float32)
    sums.fill(0.0)
    held = cute.make_rmem_tensor((_VEC, ahead), cutlass.Float32)
    known = cute.make_rmem_tensor(ahead, cutlass.Float32)
    for first in range(0, splits, ahead):
        for i in cutlass.range_constexpr(ahead):  # all of these reads before one is used
            s = cutlass.min(first + i, splits - 1)
            source = merge.parts.iterator + merge.parts.layout((into.first + row, column * _VEC, s))
            source = cute.make_tensor(source.align(4 * _VEC), cute.make_layout(_VEC))
            cute.autovec_copy(source, held[None, i])
            known[i] = merge.logs[(s, *into.log_place(row))]
        for i in cutlass.range_constexpr(ahead):
            there = (known[i] > -cutlass.Float32.inf) & (first + i < splits)
            log = cute.where(there, known[i], -cutlass.Float32.inf)
            before = level
            level = cute.arch.fmax(before, log)
            old, new = weight_of(before, level), weight_of(log, level)
            total = total * old + new
            sums.store(sums.load() * old + held[None, i].load() * new)
    result = cute.make_rmem_tensor(_VEC, into.out.element_type)
    result.store((sums.load() * inverse(total)).to(into.out.element_type))
    target = into.out.iterator + into.out.layout((into.first + row, column * _VEC))
    alignment = _VEC * into.out.element_type.width // 8
    cute.autovec_copy(result, cute.make_tensor(target.align(alignment), cute.make_layout(_VEC)))
    if cutlass.const_expr(into.logs is not None):
        if column == 0:
            log = level + cute.math.log2(total, fastmath=True) * math.log(2.0)
            into.logs[into.log_place(row)] = log
