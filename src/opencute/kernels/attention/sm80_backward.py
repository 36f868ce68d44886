# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The derivatives of attention on tensor cores with `mma.sync`: sm_80 and everything after it.

With weights P = exp(scale Q K^T - lse) and delta = rowsum(dO * O)::

    dV = P^T dO,   dS = P * (dO V^T - delta),   dQ = scale dS K,   dK = scale dS^T Q

A block has some keys of a head and walks over the queries, of all heads that share those keys. It
keeps dK and dV in registers, so that they need no other block. Scores are computed transposed, a
key to a row: then P^T and dS^T are where the next product wants its left operand, as in the
forward pass, and only dS goes through shared memory, for dQ.

dQ is summed by the blocks of all keys, with atomic additions of f32 in the order of accumulators,
so that a warp adds to 128 neighbouring bytes. Two kernels frame it: one for delta, one that brings
dQ to its type and place. The other way, a second pass with a block for some queries, needs no
atomics but S and dP again: 7 products of 2 Sq Sk D operations rather than 5, 40 % more of what the
kernel is bound by, where the additions are 4 bytes for 2 n operations. Sums in an order that is
always the same come from turns instead: blocks add to a tile one after the other, first keys first.

With heads of more than 128 elements two warps share 16 keys: each has half of the queries' scores
and half of the elements of dK and dV, so that P goes through shared memory as dS does.

Floor: 10 B H Sq Sk D operations (half of them when causal) over what `mma.sync` reaches in a loop
on registers: about 620 Tflop/s on an H200, 2.2 ms for 4x16x4096x128.

Source: Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning",
2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute, utils
from opencute.kernels.attention.config import sharing
from opencute.kernels.attention.parts import (
    HeadTiles,
    RowCopy,
    as_heads,
    by_rows,
    sequence,
    span,
    tile_from,
    write,
)
from opencute.kernels.attention.scales import Factors

__all__ = [
    "BackwardPlan", "attention_backward", "backward_kernel", "finish_kernel", "prepare_kernel",
    "tile_index",
]  # fmt: skip

cpasync = cute.nvgpu.cpasync
LOG2_E = math.log2(math.e)


