# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention with warpgroups: sm_90a, one block for each tile of queries.

One warp of a block fills rings of K and V by TMA. Each of two or three warpgroups has 64 queries of
a head and walks over the keys, last ones first. It starts S = Q K^T of a tile and then O += P V of
the tile before, and makes the weights of the new tile while that product runs: the wait for the
next values stands between, else ptxas moves the wait for the product before the exponentials.
Warpgroups start their products in turns, so that one's exponentials run beside another's products.

Floor: 4 B H Sq Sk D operations (half of them when causal) at what wgmma reaches on an H200 at its
clock under load, about 800 Tflop/s: 690 us for 4x16x4096x128.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute, pipeline, utils
from opencute.kernels.attention.parts import as_heads
from opencute.utils import hopper_helpers

__all__ = ["WarpgroupPlan", "attention_forward", "attention_kernel"]

LOWEST = -3.0e38  # where levels start; not -inf, which a row of no key would subtract from itself
GROUP = 128  # threads of a warpgroup
ROWS = 64  # queries of a warpgroup
TURNS = 1  # the first of the named barriers of turns
STORES = 5  # the first of those before stores

cpasync, warpgroup = cute.nvgpu.cpasync, cute.nvgpu.warpgroup


@dataclass(frozen=True)
class WarpgroupPlan:
    """What is fixed when attention is compiled.

    Args:
        dtype: of queries: Float16, BFloat16, or Float8E4M3FN or Float8E5M2 where blocks stay.
        head_dim: elements of a head.
        groups: warpgroups that compute, 2 or 3.
        n: keys of a tile.
        stages: tiles of K, and of V, in shared memory.
        before, after: how many keys before and after its own place, counted from the end, a query
            sees; None: all.
        group: heads of queries to one head of keys.
        queries: tiles of queries in shared memory.
        blocks: how many blocks stay; 0: each tile of queries has one of its own.
        slack: how far scores may be above what they are compared with, as a power of two, before
            that follows and what was summed is scaled.
        out: the type of the result; None: that of the operands.
        turned: tiles of values of eight bits as products take them; 0: as many as `stages`.
        of_k, of_v: types of keys and values, of eight bits as queries; None: that of queries.
    """

    dtype: Any
    head_dim: int
    groups: int
    n: int
    stages: int
    before: int | None
    after: int | None
    group: int
    queries: int = 1
    blocks: int = 0
    slack: float = 0.0
    out: Any = None
    turned: int = 0
    of_k: Any = None
    of_v: Any = None

    @property
    def types(self) -> tuple[Any, Any, Any]:
        """Of queries, keys and values."""
        return self.dtype, self.of_k or self.dtype, self.of_v or self.dtype

    @property
    def of_weights(self) -> Any:
        """The type of weights: of two of eight bits, that with more of them for a number's
        digits."""
        return cutlass.Float8E4M3FN if self.narrow else self.dtype

    @property
    def narrow(self) -> bool:
        """Whether queries, keys and values have eight bits."""
        return self.dtype.width == 8

    @property
    def result(self) -> Any:
        """The type of the result."""
        return self.out or self.dtype

    @property
    def lift(self) -> float:
        """Weights, of e4m3, are so many powers of two larger, so that small ones have bits.

        The largest weight is then 448, the largest number of e4m3; with whole numbers of `slack` a
        maximum that is one from the start weighs exactly 7 * 2**n, too. Weights that count for
        most would else be rounded the same way in all rows.
        """
        return math.log2(448) - self.slack if self.narrow else 0.0

    @property
    def m(self) -> int:
        """Queries of a block."""
        return ROWS * self.groups

    @property
    def registers(self) -> tuple[int, int]:
        """Of a thread that loads, and of one that computes."""
        if self.narrow:
            return (40, 232) if self.groups == 2 else (32, 160)
        return (24, 240) if self.groups == 2 else (32, 160)

    def product(self, of: tuple[Any, Any], n: int, b_major: Any, source: Any) -> Any:
        """A tiled MMA of 64 rows and n columns, for one warpgroup, of operands of two types."""
        return hopper_helpers.make_trivial_tiled_mma(
            *of, warpgroup.OperandMajorMode.K, b_major, cutlass.Float32, (1, 1, 1), (ROWS, n),
            source,
        )  # fmt: skip

    def products(self) -> tuple[Any, Any]:
        """Those of Q K^T, and of P V with P in registers."""
        major, source = warpgroup.OperandMajorMode, warpgroup.OperandSource
        of_q, of_k, of_v = self.types
        values = major.K if self.narrow else major.MN
        return (
            self.product((of_q, of_k), self.n, major.K, source.SMEM),
            self.product((self.of_weights, of_v), self.head_dim, values, source.RMEM),
        )

    def layouts(self) -> tuple[Any, Any, Any]:
        """Shared memory of Q (or O), K and V: the last mode is the warpgroup, or the stage."""
        by_rows = utils.LayoutEnum.ROW_MAJOR
        values = by_rows if self.narrow else utils.LayoutEnum.COL_MAJOR
        first, second = (ROWS, self.n, self.head_dim), (ROWS, self.head_dim, self.n)
        places = self.groups * self.queries
        of_q, of_k, of_v = self.types
        return (
            hopper_helpers.make_smem_layout_a(by_rows, first, of_q, places),
            hopper_helpers.make_smem_layout_b(by_rows, first, of_k, self.stages),
            hopper_helpers.make_smem_layout_b(values, second, of_v, self.turned or self.stages),
        )


