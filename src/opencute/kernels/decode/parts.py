# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What attention for decoding does on every processor: rows, tiles of keys, results of groups.

The rows of a block are the queries of all heads that one head of keys serves: row s * G + g is
query s of head g. They are few, so that a warp has all 16 rows of an instruction, and the groups of
a block share the keys: tile by tile, each at its own pace. At the end their results are put
together in shared memory::

    walk = Walk(sQ, sK, sV, mma, tid, plan)
    visit(walk, softmax, rO, place, tile, ...)    # for each tile of this group
    finish(walk, softmax, rO, ...)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.attention.parts import by_rows, columns_of
from opencute.kernels.attention.sm80 import Softmax
from opencute.kernels.decode.config import DecodeConfig, depth_of, step_over

__all__ = [
    "DecodePlan", "Results", "Walk", "finish", "merged", "packed", "put", "read_vectors",
    "split_mode", "store_queries", "synchronise", "vectors", "visit",
]  # fmt: skip

GROUPS = 1  # the first of the named barriers of groups
_SMEM = 225 << 10  # bytes of shared memory for blocks of a multiprocessor

warp = cute.nvgpu.warp


@dataclass(frozen=True)
class DecodePlan:
    """What is fixed when attention for decoding is compiled.

    Args:
        dtype: Float16 or BFloat16.
        head_dim: elements of a head.
        config: how the work is shared; how many splits there are the launch says, but for those
            of a cluster.
        queries: of a sequence.
        group: heads of queries to one head of keys.
        causal: whether each query but the last one sees one key less than the next.
        page: keys of a page, or None.
        cache: type of keys and values: Float8E4M3FN or Float8E5M2, or None: that of queries.
        slots: threads along splits that put them together, of `combine.slots_for`; where a block
            of the same kernel does so, splits that a thread reads at a time.
        beyond: heads of keys, and sequences, that a cluster has.
    """

    dtype: Any
    head_dim: int
    config: DecodeConfig
    queries: int
    group: int
    causal: bool
    page: int | None
    cache: Any = None
    slots: int = 1
    beyond: tuple[int, int] = (1, 1)

    @property
    def stored(self) -> Any:
        """Type of keys and values in memory."""
        return self.dtype if self.cache is None else self.cache

    @property
    def computed(self) -> Any:
        """Type of what is multiplied: numbers of eight bits are numbers of f16."""
        return self.dtype if self.cache is None else cutlass.Float16

    @property
    def vec(self) -> int:
        """Keys' or values' elements in 16 bytes."""
        return 128 // self.stored.width

    @property
    def depth(self) -> int:
        """Elements of a row in shared memory."""
        return depth_of(self.head_dim)

    @property
    def beside(self) -> int:
        """Blocks of a multiprocessor that there should be registers for; 0: as it comes."""
        config, threads = self.config, self.threads * self.config.groups
        small = config.n == 16 and self.depth <= 128  # what of a tile and of results is held
        if config.merge == "cluster":  # only where there is room for two
            small = small and 2 * config.smem_bytes(self.head_dim, self.stored.width) <= _SMEM
        return 2 if self.cache is not None and threads == 256 and small else 0

    @property
    def divided(self) -> bool:
        """Whether queries are numbers of f16 relative to a power of two of their row."""
        return self.cache is not None and self.dtype is not cutlass.Float16

    @property
    def tight(self) -> bool:
        """Whether tiles are read a part after the other, just before it is used."""
        few = self.threads * self.config.groups > 384  # registers, 128 of a thread
        return self.deep or self.beside > 0 or few

    @property
    def deep(self) -> bool:
        """Whether results take so many registers that queries are read again for each tile."""
        return self.depth > 128

    @property
    def result_step(self) -> int:
        """Elements from a row of a group's result in shared memory to the next one: what lanes
        store at a time, two of them or four, is in different banks."""
        return self.depth + step_over(self.stored.width)

    @property
    def threads(self) -> int:
        """Threads of a group."""
        return 32 * self.config.warps

    @property
    def tiles(self) -> int:
        """Tiles in shared memory, of all groups."""
        return self.config.groups * self.config.stages

    def rows_from(self, first: Any) -> Any:
        """How many rows there are of a block whose first one this is."""
        return cutlass.min(self.queries * self.group - first, self.config.rows)

    def tiled_mma(self) -> Any:
        """The warps of a group one below the other."""
        op = warp.MmaF16BF16Op(self.computed, cutlass.Float32, (16, 8, 16))
        m = self.config.warps  # a warp's pieces are one below all warps' first ones
        return cute.make_tiled_mma(op, (m, 1, 1), permutation_mnk=(16 * m, 16, 16))

    def matrices(self, transpose: bool) -> Any:
        """From shared memory to the registers of an MMA."""
        return cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose, 4), self.computed)

    def rows_layout(self, rows: int, vec: int = 8) -> Any:
        """Shared memory (rows, depth) whose rows meet different banks; `vec` elements take 16
        bytes."""
        return cute.make_layout((rows, self.depth), stride=(self.depth + vec, 1))


