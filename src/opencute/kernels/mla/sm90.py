# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention for decoding with a latent cache: sm_90a.

A block has 64 rows, the heads of some queries, and a share of the keys. Keys lie in shared memory
once, 64 at a time: what is read along rows as K is read along columns as V. The first warpgroup has
the queries, most of them in registers; it makes weights of a tile while the other two, each with
256 columns of the result, add the values of tiles before. Weights take the place of the tile's last
64 columns, in which no value is. When a tile's values are added its place is free: the first
warpgroup then starts the load of the next tile there. Two blocks with the same keys and other rows
may be a cluster: each loads half of a tile, for both.

Floor: 2 (576 + 512) operations for each key and row at what wgmma reaches on an H200 under load,
about 800 Tflop/s: with 128 rows 11 us for each 32,768 keys of all sequences. Bytes of keys over the
bandwidth are less from about 90 rows on: 8 us for as many keys. A tile takes a multiprocessor 1,152
clocks for scores and 1,024 for values, and its exponentials run beside values of the tile before.
To arrive from the L2 it takes about 3,100 clocks, and half of that where two blocks share it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute, utils
from opencute.kernels.attention.sm80 import Softmax
from opencute.kernels.attention.sm90 import by_rows
from opencute.kernels.decode.combine import combine
from opencute.kernels.decode.parts import packed, split_mode
from opencute.kernels.mla.config import KEYS, LATENT, ROPE, ROWS
from opencute.kernels.mla.sm90_plan import GROUP, HALF, KEPT, STEP, WIDTH, MlaPlan, Tiles

__all__ = ["mla_forward", "mla_kernel"]

REGISTERS = (184, 160)  # of a thread that makes weights, and of one that adds values
WARPS = 2 * GROUP // 32  # of those that add values
WEIGHTS = 1  # the named barrier of the first warpgroup
READ = 2  # the first of those where all threads have read factors of a stage

cpasync, warpgroup = cute.nvgpu.cpasync, cute.nvgpu.warpgroup


@dataclass(frozen=True)
class Barriers:
    """Mbarriers of a block.

    Args:
        loaded: for each stage: a tile is there.
        ready: for each stage: weights and factors of a tile are.
        free: for each stage: its values are added, and its place is free.
        done: the factors of the result are there.
    """

    loaded: Any
    ready: Any
    free: Any
    done: Any


@dataclass(frozen=True)
class Share:
    """The work of a block: its first row, keys of its sequence, its first tile and how many."""

    first: Any
    keys: Any
    start: Any
    count: Any


class Rows(Softmax):
    """Levels and sums of a thread's two rows, and by how much the last tile changed the levels."""

    def __init__(self, scale: Any) -> None:
        super().__init__(2, scale)
        self.factor = cute.make_rmem_tensor(2, cutlass.Float32)

    def raise_levels(self, scores: Any) -> None:
        """Raise the levels to new scores."""
        for r in range(2):
            before = self.level[r]
            self.level[r] = cute.arch.fmax(before, self.largest(scores, r))
            self.factor[r] = cute.math.exp2(before - self.level[r], fastmath=True)
            self.total[r] = self.total[r] * self.factor[r]


