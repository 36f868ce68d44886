# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a warpgroup of the derivatives of attention has: descriptors, accumulators, its products.

In: tiles in shared memory. Out: methods that start products, and that work on what these give::

    worker = Worker(plan.products(), (sK, sV, sQ, sG, sS, levels, deltas), tid, reach, plan)
    worker.start_scores(stage)
    warpgroup.wait_group(0)
    worker.weigh(stage, scale_log2)
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.attention.sm90 import GROUP, ROWS, by_rows
from opencute.kernels.attention.sm90_backward_plan import Reach, WarpgroupBackwardPlan

__all__ = ["STATS", "Worker", "clear", "mask", "start_next", "weigh_tile"]

ALL = 1  # the named barrier of all threads that compute
STATS = 4  # the first of those where levels and -delta of a stage have been read
PART = 16  # columns of scores that are worked on at a time

warp, warpgroup = cute.nvgpu.warp, cute.nvgpu.warpgroup


class Worker:
    """What a warpgroup needs on its way over the queries.

    Args:
        mmas: of the plan.
        shared: K, V, Q, dO, dS, and of queries levels and -delta, each with a factor behind them
            where `plan.scaled`, (2 known, stages), in shared memory; None for what there is not.
        tid: index among all threads that compute.
    """

    def __init__(
        self, mmas: Any, shared: Any, tid: Any, reach: Reach, plan: WarpgroupBackwardPlan
    ) -> None:
        of_stats = cute.make_layout((plan.known, plan.stages), stride=(1, 2 * plan.known))
        self.levels, self.deltas = (
            cute.make_tensor(shared[5].iterator + i * plan.known, of_stats) for i in range(2)
        )
        self.reach, self.plan, self.tid = reach, plan, tid
        self.which = cute.arch.make_warp_uniform(tid // GROUP)
        self.mma_s, self.mma_k, self.mma_q = mmas
        self.shared = shared[:5]
        self.describe()

        self.rK, self.rV = (self.results(self.mma_k, plan.n, plan.head_dim) for _ in range(2))
        self.rS, self.rG = (self.results(self.mma_s, plan.n, plan.m) for _ in range(2))
        self.rQ = [
            self.results(self.mma_q, plan.m, plan.head_dim // plan.rounds)
            for _ in range(plan.rounds)
        ]
        self.rP = cute.make_rmem_tensor(self.rS.layout, cutlass.Float32)
        count = ROWS * plan.m // GROUP
        self.weights, self.slopes = (cute.make_rmem_tensor(count, plan.dtype) for _ in range(2))

        store = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), plan.dtype)
        self.copy_s, self.copy_k = (cute.make_tiled_copy_C(store, m) for m in mmas[:2])

    @property
    def corner(self) -> tuple[Any, Any]:
        """Row and column of the thread's first score."""
        return self.tid // 32 * 16 + self.tid % 32 // 4, self.tid % 4 * 2

    def renew(self) -> None:
        """Ask anew which thread this is.

        A number that came from another thread, here this one, is not known to stay the same in a
        loop. So each round finds its places in shared memory anew, with a few additions, and none
        of them lives across the others in registers that there are not.
        """
        self.tid = cute.arch.shuffle_sync_bfly(cute.arch.thread_idx()[0], 0)

    def describe(self) -> None:
        """Make the descriptors of operands, of which only the first of each is kept, anew in each
        round for the same reason."""
        nothing = cute.arch.make_warp_uniform(cutlass.Int32(0))
        sK, sV, sQ, sG, sS = (
            s if s is None else cute.make_tensor((s.iterator + nothing).align(1024), s.layout)
            for s in self.shared
        )
        which = cute.arch.make_warp_uniform(self.tid // GROUP)
        s, k, q = (mma.get_slice(which * GROUP) for mma in (self.mma_s, self.mma_k, self.mma_q))
        self.K = self.mma_s.make_fragment_A(s.partition_A(sK))[None, None, None, 0]
        self.Q = self.mma_s.make_fragment_B(s.partition_B(sQ))
        self.Qt = self.mma_k.make_fragment_B(k.partition_B(transposed(sQ)))
        self.Gt = self.mma_k.make_fragment_B(k.partition_B(transposed(sG)))
        if sV is None:
            return
        self.V = self.mma_s.make_fragment_A(s.partition_A(sV))[None, None, None, 0]
        self.G = self.mma_s.make_fragment_B(s.partition_B(sG))
        self.St = self.mma_q.make_fragment_A(q.partition_A(transposed(sS)))
        columns = (self.plan.head_dim // self.plan.rounds, self.plan.n, 1)
        parts = [
            q.partition_B(cute.local_tile(transposed(sK), columns, (i, 0, 0)))
            for i in range(self.plan.rounds)
        ]
        self.Kt = [self.mma_q.make_fragment_B(p)[None, None, None, 0] for p in parts]

    def results(self, mma: Any, rows: int, columns: int) -> Any:
        """Accumulators."""
        return cute.make_rmem_tensor(mma.partition_shape_C((rows, columns)), cutlass.Float32)

    def multiply(self, mma: Any, acc: Any, a: Any, b: Any, add: bool = True) -> None:
        """Start a product, as a group of its own."""
        mma.set(warpgroup.Field.ACCUMULATE, add)
        cute.gemm(mma, acc, a, b, acc)
        warpgroup.commit_group()

    def start_scores(self, stage: Any) -> None:
        """K Q^T."""
        self.multiply(self.mma_s, self.rS, self.K, self.Q[None, None, None, stage], False)

    def start_slopes(self, stage: Any) -> None:
        """V dO^T."""
        self.multiply(self.mma_s, self.rG, self.V, self.G[None, None, None, stage], False)

    def start_dv(self, stage: Any) -> None:
        """dV += P^T dO."""
        self.multiply(
            self.mma_k, self.rV, self.left(self.weights), self.Gt[None, None, None, stage]
        )

    def start_dk(self, stage: Any) -> None:
        """dK += dS^T Q."""
        self.multiply(self.mma_k, self.rK, self.left(self.slopes), self.Qt[None, None, None, stage])

    def start_dq(self, buffer: Any, part: int = 0) -> None:
        """dS K, or a part of its columns."""
        slopes = self.St[None, None, None, buffer]
        self.multiply(self.mma_q, self.rQ[part], slopes, self.Kt[part], False)

    def left(self, narrow: Any) -> Any:
        """Scores as a left operand: neighbours along n are what an instruction takes along k."""
        layout = cute.make_layout(((2, 2, 2), 1, self.plan.m // 16), stride=((1, 2, 4), 0, 8))
        return cute.make_tensor(narrow.iterator, layout)

    def narrowed(self, acc: Any, narrow: Any) -> None:
        """Scores in 16 bits."""
        wide = cute.make_tensor(acc.iterator, narrow.layout)
        narrow.store(wide.load().to(self.plan.dtype))

    def of_queries(self, shared: Any, stage: Any, part: int) -> Any:
        """What queries of a tile have: for some of a thread's columns of scores, few at a time, as
        there are no registers for all."""
        start = shared[None, stage].iterator + (self.corner[1] + PART * part)
        layout = cute.make_layout(((2, PART // 8),), stride=((1, 8),))
        held = cute.make_rmem_tensor(layout.shape, cutlass.Float32)
        cute.autovec_copy(cute.make_tensor(start.align(8), layout), held)
        return held.load()

    def columns(self, acc: Any, part: int) -> Any:
        """The same columns of scores, (rows of a thread, columns)."""
        layout = cute.make_layout((2, (2, PART // 8)), stride=(2, (1, 4)))
        return cute.make_tensor(acc.iterator + part * (PART // 2), layout)

    def weigh(self, stage: Any, scale_log2: Any) -> None:
        """Weights of scores. They get registers of their own: those of products may not be written
        while some product is under way, or ptxas lets one wait for the other."""
        if self.plan.scaled:
            scale_log2 = self.levels[self.plan.m, stage]
        for part in range(self.plan.m // PART):
            levels = self.of_queries(self.levels, stage, part)
            scores, weights = self.columns(self.rS, part), self.columns(self.rP, part)
            for r in range(2):
                scaled = scores[r, None].load() * scale_log2 - levels
                weights[r, None] = cute.math.exp2(scaled, fastmath=True)

    def slope(self, stage: Any) -> None:
        """P * (slopes - delta), where slopes were."""
        factor = self.deltas[self.plan.m, stage] if self.plan.scaled else None
        for part in range(self.plan.m // PART):
            minus = self.of_queries(self.deltas, stage, part)
            slopes, weights = self.columns(self.rG, part), self.columns(self.rP, part)
            for r in range(2):
                found = slopes[r, None].load()
                found = found if factor is None else found * factor
                slopes[r, None] = (found + minus) * weights[r, None].load()
        self.has_read(stage)

    def has_read(self, stage: Any) -> None:
        """Say that this warp has read levels and -delta of a stage.

        An mbarrier at which one thread arrives for a warp would do, but racecheck then misses what
        orders the others' reading.
        """
        cute.arch.barrier_arrive(barrier_id=STATS + stage, number_of_threads=self.plan.threads + 32)

    def put_slopes(self, buffer: Any) -> None:
        """dS to shared memory, where products of all warpgroups will read it."""
        part = self.copy_s.get_slice(self.tid)
        held = cute.make_tensor(self.slopes.iterator, self.rS.layout)
        to = part.partition_D(self.shared[4])
        cute.copy(self.copy_s, part.retile(held), to[None, None, None, buffer])
        cute.arch.fence_proxy("async.shared", space="cta")

    def put_results(self, acc: Any, which: int) -> None:
        """dK (0) or dV to shared memory, where TMA will read it."""
        held = cute.make_rmem_tensor(acc.layout, self.plan.dtype)
        held.store(acc.load().to(self.plan.dtype))
        part = self.copy_k.get_slice(self.tid)
        to = part.partition_D(self.shared[which][None, None, 0])
        cute.copy(self.copy_k, part.retile(held), to)

    def piece(self, which: int, row: Any, column: Any, stage: Any) -> Any:
        """Eight elements of a row of K, V, Q or dO in shared memory."""
        part = cute.local_tile(self.shared[which], (1, 8, 1), (row, column, stage))
        return cute.make_tensor(part.iterator, cute.make_layout(8))

    def meet(self) -> None:
        """Wait for all threads that compute."""
        cute.arch.barrier(barrier_id=ALL, number_of_threads=self.plan.threads)

    def stores(self) -> Any:
        """Whether this warp starts the warpgroup's copies to global memory."""
        return cute.arch.make_warp_uniform(self.tid // 32) % 4 == 0


def transposed(s: Any) -> Any:
    """Tiles in shared memory (rows, columns, stages) with rows and columns exchanged."""
    return cute.make_tensor(s.iterator, cute.select(s.layout, [1, 0, 2]))


@cute.jit
def clear(
    worker: cutlass.Constexpr[Worker], which: cutlass.Constexpr[int], stage: Any, valid: Any,
    rows: cutlass.Constexpr[int],
):  # fmt: skip
    """Rows behind a sequence's become 0: their weights are, but they may be no numbers.

    Args:
        which: K, V, Q or dO.
        valid: rows of the sequence.
        rows: of the tile.
    """
    plan = worker.plan
    if valid < rows:
        zeros = cute.make_rmem_tensor(8, plan.dtype)
        zeros.fill(0.0)
        across = plan.head_dim // 8
        for at in range(valid * across + worker.tid, rows * across, plan.threads):
            cute.autovec_copy(zeros, worker.piece(which, at // across, at % across, stage))
        cute.arch.fence_proxy("async.shared", space="cta")
        worker.meet()


@cute.jit
def mask(worker: cutlass.Constexpr[Worker], tile: Any):
    """Weights of keys that a query does not see become 0, in tiles that have any."""
    plan, reach = worker.plan, worker.reach
    weights = by_rows(worker.rP)
    if reach.cuts(tile):
        for r in cutlass.range_constexpr(2):
            key = reach.first_key + worker.corner[0] + 8 * r
            # The least and the greatest column of queries that see the key.
            own = key - reach.offset - tile * plan.m - worker.corner[1]
            least, most = cutlass.Int32(0), cutlass.Int32(plan.m)
            if cutlass.const_expr(plan.after is not None):
                least = own - plan.after
            if cutlass.const_expr(plan.before is not None):
                most = own + plan.before
            if key >= reach.keys:
                least = cutlass.Int32(plan.m)
            for c in cutlass.range_constexpr(plan.m // 4):
                column = c % 2 + 8 * (c // 2)
                outside = least > column
                if cutlass.const_expr(plan.before is not None):
                    outside = outside | (most < column)
                if outside:
                    weights[r, c] = cutlass.Float32(0.0)


@cute.jit
def weigh_tile(
    worker: cutlass.Constexpr[Worker], grads: Any, states: Any, tile: Any, scale_log2: Any
):
    """Weights of a tile of queries, whose scores are there; dO V^T is on its way when they are.

    Args:
        grads: the pipeline of dO.
        states: of those of Q and dO, of this tile's buffers.
    """
    plan = worker.plan
    of_q, of_g = states
    worker.renew()
    grads.consumer_wait(of_g)
    if cutlass.const_expr(plan.ragged):
        clear(worker, 3, of_g.index, worker.reach.queries_left(tile), plan.m)
    worker.describe()
    warpgroup.fence()
    worker.start_slopes(of_g.index)
    worker.weigh(of_q.index, scale_log2)
    mask(worker, tile)


@cute.jit
def start_next(worker: cutlass.Constexpr[Worker], queries: Any, following: Any, after: Any):
    """Start the scores of the next tile of queries.

    Args:
        queries: the pipeline of Q.
        following: its state, of the next tile's buffer.
        after: the next tile.
    """
    queries.consumer_wait(following)
    if cutlass.const_expr(worker.plan.ragged):
        clear(worker, 2, following.index, worker.reach.queries_left(after), worker.plan.m)
    warpgroup.fence()
    worker.start_scores(following.index)
