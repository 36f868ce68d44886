# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention with warpgroups on blocks that stay: as `sm90`, for one tile of queries after another.

While the last product of a tile's values runs, so do the first scores of the next tile: its queries
were loaded when the last scores were there. Results go from registers to memory, eight to a thread
after threads of a row have traded theirs, beside the products of the other warpgroups.
`sm90_order` says which tiles a block has, also of sequences that lie end to end: of those, keys of
a neighbour are hidden as those that there are not, its values are cleared in shared memory, and
results are stored by rows.
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
    STORES,
    Rows,
    WarpgroupPlan,
    Worker,
    by_rows,
    mask,
)
from opencute.kernels.attention.sm90_narrow import turn_values, turned_pipeline
from opencute.kernels.attention.sm90_order import Order, locate
from opencute.utils import hopper_helpers

__all__ = ["attention_kernel", "attention_persistent"]

L2_BYTES = 32 << 20  # of the L2 cache, for keys and values

cpasync, warpgroup = cute.nvgpu.cpasync, cute.nvgpu.warpgroup


@dataclass(frozen=True)
class Scales:
    """What scores and results are multiplied with.

    Args:
        scores, result: for all heads.
        of_q, of_k, of_v: further factors in memory: (batches, heads of keys, queries' heads to
            each) of queries', (batches, heads of keys) of the others, or None.
        group: heads of queries to one head of keys.
    """

    scores: Any
    result: Any
    of_q: Any
    of_k: Any
    of_v: Any
    group: int

    @property
    def varies(self) -> bool:
        """Whether scores of different heads have different factors."""
        return self.of_q is not None or self.of_k is not None

    def of_scores(self, head: Any, batch: Any) -> Any:
        """The scale of a head's scores."""
        served, scale = head // self.group, self.scores
        if self.of_q is not None:
            scale = scale * self.of_q[batch, served, head % self.group]
        return scale if self.of_k is None else scale * self.of_k[batch, served]

    def of_result(self, head: Any, batch: Any) -> Any:
        """That of its result."""
        return (
            self.result if self.of_v is None else self.result * self.of_v[batch, head // self.group]
        )


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


def rows_of(tensor: Any, head: Any, batch: Any, first: Any, order: Order, mode: int) -> Any:
    """Coordinates of one head of one sequence, whose rows are along a mode."""
    if not order.ragged:
        return tensor[None, None, head, batch]
    return cute.domain_offset((first, 0) if mode == 0 else (0, first), tensor[None, None, head, 0])


def parts_of(atom: Any, tensor: Any, smem: Any, tile: tuple[int, int], mode: int) -> Any:
    """An atom, coordinates (values, tiles) and shared memory (values, places)."""
    at = (None, 0) if mode == 0 else (0, None)
    into, coords = cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(smem, 0, 2),
        cute.group_modes(cute.local_tile(tensor, tile, at), 0, 2),
    )  # fmt: skip
    return atom, coords, into


def load(parts: Any, tile: Any, handle: Any) -> None:
    """Load a tile to where a handle says."""
    atom, coords, into = parts
    cute.copy(atom, coords[None, tile], into[None, handle.index], tma_bar_ptr=handle.barrier)
    handle.commit()


@cute.jit
def produce(
    loads: Any, atoms: Any, tensors: Any, smem: Any, order: Any,
    plan: cutlass.Constexpr[WarpgroupPlan],
):  # fmt: skip
    """Load all tiles of this block: the first keys, the queries, then values and further keys.

    Args:
        atoms, tensors, smem: of Q, K and V.
    """
    queries, keys, values = (x.make_producer() for x in loads)
    for turn in range(order.count()):
        tile, head, batch = order.tile(turn)
        served = head // plan.group
        first, _, first_k, _ = order.span(batch)
        start, count = order.places(tile, batch).tiles()
        q, k, v = (
            parts_of(atom, rows_of(t, h, batch, row, order, mode), s, shape, mode)
            for atom, t, s, h, row, mode, shape in zip(
                atoms, tensors, smem, (head, served, served), (first, first_k, first_k),
                (0, 0, 1), ((ROWS, plan.head_dim), (plan.n, plan.head_dim),
                            (plan.head_dim, plan.n)), strict=True,
            )
        )  # fmt: skip
        load(k, start + count - 1, keys.acquire_and_advance())
        for i in cutlass.range_constexpr(plan.groups):
            load(q, tile * plan.groups + i, queries.acquire_and_advance())
        load(v, start + count - 1, values.acquire_and_advance())
        for i in range(1, count):
            load(k, start + count - 1 - i, keys.acquire_and_advance())
            load(v, start + count - 1 - i, values.acquire_and_advance())