class Loads:
    """Loads of tiles; for one warp.

    Args:
        atom, tensor: of keys, (keys, 576, B), or (keys of a page, 576, pages).
        tiles: where they go.
        table: (B, pages) or None.
    """

    def __init__(
        self, atom: Any, tensor: Any, tiles: Tiles, loaded: Any, table: Any, batch: Any,
        share: Share, plan: MlaPlan,
    ) -> None:  # fmt: skip
        self.atom, self.tensor, self.tiles, self.loaded = atom, tensor, tiles, loaded
        self.table, self.batch, self.share, self.plan = table, batch, share, plan

    def page(self, i: Any) -> Any:
        """Where the block's i-th tile is: its page, or its sequence."""
        if self.plan.page is None:
            return self.batch
        last = self.share.start + self.share.count - 1
        tile = cutlass.min(self.share.start + i, last)
        return self.table[self.batch, tile * KEYS // self.plan.page]

    def start(self, i: Any, page: Any, stage: Any) -> None:
        """Start the load of the block's i-th tile."""
        tile = self.share.start + i
        if self.plan.page is not None:
            tile = tile % (self.plan.page // KEYS)
        barrier = self.loaded + stage
        with cute.arch.elect_one():
            size = KEYS * WIDTH * self.plan.dtype.width // 8
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, size)
        g = cute.local_tile(self.tensor[None, None, page], (KEYS, WIDTH), (tile, 0))
        blocks = self.plan.config.cluster
        rank = 0 if blocks == 1 else cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
        into, source = cpasync.tma_partition(
            self.atom, rank, cute.make_layout(blocks),
            cute.group_modes(self.tiles.whole[None, None, stage], 0, 2), cute.group_modes(g, 0, 2),
        )  # fmt: skip
        mask = None if blocks == 1 else (1 << blocks) - 1
        cute.copy(self.atom, source, into, tma_bar_ptr=barrier, mcast_mask=mask)


@cute.jit
def load_queries(
    mNope: Any, mRope: Any, sQ: Any, first: Any, tid: Any, plan: cutlass.Constexpr[MlaPlan]
):  # fmt: skip
    """The queries of a warpgroup: most of them as an operand in registers, the others in shared
    memory. Rows that there are not are zero.

    Args:
        mNope, mRope: (rows, 512) and (rows, 64).
        sQ: (64, 16) and (64, 64): the last elements of each.
    """
    q = cute.make_rmem_tensor(ROWS * STEP * KEPT // GROUP, plan.dtype)
    q.fill(0.0)
    for r in cutlass.range_constexpr(2):
        row = first + tid // 32 * 16 + tid % 32 // 4 + 8 * r
        if row < plan.rows:
            source = (mNope.iterator + mNope.layout((row, tid % 4 * 2))).align(4)
            cute.autovec_copy(
                cute.make_tensor(source, cute.make_layout((2, 2, KEPT), stride=(1, 8, STEP))),
                cute.make_tensor(
                    q.iterator + 2 * r, cute.make_layout((2, 2, KEPT), stride=(1, 4, 8))
                ),
            )
    for m, s, start in ((mNope, sQ[0], STEP * KEPT), (mRope, sQ[1], 0)):
        across = cute.size(s, mode=[1]) // 8
        for i in cutlass.range_constexpr(ROWS * across // GROUP):
            row, column = (tid + i * GROUP) // across, tid % across
            held = cute.make_rmem_tensor(8, plan.dtype)
            held.fill(0.0)
            if first + row < plan.rows:
                source = (m.iterator + m.layout((first + row, start + column * 8))).align(16)
                cute.autovec_copy(cute.make_tensor(source, cute.make_layout(8)), held)
            cute.autovec_copy(held, cute.local_tile(s, (1, 8), (row, column))[0, None])
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.barrier(barrier_id=WEIGHTS, number_of_threads=GROUP)
    layout = cute.make_layout(((2, 2, 2), 1, KEPT), stride=((1, 2, 4), 0, 8))
    return cute.make_tensor(q.iterator, layout)


@cute.jit
def mask(
    acc: Any, sK: Any, limit: Any, first: Any, tid: Any, plan: cutlass.Constexpr[MlaPlan]
):  # fmt: skip
    """Scores of keys that a query does not see become -inf; values that there are not become zero.

    Args:
        sK: (64, 576), the tile.
        limit: how many keys there are from its first one on.
        first: the block's first row.
    """
    scores = by_rows(acc)
    for r in cutlass.range_constexpr(2):
        seen = limit - tid % 4 * 2
        if cutlass.const_expr(plan.causal and plan.queries > 1):
            row = first + tid // 32 * 16 + tid % 32 // 4 + 8 * r
            query = cutlass.min(row // plan.group, plan.queries - 1)
            seen = seen - (plan.queries - 1) + query
        for c in cutlass.range_constexpr(KEYS // 4):
            if seen <= c % 2 + 8 * (c // 2):
                scores[r, c] = -cutlass.Float32.inf
    if limit < KEYS:
        zeros = cute.make_rmem_tensor(8, plan.dtype)
        zeros.fill(0.0)
        cute.arch.barrier(barrier_id=WEIGHTS, number_of_threads=GROUP)  # all have their scores
        across = LATENT // 8
        for at in cutlass.range(limit * across + tid, KEYS * across, GROUP, unroll=1):
            into = cute.local_tile(sK, (1, 8), (at // across, at % across))
            cute.autovec_copy(zeros, into[0, None])


class Scores:
    """Q K^T of a tile.

    Args:
        mmas: with Q in registers, and in shared memory.
        rQ: in registers; sQ: (64, 16, 1) and (64, 64, 1).
    """

    def __init__(self, mmas: Any, rQ: Any, sQ: Any, tiles: Tiles) -> None:
        self.mmas, self.rQ = mmas, rQ
        first, second = (mma.get_slice(0) for mma in mmas)
        self.rK = mmas[0].make_fragment_B(first.partition_B(tiles.latent))
        self.rLast = mmas[1].make_fragment_B(second.partition_B(tiles.last))
        self.rMore, self.rRope = (
            mmas[1].make_fragment_A(second.partition_A(s))[None, None, None, 0] for s in sQ
        )

    def of(self, stage: Any) -> Any:
        """Those of the tile in a stage."""
        first, second = self.mmas
        acc = cute.make_rmem_tensor(first.partition_shape_C((ROWS, KEYS)), cutlass.Float32)
        warpgroup.fence()
        second.set(warpgroup.Field.ACCUMULATE, False)
        cute.gemm(second, acc, self.rRope, self.rLast[None, None, None, stage], acc)
        second.set(warpgroup.Field.ACCUMULATE, True)
        first.set(warpgroup.Field.ACCUMULATE, True)
        rK = self.rK[None, None, None, stage]
        cute.gemm(second, acc, self.rMore[None, None, 0], rK[None, None, KEPT], acc)
        for k in range(KEPT):
            cute.gemm(first, acc, self.rQ[None, None, k], rK[None, None, k], acc)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        return acc


@cute.jit
def weigh(
    products: cutlass.Constexpr[Scores], rows: cutlass.Constexpr[Rows],
    loads: cutlass.Constexpr[Loads], sFactors: Any, barriers: cutlass.Constexpr[Barriers], tid: Any,
):  # fmt: skip
    """Weights of all tiles of a block.

    Args:
        sFactors: (64, stages).
    """
    plan, share, tiles = loads.plan, loads.share, loads.tiles
    stages = plan.config.stages
    leads = cute.arch.make_warp_uniform(tid // 32) == 0
    hidden = plan.queries - 1 if plan.causal else 0
    store = cute.make_tiled_copy_C(
        cute.make_copy_atom(cute.nvgpu.warp.StMatrix8x8x16bOp(False, 4), plan.dtype),
        products.mmas[0],
    )
    part = store.get_slice(tid)
    into = part.partition_D(tiles.last)
    corner = tid // 32 * 16 + tid % 32 // 4
    stage = cutlass.Int32(0)
    phase = cutlass.Int32(0)
    for i in range(share.count):
        page = loads.page(i + (stages - 1))  # known long before it is needed
        cute.arch.mbarrier_wait(barriers.loaded + stage, phase)
        acc = products.of(stage)
        limit = share.keys - (share.start + i) * KEYS
        if limit < KEYS + hidden:
            mask(acc, tiles.whole[None, None, stage], limit, share.first, tid, plan)
        scores = by_rows(acc)
        rows.factor.fill(1.0)
        if rows.above(scores):
            rows.raise_levels(scores)
        rows.weights(scores)
        p = cute.make_rmem_tensor(acc.layout, plan.dtype)
        p.store(acc.load().to(plan.dtype))
        if i >= stages:
            cute.arch.barrier(barrier_id=READ + stage, number_of_threads=3 * GROUP)
        if tid % 4 == 0:
            for r in cutlass.range_constexpr(2):
                sFactors[corner + 8 * r, stage] = rows.factor[r]
        cute.arch.barrier(barrier_id=WEIGHTS, number_of_threads=GROUP)  # all have their scores
        cute.copy(store, part.retile(p), into[None, None, None, stage])
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.mbarrier_arrive(barriers.ready + stage)
        if leads:
            if (i > 0) & (i + (stages - 1) < share.count):
                before = stages - 1 if stage == 0 else stage - 1
                cute.arch.mbarrier_wait(barriers.free + before, 1 - phase if stage == 0 else phase)
                loads.start(i + (stages - 1), page, before)
        stage += 1
        if stage == stages:
            stage = 0
            phase = 1 - phase


@cute.jit
def last_factors(
    rows: cutlass.Constexpr[Rows], sLast: Any, mLogs: Any, share: cutlass.Constexpr[Share],
    barriers: cutlass.Constexpr[Barriers], tid: Any, plan: cutlass.Constexpr[MlaPlan],
):  # fmt: skip
    """What the result is multiplied with at the end, and the logarithms.

    Args:
        sLast: (64,), in the place of a tile's factors.
        mLogs: (H, Sq), or None.
    """
    for stage in cutlass.range_constexpr(plan.config.stages):
        if stage < share.count:  # nobody reads factors any more
            cute.arch.barrier(barrier_id=READ + stage, number_of_threads=3 * GROUP)
    corner = tid // 32 * 16 + tid % 32 // 4
    for r in cutlass.range_constexpr(2):
        total = cute.arch.warp_reduction(rows.total[r], lambda a, b: a + b, threads_in_group=4)
        if tid % 4 == 0:
            sLast[corner + 8 * r] = 0.0 if total == 0.0 else 1.0 / total
            if cutlass.const_expr(mLogs is not None):
                row = share.first + corner + 8 * r
                if row < plan.rows:
                    logs = (rows.level[r] + cute.math.log2(total, fastmath=True)) * math.log(2.0)
                    mLogs[row % plan.group, row // plan.group] = logs
    cute.arch.mbarrier_arrive(barriers.done)


@cute.jit
def add_values(
    mma: Any, rO: Any, tiles: cutlass.Constexpr[Tiles], half: Any, sFactors: Any,
    share: cutlass.Constexpr[Share], barriers: cutlass.Constexpr[Barriers], tid: Any,
    cluster: cutlass.Constexpr[int],
):  # fmt: skip
    """O += P V of all tiles, for 256 columns.

    Args:
        half: which ones.
        sFactors: (64, stages), of tiles, and at the end of the result.
    """
    thr = mma.get_slice(0)
    rP = mma.make_fragment_A(thr.partition_A(tiles.last))
    rV = mma.make_fragment_B(thr.partition_B(tiles.values(half)))
    rows = by_rows(rO)
    rO.fill(0.0)
    corner = tid // 32 * 16 + tid % 32 // 4
    stage = cutlass.Int32(0)
    phase = cutlass.Int32(0)
    for _ in range(share.count):
        cute.arch.mbarrier_wait(barriers.loaded + stage, phase)
        cute.arch.mbarrier_wait(barriers.ready + stage, phase)
        factor = [sFactors[corner, stage], sFactors[corner + 8, stage]]
        cute.arch.barrier_arrive(barrier_id=READ + stage, number_of_threads=3 * GROUP)
        if cute.arch.vote_any_sync((factor[0] != 1.0) | (factor[1] != 1.0)):
            for r in cutlass.range_constexpr(2):
                rows[r, None] = rows[r, None].load() * factor[r]
        warpgroup.fence()
        mma.set(warpgroup.Field.ACCUMULATE, True)
        at = (None, None, None, stage)
        cute.gemm(mma, rO, rP[at], rV[at], rO)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        with cute.arch.elect_one():
            for block in cutlass.range_constexpr(cluster):
                peer = None if cluster == 1 else block
                cute.arch.mbarrier_arrive(barriers.free + stage, peer)
        stage += 1
        if stage == tiles.stages:
            stage = 0
            phase = 1 - phase
    cute.arch.mbarrier_wait(barriers.done, 0)
    for r in cutlass.range_constexpr(2):
        rows[r, None] = rows[r, None].load() * sFactors[corner + 8 * r, 0]


@cute.jit
def write(rO: Any, mO: Any, half: Any, first: Any, tid: Any, plan: cutlass.Constexpr[MlaPlan]):
    """Store a warpgroup's columns.

    Args:
        mO: (rows, 512).
    """
    for r in cutlass.range_constexpr(2):
        row = first + tid // 32 * 16 + tid % 32 // 4 + 8 * r
        if row < plan.rows:
            target = mO.iterator + mO.layout((row, half * HALF + tid % 4 * 2))
            target = target.align(2 * mO.element_type.width // 8)
            for c in cutlass.range_constexpr(HALF // 8):
                part = cute.make_tensor(rO.iterator + (4 * c + 2 * r), cute.make_layout(2))
                held = cute.make_rmem_tensor(2, mO.element_type)
                held.store(part.load().to(mO.element_type))
                cute.autovec_copy(held, cute.make_tensor(target + 8 * c, cute.make_layout(2)))


def tiles_of(lengths: Any, room: Any, first: Any) -> Share:
    """The share of a block."""
    _, split, batch = cute.arch.block_idx()
    keys = room if lengths is None else cutlass.min(cutlass.max(lengths[batch], 0), room)
    tiles = cute.ceil_div(keys, KEYS)
    share = cute.ceil_div(tiles, cute.arch.grid_dim()[1])
    start = split * share
    return Share(first, keys, start, cutlass.max(cutlass.min(tiles - start, share), 0))


def meet(cluster: int) -> None:
    """Wait for all threads of the block, or of the cluster."""
    if cluster == 1:
        cute.arch.sync_threads()
    else:
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()


@cute.kernel
def mla_kernel(
    atom: Any,
    mNope: cute.Tensor,
    mRope: cute.Tensor,
    mK: cute.Tensor,
    mO: cute.Tensor,
    mLogs: Any,
    lengths: Any,
    table: Any,
    room: cutlass.Int32,
    scale_log2: cutlass.Float32,
    mmas: Any,
    plan: cutlass.Constexpr[MlaPlan],
    shares: cutlass.Constexpr[bool],
):
    tid, _, _ = cute.arch.thread_idx()
    block, split, batch = cute.arch.block_idx()
    if cutlass.const_expr(shares):
        cute.arch.griddepcontrol_launch_dependents()  # which wait until all blocks are done
    group = cute.arch.make_warp_uniform(tid // GROUP)
    stages, cluster = plan.config.stages, plan.config.cluster

    memory = utils.SmemAllocator()
    sK, *sQ = (
        memory.allocate_tensor(plan.dtype, s.outer, 1024, swizzle=s.inner)
        for s in (plan.keys_layout(), plan.queries_layout(STEP), plan.queries_layout(ROPE))
    )
    tiles = Tiles(sK, stages)
    sFactors = memory.allocate_tensor(cutlass.Float32, cute.make_layout((ROWS, stages)), 16)
    pointer = memory.allocate_array(cutlass.Int64, 3 * stages + 1, 8)
    barriers = Barriers(*(pointer + i * stages for i in range(4)))
    if tid == 0:
        cpasync.prefetch_descriptor(atom)
        for i in cutlass.range_constexpr(stages):
            cute.arch.mbarrier_init(barriers.loaded + i, 1)
            cute.arch.mbarrier_init(barriers.ready + i, GROUP)
            cute.arch.mbarrier_init(barriers.free + i, cluster * WARPS)
        cute.arch.mbarrier_init(barriers.done, GROUP)
    cute.arch.mbarrier_init_fence()
    meet(cluster)

    share = tiles_of(lengths, room, block * ROWS)
    tid = tid % GROUP
    if group == 0:
        cute.arch.setmaxregister_increase(REGISTERS[0])
        loads = Loads(atom, mK, tiles, barriers.loaded, table, batch, share, plan)
        if cute.arch.make_warp_uniform(tid // 32) == 0:
            for i in cutlass.range_constexpr(stages):
                if i < share.count:
                    loads.start(i, loads.page(i), i)
        outer = (None, None, 0, batch)
        own = [s[None, None, 0] for s in sQ]
        rQ = load_queries(mNope[outer], mRope[outer], own, share.first, tid, plan)
        rows = Rows(scale_log2)
        products = Scores(mmas[:2], rQ, sQ, tiles)
        weigh(products, rows, loads, sFactors, barriers, tid)
        logs = None if mLogs is None else mLogs[split, batch, None, None]
        last_factors(rows, sFactors[None, 0], logs, share, barriers, tid, plan)
    else:
        cute.arch.setmaxregister_decrease(REGISTERS[1])
        half = group - 1
        rO = cute.make_rmem_tensor(mmas[2].partition_shape_C((ROWS, HALF)), cutlass.Float32)
        add_values(mmas[2], rO, tiles, half, sFactors, share, barriers, tid, cluster)
        write(rO, mO[None, None, 0, batch, split], half, share.first, tid, plan)
    if cutlass.const_expr(cluster > 1):  # the other block may still want to say what is free
        meet(cluster)


@cute.jit
def mla_forward(
    q_nope: cute.Tensor,
    q_rope: cute.Tensor,
    cache: cute.Tensor,
    out: cute.Tensor,
    logs: Any,
    lengths: Any,
    table: Any,
    parts: Any,
    part_logs: Any,
    scale_log2: cutlass.Float32,
    plan: cutlass.Constexpr[MlaPlan],
):
    """Launch the kernel, and with several splits the one that puts them together.

    Args:
        q_nope, out: (B, Sq, H, 512); q_rope: (B, Sq, H, 64).
        cache: (B, S, 576), or (pages, keys of a page, 576). Rows start at multiples of 16 bytes.
        logs: (B, H, Sq) in f32, or None.
        lengths: keys of each sequence, (B,) of i32, or None.
        table: the pages of each sequence, (B, pages) of i32, or None.
        parts, part_logs: (splits, B, Sq, H, 512) and (splits, B, H, Sq) in f32, with several
            splits.
        scale_log2: what scores are multiplied with before 2 is raised to them.
    """
    steps = tuple(cute.assume(s, divby=8) for s in cache.stride[:2])
    mK = cute.make_tensor(
        cache.iterator.align(16),
        cute.make_layout((cache.shape[1], WIDTH, cache.shape[0]), stride=(steps[1], 1, steps[0])),
    )
    room = mK.shape[0] if plan.page is None else table.shape[1] * plan.page
    into, into_logs = parts, part_logs
    if cutlass.const_expr(parts is None):
        into, into_logs = split_mode(out), split_mode(logs)
    place = cute.slice_(plan.keys_layout(), (None, None, 0))
    cluster = plan.config.cluster
    op = cpasync.CopyBulkTensorTileG2SOp() if cluster == 1 else (
        cpasync.CopyBulkTensorTileG2SMulticastOp()
    )  # fmt: skip
    atom, mK = cpasync.make_tiled_tma_atom(op, mK, place, (KEYS, WIDTH), cluster)
    mla_kernel(
        atom, *(packed(t, plan.group) for t in (q_nope, q_rope)), mK, packed(into, plan.group),
        into_logs, lengths, table, room, scale_log2, plan.products(), plan, parts is not None,
    ).launch(
        grid=[cute.ceil_div(plan.rows, ROWS), into.shape[0], q_nope.shape[0]],
        block=[3 * GROUP, 1, 1], min_blocks_per_mp=1,
        cluster=[cluster, 1, 1] if cluster > 1 else None,
    )  # fmt: skip
    if cutlass.const_expr(parts is not None):
        combine(parts, part_logs, out, logs, LATENT, plan.slots, dependent=True)