@dataclass(frozen=True)
class BackwardPlan(HeadTiles):
    """What is fixed when the derivatives are compiled.

    Args:
        dtype: Float16 or BFloat16.
        head_dim: elements of a head.
        m, n: queries of a tile, and keys of a block.
        warps: warps of a block; each has n / warps keys.
        stages: tiles of Q in shared memory: 1 or 2.
        before, after: how many keys before and after its own place, counted from the end, a query
            sees; None: all.
        group: heads of queries to one head of keys.
        ordered: whether dQ is summed in an order that is always the same.
        scaled: whether operands were of eight bits, and have factors, see `Factors`. Those of a
            tile of queries are behind its levels and deltas.
    """

    dtype: Any
    head_dim: int
    m: int
    n: int
    warps: int
    stages: int
    before: int | None
    after: int | None
    group: int
    ordered: bool = False
    scaled: bool = False

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps

    @property
    def starts_with_deltas(self) -> bool:
        """Whether sums of dO V^T start at -delta, before they are multiplied."""
        return True

    @property
    def known(self) -> int:
        """Numbers of a row of what is known of a tile of queries."""
        return self.m + (2 if self.scaled else 0)

    @property
    def turns(self) -> int:
        """Parts of a tile of dQ that blocks add to independently."""
        return 1

    @property
    def split(self) -> int:
        """Warps that share keys."""
        return sharing(self.depth)

    def tiled_mma(self) -> Any:
        """Of scores, dK and dV."""
        return self.mma_of(self.warps // self.split, self.split)

    def sums_of(self, sums: Any, tid: Any) -> Any:
        """A thread's values of a tile of dQ in the workspace, in the order of accumulators."""
        count = self.m * self.depth // self.threads
        return cute.make_tensor(sums.iterator + tid, cute.make_layout(count, stride=self.threads))

    def queries_smem(self) -> Any:
        """Shared memory for tiles of Q, (m, depth, stages)."""
        line = self.depth + 8
        return cute.make_layout((self.m, self.depth, self.stages), stride=(line, 1, line * self.m))

    def scores_smem(self) -> Any:
        """Shared memory (n, m), its rows apart as those of operands."""
        return cute.make_layout((self.n, self.m), stride=(self.m + 8, 1))

    def mma_dq(self) -> Any:
        """Warps for dQ (m, depth): as square a part for each as the tile allows."""
        for m, n in ((2, 4), (4, 2), (2, 2), (1, 4), (2, 1), (1, 2), (8, 1), (4, 1), (1, 1)):
            if m * n == self.warps and self.m % (16 * m) == 0 and self.depth % (16 * n) == 0:
                return self.mma_of(m, n)
        raise AssertionError("the configuration has been checked")


def tile_index(block: Any, batch: Any, first: Any, queries: Any, starts: Any, m: int) -> Any:
    """Where the workspace has a tile of queries.

    Sequences that lie one behind the other have tiles of their own: as many as whole ones end
    before them, and one more for each sequence.
    """
    if starts is None:
        return batch * cute.ceil_div(queries, m) + block
    return first // m + batch + block


@cute.kernel
def prepare_kernel(
    mO: cute.Tensor,
    mG: cute.Tensor,
    mLogs: cute.Tensor,
    mStats: cute.Tensor,
    mSums: cute.Tensor,
    mTurns: Any,
    starts_q: Any,
    factors: Any,
    plan: cutlass.Constexpr[BackwardPlan],
):
    """Logarithms and -delta of a tile of queries, as the main kernel wants them; dQ = 0."""
    tid, _, _ = cute.arch.thread_idx()
    block, head, batch = cute.arch.block_idx()
    first, queries = span(mO, starts_q, batch)
    if cutlass.const_expr(starts_q is not None):
        if block * plan.m >= queries:
            return
    at = tile_index(block, batch, first, queries, starts_q, plan.m)
    tile = (plan.m, plan.depth)
    copies = RowCopy(
        plan.tiled_copy(cute.nvgpu.CopyUniversalOp()), tile, (queries, plan.head_dim), tid
    )
    read = []
    for t in (mO, mG):
        g = cute.local_tile(sequence(t, starts_q, head, batch), tile, (block, 0))
        part = copies.part.partition_S(g)
        held = cute.make_fragment_like(part, plan.dtype)
        held.fill(0.0)
        copies.move(part, held, block * plan.m)
        read.append(held)
    of_delta: Any = None
    if cutlass.const_expr(plan.scaled):
        known = Factors(*factors, plan.group)  # pyright: ignore[reportCallIssue]
        of_delta = known.of_deltas(head, batch)
        slopes = known.of_slopes(head, batch)
        if cutlass.const_expr(plan.starts_with_deltas):
            of_delta = (1.0 if of_delta is None else of_delta) / slopes
        if tid == 0:
            mStats[at, head, 0, plan.m] = known.of_scores(head, batch)
            mStats[at, head, 1, plan.m] = slopes
    for i in cutlass.range_constexpr(cute.size(copies.coords, mode=[1])):
        outs, grads = (x[None, i, None].load().to(cutlass.Float32) for x in read)
        delta = (outs * grads).reduce(cute.ReductionOp.ADD, cutlass.Float32(0.0), 0)
        delta = cute.arch.warp_reduction(delta, lambda a, b: a + b, threads_in_group=plan.line // 8)
        row, column = copies.coords[0, i, 0]
        if column == 0:
            # A query that is not there, or sees nothing, has no weights: 2 ** (s - inf) is 0.
            level = cutlass.Float32.inf
            query = block * plan.m + row
            if query < queries:
                logs = mLogs[batch if starts_q is None else 0, head, first + query]
                if logs > -cutlass.Float32.inf:
                    level = logs * LOG2_E
            mStats[at, head, 0, row] = level
            mStats[at, head, 1, row] = -delta if of_delta is None else -delta * of_delta

    zeros = cute.make_rmem_tensor(4, cutlass.Float32)
    zeros.fill(0.0)
    units = plan.m * plan.depth // 4
    sums = cute.make_tensor(
        mSums[at, head, None].iterator.align(16), cute.make_layout((4, units), stride=(1, 4))
    )
    for i in cutlass.range_constexpr(units // plan.threads):
        cute.autovec_copy(zeros, sums[None, i * plan.threads + tid])
    if cutlass.const_expr(plan.ordered):
        if tid < plan.turns:
            mTurns[at, head, tid] = 0


class Walk:
    """What a block needs on its way over the queries: tiles in memory, parts of this thread.

    Args:
        memory: Q, dO, stats, sums and turns in global memory, and where sequences start.
        shared: the tiles in shared memory.
        place: first tile of queries that sees these keys; how many see some of them only, then all,
            then again some; the head of keys, the sequence.
        keys: of the sequence.
    """

    def __init__(
        self, memory: Any, shared: Any, place: Any, keys: Any, mma: Any, mma_dq: Any, tid: Any,
        plan: BackwardPlan,
    ) -> None:  # fmt: skip
        self.mQ, self.mG, self.mStats, self.mSums, self.mTurns, self.starts = memory
        sK, sV, sQ, sG, sS, sP, sStats = shared
        self.first, self.counts, self.head, self.batch = place
        self.mma, self.mma_dq, self.tid, self.plan, self.keys = mma, mma_dq, tid, plan, keys
        self.start, self.queries = span(self.mQ, self.starts, self.batch)
        copy = plan.tiled_copy(cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL))
        tile = (plan.m, plan.depth)
        self.copies = RowCopy(copy, tile, (self.queries, plan.head_dim), tid)
        self.sQ, self.sG = (self.copies.part.partition_D(s) for s in (sQ, sG))
        self.sStats = sStats

        # Scores and their derivatives, a key to a row.
        thr = mma.get_slice(tid)
        self.sS = thr.partition_C(sS)
        columns = cute.make_layout((plan.n, plan.m, 2, plan.stages),
                                   stride=(0, 1, plan.known, 2 * plan.known))  # fmt: skip
        spread = cute.make_tensor(sStats.iterator, columns)
        self.of_queries = thr.partition_C(spread)  # (values, M, N, level or -delta, stage)
        self.coords = by_rows(thr.partition_C(cute.make_identity_tensor((plan.n, plan.m))))
        self.K = Operand(sK, plan, mma, tid, "A")
        self.V = Operand(sV, plan, mma, tid, "A")
        self.Q = Operand(sQ, plan, mma, tid, "B")
        self.G = Operand(sG, plan, mma, tid, "B")
        # dV and dK take dO and Q with elements of the head along n, queries along k.
        self.Gt = Operand(transposed(sG), plan, mma, tid, "B", True)
        self.Qt = Operand(transposed(sQ), plan, mma, tid, "B", True)
        if plan.split > 1:
            self.sP = thr.partition_C(sP)
            self.P, self.S = (Operand(s, plan, mma, tid, "A") for s in (sP, sS))
        # dQ takes both operands the other way round from how they lie.
        self.St = Operand(transposed(sS), plan, mma_dq, tid, "A", True)
        self.Kt = Operand(transposed(sK), plan, mma_dq, tid, "B", True)

    def steps(self) -> tuple[Any, ...]:
        """How many steps there are for each of the counts of tiles."""
        return tuple(count * self.plan.group for count in self.counts)

    def load_Q(self, step: Any, stage: Any) -> None:
        """Start the copy of a tile of Q, and of what belongs to its queries."""
        head, tile = locate(self, step)
        self._load(self.mQ, self.sQ[None, None, None, stage], head, tile)
        copy_stats(self, head, tile, stage)

    def load_G(self, step: Any) -> None:
        """Start the copy of a tile of dO."""
        self._load(self.mG, self.sG, *locate(self, step))

    def _load(self, m: Any, s: Any, head: Any, tile: Any) -> None:
        plan, row = self.plan, tile * self.plan.m
        g = tile_from(sequence(m, self.starts, head, self.batch), row, (plan.m, plan.depth))
        self.copies.move(self.copies.part.partition_S(g), s, row)

    def workspace(self, tile: Any) -> Any:
        """Where the workspace has a tile."""
        return tile_index(tile, self.batch, self.start, self.queries, self.starts, self.plan.m)

    def of_columns(self, which: int, stage: Any) -> Any:
        """Shared memory with the level (0) or -delta (1) of each of a thread's scores."""
        return self.of_queries[None, None, None, which, stage]

    def factor(self, which: int, stage: Any) -> Any:
        """What all scores (0) or slopes (1) of a tile are multiplied with."""
        return self.sStats[self.plan.m, which, stage]

    def levels(self, stage: Any) -> Any:
        """The level of each of a thread's columns of scores."""
        shared = by_rows(self.of_columns(0, stage))[0, None]
        held = cute.make_rmem_tensor(shared.shape, cutlass.Float32)
        cute.autovec_copy(shared, held)
        return held.load()

    def scores(self, a: Operand, b: Operand, stage: Any, start: Any = None) -> Any:
        """The product of a tile of keys and one of queries, on top of what is in `start`."""
        shape = self.mma.partition_shape_C((self.plan.n, self.plan.m))
        acc = self.mma.make_fragment_C(shape)
        if start is None:
            acc.fill(0.0)
        else:
            cute.autovec_copy(start, acc)
        add_product(self.mma, acc, a, b, stage)
        return acc

    def dq(self) -> Any:
        """dS K."""
        acc = self.mma_dq.make_fragment_C(
            self.mma_dq.partition_shape_C((self.plan.m, self.plan.depth))
        )
        acc.fill(0.0)
        add_product(self.mma_dq, acc, self.St, self.Kt)
        return acc

    def add_left(self, acc: Any, left: Any, b: Operand, stage: Any) -> None:
        """acc += left b, with accumulators of the scores' shape as the left operand."""
        _, m, _ = left.shape
        for k in range(b.steps):
            # Neighbouring accumulators along n are what an MMA takes along k.
            at = left.iterator + 8 * m * k
            part = cute.make_tensor(at, cute.make_layout(((4, 2), m), stride=((1, 4 * m), 4)))
            cute.gemm(self.mma, acc, part, b.read(k, stage), acc)


def add_product(mma: Any, acc: Any, a: Operand, b: Operand, stage: Any = 0) -> None:
    """acc += a b, of tiles in shared memory."""
    for k in range(a.steps):
        cute.gemm(mma, acc, a.read(k), b.read(k, stage), acc)


def transposed(s: Any) -> Any:
    """A tile in shared memory, (rows, columns, ...), with rows and columns exchanged."""
    order = [1, 0, *range(2, cute.rank(s.layout))]
    return cute.make_tensor(s.iterator, cute.select(s.layout, order))


class Operand:
    """A tile in shared memory as an operand: read a step of k at a time.

    Args:
        s: the tile (rows, k), or several, (rows, k, stages).
        which: "A" or "B".
        transpose: whether rows, rather than k, are neighbours in memory.
    """

    def __init__(
        self, s: Any, plan: BackwardPlan, mma: Any, tid: Any, which: str, transpose: bool = False
    ) -> None:
        thr = mma.get_slice(tid)
        self.staged = cute.rank(s.layout) == 3
        one = s[None, None, 0] if self.staged else s
        if which == "A":
            self.held = mma.make_fragment_A(thr.partition_A(one))
            self.copy = cute.make_tiled_copy_A(plan.matrices(transpose), mma)
        else:
            self.held = mma.make_fragment_B(thr.partition_B(one))
            self.copy = cute.make_tiled_copy_B(plan.matrices(transpose), mma)
        part = self.copy.get_slice(tid)
        self.source, self.target = part.partition_S(s), part.retile(self.held)
        self.steps = cute.size(self.held, mode=[2])

    def read(self, k: int, stage: Any = 0) -> Any:
        """The fragment of a step."""
        at = (None, None, k)
        source = self.source[(*at, stage)] if self.staged else self.source[at]
        cute.copy(self.copy, source, self.target[at])
        return self.held[at]


@cute.jit
def locate(walk: cutlass.Constexpr, step: Any):
    """Head and tile of a step: tiles of the first count for all heads, then those of the next."""
    head, among = walk.head, cutlass.Int32(step)
    if cutlass.const_expr(walk.plan.group > 1):
        group = walk.plan.group
        count, before = walk.counts[0], cutlass.Int32(0)
        for i in cutlass.range_constexpr(1, len(walk.counts)):
            past = before + count
            if step >= past * group:
                count, before = cutlass.Int32(walk.counts[i]), past
        among = step - before * group
        each = among // count
        head = walk.head * group + each
        among = among - each * count + before
    return head, walk.first + among


@cute.jit
def copy_stats(walk: cutlass.Constexpr, head: Any, tile: Any, stage: Any):
    """Start the copy of levels and deltas of a tile: 16 bytes for each of the first threads."""
    atom = cute.make_copy_atom(
        cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL), cutlass.Float32,
        num_bits_per_copy=128,
    )  # fmt: skip
    units = cute.make_layout((4, walk.plan.known // 2), stride=(1, 4))
    g = cute.make_tensor(
        walk.mStats[walk.workspace(tile), head, None, None].iterator.align(16), units
    )
    s = cute.make_tensor(walk.sStats.iterator + stage * (2 * walk.plan.known), units)
    for first in cutlass.range_constexpr(0, walk.plan.known // 2, walk.plan.threads):
        if first + walk.tid < walk.plan.known // 2:
            cute.copy(atom, g[None, first + walk.tid], s[None, first + walk.tid])


@cute.jit
def mask(
    scores: Any, coords: Any, first_key: Any, keys: Any, first_query: Any,
    plan: cutlass.Constexpr[BackwardPlan],
):  # fmt: skip
    """Scores of keys that a query does not see become -inf.

    Args:
        scores, coords: (keys, queries) of a thread; the coordinates are those in the tile.
        first_key: the block's first key.
        keys: how many there are.
        first_query: place of the tile's first query among the keys.
    """
    for r in cutlass.range_constexpr(cute.size(scores, mode=[0])):
        key = first_key + coords[r, 0][0]
        own = key - first_query  # the query whose place this key has
        if key >= keys:
            scores[r, None].fill(-cutlass.Float32.inf)
        if cutlass.const_expr(plan.after is not None):
            for c in cutlass.range_constexpr(cute.size(scores, mode=[1])):
                if coords[0, c][1] < own - plan.after:
                    scores[r, c] = -cutlass.Float32.inf
        if cutlass.const_expr(plan.before is not None):
            for c in cutlass.range_constexpr(cute.size(scores, mode=[1])):
                if coords[0, c][1] > own + plan.before:
                    scores[r, c] = -cutlass.Float32.inf


@cute.jit
def visit(
    walk: cutlass.Constexpr, rK: Any, rV: Any, step: Any, steps: Any, first_key: Any, keys: Any,
    scale_log2: Any, masked: cutlass.Constexpr,
):  # fmt: skip
    """One tile of queries: adds to dK and dV in registers, and to dQ in memory."""
    plan = walk.plan
    stage = cutlass.Int32(0) if cutlass.const_expr(plan.stages == 1) else step % 2
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()  # Q and dO are here, and nobody reads the Q and dS before these
    if cutlass.const_expr(plan.stages == 2):
        if step + 1 < steps:
            walk.load_Q(step + 1, 1 - stage)
        cute.arch.cp_async_commit_group()
    head, query_tile = locate(walk, step)

    # Scores, a key to a row, and dO V^T - delta, whose sums start at -delta.
    weights = walk.scores(walk.K, walk.Q, stage)
    rows = by_rows(weights)
    if cutlass.const_expr(masked):
        offset = keys - walk.queries
        mask(rows, walk.coords, first_key, keys, query_tile * plan.m + offset, plan)
    level = walk.levels(stage)
    slopes = walk.scores(walk.V, walk.G, 0, walk.of_columns(1, stage))

    # P = 2 ** (scores - level), dS = P * slopes, which goes to shared memory as well.
    if cutlass.const_expr(plan.scaled):
        scale_log2 = walk.factor(0, stage)
        slopes.store(slopes.load() * walk.factor(1, stage))
    for r in cutlass.range_constexpr(cute.size(rows, mode=[0])):
        rows[r, None] = cute.math.exp2(rows[r, None].load() * scale_log2 - level, fastmath=True)
    narrow_slopes = cute.make_fragment_like(slopes, plan.dtype)
    narrow_slopes.store((weights.load() * slopes.load()).to(plan.dtype))
    cute.autovec_copy(narrow_slopes, walk.sS)
    narrow = cute.make_fragment_like(weights, plan.dtype)
    narrow.store(weights.load().to(plan.dtype))
    if cutlass.const_expr(plan.split == 1):
        walk.add_left(rV, narrow, walk.Gt, 0)
    else:
        cute.autovec_copy(narrow, walk.sP)
    cute.arch.sync_threads()  # all of dS is there, and P or nobody reads this dO
    if cutlass.const_expr(plan.split == 1):
        if step + 1 < steps:
            walk.load_G(step + 1)
        cute.arch.cp_async_commit_group()
        walk.add_left(rK, narrow_slopes, walk.Qt, stage)
    else:
        add_product(walk.mma, rV, walk.P, walk.Gt)
        add_product(walk.mma, rK, walk.S, walk.Qt, stage)
    if cutlass.const_expr(plan.stages == 1 or plan.split > 1):
        cute.arch.sync_threads()  # nobody reads this Q any more, nor dO
        if step + 1 < steps:
            if cutlass.const_expr(plan.split > 1):
                walk.load_G(step + 1)
            if cutlass.const_expr(plan.stages == 1):
                walk.load_Q(step + 1, 0)
        cute.arch.cp_async_commit_group()
    add_to_dq(walk, walk.dq(), head, query_tile)


@cute.jit
def add_to_dq(walk: cutlass.Constexpr, acc: Any, head: Any, tile: Any):
    """Add accumulators to those of other blocks: each value of neighbouring threads together."""
    plan = walk.plan
    at = walk.workspace(tile)
    sums = walk.mSums[at, head, None].iterator + walk.tid
    turn: Any = None
    if cutlass.const_expr(plan.ordered):
        turn = turn_of(walk, tile)
        take_turn(walk.mTurns[at, head, None].iterator, turn, walk.tid)
    for v in cutlass.range_constexpr(cute.size(acc)):
        cute.arch.red_add(sums + v * plan.threads, acc[v])
    if cutlass.const_expr(plan.ordered):
        pass_turn(walk.mTurns[at, head, None].iterator, turn + 1, walk.tid)


def turn_of(walk: Walk, tile: Any) -> Any:
    """How many blocks add to a tile of dQ before this one does."""
    plan, (block, _, _) = walk.plan, cute.arch.block_idx()
    if plan.before is None:
        return block
    place = tile * plan.m + (walk.keys - walk.queries)
    return block - cutlass.max(place - plan.before, 0) // plan.n


@cute.jit
def take_turn(turn: Any, number: Any, tid: Any):
    """Wait until the blocks of all keys before this one's have added to a tile.

    Blocks start in this order, so that one that waits is waited for by later ones only.
    """
    if tid == 0:
        while cute.arch.load(turn, cutlass.Int32, sem="acquire", scope="gpu") != number:
            pass
    cute.arch.sync_threads()


@cute.jit
def pass_turn(turn: Any, number: Any, tid: Any):
    """Let the block of the keys after these add."""
    cute.arch.sync_threads()
    if tid == 0:
        cute.arch.store(turn, number, sem="release", scope="gpu")


def tiles_of_queries(
    first_key: Any, queries: Any, keys: Any, plan: BackwardPlan
) -> tuple[Any, tuple[Any, ...]]:
    """The first tile of queries that sees some key of a block; how many of those from there on see
    some of its keys only, how many then all, and, in windows, how many then again some."""
    end = cutlass.Int32(cute.ceil_div(queries, plan.m))
    own = first_key - (keys - queries)  # the query whose place the block's first key has
    first, whole, cut = cutlass.Int32(0), cutlass.Int32(0), end
    if plan.before is not None:
        past = cutlass.max(own + (plan.n + plan.before + plan.m - 1), 0) // plan.m
        end = cutlass.min(end, past)
        cut = cutlass.min(cutlass.max(own + (plan.before + 1), 0) // plan.m, end)
    if plan.after is not None:
        least = own - plan.after
        first = cutlass.min(cutlass.max(least, 0) // plan.m, end)
        whole = cutlass.min(cutlass.max(least + (plan.n + plan.m - 2), 0) // plan.m, end)
    whole = cute.where(first_key + plan.n > keys, end, whole)
    cut = cutlass.max(cut, whole)
    counts = (whole - first, cut - whole)
    return first, counts if plan.before is None else (*counts, end - cut)


@cute.kernel
def backward_kernel(
    mQ: cute.Tensor,
    mK: cute.Tensor,
    mV: cute.Tensor,
    mG: cute.Tensor,
    mStats: cute.Tensor,
    mSums: cute.Tensor,
    mTurns: Any,
    mDk: cute.Tensor,
    mDv: cute.Tensor,
    starts_q: Any,
    starts_k: Any,
    factors: Any,
    scale: cutlass.Float32,
    scale_log2: cutlass.Float32,
    mma: cute.TiledMma,
    mma_dq: cute.TiledMma,
    plan: cutlass.Constexpr[BackwardPlan],
):
    tid, _, _ = cute.arch.thread_idx()
    block, head, batch = cute.arch.block_idx()
    keys_of, values_of = (sequence(t, starts_k, head, batch) for t in (mK, mV))
    keys, first_key = keys_of.shape[0], block * plan.n
    if cutlass.const_expr(starts_k is not None):
        if first_key >= keys:  # the grid is made for the longest sequence
            return
    _, queries = span(mQ, starts_q, batch)

    first, counts = tiles_of_queries(first_key, queries, keys, plan)

    memory = utils.SmemAllocator()
    sK = memory.allocate_tensor(plan.dtype, plan.smem(plan.n), 1024)
    sV = memory.allocate_tensor(plan.dtype, plan.smem(plan.n), 128)
    sQ = memory.allocate_tensor(plan.dtype, plan.queries_smem(), 128)
    sG = memory.allocate_tensor(plan.dtype, plan.smem(plan.m), 128)
    sS = memory.allocate_tensor(plan.dtype, plan.scores_smem(), 128)
    sP = None
    if cutlass.const_expr(plan.split > 1):
        sP = memory.allocate_tensor(plan.dtype, plan.scores_smem(), 128)
    sStats = memory.allocate_tensor(
        cutlass.Float32, cute.make_layout((plan.known, 2, plan.stages)), 128
    )
    walk = Walk(
        (mQ, mG, mStats, mSums, mTurns, starts_q), (sK, sV, sQ, sG, sS, sP, sStats),
        (first, counts, head, batch), keys, mma, mma_dq, tid, plan,
    )  # fmt: skip
    copies = RowCopy(walk.copies.copy, (plan.n, plan.depth), (keys, plan.head_dim), tid)
    for g, s in ((keys_of, sK), (values_of, sV)):
        tile = copies.part.partition_S(tile_from(g, first_key, (plan.n, plan.depth)))
        copies.move(tile, copies.part.partition_D(s), first_key)
    each = walk.steps()
    partly, wholly = each[0], each[0] + each[1]
    steps = wholly
    if cutlass.const_expr(plan.before is not None):
        steps = wholly + each[2]
    if steps > 0:
        walk.load_Q(0, 0)
        walk.load_G(0)
    cute.arch.cp_async_commit_group()

    rK = mma.make_fragment_C(mma.partition_shape_C((plan.n, plan.depth)))
    rV = mma.make_fragment_C(mma.partition_shape_C((plan.n, plan.depth)))
    rK.fill(0.0)
    rV.fill(0.0)
    for i in range(partly):
        visit(walk, rK, rV, i, steps, first_key, keys, scale_log2, True)
    for i in range(partly, wholly):
        visit(walk, rK, rV, i, steps, first_key, keys, scale_log2, False)
    if cutlass.const_expr(plan.before is not None):
        for i in range(wholly, steps):
            visit(walk, rK, rV, i, steps, first_key, keys, scale_log2, True)
    cute.arch.cp_async_wait_group(0)

    if cutlass.const_expr(plan.scaled):
        scale = Factors(*factors, plan.group).of_dk(head, batch)  # pyright: ignore[reportCallIssue]
    rK.store(rK.load() * scale)
    for r, s, m in ((rK, sK, mDk), (rV, sV, mDv)):
        done = cute.make_fragment_like(r, plan.dtype)
        done.store(r.load().to(plan.dtype))
        write(done, s, sequence(m, starts_k, head, batch), block, plan.n, mma, tid, plan)


@cute.kernel
def finish_kernel(
    mSums: cute.Tensor,
    mDq: cute.Tensor,
    starts_q: Any,
    factors: Any,
    scale: cutlass.Float32,
    mma_dq: cute.TiledMma,
    plan: cutlass.Constexpr[BackwardPlan],
):
    """A tile of dQ, in its type and place."""
    tid, _, _ = cute.arch.thread_idx()
    block, head, batch = cute.arch.block_idx()
    first, queries = span(mDq, starts_q, batch)
    if cutlass.const_expr(starts_q is not None):
        if block * plan.m >= queries:
            return
    s = utils.SmemAllocator().allocate_tensor(plan.dtype, plan.smem(plan.m), 128)
    at = tile_index(block, batch, first, queries, starts_q, plan.m)
    acc = mma_dq.make_fragment_C(mma_dq.partition_shape_C((plan.m, plan.depth)))
    sums = plan.sums_of(mSums[at, head, None], tid)
    cute.autovec_copy(sums, cute.make_tensor(acc.iterator, cute.make_layout(sums.shape)))
    if cutlass.const_expr(plan.scaled):
        scale = Factors(*factors, plan.group).of_dq(head, batch)  # pyright: ignore[reportCallIssue]
    done = cute.make_fragment_like(acc, plan.dtype)
    done.store((acc.load() * scale).to(plan.dtype))
    write(done, s, sequence(mDq, starts_q, head, batch), block, plan.m, mma_dq, tid, plan)


@cute.jit
def attention_backward(
    q: cute.Tensor,
    k: cute.Tensor,
    v: cute.Tensor,
    out: cute.Tensor,
    grad: cute.Tensor,
    dq: cute.Tensor,
    dk: cute.Tensor,
    dv: cute.Tensor,
    logs: cute.Tensor,
    stats: cute.Tensor,
    sums: cute.Tensor,
    turns: Any,
    starts_q: Any,
    starts_k: Any,
    longest_q: cutlass.Int32,
    longest_k: cutlass.Int32,
    scale: cutlass.Float32,
    plan: cutlass.Constexpr[BackwardPlan],
    of_dq: cutlass.Float32 = 1.0,  # pyright: ignore[reportArgumentType]
    of_dk: cutlass.Float32 = 1.0,  # pyright: ignore[reportArgumentType]
    of_slopes: cutlass.Float32 = 1.0,  # pyright: ignore[reportArgumentType]
    q_scales: Any = None,
    k_scales: Any = None,
    v_scales: Any = None,
):
    """Launch the kernels.

    Args:
        q, out, grad, dq: (B, Sq, H, D); k, v, dk, dv: (B, Sk, Hk, D). Rows start at multiples of
            16 bytes.
        logs: (B, H, Sq) in f32, from the forward pass.
        stats, sums: (T, H, 2, known) and (T, H, m * depth) in f32: room for T tiles of queries.
        turns: (T, H, 1) in i32 where `plan.ordered`, else None.
        starts_q, starts_k, longest_q, longest_k: as for `attention_forward`.
        scale: of scores.
        of_dq, of_dk, of_slopes, q_scales, k_scales, v_scales: as for `Factors`, where
            `plan.scaled`.
    """
    mQ, mK, mV, mO, mG, mDq, mDk, mDv = (
        as_heads(t, plan.head_dim) for t in (q, k, v, out, grad, dq, dk, dv)
    )
    mma, mma_dq = plan.tiled_mma(), plan.mma_dq()
    factors = None
    if cutlass.const_expr(plan.scaled):
        factors = (scale * LOG2_E, of_dq, of_dk, of_slopes, q_scales, k_scales, v_scales)
    over_q = [cute.ceil_div(mQ.shape[0], plan.m), mQ.shape[2], mQ.shape[3]]
    over_k = [cute.ceil_div(mK.shape[0], plan.n), mK.shape[2], mK.shape[3]]
    if cutlass.const_expr(starts_q is not None):
        over_q = [cute.ceil_div(longest_q, plan.m), mQ.shape[2], starts_q.shape[0] - 1]
        over_k = [cute.ceil_div(longest_k, plan.n), mK.shape[2], starts_q.shape[0] - 1]
    threads = [plan.threads, 1, 1]
    prepare_kernel(mO, mG, logs, stats, sums, turns, starts_q, factors, plan).launch(
        grid=over_q, block=threads
    )
    backward_kernel(
        mQ, mK, mV, mG, stats, sums, turns, mDk, mDv, starts_q, starts_k, factors, scale,
        scale * LOG2_E, mma, mma_dq, plan,
    ).launch(grid=over_k, block=threads)  # fmt: skip
    finish_kernel(sums, mDq, starts_q, factors, scale, mma_dq, plan).launch(
        grid=over_q, block=threads
    )