@cute.jit
def clear(sV: Any, stage: Any, valid: Any, which: Any, tid: Any, plan: cutlass.Constexpr[Any]):
    """Values behind a sequence's become 0: their weights are, but they may be no numbers.

    The first warpgroup does it; the others' turns come later.
    """
    if which == 0 and valid < plan.n:
        zeros = cute.make_rmem_tensor(8, plan.dtype)
        zeros.fill(0.0)
        across = plan.head_dim // 8
        for at in range(cutlass.max(valid, 0) * across + tid, plan.n * across, GROUP):
            piece = cute.local_tile(sV, (8, 1, 1), (at % across, at // across, stage))
            cute.autovec_copy(zeros, cute.make_tensor(piece.iterator, cute.make_layout(8)))
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.barrier(barrier_id=STORES, number_of_threads=GROUP)


@cute.jit
def consume(
    worker: cutlass.Constexpr[Any], rows: cutlass.Constexpr[Any], loads: Any, order: Any,
    scales: cutlass.Constexpr[Scales], out: Any, sV: Any, corner: Any, tid: Any,
):  # fmt: skip
    """O of all tiles of a warpgroup."""
    plan = worker.plan
    queries = Queries(loads[0], worker.which, plan)
    keys, values = loads[1].make_consumer(), loads[2].make_consumer()
    tile, head, batch = order.tile(0)
    places = order.places(tile, batch)
    start, count = places.tiles()
    rows.take_scale(scales.of_scores(head, batch))
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
    if cutlass.const_expr(order.ragged and not plan.narrow):
        clear(sV, value.index, places.keys - (start + count - 1) * plan.n, worker.which, tid, plan)
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
            if cutlass.const_expr(not plan.narrow):
                worker.next_turn()
            warpgroup.wait_group(1)
            key.release()
            if i == count - 1:
                queries.release()
            if cutlass.const_expr(not order.even):
                mask(worker.rS, start + count - 1 - i, first, corner, places.keys, plan)
            if cutlass.const_expr(plan.narrow):  # the product is over soon, and weights need room
                rows.compare(worker.rS)
                if cutlass.const_expr(plan.groups == 3):
                    worker.next_turn()
                following = values.wait_and_advance()
                warpgroup.wait_group(0)
                value.release()
                value = following
                rows.rescale(worker.rO)
                if cutlass.const_expr(plan.groups == 2):  # its products, beside these exponentials
                    worker.next_turn()
                worker.weigh_and_keep(rows)
                warpgroup.fence()
            else:
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
            places = order.places(tile, batch)
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
            rows.take_scale(scales.of_scores(head, batch))
            rows.weigh(worker.rS)
            following = values.wait_and_advance()
            warpgroup.wait_group(0)
            value.release()
            value = following
            if cutlass.const_expr(order.ragged and not plan.narrow):
                left = places.keys - (start + count - 1) * plan.n
                clear(sV, value.index, left, worker.which, tid, plan)
            finish(worker, known, scales, out, before, order, corner)
            worker.rO.fill(0.0)
            warpgroup.fence()
            worker.keep()
    worker.turn()
    warpgroup.fence()
    worker.add_values(value.index)
    if worker.which < plan.groups - 1:
        worker.next_turn()
    warpgroup.wait_group(0)
    value.release()
    finish(worker, rows.begin(), scales, out, (tile, head, batch), order, corner)


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
    worker: cutlass.Constexpr[Any], known: Any, scales: cutlass.Constexpr[Scales], into: Any,
    at: Any, order: Any, corner: Any,
):  # fmt: skip
    """Divide by the sums, and store.

    Args:
        known: levels and sums of the thread's rows.
        into: the result (queries, elements, heads, batches); logarithms (batches, heads, queries),
            or None.
        at: tile, head and batch.
    """
    plan = worker.plan
    tile, head, sequence = at
    begin, queries, _, _ = order.span(sequence)
    batch = 0 if order.ragged else sequence
    levels, totals = known
    mO, mLogs = into
    gain = scales.of_result(head, sequence)
    out = by_rows(worker.rO)
    first = (tile * plan.groups + worker.which) * ROWS + corner[0]
    for r in cutlass.range_constexpr(2):
        total = cute.arch.warp_reduction(totals[r], lambda a, b: a + b, threads_in_group=4)
        out[r, None] = out[r, None].load() * (0.0 if total == 0.0 else gain / total)
        if cutlass.const_expr(mLogs is not None):
            row = first + 8 * r
            if corner[1] == 0 and row < queries:
                logs = levels[r] - plan.lift + cute.math.log2(total, fastmath=True)
                mLogs[batch, head, begin + row] = logs * math.log(2.0)
    packed = cute.make_rmem_tensor(worker.rO.layout, plan.result)
    packed.store(worker.rO.load().to(plan.result))
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
                piece = cute.recast_tensor(held[None, g], plan.result)
                cute.autovec_copy(piece, lines[begin + row, (None, mine, g)])


def raw_values(plan: WarpgroupPlan) -> Any:
    """Layout of values of eight bits as TMA brings them."""
    shape = (ROWS, plan.head_dim, plan.n)
    by_elements = utils.LayoutEnum.COL_MAJOR
    return hopper_helpers.make_smem_layout_b(by_elements, shape, plan.types[2], plan.stages)


@cute.kernel
def attention_kernel(
    atoms: Any,
    mQ: cute.Tensor,
    mK: cute.Tensor,
    mV: cute.Tensor,
    mO: cute.Tensor,
    mLogs: Any,
    factors: Any,
    numbers: Any,
    starts: Any,
    mmas: Any,
    plan: cutlass.Constexpr[WarpgroupPlan],
):
    tid, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    group = cute.arch.make_warp_uniform(tid // GROUP)
    memory = utils.SmemAllocator()
    sQ, sK, sV = (
        memory.allocate_tensor(of, s.outer, 1024, swizzle=s.inner)
        for of, s in zip(plan.types, plan.layouts(), strict=True)
    )
    threads = pipeline.Agent.Thread
    takers = 3 if plan.narrow else 4 * plan.groups
    kinds = (
        (plan.groups * plan.queries, ROWS, 4), (plan.stages, plan.n, 4 * plan.groups),
        (plan.stages, plan.n, takers),
    )  # fmt: skip
    loads = tuple(
        pipeline.PipelineTmaAsync.create(
            num_stages=stages, producer_group=pipeline.CooperativeGroup(threads, 1),
            consumer_group=pipeline.CooperativeGroup(threads, warps),
            tx_count=plan.dtype.width // 8 * plan.head_dim * count, defer_sync=True,
        )
        for stages, count, warps in kinds
    )  # fmt: skip
    ready, raw = loads, sV
    if cutlass.const_expr(plan.narrow):
        turned = turned_pipeline(plan)
        ready = (*loads[:2], turned)
        values = raw_values(plan)
        raw = memory.allocate_tensor(plan.types[2], values.outer, 1024, swizzle=values.inner)
    if warp == 0:
        for atom in atoms:
            cpasync.prefetch_descriptor(atom)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()

    extents = (mQ.shape[0], mK.shape[0])
    total = None
    if cutlass.const_expr(starts[0] is not None and (plan.before, plan.after) != (None, None)):
        total = locate(0, starts[0], mQ.shape[2], plan.m)[2]
    order = Order(*numbers, extents, starts, plan, total)  # pyright: ignore[reportCallIssue]
    if group == 0:
        cute.arch.setmaxregister_decrease(plan.registers[0])
        if warp == 0:
            produce(loads, atoms, (mQ, mK, mV), (sQ, sK, raw), order, plan)
        elif cutlass.const_expr(plan.narrow):
            turn_values(loads[2], ready[2], raw, sV, order, tid - 32, plan)
    else:
        cute.arch.setmaxregister_increase(plan.registers[1])
        tid = tid % GROUP
        worker = Worker(mmas, sQ, sK, sV, group - 1, plan)
        corner = (tid // 32 * 16 + tid % 32 // 4, tid % 4 * 2)
        more: Any = order.count() > 0 if order.ragged else True
        if more:
            scales = Scales(*factors, plan.group)  # pyright: ignore[reportCallIssue]
            rows = Rows(scales.scores, plan, scales.varies)
            consume(worker, rows, ready, order, scales, (mO, mLogs), sV, corner, tid)


@cute.jit
def attention_persistent(
    q: cute.Tensor,
    k: cute.Tensor,
    v: cute.Tensor,
    out: cute.Tensor,
    logs: Any,
    starts_q: Any,
    starts_k: Any,
    longest: cutlass.Int32,
    scale_log2: cutlass.Float32,
    plan: cutlass.Constexpr[WarpgroupPlan],
    gain: cutlass.Float32 = 1.0,  # pyright: ignore[reportArgumentType]
    q_scales: Any = None,
    k_scales: Any = None,
    v_scales: Any = None,
):
    """Launch the kernel.

    Args:
        q, k, v, out, logs, scale_log2: as for `sm90.attention_forward`, of B = 1 where sequences
            lie end to end.
        starts_q, starts_k: where those start along Sq and Sk, and where the last one ends; or None.
        longest: queries of the longest sequence; without `starts_q` it is not used.
        gain: what the result is multiplied with; only for operands of eight bits.
        q_scales, k_scales, v_scales: as for `Scales`, in f32; only for operands of eight bits.
    """
    vector = 128 // plan.dtype.width
    mQ, mK, mV = (as_heads(t, plan.head_dim, vector) for t in (q, k, v))
    mO = as_heads(out, plan.head_dim)
    mV = cute.make_tensor(mV.iterator, cute.select(mV.layout, [1, 0, 2, 3]))
    sQ, sK, sV = (cute.slice_(s, (None, None, 0)) for s in plan.layouts())
    if cutlass.const_expr(plan.narrow):
        sV = cute.slice_(raw_values(plan), (None, None, 0))
    made = [
        cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), t, s, tile)
        for t, s, tile in (
            (mQ, sQ, (ROWS, plan.head_dim)),
            (mK, sK, (plan.n, plan.head_dim)),
            (mV, sV, (plan.head_dim, plan.n)),
        )
    ]
    batches, queries, keys = mQ.shape[3], mQ.shape[0], mK.shape[0]
    if cutlass.const_expr(starts_q is not None):
        batches, queries, keys = starts_q.shape[0] - 1, longest, longest
    pairs = mQ.shape[2] * batches
    kept = keys * (plan.dtype.width // 4 * plan.head_dim)  # bytes of keys and values of a head
    section = cutlass.max(L2_BYTES // kept, 1) * plan.group
    if cutlass.const_expr(starts_q is not None):
        parts = cute.ceil_div(mQ.shape[2], section)
        section = cute.ceil_div(mQ.shape[2], parts)  # alike many heads in each
    else:
        section = cutlass.min(section, pairs)
        parts = cute.ceil_div(pairs, section)
    numbers = (cute.ceil_div(queries, plan.m), mQ.shape[2], pairs, section, parts)
    starts = (starts_q, starts_k)
    order = Order(*numbers, (queries, mK.shape[0]), starts, plan)
    attention_kernel(
        tuple(atom for atom, _ in made), *(t for _, t in made), mO, logs,
        (scale_log2, gain if plan.narrow else 1.0, q_scales, k_scales, v_scales), numbers, starts,
        plan.products(), plan,
    ).launch(
        grid=[order.grid(), 1, 1], block=[GROUP * (plan.groups + 1), 1, 1], min_blocks_per_mp=1
    )  # fmt: skip
