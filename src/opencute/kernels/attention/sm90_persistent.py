# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention with warpgroups on blocks that stay: as `sm90`, for one tile of queries after another.

While the last product of a tile's values runs, so do the first scores of the next tile: its queries
were loaded when the last scores were there. Results go from registers to memory, eight to a thread
after threads of a row have traded theirs, beside the products of the other warpgroups.

Queries that see all keys: each block takes every n-th tile. Others: tiles are sorted by how many
keys they see, for as many heads at a time as the L2 cache holds the keys of, up and down in turns.
Blocks take one of each round, in turns from both ends, so that all have alike much to do; what is
left, the shortest tiles, are blocks of their own, which start where room is first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute, pipeline, utils
from opencute.kernels.attention.parts import as_heads
from opencute.kernels.attention.sm90 import (
    GROUP,
    ROWS,
    Places,
    Rows,
    WarpgroupPlan,
    Worker,
    by_rows,
    mask,
)

__all__ = ["attention_kernel", "attention_persistent"]

L2_BYTES = 32 << 20  # of the L2 cache, for keys and values

cpasync, warpgroup = cute.nvgpu.cpasync, cute.nvgpu.warpgroup


@dataclass(frozen=True)
class Order:
    """Which tiles of queries a block has.

    Args:
        blocks: tiles of a head.
        heads: heads of a batch.
        pairs: heads of all batches.
        section: heads whose tiles are sorted together; the last ones' longest come first.
        lengths: queries, and keys.
    """

    blocks: Any
    heads: Any
    pairs: Any
    section: Any
    lengths: tuple[Any, Any]
    plan: WarpgroupPlan

    @property
    def even(self) -> bool:
        """Whether all tiles see equally many keys."""
        return self.plan.after is None and self.plan.before is None

    def rounds(self) -> Any:
        """How many tiles the blocks that stay have, where tiles differ."""
        return self.blocks * self.pairs // self.plan.blocks

    def grid(self) -> Any:
        """How many blocks there are."""
        total = self.blocks * self.pairs
        if self.even:
            return cutlass.min(total, self.plan.blocks)
        stay = cutlass.min(self.rounds(), 1) * self.plan.blocks
        return stay + total - self.rounds() * self.plan.blocks

    def count(self) -> Any:
        """How many tiles this block has."""
        block, wide = cute.arch.block_idx()[0], self.plan.blocks
        if self.even:
            return cute.ceil_div(self.blocks * self.pairs - block, wide)
        rounds = self.rounds()
        return cute.where((block < wide) & (rounds > 0), rounds, 1)

    def tile(self, turn: Any) -> tuple[Any, Any, Any]:
        """Tile, head and batch of a turn of this block."""
        block, wide = cute.arch.block_idx()[0], self.plan.blocks
        if self.even:
            index = turn * wide + block
            pair, tile = index // self.blocks, index % self.blocks
            return tile, pair % self.heads, pair // self.heads
        rounds = self.rounds()
        back = (turn & 1) * (wide - 1 - 2 * block)
        stays = (block < wide) & (rounds > 0)
        own = rounds * wide + block - cutlass.min(rounds, 1) * wide
        index = cute.where(stays, turn * wide + block + back, own)
        part = index // (self.section * self.blocks)
        index = index - part * (self.section * self.blocks)
        size = cutlass.min(self.section, self.pairs - part * self.section)
        row, column = index // size, index % size
        pair = part * self.section + column
        parts = cute.ceil_div(self.pairs, self.section)
        tile = cute.where((parts - part) % 2 == 1, self.blocks - 1 - row, row)
        return tile, pair % self.heads, pair // self.heads

    def places(self, tile: Any) -> Places:
        """Which keys a tile's queries see."""
        queries, keys = self.lengths
        return Places(tile * self.plan.m + (keys - queries), keys, self.plan)