def packed(t: Any, group: int) -> Any:
    """A tensor (..., Sq, H, D), with what is known of it, as (rows, D, Hk, ...).

    Args:
        group: heads of queries to one head of keys.
    """
    *outer, queries, heads, size = t.shape
    *steps, sq, sh, _ = (cute.assume(s, divby=4) for s in (*t.stride[:-1], 4))
    shape = ((group, queries), size, heads // group, *reversed(outer))
    stride = ((sh, sq), 1, group * sh, *reversed(steps))
    return cute.make_tensor(t.iterator.align(8), cute.make_layout(shape, stride=stride))


def split_mode(t: Any) -> Any:
    """A tensor with one mode more in front: that of splits, of which there is one."""
    if t is None:
        return None
    layout = cute.make_layout((1, *t.shape), stride=(0, *t.stride))
    return cute.make_tensor(t.iterator, layout)


def synchronise(which: Any, plan: DecodePlan) -> None:
    """Wait for the other threads of a group."""
    if plan.config.warps == 1:
        cute.arch.sync_warp()
    else:
        cute.arch.barrier(barrier_id=GROUPS + which, number_of_threads=plan.threads)


def vectors(tid: Any, plan: DecodePlan) -> list[tuple[Any, Any]]:
    """Rows and vectors of eight elements of them that a thread loads; some are behind the last
    row."""
    across, threads = plan.depth // 8, plan.threads * plan.config.groups
    places = [tid + i * threads for i in range(-(-plan.config.rows * across // threads))]
    return [(at // across, at % across) for at in places]


def read_vectors(mQ: Any, first: Any, places: list[tuple[Any, Any]], plan: DecodePlan) -> Any:
    """Ask for vectors of rows; what there is not is zero.

    Args:
        mQ: (rows, D); first: the block's first one.
        places: of the vectors, in rows and vectors.

    Returns:
        (8, vectors).
    """
    held = cute.make_rmem_tensor((8, len(places)), plan.dtype)
    held.fill(0.0)
    for i, (row, column) in enumerate(places):
        _read_vector(mQ, held[None, i], first, row, column, plan)
    return held


@cute.jit
def _read_vector(
    mQ: Any, held: Any, first: Any, row: Any, column: Any, plan: cutlass.Constexpr[DecodePlan]
):  # fmt: skip
    there = (row < plan.config.rows) & (first + row < plan.queries * plan.group)
    if there & (column * 8 < plan.head_dim):
        source = mQ.iterator + mQ.layout((first + row, column * 8))
        cute.autovec_copy(cute.make_tensor(source.align(16), cute.make_layout(8)), held)


@cute.jit
def store_queries(
    held: Any, sQ: Any, tid: Any, plan: cutlass.Constexpr[DecodePlan]
):  # fmt: skip
    """Store what `read_vectors` gives of `vectors` in shared memory."""
    places = vectors(tid, plan)
    for i in cutlass.range_constexpr(len(places)):
        row, column = places[i]
        if row < plan.config.rows:
            into = cute.local_tile(sQ, (1, 8), (row, column))
            cute.autovec_copy(held[None, i], into[0, None])


class Walk:
    """What a group needs on its way over the keys: tiles in memory, parts of this thread.

    Args:
        sQ: (rows, depth); sK, sV: (n, depth, tiles), in shared memory.
        tid: index of the thread in its group.
    """

    def __init__(self, sQ: Any, sK: Any, sV: Any, mma: Any, tid: Any, plan: DecodePlan) -> None:
        self.mma, self.plan, self.tid, self.sV = mma, plan, tid, sV
        thr = mma.get_slice(tid)
        # V as the MMA wants it: elements of the head along n, keys along k.
        sVt = cute.make_tensor(sV.iterator, cute.select(sV.layout, [1, 0, 2]))
        at = (None, None, 0)
        self.rQ = mma.make_fragment_A(thr.partition_A(sQ))
        self.rK = mma.make_fragment_B(thr.partition_B(sK[at]))
        self.rV = mma.make_fragment_B(thr.partition_B(sVt[at]))
        self.read_K = cute.make_tiled_copy_B(plan.matrices(False), mma)
        self.read_V = cute.make_tiled_copy_B(plan.matrices(True), mma)
        thr_K, thr_V = self.read_K.get_slice(tid), self.read_V.get_slice(tid)
        self.from_K, self.into_K = thr_K.partition_S(sK), thr_K.retile(self.rK)
        self.from_V, self.into_V = thr_V.partition_S(sVt), thr_V.retile(self.rV)
        tile = (plan.config.rows, plan.config.n)
        self.coords = by_rows(thr.partition_C(cute.make_identity_tensor(tile)))
        self.read_Q = cute.make_tiled_copy_A(plan.matrices(False), mma)
        thr_Q = self.read_Q.get_slice(tid)
        self.from_Q, self.into_Q = thr_Q.partition_S(sQ), thr_Q.retile(self.rQ)
        if not plan.deep:
            cute.copy(self.read_Q, self.from_Q, self.into_Q)

    def keep(self, rO: Any, r: int, results: Any) -> None:
        """Store one of this thread's rows of the result in (rows, depth)."""
        part = by_rows(self.mma.get_slice(self.tid).partition_C(results))
        cute.autovec_copy(by_rows(rO)[r, None], part[r, None])

    def results(self) -> Any:
        """Where the result is summed."""
        shape = (self.plan.config.rows, self.plan.depth)
        rO = self.mma.make_fragment_C(self.mma.partition_shape_C(shape))
        rO.fill(0.0)
        return rO

    def scores(self, place: Any) -> Any:
        """Q K^T of the tile at a place."""
        config = self.plan.config
        acc = self.mma.make_fragment_C(self.mma.partition_shape_C((config.rows, config.n)))
        acc.fill(0.0)
        steps = cute.size(self.rQ, mode=[2])
        at = [(None, None, k) for k in range(steps)]
        if not self.plan.tight:
            for k in at:  # all of them before the first is used: a warp is on its own
                cute.copy(self.read_K, self.from_K[(*k, place)], self.into_K[k])
        for k in at:
            if self.plan.deep:
                cute.copy(self.read_Q, self.from_Q[k], self.into_Q[k])
            if self.plan.tight:
                cute.copy(self.read_K, self.from_K[(*k, place)], self.into_K[k])
            cute.gemm(self.mma, acc, self.rQ[k], self.rK[k], acc)
        return acc

    def read_values(self, place: Any, k: int) -> None:
        """Read the values of 16 keys, if there are registers for them."""
        if not self.plan.tight:
            cute.copy(
                self.read_V, self.from_V[None, None, k, place], self.into_V[None, None, k]
            )  # fmt: skip

    def add_values(self, softmax: Softmax, acc: Any, rO: Any, place: Any) -> None:
        """O += P V, with the weights P made from scores 16 keys at a time.

        The first values have been read already.
        """
        _, m, n = acc.shape
        for k in range(n // 2):
            part = columns_of(acc, 2 * k, 2)
            softmax.weights(by_rows(part))
            p = cute.make_rmem_tensor(part.layout, self.plan.computed)
            p.store(part.load().to(self.plan.computed))
            # Neighbouring accumulators along n are what an MMA takes along k.
            rP = cute.make_tensor(p.iterator, cute.make_layout(((4, 2), m), stride=((1, 4 * m), 4)))
            if k + 1 < n // 2:
                self.read_values(place, k + 1)
            self._add(rP, rO, place, k)

    def _add(self, rP: Any, rO: Any, place: Any, k: int) -> None:
        """Add the product of weights and values of 16 keys."""
        if not self.plan.tight:
            cute.gemm(self.mma, rO, rP, self.rV[None, None, k], rO)
        else:
            self._add_parts(rP, rO, place, k)

    def _add_parts(self, rP: Any, rO: Any, place: Any, k: int) -> None:
        """As `_add`, reading the values a part after the other."""
        parts = cute.size(self.into_V, mode=[1])
        tiles = cute.size(rO, mode=[2]) // parts
        for j in range(parts):
            cute.copy(self.read_V, self.from_V[None, j, k, place], self.into_V[None, j, k])
            for n in range(j * tiles, (j + 1) * tiles):
                for m in range(cute.size(rO, mode=[1])):
                    into = rO[None, m, n]
                    cute.gemm(self.mma, into, rP[None, m], self.rV[None, n, k], into)


@cute.jit
def mask(
    scores: Any, coords: Any, first: Any, limit: Any, plan: cutlass.Constexpr[DecodePlan]
):  # fmt: skip
    """Scores of keys that a query does not see become -inf.

    Args:
        first: the block's first row.
        limit: how many of the tile's keys the last query sees.
    """
    for r in cutlass.range_constexpr(cute.size(scores, mode=[0])):
        seen = limit
        if cutlass.const_expr(plan.causal and plan.queries > 1):
            query = cutlass.min((first + coords[r, 0][0]) // plan.group, plan.queries - 1)
            seen = limit - (plan.queries - 1) + query
        for c in cutlass.range_constexpr(cute.size(scores, mode=[1])):
            if coords[0, c][1] >= seen:
                scores[r, c] = -cutlass.Float32.inf


@cute.jit
def clear_values(
    walk: cutlass.Constexpr[Walk], place: Any, which: Any, limit: Any
):  # fmt: skip
    """Values behind the last key become zero: no weight makes zero of what is no number."""
    plan = walk.plan
    across = plan.depth // plan.vec
    zeros = cute.make_rmem_tensor(8, walk.sV.element_type)
    zeros.fill(0.0)
    for at in cutlass.range(walk.tid, plan.config.n * across, plan.threads, unroll=1):
        if at // across >= limit:
            into = cute.local_tile(walk.sV[None, None, place], (1, 8), (at // across, at % across))
            cute.autovec_copy(zeros, into[0, None])
    synchronise(which, plan)


@cute.jit
def visit(
    walk: cutlass.Constexpr[Walk], softmax: cutlass.Constexpr[Softmax], rO: Any, place: Any,
    which: Any, first: Any, limit: Any, cleared: cutlass.Constexpr[bool],
):  # fmt: skip
    """One tile of keys.

    Args:
        place: of the tile in shared memory.
        which: the group.
        first: the block's first row.
        limit: how many keys there are from the tile's first one on.
        cleared: whether values behind the last key are zero.
    """
    plan = walk.plan
    hidden = plan.queries - 1 if plan.causal else 0
    acc = walk.scores(place)
    rows = by_rows(acc)
    if limit < plan.config.n + hidden:
        mask(rows, walk.coords, first, limit, plan)
        if cutlass.const_expr(not cleared):
            clear_values(walk, place, which, limit)
    walk.read_values(place, 0)
    if softmax.above(rows):
        softmax.raise_to(rows, by_rows(rO))
    walk.add_values(softmax, acc, rO, place)


@dataclass(frozen=True)
class Results:
    """Where a block's results go.

    Args:
        out: (rows, D) of its head and split; logs: (H, Sq), or None.
        first: the block's first row.
        head: its head of keys.
        scale: what results are multiplied with, or None.
        group: heads of queries to one of keys.
    """

    out: Any
    logs: Any
    first: Any
    head: Any
    scale: Any
    group: int

    def put(self, row: Any, column: Any, level: Any, total: Any, sums: Any) -> None:
        """Store a vector of four of one of the block's rows, weighted relative to a level."""
        put(self, row, column, level, total, sums)

    def log_place(self, row: Any) -> tuple[Any, Any]:
        """Head and query of a row."""
        place = self.first + row
        return self.head * self.group + place % self.group, place // self.group


@cute.jit
def finish(
    walk: cutlass.Constexpr[Walk], softmax: cutlass.Constexpr[Softmax], rO: Any, memory: Any,
    sStats: Any, which: Any, into: cutlass.Constexpr[Any], tid: Any,
):  # fmt: skip
    """Put the results of all groups together, and store them.

    Args:
        memory: of the tiles, where the results go.
        sStats: (rows, groups, 2) in f32: levels and sums.
        which: the group.
        into: where to: `Results`, or what else has `first` and `put`.
        tid: index of the thread in the block.
    """
    plan, config = walk.plan, walk.plan.config
    step = plan.result_step
    layout = cute.make_layout(
        (config.rows, plan.depth, config.groups), stride=(step, 1, config.rows * step)
    )
    sO = cute.make_tensor(cute.recast_ptr(memory, dtype=cutlass.Float32), layout)
    cute.arch.sync_threads()  # nobody reads tiles any more
    rows = plan.rows_from(into.first)
    for r in cutlass.range_constexpr(softmax.rows):
        if walk.coords[r, 0][0] < rows:  # often there are few
            walk.keep(rO, r, sO[None, None, which])
        total = cute.arch.warp_reduction(softmax.total[r], lambda a, b: a + b, threads_in_group=4)
        row, column = walk.coords[r, 0]
        if column == 0:
            sStats[row, which, 0] = softmax.level[r]
            sStats[row, which, 1] = total
    cute.arch.sync_threads()
    across = plan.head_dim // 4
    for at in range(tid, rows * across, plan.threads * config.groups):
        row, column = at // across, at % across
        into.put(row, column, *merged(sO, sStats, row, column))


def merged(results: Any, stats: Any, row: Any, column: Any) -> tuple[Any, Any, Any]:
    """A level, the sum of weights relative to it, and of weighted vectors of four.

    Args:
        results: (rows, D, groups); stats: (rows, groups, 2), levels and sums.
        column: which vector of the row.
    """
    groups = stats.shape[1]
    level = stats[row, 0, 0]
    for g in range(1, groups):
        level = cute.arch.fmax(level, stats[row, g, 0])
    total = cutlass.Float32(0.0)
    sums = cute.make_rmem_tensor(4, cutlass.Float32)
    sums.fill(0.0)
    for g in range(groups):
        weight = cute.math.exp2(stats[row, g, 0] - level, fastmath=True)
        total = total + stats[row, g, 1] * weight
        held = cute.make_rmem_tensor(4, cutlass.Float32)
        cute.autovec_copy(cute.local_tile(results[row, None, g], (4,), (column,)), held)
        sums.store(sums.load() + held.load() * weight)
    return level, total, sums


@cute.jit
def put(
    into: cutlass.Constexpr[Results], row: Any, column: Any, level: Any, total: Any, sums: Any
):  # fmt: skip
    """Store a vector of the result of a row, and the logarithm with the first."""
    result = cute.make_rmem_tensor(4, into.out.element_type)
    factor = 0.0 if total == 0.0 else 1.0 / total
    if cutlass.const_expr(into.scale is not None):
        factor = factor * into.scale
    result.store((sums.load() * factor).to(into.out.element_type))
    target = into.out.iterator + into.out.layout((into.first + row, column * 4))
    alignment = 4 * into.out.element_type.width // 8
    cute.autovec_copy(result, cute.make_tensor(target.align(alignment), cute.make_layout(4)))
    if cutlass.const_expr(into.logs is not None):
        if column == 0:
            logs = (level + cute.math.log2(total, fastmath=True)) * math.log(2.0)
            into.logs[into.log_place(row)] = logs
