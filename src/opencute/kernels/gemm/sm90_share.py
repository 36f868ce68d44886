# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which steps along k of which tiles are a block's, and how its sums get to the block that finishes
a tile: `share` for Hopper.

Split: the blocks of a cluster share each of the cluster's tiles. Each of them finishes some parts
of it, and gets the sums of those from the others in its shared memory.

Stream: the first tiles, between one and two for each cluster, stand in one line, of which each
cluster takes an equal part, beginning at its end, as `share` explains; then clusters take whole
tiles. Sums are left in global memory.

Sums are added in an order that depends on the shapes only::

    work = Work(params, k_tiles, plan)
    while work.more():
        tile, first, count = work.part()      # of its steps, first .. first + count
        ...
        work.advance()
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute, pipeline
from opencute.kernels.gemm.sm90_plan import CONSUMERS, ROWS

__all__ = ["ClusterSums", "MemorySums", "Work"]

_VEC = 4  # sums that are moved at once


class Work:
    """What a block does.

    Args:
        params: the tiles.
        k_tiles: steps of a tile.
        plan: the plan.
    """

    def __init__(self, params: Any, k_tiles: Any, plan: Any) -> None:
        self.params, self.plan = params, plan
        self.k_tiles = cutlass.Int32(k_tiles)
        self.rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
        _, _, self.cluster = cute.arch.block_idx()
        _, _, self.clusters = cute.arch.grid_dim()
        self.total = cutlass.Int32(params.num_clusters)
        self.next = cutlass.Int32(self.cluster)  # tile that this cluster takes as a whole
        self.begin, self.end = cutlass.Int32(0), cutlass.Int32(0)
        if plan.config.split > 1:
            self.first = self.rank * self.k_tiles // plan.config.split
            self.count = (self.rank + 1) * self.k_tiles // plan.config.split - self.first
        if plan.config.stream:
            whole = cutlass.max(self.total // self.clusters - 1, 0)
            # Nothing is shared where all waves are full.
            full = self.total // self.clusters * self.clusters == self.total
            shared = cutlass.Int32(cute.where(full, 0, self.total - whole * self.clusters))
            steps = shared * self.k_tiles
            self.each = steps // self.clusters
            self.rest = steps - self.each * self.clusters
            self.begin, self.end = self.begin_of(self.cluster), self.begin_of(self.cluster + 1)
            self.next = self.next + shared

    def begin_of(self, cluster: Any) -> Any:
        """The first shared step of a cluster."""
        return cluster * self.each + cutlass.min(cluster, self.rest)

    def more(self) -> Any:
        """Whether there is anything left to do."""
        return (self.end > self.begin) | (self.next < self.total)

    def goes_on(self) -> Any:
        """Whether there is another tile after this one, of a split."""
        return self.next + self.clusters < self.total

    def part(self) -> tuple[Any, Any, Any]:
        """Number of a tile, first of its steps, and how many of them."""
        if self.plan.config.split > 1:
            return self.next, self.first, self.count
        return _part(self)

    def place(self, number: Any) -> tuple[Any, Any, Any]:
        """Row, column and batch of this block's tile in a cluster's."""
        across, down = self.plan.config.cluster
        if self.plan.config.split > 1:
            inside: tuple[Any, ...] = (0, 0, 0)
        else:
            inside = (self.rank % across, self.rank // across, 0)
        coord = self.params.cluster_coord(number)
        sizes = (across, down, 1)
        return tuple(cutlass.Int32(c * s + i) for c, s, i in zip(coord, sizes, inside, strict=True))  # type: ignore[return-value]

    def advance(self) -> None:
        """Go on."""
        if self.plan.config.split > 1:
            self.next = self.next + self.clusters
        else:
            _advance(self)

    def finishes(self, first: Any, count: Any) -> Any:
        """Whether a part is the last one of its tile."""
        return first + count == self.k_tiles


@cute.jit
def _part(work: Any) -> Any:
    tile, first, count = work.next, cutlass.Int32(0), work.k_tiles
    if work.end > work.begin:
        tile = (work.end - 1) // work.k_tiles
        start = tile * work.k_tiles
        first = cutlass.max(work.begin - start, 0)
        count = work.end - start - first
    return tile, first, count


@cute.jit
def _advance(work: Any) -> None:
    if work.end > work.begin:
        start = (work.end - 1) // work.k_tiles * work.k_tiles
        work.end = cutlass.max(work.begin, start)
    else:
        work.next = work.next + work.clusters


def _rows(t: Any, index: Any) -> Any:
    """Where a warpgroup's sums are: (vector, threads, vectors)."""
    return t[None, None, None, index]


class MemorySums:
    """Sums in global memory, and the flags that say they are there.

    A flag is up while it is the call's own number, and whoever has waited for it takes it down: so
    nobody has to take them down before, and what another call has left there says nothing.

    Args:
        sums: (4, 128, vectors, warpgroups of all blocks).
        flags: (warpgroups of all blocks,), with anything in them but `tag`.
        tag: the call's own number, not 0.
        work: of this block.
        barrier: where a warpgroup meets.
        who: index of the warpgroup, and of the thread in it.
    """

    def __init__(
        self, sums: Any, flags: Any, tag: Any, work: Any, barrier: Any, who: Any
    ) -> None:  # fmt: skip
        self.sums, self.flags, self.tag = sums, flags, tag
        self.work, self.barrier = work, barrier
        self.group, self.tid = who
        across, down = work.plan.config.cluster
        self.cells = across * down

    def index(self, cluster: Any) -> Any:
        """Of the sums of this block's place in a cluster."""
        return (cluster * self.cells + self.work.rank) * CONSUMERS + self.group

    def give(self, acc: Any) -> None:
        """Leave sums for the cluster that goes on with this tile."""
        _give(self, acc)

    def take(self, acc: Any, tile: Any) -> None:
        """Add what clusters before this one have left of the same tile, nearest first."""
        _take(self, acc, tile)


@cute.jit
def _give(sums: cutlass.Constexpr, acc: Any):
    at = sums.index(sums.work.cluster)
    write(acc, _rows(sums.sums, at), sums.tid)
    sums.barrier.arrive_and_wait()
    if sums.tid == 0:
        cute.arch.store(sums.flags.iterator + at, sums.tag, sem="release", scope="gpu")


@cute.jit
def _take(sums: cutlass.Constexpr, acc: Any, tile: Any):
    work = sums.work
    start = tile * work.k_tiles
    cluster = work.cluster
    while work.begin_of(cluster) > start:
        cluster = cluster - 1
        at = sums.index(cluster)
        if sums.tid == 0:
            flag = sums.flags.iterator + at
            while cute.arch.load(flag, cutlass.Int64, sem="acquire", scope="gpu") != sums.tag:
                pass
            cute.arch.store(flag, cutlass.Int64(0), sem="relaxed", scope="gpu")
        sums.barrier.arrive_and_wait()
        add(acc, _rows(sums.sums, at), sums.tid)


@cute.jit
def write(acc: Any, into: Any, tid: Any):
    """Write a thread's sums."""
    held = cute.make_rmem_tensor((_VEC,), acc.element_type)
    for i in cutlass.range_constexpr(cute.size(acc) // _VEC):
        for j in cutlass.range_constexpr(_VEC):
            held[j] = acc[i * _VEC + j]
        cute.autovec_copy(held, into[None, tid, i])


@cute.jit
def add(acc: Any, others: Any, tid: Any):
    """Add a thread's sums of another block."""
    more = cute.make_rmem_tensor((_VEC, cute.size(acc) // _VEC), acc.element_type)
    for i in cutlass.range_constexpr(cute.size(acc) // _VEC):
        cute.autovec_copy(others[None, tid, i], more[None, i])
    for i in cutlass.range_constexpr(cute.size(acc)):
        acc[i] = acc[i] + more[i]


class ClusterSums:
    """Sums in the shared memory of a cluster's blocks: each gets those that it finishes.

    Args:
        smem: the allocator.
        plan: the plan.
        who: index of the warpgroup, and of the thread in it.
        work: of this block.
    """

    def __init__(self, smem: Any, plan: Any, who: Any, work: Any) -> None:
        self.plan, self.work, self.rank = plan, work, work.rank
        self.group, self.tid = who
        others = plan.config.split - 1
        self.values = ROWS * plan.columns // 128  # a thread's of a part
        self.slot = smem.allocate_tensor(
            plan.acc, sums_layout(self.values * plan.shares, CONSUMERS * others), 16
        )
        self.turn = cutlass.Int32(0)
        kind = pipeline.PipelineOp.AsyncThread
        warps = pipeline.CooperativeGroup(pipeline.Agent.Thread, 4 * others)
        told = warps
        if plan.push:  # by bytes, which one thread expects
            told = pipeline.CooperativeGroup(pipeline.Agent.Thread, 1)
        self.ready = pipeline.MbarrierArray(None, CONSUMERS, (kind, told))
        self.read = pipeline.MbarrierArray(None, CONSUMERS, (kind, warps))

    def init(self) -> None:
        """Make the barriers, by one thread."""
        self.ready.init()
        self.read.init()

    def exchange(self, acc: Any) -> Any:
        """The sums of what this block finishes, of all blocks, for some of this one's."""
        mine = cute.make_rmem_tensor((self.values * self.plan.shares,), acc.element_type)
        _give_near(self, acc, mine)
        _take_near(self, mine)
        self.turn = self.turn + 1
        return mine

    def other(self, index: Any) -> Any:
        """Rank of one of the other blocks."""
        return index + cute.where(index < self.rank, 0, 1)

    def from_block(self, index: Any) -> Any:
        """Which of a block's slots one of the other blocks, or this warpgroup of it, writes."""
        return index * CONSUMERS + self.group


@cute.jit
def _give_near(sums: cutlass.Constexpr, acc: Any, mine: Any):
    """Write what other blocks finish to their shared memory, and tell them."""
    plan, values = sums.plan, sums.values
    split = plan.config.split
    if cutlass.const_expr(plan.push):
        _expect_near(sums)
    sums.read.wait(sums.group, (sums.turn & 1) ^ 1)
    for rank in cutlass.range_constexpr(split):
        parts = range(rank, plan.parts, split)
        own = [acc[part * values + i] for part in parts for i in range(values)]
        if rank == sums.rank:
            for i in cutlass.range_constexpr(len(own)):
                mine[i] = own[i]
        elif cutlass.const_expr(plan.push):
            _push_near(sums, own, rank)
        else:
            far = cute.make_tensor(
                cute.arch.map_dsmem_ptr(sums.slot.iterator, rank), sums.slot.layout
            )
            into = _rows(far, sums.from_block(sums.rank - cute.where(sums.rank > rank, 1, 0)))
            held = cute.make_rmem_tensor((_VEC,), acc.element_type)
            for i in cutlass.range_constexpr(len(own) // _VEC):
                for j in cutlass.range_constexpr(_VEC):
                    held[j] = own[i * _VEC + j]
                cute.autovec_copy(held, into[None, sums.tid, i])
    if cutlass.const_expr(not plan.push):
        _tell_near(sums)


@cute.jit
def _tell_near(sums: cutlass.Constexpr):
    """Tell the other blocks that this warp's sums are there."""
    cute.arch.sync_warp()
    cute.arch.fence_acq_rel_cluster()  # of those who arrive, for all that the warp has written
    lane = cute.arch.lane_idx()
    if lane < sums.plan.config.split - 1:
        sums.ready.arrive(sums.group, sums.other(lane))


@cute.jit
def _expect_near(sums: cutlass.Constexpr):
    """Say how many bytes come from other blocks."""
    plan, split = sums.plan, sums.plan.config.split
    if sums.tid == 0:
        parts = plan.parts // split + cute.where(sums.rank < plan.parts % split, 1, 0)
        each = 4 * 128 * sums.values * (split - 1)
        cute.arch.mbarrier_arrive_and_expect_tx(sums.ready.get_barrier(sums.group), parts * each)


def _push_near(sums: Any, own: list[Any], rank: int) -> None:
    """Send sums to where they count their bytes."""
    index = sums.from_block(sums.rank - cute.where(sums.rank > rank, 1, 0))
    for i in range(len(own) // _VEC):
        into = sums.slot.iterator + sums.slot.layout((0, sums.tid, i, index))
        values = tuple(own[i * _VEC : (i + 1) * _VEC])
        cute.arch.st_async(into, values, sums.ready.get_barrier(sums.group), rank)


@cute.jit
def _take_near(sums: cutlass.Constexpr, mine: Any):
    """Add what other blocks have left, in their order."""
    split = sums.plan.config.split
    sums.ready.wait(sums.group, sums.turn & 1)
    cute.arch.fence_acq_rel_cluster()
    for i in cutlass.range_constexpr(split - 1):
        add(mine, _rows(sums.slot, sums.from_block(i)), sums.tid)
    # Those who have more to give may write again. When there is no more, they may be gone.
    if sums.work.goes_on():
        cute.arch.sync_warp()
        cute.arch.fence_acq_rel_cluster()
        lane = cute.arch.lane_idx()
        if lane < split - 1:
            sums.read.arrive(sums.group, sums.other(lane))


def sums_layout(sums: int, groups: Any) -> Any:
    """Of sums of warpgroups: a thread's vectors of four, next to those of the next thread."""
    return cute.make_layout(
        (_VEC, 128, sums // _VEC, groups), stride=(1, _VEC, _VEC * 128, sums * 128)
    )