class Queries:
    """A warpgroup's way through the buffers of queries."""

    def __init__(self, loads: Any, which: Any, plan: WarpgroupPlan) -> None:
        self.loads, self.plan = loads, plan
        self.state = pipeline.PipelineState(plan.groups * plan.queries, 0, which, 0)

    def wait(self) -> None:
        """Wait until the queries are there."""
        self.loads.consumer_wait(self.state)

    def release(self) -> None:
        """They are no longer needed."""
        self.loads.consumer_release(self.state)

    def advance(self) -> None:
        """Go on to those of the next tile."""
        state, groups = self.state, self.plan.groups
        stages = groups * self.plan.queries
        if self.plan.queries == 1:
            state.__init__(stages, 0, state.index, state.phase ^ 1)
            return
        wraps = state.index + groups >= stages
        index = cute.where(wraps, state.index + groups - stages, state.index + groups)
        state.__init__(stages, 0, index, cute.where(wraps, state.phase ^ 1, state.phase))


@cute.jit
def produce(loads: Any, q: Any, k: Any, v: Any, order: Any, plan: cutlass.Constexpr[WarpgroupPlan]):
    """Load all tiles of this block: the first keys, the queries, then values and further keys.

    Args:
        q, k, v: an atom, coordinates (values, tiles, heads, batches), and shared memory (values,
            places).
    """
    queries, keys, values = (x.make_producer() for x in loads)
    for turn in range(order.count()):
        tile, head, batch = order.tile(turn)
        served = head // plan.group
        start, count = order.places(tile).tiles()
        handle = keys.acquire_and_advance()
        at = (None, start + count - 1, served, batch)
        cute.copy(k[0], k[1][at], k[2][None, handle.index], tma_bar_ptr=handle.barrier)
        handle.commit()
        for i in cutlass.range_constexpr(plan.groups):
            handle = queries.acquire_and_advance()
            at = (None, tile * plan.groups + i, head, batch)
            cute.copy(q[0], q[1][at], q[2][None, handle.index], tma_bar_ptr=handle.barrier)
            handle.commit()
        for i in range(count):
            if i > 0:
                handle = keys.acquire_and_advance()
                at = (None, start + count - 1 - i, served, batch)
                cute.copy(k[0], k[1][at], k[2][None, handle.index], tma_bar_ptr=handle.barrier)
                handle.commit()
            handle = values.acquire_and_advance()
            at = (None, start + count - 1 - i, served, batch)
            cute.copy(v[0], v[1][at], v[2][None, handle.index], tma_bar_ptr=handle.barrier)
            handle.commit()


@cute.jit
def consume(
    worker: cutlass.Constexpr[Any], rows: cutlass.Constexpr[Any], loads: Any, order: Any,
    mO: Any, mLogs: Any, corner: Any,
):  # fmt: skip
    """O of all tiles of a warpgroup."""
    plan = worker.plan
    queries = Queries(loads[0], worker.which, plan)
    keys, values = loads[1].make_consumer(), loads[2].make_consumer()
    tile, head, batch = order.tile(0)
    places = order.places(tile)
    start, count = places.tiles()
    worker.rO.fill(0.0)
    queries.wait()
    key = keys.wait_and_advance()
    warpgroup.fence()
    worker.scores(key.index, queries.state.index)
    warpgroup.wait_group(0)
    key.release()
    if count == 1:
        queries.release()
    first = places.first + ROWS * worker.which
    mask(worker.rS, start + count - 1, first, corner, places.keys, plan)
    rows.weigh(worker.rS)
    worker.keep()
    value = values.wait_and_advance()
    if worker.which == plan.groups - 1:  # the first turn is the first warpgroup's
        worker.next_turn()
    turns = order.count()
    for turn in range(turns):
        for i in range(1, count):
            key = keys.wait_and_advance()
            worker.turn()
            warpgroup.fence()
            worker.scores(key.index, queries.state.index)
            worker.add_values(value.index)
            worker.next_turn()
            warpgroup.wait_group(1)
            key.release()
            if i == count - 1:
                queries.release()
            if cutlass.const_expr(not order.even):
                mask(worker.rS, start + count - 1 - i, first, corner, places.keys, plan)
            rows.weigh(worker.rS)
            following = values.wait_and_advance()
            warpgroup.wait_group(0)
            value.release()
            value = following
            rows.rescale(worker.rO)
            warpgroup.fence()
            worker.keep()
        if turn + 1 < turns:
            before = (tile, head, batch)
            tile, head, batch = order.tile(turn + 1)
            places = order.places(tile)
            start, count = places.tiles()
            first = places.first + ROWS * worker.which
            queries.advance()
            key = keys.wait_and_advance()
            queries.wait()
            worker.turn()
            warpgroup.fence()
            worker.scores(key.index, queries.state.index)
            worker.add_values(value.index)
            worker.next_turn()
            warpgroup.wait_group(1)
            key.release()
            if count == 1:
                queries.release()
            mask(worker.rS, start + count - 1, first, corner, places.keys, plan)
            known = rows.begin()
            rows.weigh(worker.rS)
            following = values.wait_and_advance()
            warpgroup.wait_group(0)
            value.release()
            value = following
            finish(worker, known, mO, mLogs, before, order.lengths[0], corner)
            worker.rO.fill(0.0)
            warpgroup.fence()
            worker.keep()
    if worker.which == 0:
        worker.turn()  # the one that nobody takes
    warpgroup.fence()
    worker.add_values(value.index)
    warpgroup.wait_group(0)
    value.release()
    finish(worker, rows.begin(), mO, mLogs, (tile, head, batch), order.lengths[0], corner)