@dataclass(frozen=True)
class Places:
    """Which keys the queries of a block see.

    Args:
        first: place of the block's first query among the keys, counted from the end.
        keys: how many there are.
    """

    first: Any
    keys: Any
    plan: WarpgroupPlan

    def tiles(self) -> tuple[Any, Any]:
        """The first tile, and how many; one at least, so that there is always something to do."""
        plan = self.plan
        count = cutlass.max(cute.ceil_div(self.keys, plan.n), 1)
        start, end = 0, count
        if plan.after is not None:
            past = cutlass.max(self.first + (plan.m + plan.after), 1)
            end = cutlass.min(count, cute.ceil_div(past, plan.n))
        if plan.before is not None:
            start = cutlass.max(self.first - plan.before, 0) // plan.n
            start = cutlass.min(start, end - 1)
        return start, end - start


def by_rows(acc: Any) -> Any:
    """Accumulators of a warpgroup as (rows of a thread, columns)."""
    columns = cute.size(acc) // 4
    layout = cute.make_layout((2, (2, columns)), stride=(2, (1, 4)))
    return cute.make_tensor(acc.iterator, layout)


@cute.jit
def produce(
    loads_q: Any, loads_k: Any, loads_v: Any, q: Any, k: Any, v: Any, block: Any, places: Any,
    plan: cutlass.Constexpr[WarpgroupPlan],
):  # fmt: skip
    """Load Q once, and tiles of K and V.

    Args:
        q, k, v: an atom, coordinates (values, tiles) and shared memory (values, places).
    """
    start, count = places.tiles()
    keys, values = loads_k.make_producer(), loads_v.make_producer()
    handle = loads_q.make_producer().acquire_and_advance()
    for i in cutlass.range_constexpr(plan.groups):
        at = (None, block * plan.groups + i)
        cute.copy(q[0], q[1][at], q[2][None, i], tma_bar_ptr=handle.barrier)
    handle.commit()
    for i in range(count):
        tile = start + count - 1 - i
        handle = keys.acquire_and_advance()
        cute.copy(k[0], k[1][None, tile], k[2][None, handle.index], tma_bar_ptr=handle.barrier)
        handle.commit()
        handle = values.acquire_and_advance()
        cute.copy(v[0], v[1][None, tile], v[2][None, handle.index], tma_bar_ptr=handle.barrier)
        handle.commit()


