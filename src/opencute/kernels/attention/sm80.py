# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention on tensor cores with `mma.sync`: sm_80 and everything after it.

A block has some queries of a head and walks over the keys, last ones first, a tile at a time:
scores S = Q K^T in registers, their exponentials against the largest score so far, and O += P V.
With two stages the next tile arrives in shared memory meanwhile; with one, V while S is computed
and the next K while P V is. Tiles that the causal mask or the end of the keys cuts come first, in a
loop of their own; those that a window cuts at its other end come last, in another.

Floor: 4 B H Sq Sk D operations (half of them when causal) over what `mma.sync` reaches in a loop on
registers: about 620 Tflop/s on an H200, 890 us for 4x16x4096x128. Reading operands from shared
memory takes nearly as long (80 ldmatrix for 256 MMAs of a warp of 32 queries), so that both have to
go on all the time. The order of instructions is therefore written here, and kept by ptxas at its
level 1: operands are read some products before they are used, exponentials are made between
products, and copies are started one by one (eight at once delay all warps' reads).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute, utils
from opencute.kernels.attention.parts import (
    HeadTiles,
    RowCopy,
    as_heads,
    by_rows,
    columns_of,
    sequence,
    span,
    tile_from,
    two_of,
    write,
)

__all__ = [
    "AttentionPlan", "Pieces", "Softmax", "Walk", "attention_forward", "attention_kernel", "mask",
    "share", "tiles_begin", "tiles_seen",
]  # fmt: skip

# Where levels start. Not -inf: a row that sees no key would then subtract infinity from itself.
LOWEST = -3.0e38
SLACK = 8.0  # weights up to 2 ** 8 are as exact in f16 and bf16 as those up to 1

Pieces = list[Callable[[], None]]
cpasync = cute.nvgpu.cpasync


@dataclass(frozen=True)
class AttentionPlan(HeadTiles):
    """What is fixed when attention is compiled.

    Args:
        dtype: Float16 or BFloat16.
        head_dim: elements of a head.
        m, n: queries of a block, and keys of a tile.
        warps: warps of a block; each has m / warps queries.
        causal: whether a query sees no key after its own place, counted from the end.
        group: heads of queries to one head of keys.
        alike: whether keys and values lie in memory with the same strides.
        stages, ahead: as in `AttentionConfig`.
        before, after: how many keys before and after its place a query sees; None: all.
    """

    dtype: Any
    head_dim: int
    m: int
    n: int
    warps: int
    causal: bool
    group: int
    alike: bool = False
    stages: int = 1
    ahead: int = 3
    before: int | None = None
    after: int | None = None

    @property
    def last(self) -> int | None:
        """How many keys after its place a query sees; None: all."""
        return 0 if self.causal and self.after is None else self.after

    def stacked(self, rows: int) -> Any:
        """Shared memory (rows, depth, stages)."""
        one = self.smem(rows)
        step = rows * (self.depth + 8)
        return cute.make_layout((*one.shape, self.stages), stride=(*one.stride, step))


class Softmax:
    """What scores are compared with, and the sum of weights, for each of a thread's rows.

    Any number near the largest score does, as long as the same is taken from all scores of a row:
    weights are then too large by a power of two, the sum as well. So the result is not touched
    before a score is more than `SLACK` powers of two above.

    Args:
        rows: how many rows.
        scale: what scores are multiplied with before 2 is raised to them.
    """

    def __init__(self, rows: int, scale: Any) -> None:
        self.rows, self.scale = rows, scale
        self.level = cute.make_rmem_tensor(rows, cutlass.Float32)  # scaled
        self.total = cute.make_rmem_tensor(rows, cutlass.Float32)
        self.level.fill(LOWEST)
        self.total.fill(0.0)

    def above(self, scores: Any) -> Any:
        """Whether a row of this warp has scores that are far above its level.

        Each thread looks at its own ones: what the largest of a row is does not matter before a
        level is raised.
        """
        far: Any = None
        for r in range(self.rows):
            over = self._most(scores, r) * self.scale - self.level[r]
            far = over if far is None else cute.arch.fmax(far, over)
        return cute.arch.vote_any_sync(far > SLACK)

    def _most(self, scores: Any, r: int) -> Any:
        return scores[r, None].load().reduce(cute.ReductionOp.MAX, -cutlass.Float32.inf, 0)

    def largest(self, scores: Any, r: int) -> Any:
        """The largest score of a row, scaled."""
        most = self._most(scores, r)
        return cute.arch.warp_reduction(most, cute.arch.fmax, threads_in_group=4) * self.scale

    def raise_to(self, scores: Any, result: Any) -> None:
        """Raise the level to new scores; what was summed before follows."""
        for r in range(self.rows):
            before = self.level[r]
            self.level[r] = cute.arch.fmax(before, self.largest(scores, r))
            factor = cute.math.exp2(before - self.level[r], fastmath=True)
            self.total[r] = self.total[r] * factor
            result[r, None] = result[r, None].load() * factor

    def weights(self, scores: Any) -> None:
        """Scores (rows, columns) become weights, and are summed."""
        for r in range(self.rows):
            p = cute.math.exp2(scores[r, None].load() * self.scale - self.level[r], fastmath=True)
            self.total[r] = p.reduce(cute.ReductionOp.ADD, self.total[r], 0)
            scores[r, None] = p

    def weigh(self, scores: Any, i: int, m: int, weights: Any) -> None:
        """Two neighbouring scores, accumulators `i` and `i + 1`, become weights, and are summed."""
        r = i // 2 % 2 + 2 * (i // 4 % m)
        pair = cute.make_tensor(scores.iterator + i, cute.make_layout(2))
        p = cute.math.exp2(pair.load() * self.scale - self.level[r], fastmath=True)
        self.total[r] = p.reduce(cute.ReductionOp.ADD, self.total[r], 0)
        into = cute.make_tensor(weights.iterator + i, cute.make_layout(2))
        into.store(p.to(weights.element_type))


@cute.jit
def mask(
    scores: Any, coords: Any, first_query: Any, first_key: Any, keys: Any,
    plan: cutlass.Constexpr[AttentionPlan],
):  # fmt: skip
    """Scores of keys that a query does not see become -inf.

    Args:
        scores, coords: (rows, columns); the coordinates are those in the tile.
        first_query: place of the tile's first query among the keys.
        first_key: the tile's first key.
        keys: how many there are.
    """
    for r in cutlass.range_constexpr(cute.size(scores, mode=[0])):
        limit = keys - first_key
        place = coords[r, 0][0] + (first_query - first_key)
        if cutlass.const_expr(plan.last is not None):
            last: Any = plan.last
            limit = cutlass.min(limit, place + (last + 1))
        for c in cutlass.range_constexpr(cute.size(scores, mode=[1])):
            outside = coords[0, c][1] >= limit
            if cutlass.const_expr(plan.before is not None):
                outside = outside | (coords[0, c][1] < place - plan.before)
            if outside:
                scores[r, c] = -cutlass.Float32.inf


class Walk:
    """What a block needs on its way over the keys: tiles in memory, parts of this thread.

    Args:
        first: the first tile of keys, where the way ends.
    """

    def __init__(
        self, mK: Any, mV: Any, sQ: Any, sK: Any, sV: Any, copies: Any, mma: Any, tid: Any,
        plan: AttentionPlan, first: Any = 0,
    ) -> None:  # fmt: skip
        part = copies.part
        self.first = first
        self.copies, self.mma, self.plan = copies, mma, plan
        self.mK, self.mV = mK, mV
        self.sK, self.sV = part.partition_D(sK), part.partition_D(sV)
        thr = mma.get_slice(tid)
        # V as the MMA wants it: elements of the head along n, keys along k.
        sVt = cute.make_tensor(sV.iterator, cute.select(sV.layout, [1, 0, 2]))
        self.rQ = mma.make_fragment_A(thr.partition_A(sQ))
        self.rK = mma.make_fragment_B(thr.partition_B(sK[None, None, 0]))
        self.rV = mma.make_fragment_B(thr.partition_B(sVt[None, None, 0]))
        self.read_Q = cute.make_tiled_copy_A(plan.matrices(False), mma)
        self.read_K = cute.make_tiled_copy_B(plan.matrices(False), mma)
        self.read_V = cute.make_tiled_copy_B(plan.matrices(True), mma)
        thr_Q, thr_K, thr_V = (c.get_slice(tid) for c in (self.read_Q, self.read_K, self.read_V))
        self.from_Q, self.into_Q = thr_Q.partition_S(sQ), thr_Q.retile(self.rQ)
        self.from_K, self.into_K = thr_K.partition_S(sK), thr_K.retile(self.rK)
        self.from_V, self.into_V = thr_V.partition_S(sVt), thr_V.retile(self.rV)
        self.coords = by_rows(thr.partition_C(cute.make_identity_tensor((plan.m, plan.n))))

    def stage(self, tile: Any) -> Any:
        """Which part of shared memory a tile of keys has."""
        return tile % 2 if self.plan.stages == 2 else 0

    def load_K(self, tile: Any, masked: bool = True) -> None:
        """Start the copy of a tile of K that may end before its last row, if `masked`."""
        self._load(self.mK, self.sK, tile, masked)

    def load_V(self, tile: Any, masked: bool = True) -> None:
        """The same of V."""
        self._load(self.mV, self.sV, tile, masked)

    def _load(self, m: Any, s: Any, tile: Any, masked: bool) -> None:
        row = tile * self.plan.n
        part = self.copies.part.partition_S(tile_from(m, row, (self.plan.n, self.plan.depth)))
        self.copies.move(part, s[None, None, None, self.stage(tile)], row if masked else None)
        cute.arch.cp_async_commit_group()

    def pieces_of_K(self, tile: Any) -> Pieces:
        """What starts the copy of a tile of K piece by piece, if there is such a tile.

        The tile is whole: only a sequence's last one may not be.
        """
        return self._pieces(self.mK, self.sK, tile, tile >= self.first)

    def pieces_of_V(self, tile: Any, there: Any = None) -> Pieces:
        """The same of V; `there` is None for a tile that there is."""
        return self._pieces(self.mV, self.sV, tile, there)

    def _pieces(self, m: Any, s: Any, tile: Any, there: Any) -> Pieces:
        tensor = tile_from(m, tile * self.plan.n, (self.plan.n, self.plan.depth))
        dst = s[None, None, None, self.stage(tile)]
        return self.copies.pieces(self.copies.part.partition_S(tensor), dst, there)

    def scores(self, tile: Any, meanwhile: Pieces) -> Any:
        """Q K^T of a tile in shared memory, 16 elements and 16 keys at a time.

        Args:
            meanwhile: copies that are started between the products.
        """
        acc = self.mma.make_fragment_C(self.mma.partition_shape_C((self.plan.m, self.plan.n)))
        acc.fill(0.0)
        from_K = self.from_K[None, None, None, self.stage(tile)]
        steps = [(k, j) for k in range(self.plan.depth // 16) for j in range(self.plan.n // 16)]

        def read(k: int, j: int) -> None:
            if j == 0:
                cute.copy(self.read_Q, self.from_Q[None, None, k], self.into_Q[None, None, k])
            cute.copy(self.read_K, from_K[None, j, k], self.into_K[None, j, k])

        for k, j in self._reading(steps, read, meanwhile):
            part = columns_of(acc, 2 * j, 2)
            cute.gemm(self.mma, part, self.rQ[None, None, k], two_of(self.rK, 2 * j, k), part)
        return acc

    def _reading(
        self, steps: list[Any], read: Callable[[int, int], None], meanwhile: Pieces,
        before: Callable[[], None] = lambda: None,
    ) -> Iterator[Any]:  # fmt: skip
        """Steps, each after what it needs; that is read `ahead` steps before.

        Copies are started in the first half, a few at a time: at once, they would keep what is read
        waiting. `before` is done before the first step, while the first operands are read.
        """
        ahead, count, copies = self.plan.ahead, len(steps), len(meanwhile)
        for step in steps[:ahead]:
            read(*step)
        before()
        for i, step in enumerate(steps):
            if i + ahead < count:
                read(*steps[i + ahead])
            yield step
            for start in meanwhile[share(copies, 2 * i, count) : share(copies, 2 * i + 2, count)]:
                start()

    def add_values(self, softmax: Softmax, acc: Any, rO: Any, tile: Any, meanwhile: Pieces) -> None:
        """O += P V, 16 keys and 16 elements of the head at a time.

        The weights P of 16 keys are made from scores between the products of the 16 keys before.

        Args:
            meanwhile: copies that are started between the products.
        """
        _, m, n = acc.shape
        pieces, pairs = self.plan.depth // 16, 4 * m
        from_V = self.from_V[None, None, None, self.stage(tile)]
        parts = [columns_of(acc, 2 * k, 2) for k in range(n // 2)]
        weights = [cute.make_rmem_tensor(part.layout, self.plan.dtype) for part in parts]
        # Neighbouring accumulators along n are what an MMA takes along k.
        order = cute.make_layout(((4, 2), m), stride=((1, 4 * m), 4))

        def read(k: int, j: int) -> None:
            cute.copy(self.read_V, from_V[None, j, k], self.into_V[None, j, k])

        def weigh(k: int, first: int, last: int) -> None:
            for i in range(first, last):
                softmax.weigh(parts[k], 2 * i, m, weights[k])

        steps = [(k, j) for k in range(n // 2) for j in range(pieces)]
        for k, j in self._reading(steps, read, meanwhile, lambda: weigh(0, 0, pairs)):
            part = columns_of(rO, 2 * j, 2)
            rP = cute.make_tensor(weights[k].iterator, order)
            cute.gemm(self.mma, part, rP, two_of(self.rV, 2 * j, k), part)
            if k + 1 < n // 2:
                weigh(k + 1, share(pairs, j, pieces), share(pairs, j + 1, pieces))


def share(count: int, step: int, steps: int) -> int:
    """How many of some things are done before a step."""
    return count * step // steps


def tiles_seen(first_query: Any, keys: Any, plan: AttentionPlan) -> tuple[Any, Any]:
    """Where the tiles of keys end that a block sees some of, and those that its queries see whole,
    but for what a window hides at its other end.

    Args:
        first_query: place of the block's first query among the keys.
        keys: how many there are.
    """
    tiles, whole = cute.ceil_div(keys, plan.n), keys // plan.n
    if plan.last is not None:
        past = first_query + plan.last
        tiles = cutlass.min(tiles, cutlass.max(past + plan.m + plan.n - 1, 0) // plan.n)
        whole = cutlass.min(whole, cutlass.max(past + 1, 0) // plan.n)
    return tiles, whole


def tiles_begin(
    first_query: Any, tiles: Any, whole: Any, plan: AttentionPlan
) -> tuple[Any, Any, Any]:
    """Where the tiles of keys begin that a block sees, where those that its queries see whole do,
    and where these end.

    Args:
        tiles, whole: what `tiles_seen` gave.
    """
    if plan.before is None:
        return 0, 0, whole
    start = cutlass.min(cutlass.max(first_query - plan.before, 0) // plan.n, tiles)
    whole = cutlass.max(whole, start)
    begin = cutlass.max(first_query + (plan.m - 1) - plan.before + (plan.n - 1), 0) // plan.n
    return start, cutlass.min(cutlass.max(begin, start), whole), whole


@cute.jit
def visit(
    walk: cutlass.Constexpr, softmax: cutlass.Constexpr, rO: Any, tile: Any, first_query: Any,
    keys: Any, masked: cutlass.Constexpr,
):  # fmt: skip
    """One tile of keys."""
    plan = walk.plan
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()  # K has arrived, and nobody reads the V before this any more
    with_scores: Pieces = []
    with_values: Pieces = []
    if cutlass.const_expr(plan.stages == 2):  # V has arrived as well, and the next tile comes
        with_scores = walk.pieces_of_K(tile - 1) + walk.pieces_of_V(tile - 1, tile > walk.first)
    elif cutlass.const_expr(masked):  # V may end within the tile
        walk.load_V(tile)
    else:
        with_scores = walk.pieces_of_V(tile)
    acc = walk.scores(tile, with_scores)
    cute.arch.cp_async_commit_group()
    if cutlass.const_expr(plan.stages == 1):
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()  # V has arrived, and nobody reads this K any more
        with_values = walk.pieces_of_K(tile - 1)
    rows = by_rows(acc)
    if cutlass.const_expr(masked):
        mask(rows, walk.coords, first_query, tile * plan.n, keys, plan)
    if softmax.above(rows):
        softmax.raise_to(rows, by_rows(rO))
    walk.add_values(softmax, acc, rO, tile, with_values)
    cute.arch.cp_async_commit_group()


@cute.kernel
def attention_kernel(
    mQ: cute.Tensor,
    mK: cute.Tensor,
    mV: cute.Tensor,
    mO: cute.Tensor,
    mLogs: Any,
    starts_q: Any,
    starts_k: Any,
    scale_log2: cutlass.Float32,
    mma: cute.TiledMma,
    plan: cutlass.Constexpr[AttentionPlan],
):
    tid, _, _ = cute.arch.thread_idx()
    block, head, batch = cute.arch.block_idx()
    if cutlass.const_expr(plan.last is not None):  # the blocks with most keys start first
        block = cute.arch.grid_dim()[0] - 1 - block
    _, queries = span(mQ, starts_q, batch)
    if cutlass.const_expr(starts_q is not None):
        if block * plan.m >= queries:  # the grid is made for the longest sequence
            return
    tile_q, tile_k = (plan.m, plan.depth), (plan.n, plan.depth)
    gQ = cute.local_tile(sequence(mQ, starts_q, head, batch), tile_q, (block, 0))
    keys_of, values_of = (sequence(t, starts_k, head // plan.group, batch) for t in (mK, mV))
    keys = keys_of.shape[0]

    first_query = block * plan.m + (keys - queries)
    tiles, whole = tiles_seen(first_query, keys, plan)
    start, begin, whole = tiles_begin(first_query, tiles, whole, plan)

    memory = utils.SmemAllocator()
    sQ = memory.allocate_tensor(plan.dtype, plan.smem(plan.m), 1024)
    sK = memory.allocate_tensor(plan.dtype, plan.stacked(plan.n), 1024)
    sV = memory.allocate_tensor(plan.dtype, plan.stacked(plan.n), 1024)
    copy = plan.tiled_copy(cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL))
    load_Q = RowCopy(copy, tile_q, (queries, plan.head_dim), tid)
    load_Q.move(load_Q.part.partition_S(gQ), load_Q.part.partition_D(sQ), block * plan.m)
    copies = RowCopy(copy, tile_k, (keys, plan.head_dim), tid)
    walk = Walk(keys_of, values_of, sQ, sK, sV, copies, mma, tid, plan, start)
    if tiles > start:
        walk.load_K(tiles - 1)
        if cutlass.const_expr(plan.stages == 2):
            walk.load_V(tiles - 1)
    cute.arch.cp_async_commit_group()

    rO = mma.make_fragment_C(mma.partition_shape_C(tile_q))
    rO.fill(0.0)
    softmax = Softmax(2 * rO.shape[1], scale_log2)
    for i in range(tiles - whole):
        visit(walk, softmax, rO, tiles - 1 - i, first_query, keys, True)
    for i in range(whole - begin):
        visit(walk, softmax, rO, whole - 1 - i, first_query, keys, False)
    if cutlass.const_expr(plan.before is not None):
        for i in range(begin - start):
            visit(walk, softmax, rO, begin - 1 - i, first_query, keys, True)
    cute.arch.cp_async_wait_group(0)

    # Divide by the sums, and write. Where this is was read before, but kept in no register.
    first, queries = span(mQ, starts_q, batch)
    rows = by_rows(rO)
    coords = by_rows(mma.get_slice(tid).partition_C(cute.make_identity_tensor(tile_q)))
    for r in cutlass.range_constexpr(softmax.rows):
        total = cute.arch.warp_reduction(softmax.total[r], lambda a, b: a + b, threads_in_group=4)
        rows[r, None] = rows[r, None].load() * (0.0 if total == 0.0 else 1.0 / total)
        if cutlass.const_expr(mLogs is not None):
            row, column = coords[r, 0]
            if column == 0 and block * plan.m + row < queries:
                logs = softmax.level[r] + cute.math.log2(total, fastmath=True)
                at = (head, first + block * plan.m + row)
                mLogs[batch if starts_q is None else 0, at[0], at[1]] = logs * math.log(2.0)
    rD = cute.make_fragment_like(rO, plan.dtype)
    rD.store(rO.load().to(plan.dtype))
    write(rD, sQ, sequence(mO, starts_q, head, batch), block, plan.m, mma, tid, plan)


@cute.jit
def attention_forward(
    q: cute.Tensor,
    k: cute.Tensor,
    v: cute.Tensor,
    out: cute.Tensor,
    logs: Any,
    starts_q: Any,
    starts_k: Any,
    longest: cutlass.Int32,
    scale_log2: cutlass.Float32,
    plan: cutlass.Constexpr[AttentionPlan],
):
    """Launch the kernel.

    Args:
        q, out: (B, Sq, H, D); k, v: (B, Sk, Hk, D). Rows start at multiples of 16 bytes.
        logs: (B, H, Sq) in f32, or None.
        starts_q, starts_k: where sequences start along Sq and Sk, and where the last one ends, of
            i32; or None. With them B is 1.
        longest: queries of the longest sequence; without `starts_q` it is not used.
        scale_log2: what scores are multiplied with before 2 is raised to them.
    """
    mQ, mK, mV, mO = (as_heads(t, plan.head_dim) for t in (q, k, v, out))
    if cutlass.const_expr(plan.alike):
        mV = cute.make_tensor(mV.iterator, mK.layout)
    grid = [cute.ceil_div(mQ.shape[0], plan.m), mQ.shape[2], mQ.shape[3]]
    if cutlass.const_expr(starts_q is not None):
        grid = [cute.ceil_div(longest, plan.m), mQ.shape[2], starts_q.shape[0] - 1]
    attention_kernel(
        mQ, mK, mV, mO, logs, starts_q, starts_k, scale_log2, plan.tiled_mma(), plan
    ).launch(grid=grid, block=[32 * plan.warps, 1, 1], opt_level=1)