def trade(words: list[Any], lane: Any) -> list[Any]:
    """What four neighbouring threads have of four columns each, so that each has all of one."""
    for step in (1, 2):
        upper = (lane & step) != 0
        for i in range(4):
            if i & step:
                continue
            low, high = words[i], words[i + step]
            got = cute.arch.shuffle_sync_bfly(cute.where(upper, low, high), step)
            words[i], words[i + step] = cute.where(upper, got, low), cute.where(upper, high, got)
    return words


@cute.jit
def finish(
    worker: cutlass.Constexpr[Any], known: Any, mO: Any, mLogs: Any, at: Any, queries: Any,
    corner: Any,
):  # fmt: skip
    """Divide by the sums, and store.

    Args:
        known: levels and sums of the thread's rows.
        mO: (queries, elements, heads, batches).
        mLogs: (batches, heads, queries), or None.
        at: tile, head and batch.
    """
    plan = worker.plan
    tile, head, batch = at
    levels, totals = known
    out = by_rows(worker.rO)
    first = (tile * plan.groups + worker.which) * ROWS + corner[0]
    for r in cutlass.range_constexpr(2):
        total = cute.arch.warp_reduction(totals[r], lambda a, b: a + b, threads_in_group=4)
        out[r, None] = out[r, None].load() * (0.0 if total == 0.0 else 1.0 / total)
        if cutlass.const_expr(mLogs is not None):
            row = first + 8 * r
            if corner[1] == 0 and row < queries:
                logs = levels[r] + cute.math.log2(total, fastmath=True)
                mLogs[batch, head, row] = logs * math.log(2.0)
    packed = cute.make_rmem_tensor(worker.rO.layout, plan.dtype)
    packed.store(worker.rO.load().to(plan.dtype))
    words = cute.recast_tensor(packed, cutlass.Int32)
    words = cute.make_tensor(words.iterator, cute.make_layout((2, plan.head_dim // 8)))
    matrix = mO[None, None, head, batch]
    lines = cute.make_tensor(
        matrix.iterator,
        cute.make_layout((matrix.shape[0], (8, 4, plan.head_dim // 32)),
                         stride=(matrix.stride[0], (1, 8, 32))),
    )  # fmt: skip
    mine = corner[1] // 2
    for r in cutlass.range_constexpr(2):
        row = first + 8 * r
        held = cute.make_rmem_tensor((4, plan.head_dim // 32), cutlass.Int32)
        for g in cutlass.range_constexpr(plan.head_dim // 32):
            moved = trade([words[r, 4 * g + j] for j in range(4)], mine)
            for j in cutlass.range_constexpr(4):
                held[j, g] = moved[j]
        if row < queries:
            for g in cutlass.range_constexpr(plan.head_dim // 32):
                piece = cute.recast_tensor(held[None, g], plan.dtype)
                cute.autovec_copy(piece, lines[row, (None, mine, g)])


@cute.kernel
def attention_kernel(
    atoms: Any,
    mQ: cute.Tensor,
    mK: cute.Tensor,
    mV: cute.Tensor,
    mO: cute.Tensor,
    mLogs: Any,
    scale_log2: cutlass.Float32,
    numbers: Any,
    mmas: Any,
    plan: cutlass.Constexpr[WarpgroupPlan],
):
    tid, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    group = cute.arch.make_warp_uniform(tid // GROUP)
    memory = utils.SmemAllocator()
    sQ, sK, sV = (
        memory.allocate_tensor(plan.dtype, s.outer, 1024, swizzle=s.inner) for s in plan.layouts()
    )
    threads = pipeline.Agent.Thread
    kinds = ((plan.groups * plan.queries, ROWS, 4), *2 * ((plan.stages, plan.n, 4 * plan.groups),))
    loads = tuple(
        pipeline.PipelineTmaAsync.create(
            num_stages=stages, producer_group=pipeline.CooperativeGroup(threads, 1),
            consumer_group=pipeline.CooperativeGroup(threads, warps),
            tx_count=2 * plan.head_dim * count, defer_sync=True,
        )
        for stages, count, warps in kinds
    )  # fmt: skip
    if warp == 0:
        for atom in atoms:
            cpasync.prefetch_descriptor(atom)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()

    order = Order(*numbers, (mQ.shape[0], mK.shape[0]), plan)
    if group == 0:
        cute.arch.setmaxregister_decrease(plan.registers[0])
        if warp == 0:
            tiles = (
                cute.local_tile(mQ, (ROWS, plan.head_dim), (None, 0, None, None)),
                cute.local_tile(mK, (plan.n, plan.head_dim), (None, 0, None, None)),
                cute.local_tile(mV, (plan.head_dim, plan.n), (0, None, None, None)),
            )
            q, k, v = (
                (atom, *reversed(cpasync.tma_partition(
                    atom, 0, cute.make_layout(1), cute.group_modes(s, 0, 2),
                    cute.group_modes(t, 0, 2),
                )))
                for atom, s, t in zip(atoms, (sQ, sK, sV), tiles, strict=False)
            )  # fmt: skip
            produce(loads, q, k, v, order, plan)
    else:
        cute.arch.setmaxregister_increase(plan.registers[1])
        tid = tid % GROUP
        worker = Worker(mmas, sQ, sK, sV, group - 1, plan)
        corner = (tid // 32 * 16 + tid % 32 // 4, tid % 4 * 2)
        consume(worker, Rows(scale_log2, plan.slack), loads, order, mO, mLogs, corner)


@cute.jit
def attention_persistent(
    q: cute.Tensor,
    k: cute.Tensor,
    v: cute.Tensor,
    out: cute.Tensor,
    logs: Any,
    scale_log2: cutlass.Float32,
    plan: cutlass.Constexpr[WarpgroupPlan],
):
    """Launch the kernel; arguments as for `sm90.attention_forward`."""
    mQ, mK, mV, mO = (as_heads(t, plan.head_dim) for t in (q, k, v, out))
    mV = cute.make_tensor(mV.iterator, cute.select(mV.layout, [1, 0, 2, 3]))
    load = cpasync.CopyBulkTensorTileG2SOp()
    sQ, sK, sV = (cute.slice_(s, (None, None, 0)) for s in plan.layouts())
    made = [
        cpasync.make_tiled_tma_atom(load, t, s, tile)
        for t, s, tile in (
            (mQ, sQ, (ROWS, plan.head_dim)),
            (mK, sK, (plan.n, plan.head_dim)),
            (mV, sV, (plan.head_dim, plan.n)),
        )
    ]
    pairs = mQ.shape[2] * mQ.shape[3]
    kept = mK.shape[0] * (4 * plan.head_dim)  # bytes of keys and values of a head
    section = cutlass.min(cutlass.max(L2_BYTES // kept, 1) * plan.group, pairs)
    numbers = (cute.ceil_div(mQ.shape[0], plan.m), mQ.shape[2], pairs, section)
    order = Order(*numbers, (mQ.shape[0], mK.shape[0]), plan)
    attention_kernel(
        tuple(atom for atom, _ in made), *(t for _, t in made), mO, logs, scale_log2, numbers,
        plan.products(), plan,
    ).launch(
        grid=[order.grid(), 1, 1], block=[GROUP * (plan.groups + 1), 1, 1], min_blocks_per_mp=1
    )  # fmt: skip