class Rows:
    """What is known of a thread's two rows: the level that scores are compared with, the sum of
    weights, and by how much the last tile changed the level.

    Args:
        scale: what scores are multiplied with before 2 is raised to them.
        varies: whether that differs from one tile of queries to the next: see `take_scale`.
    """

    def __init__(self, scale: Any, plan: WarpgroupPlan, varies: bool = False) -> None:
        self.slack, self.lift = plan.slack, plan.lift
        self.fixed, self.held = scale, None
        if varies:
            self.held = cute.make_rmem_tensor(1, cutlass.Float32)
        self.level = cute.make_rmem_tensor(2, cutlass.Float32)  # scaled
        self.total = cute.make_rmem_tensor(2, cutlass.Float32)
        self.factor = cute.make_rmem_tensor(2, cutlass.Float32)
        self.level.fill(LOWEST)
        self.total.fill(0.0)

    @property
    def scale(self) -> Any:
        """What scores are multiplied with."""
        return self.fixed if self.held is None else self.held[0]

    def take_scale(self, scale: Any) -> None:
        """Go on with another scale."""
        if self.held is not None:
            self.held[0] = scale

    def weigh(self, acc: Any) -> None:
        """Scores become weights, and are summed."""
        scores = by_rows(acc)
        largest = [self._largest(scores[r, None]) for r in range(2)]
        for r in range(2):
            level = self._level(r, largest[r])
            if self.lift:
                level = level - self.lift
            p = cute.math.exp2(scores[r, None].load() * self.scale - level, fastmath=True)
            scores[r, None] = p
            total = self.total[r] * self.factor[r]
            self.total[r] = p.reduce(cute.ReductionOp.ADD, total, 0)

    def _level(self, r: int, largest: Any) -> Any:
        """The level of a row of which a thread has a largest score."""
        most = cute.arch.warp_reduction(largest, cute.arch.fmax, threads_in_group=4)
        before = self.level[r]
        level = cute.arch.fmax(before, most * self.scale)
        if self.slack:
            level = cute.where(level > before + self.slack, level, before)
        self.factor[r] = cute.math.exp2(before - level, fastmath=True)
        self.level[r] = level
        return level

    def compare(self, acc: Any) -> None:
        """Levels and sums follow scores, of which `weigh_some` makes weights."""
        scores = by_rows(acc)
        largest = [self._largest(scores[r, None]) for r in range(2)]
        for r in range(2):
            self._level(r, largest[r])
            self.total[r] = self.total[r] * self.factor[r]

    def weigh_some(self, scores: Any) -> None:
        """Scores become weights, and are summed; (rows, columns)."""
        for r in range(2):
            level = self.level[r] - self.lift
            p = cute.math.exp2(scores[r, None].load() * self.scale - level, fastmath=True)
            scores[r, None] = p
            self.total[r] = p.reduce(cute.ReductionOp.ADD, self.total[r], 0)

    def begin(self) -> tuple[Any, Any]:
        """Begin with other rows; levels and sums of those so far."""
        levels, totals = ((x[0], x[1]) for x in (self.level, self.total))
        self.level.fill(LOWEST)
        self.total.fill(0.0)
        return levels, totals

    def _largest(self, scores: Any) -> Any:
        """The largest of a row's scores, found in two chains that do not wait for each other."""
        chains = [scores[0], scores[1]]
        for c in range(2, cute.size(scores)):
            chains[c % 2] = cute.arch.fmax(chains[c % 2], scores[c])
        return cute.arch.fmax(*chains)

    def rescale(self, acc: Any) -> None:
        """What was summed before the level changed follows it."""
        rows = by_rows(acc)
        if self.slack:
            rescale_if_needed(rows, self.factor)
            return
        for r in range(2):
            rows[r, None] = rows[r, None].load() * self.factor[r]


@cute.jit
def rescale_if_needed(rows: Any, factor: Any):
    """What was summed follows, in warps in which a level changed."""
    if cute.arch.vote_any_sync((factor[0] != 1.0) | (factor[1] != 1.0)):
        for r in cutlass.range_constexpr(2):
            rows[r, None] = rows[r, None].load() * factor[r]


@cute.jit
def mask(
    acc: Any, tile: Any, first: Any, corner: Any, keys: Any,
    plan: cutlass.Constexpr[WarpgroupPlan],
):  # fmt: skip
    """Scores of keys that a query does not see become -inf, in tiles that have any.

    Args:
        first: place of the warpgroup's first query among the keys.
        corner: row and column of the thread's first score in the tile.
    """
    scores = by_rows(acc)
    key = tile * plan.n
    cut = key + plan.n > keys
    if cutlass.const_expr(plan.after is not None):
        cut = cut | (key + (plan.n - 1) > first + plan.after)
    if cutlass.const_expr(plan.before is not None):
        cut = cut | (key < first + (ROWS - 1) - plan.before)
    if cut:
        for r in cutlass.range_constexpr(2):
            place = first - key + corner[0] + 8 * r - corner[1]  # counted from the first score
            end = keys - key - corner[1]
            if cutlass.const_expr(plan.after is not None):
                after: Any = plan.after
                end = cutlass.min(end, place + (after + 1))
            for c in cutlass.range_constexpr(plan.n // 4):
                column = c % 2 + 8 * (c // 2)
                outside = end <= column
                if cutlass.const_expr(plan.before is not None):
                    outside = outside | (place - plan.before > column)
                if outside:
                    scores[r, c] = -cutlass.Float32.inf


class Worker:
    """What a warpgroup needs on its way over the keys."""

    def __init__(
        self, mmas: Any, sQ: Any, sK: Any, sV: Any, which: Any, plan: WarpgroupPlan
    ) -> None:
        self.first, self.second = mmas
        self.which, self.plan = which, plan
        thr, other = self.first.get_slice(0), self.second.get_slice(0)
        self.rQ = self.first.make_fragment_A(thr.partition_A(sQ))
        self.rK = self.first.make_fragment_B(thr.partition_B(sK))
        self.rV = self.second.make_fragment_B(other.partition_B(sV))
        self.rO = cute.make_rmem_tensor(
            self.second.partition_shape_C((ROWS, plan.head_dim)), cutlass.Float32
        )
        self.rS = cute.make_rmem_tensor(
            self.first.partition_shape_C((ROWS, plan.n)), cutlass.Float32
        )
        self.p = cute.make_rmem_tensor(ROWS * plan.n // GROUP, plan.of_weights)
        if plan.narrow:  # two neighbours of one eight columns, then those of the next eight
            self.weights = cute.make_layout((2, 2, 2, 2, plan.n // 32), stride=(1, 4, 2, 8, 16))
            taken = cute.make_layout(((4, 2, 2), 1, plan.n // 32), stride=((1, 4, 8), 0, 16))
        else:  # neighbouring accumulators along n are what an instruction takes along k
            self.weights = self.p.layout
            taken = cute.make_layout(((2, 2, 2), 1, plan.n // 16), stride=((1, 2, 4), 0, 8))
        self.rP = cute.make_tensor(self.p.iterator, taken)

    def scores(self, index: Any, place: Any) -> None:
        """Start Q K^T of the keys in a stage, and the queries in a place."""
        self.first.set(warpgroup.Field.ACCUMULATE, False)
        rQ = self.rQ[None, None, None, place]
        cute.gemm(self.first, self.rS, rQ, self.rK[None, None, None, index], self.rS)
        warpgroup.commit_group()

    def add_values(self, index: Any) -> None:
        """Start O += P V of the tile in a stage."""
        self.second.set(warpgroup.Field.ACCUMULATE, True)
        cute.gemm(self.second, self.rO, self.rP, self.rV[None, None, None, index], self.rO)
        warpgroup.commit_group()

    def keep(self) -> None:
        """Take weights as an operand; no product may read those before them any more."""
        weights = cute.make_tensor(self.rS.iterator, self.weights)
        kept = cute.make_tensor(self.p.iterator, cute.make_layout(weights.shape))
        kept.store(weights.load().to(self.plan.of_weights))

    def weigh_and_keep(self, rows: Any) -> None:
        """Scores of `rows` become weights of eight bits, 32 keys at a time.

        Conversions then run beside exponentials.
        """
        for i in range(self.plan.n // 32):
            start = self.rS.iterator + 16 * i
            rows.weigh_some(
                cute.make_tensor(start, cute.make_layout((2, (2, 4)), stride=(2, (1, 4))))
            )
            weights = cute.make_tensor(start, cute.make_layout((2, 2, 2, 2), stride=(1, 4, 2, 8)))
            kept = cute.make_tensor(self.p.iterator + 16 * i, cute.make_layout((2, 2, 2, 2)))
            kept.store(weights.load().to(self.plan.of_weights))

    def turn(self) -> None:
        """Wait until this warpgroup may start products."""
        cute.arch.barrier(barrier_id=TURNS + self.which, number_of_threads=2 * GROUP)

    def next_turn(self) -> None:
        """The next warpgroup may."""
        following = (self.which + 1) % self.plan.groups
        cute.arch.barrier_arrive(barrier_id=TURNS + following, number_of_threads=2 * GROUP)


@cute.jit
def consume(
    worker: cutlass.Constexpr[Any], rows: cutlass.Constexpr[Any], loads: Any, places: Any,
    corner: Any,
):  # fmt: skip
    """O and the sums of a warpgroup's queries, from all keys that they see."""
    plan = worker.plan
    loads_q, loads_k, loads_v = loads
    keys, values = loads_k.make_consumer(), loads_v.make_consumer()
    start, count = places.tiles()
    first = places.first + ROWS * worker.which
    last = start + count - 1
    worker.rO.fill(0.0)
    loads_q.make_consumer().wait()
    key = keys.wait_and_advance()
    warpgroup.fence()
    worker.scores(key.index, worker.which)
    warpgroup.wait_group(0)
    key.release()
    mask(worker.rS, last, first, corner, places.keys, plan)
    rows.weigh(worker.rS)
    worker.keep()
    value = values.wait_and_advance()
    if worker.which == plan.groups - 1:  # the first turn is the first warpgroup's
        worker.next_turn()
    for i in range(1, count):
        key = keys.wait_and_advance()
        worker.turn()
        warpgroup.fence()
        worker.scores(key.index, worker.which)
        worker.add_values(value.index)
        worker.next_turn()
        warpgroup.wait_group(1)
        key.release()
        mask(worker.rS, last - i, first, corner, places.keys, plan)
        rows.weigh(worker.rS)
        following = values.wait_and_advance()
        warpgroup.wait_group(0)
        value.release()
        value = following
        rows.rescale(worker.rO)
        warpgroup.fence()
        worker.keep()
    if worker.which == 0:
        worker.turn()  # the one that nobody takes
    warpgroup.fence()
    worker.add_values(value.index)
    warpgroup.wait_group(0)
    value.release()


@cute.jit
def finish(
    worker: cutlass.Constexpr[Any], rows: cutlass.Constexpr[Any], atom: Any, sO: Any, gO: Any,
    mLogs: Any, row: Any, queries: Any, corner: Any, tid: Any,
):  # fmt: skip
    """Divide by the sums, and store.

    Args:
        sO, gO: the warpgroup's queries in shared memory, and coordinates for the store.
        mLogs: (queries,), or None; row: the first one.
    """
    plan = worker.plan
    out = by_rows(worker.rO)
    for r in cutlass.range_constexpr(2):
        total = cute.arch.warp_reduction(rows.total[r], lambda a, b: a + b, threads_in_group=4)
        out[r, None] = out[r, None].load() * (0.0 if total == 0.0 else 1.0 / total)
        if cutlass.const_expr(mLogs is not None):
            at = row + corner[0] + 8 * r
            if corner[1] == 0 and at < queries:
                logs = rows.level[r] + cute.math.log2(total, fastmath=True)
                mLogs[at] = logs * math.log(2.0)
    rD = cute.make_rmem_tensor(worker.rO.layout, plan.dtype)
    rD.store(worker.rO.load().to(plan.dtype))
    store = cute.make_copy_atom(cute.nvgpu.warp.StMatrix8x8x16bOp(False, 4), plan.dtype)
    copy = cute.make_tiled_copy_C(store, worker.second)
    part = copy.get_slice(tid)
    cute.copy(copy, part.retile(rD), part.partition_D(sO))
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.barrier(barrier_id=STORES + worker.which, number_of_threads=GROUP)
    if cute.arch.make_warp_uniform(tid // 32) == 0:
        from_smem, to_gmem = cpasync.tma_partition(
            atom, 0, cute.make_layout(1), cute.group_modes(sO, 0, 2), cute.group_modes(gO, 0, 2)
        )
        cute.copy(atom, from_smem, to_gmem)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def attention_kernel(
    atoms: Any,
    mQ: cute.Tensor,
    mK: cute.Tensor,
    mV: cute.Tensor,
    mO: cute.Tensor,
    mLogs: Any,
    scale_log2: cutlass.Float32,
    mmas: Any,
    plan: cutlass.Constexpr[WarpgroupPlan],
):
    tid, _, _ = cute.arch.thread_idx()
    block, head, batch = cute.arch.block_idx()
    if cutlass.const_expr(plan.after is not None):  # the blocks with most keys start first
        block = cute.arch.grid_dim()[0] - 1 - block
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    group = cute.arch.make_warp_uniform(tid // GROUP)

    memory = utils.SmemAllocator()
    sQ, sK, sV = (
        memory.allocate_tensor(plan.dtype, s.outer, 1024, swizzle=s.inner) for s in plan.layouts()
    )
    threads = pipeline.Agent.Thread
    loads = tuple(
        pipeline.PipelineTmaAsync.create(
            num_stages=stages, producer_group=pipeline.CooperativeGroup(threads, 1),
            consumer_group=pipeline.CooperativeGroup(threads, 4 * plan.groups),
            tx_count=2 * plan.head_dim * count, defer_sync=True,
        )
        for stages, count in ((1, plan.m), (plan.stages, plan.n), (plan.stages, plan.n))
    )  # fmt: skip
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()

    queries, keys = mQ.shape[0], mK.shape[0]
    places = Places(block * plan.m + (keys - queries), keys, plan)
    if group == 0:
        cute.arch.setmaxregister_decrease(plan.registers[0])
        if warp == 0:
            served = head // plan.group
            tiles = (
                cute.local_tile(mQ[None, None, head, batch], (ROWS, plan.head_dim), (None, 0)),
                cute.local_tile(mK[None, None, served, batch], (plan.n, plan.head_dim), (None, 0)),
                cute.local_tile(mV[None, None, served, batch], (plan.head_dim, plan.n), (0, None)),
            )
            q, k, v = (
                (atom, *reversed(cpasync.tma_partition(
                    atom, 0, cute.make_layout(1), cute.group_modes(s, 0, 2),
                    cute.group_modes(t, 0, 2),
                )))
                for atom, s, t in zip(atoms, (sQ, sK, sV), tiles, strict=False)
            )  # fmt: skip
            produce(*loads, q, k, v, block, places, plan)
    else:
        cute.arch.setmaxregister_increase(plan.registers[1])
        which = group - 1
        tid = tid % GROUP
        worker = Worker(mmas, sQ, sK, sV, which, plan)
        rows = Rows(scale_log2, plan)
        corner = (tid // 32 * 16 + tid % 32 // 4, tid % 4 * 2)
        consume(worker, rows, loads, places, corner)
        tile = block * plan.groups + which
        gO = cute.local_tile(mO[None, None, head, batch], (ROWS, plan.head_dim), (tile, 0))
        logs = None if mLogs is None else mLogs[batch, head, None]
        finish(
            worker, rows, atoms[3], sQ[None, None, which], gO, logs, tile * ROWS, queries, corner,
            tid,
        )  # fmt: skip


@cute.jit
def attention_forward(
    q: cute.Tensor,
    k: cute.Tensor,
    v: cute.Tensor,
    out: cute.Tensor,
    logs: Any,
    scale_log2: cutlass.Float32,
    plan: cutlass.Constexpr[WarpgroupPlan],
):
    """Launch the kernel.

    Args:
        q, out: (B, Sq, H, D); k, v: (B, Sk, Hk, D). Rows start at multiples of 16 bytes.
        logs: (B, H, Sq) in f32, or None.
        scale_log2: what scores are multiplied with before 2 is raised to them.
    """
    mQ, mK, mV, mO = (as_heads(t, plan.head_dim) for t in (q, k, v, out))
    mV = cute.make_tensor(mV.iterator, cute.select(mV.layout, [1, 0, 2, 3]))
    load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
    sQ, sK, sV = (cute.slice_(s, (None, None, 0)) for s in plan.layouts())
    made = [
        cpasync.make_tiled_tma_atom(op, t, s, tile)
        for op, t, s, tile in (
            (load, mQ, sQ, (ROWS, plan.head_dim)),
            (load, mK, sK, (plan.n, plan.head_dim)),
            (load, mV, sV, (plan.head_dim, plan.n)),
            (store, mO, sQ, (ROWS, plan.head_dim)),
        )
    ]
    grid = [cute.ceil_div(mQ.shape[0], plan.m), mQ.shape[2], mQ.shape[3]]
    attention_kernel(
        tuple(atom for atom, _ in made), *(t for _, t in made), logs, scale_log2, plan.products(),
        plan,
    ).launch(grid=grid, block=[GROUP * (plan.groups + 1), 1, 1], min_blocks_per_mp=1)  # fmt: skip
