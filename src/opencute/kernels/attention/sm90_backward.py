# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The derivatives of attention with warpgroups: sm_90a, heads of 64 to 256 elements.

With weights P = exp(scale Q K^T - lse) and delta = rowsum(dO * O)::

    dV = P^T dO,   dS = P * (dO V^T - delta),   dQ = scale dS K,   dK = scale dS^T Q

A block has 128 keys of a head and walks over the queries that see some of them, of all heads that
share those keys. One warp loads: K and V once, tiles of Q and of dO through rings. Each of two
warpgroups has 64 keys and keeps their dK and dV in registers. Scores are computed transposed, a key
to a row, so that P^T and dS^T are where products of registers want their left operand; dS goes
through shared memory as well, for dQ, of which each warpgroup makes one half from all keys. That
half is added to the workspace in f32 by TMA, or by its threads: that spares shared memory a way
there and back. The kernels before and after are those of `sm80`.

Where sequences lie end to end, TMA brings rows of the next one with a sequence's last: those are
cleared in shared memory, and rows of dK and dV that are a neighbour's are not stored.

Tensor cores have something to do throughout: dO V^T runs beside the exponentials, dV beside dS, and
dK and the scores of the next tile while dQ is stored.

Floor: 10 B H Sq Sk D operations (half of them when causal) at what wgmma reaches on an H200 at its
clock under load, about 800 Tflop/s: 1.72 ms for 4x16x4096x128. With 64 queries to a tile three of
the five products read as many bytes of shared memory as a SM can deliver in their time, and the way
of dQ through it comes on top: 15 % more. Heads of more than 128 elements take two kernels, whose
work on a tile is in `sm90_backward_wide`.

Source: Shah et al., "FlashAttention-3: Fast and Accurate Attention with Asynchrony and
Low-precision", 2024.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute, pipeline, utils
from opencute.kernels.attention.parts import as_heads, sequence, span
from opencute.kernels.attention.scales import Factors
from opencute.kernels.attention.sm80_backward import (
    LOG2_E,
    finish_kernel,
    prepare_kernel,
    tile_index,
)
from opencute.kernels.attention.sm90 import GROUP
from opencute.kernels.attention.sm90_backward_plan import (
    GROUPS,
    LINE,
    Reach,
    WarpgroupBackwardPlan,
)
from opencute.kernels.attention.sm90_backward_sums import Sums, add_by_threads, add_to_dq
from opencute.kernels.attention.sm90_backward_wide import visit_keys, visit_values
from opencute.kernels.attention.sm90_backward_worker import (
    STATS,
    Worker,
    clear,
    start_next,
    weigh_tile,
)

__all__ = ["attention_backward", "backward_kernel"]

REGISTERS = (24, 240)  # of a thread that loads, and of one that computes

cpasync, warpgroup = cute.nvgpu.cpasync, cute.nvgpu.warpgroup


@cute.jit
def produce(
    loads: Any, parts: Any, stats: Any, head: Any, reach: Any,
    plan: cutlass.Constexpr[WarpgroupBackwardPlan],
):  # fmt: skip
    """Load K and V once, and tiles of Q and dO with what belongs to their queries.

    Args:
        loads: pipelines of K, V, Q and dO; that of V and its parts are None for a kernel without.
        parts: of each an atom, coordinates and shared memory.
        stats: levels and -delta of queries in memory, and where both go to, (2 known, stages).
        head: of keys.
    """
    first, count = reach.tiles()
    once = [None if load is None else load.make_producer() for load in loads[:2]]
    queries, grads = loads[2].make_producer(), loads[3].make_producer()
    if count > 0:
        for i in cutlass.range_constexpr(2):
            if cutlass.const_expr(once[i] is not None):
                handle = once[i].acquire_and_advance()
                cute.copy(parts[i][0], parts[i][1], parts[i][2], tma_bar_ptr=handle.barrier)
                handle.commit()
        served, tile = head * plan.group, first
        for step in range(count * plan.group):
            if step >= plan.stages:
                free_stats(step % plan.stages, plan)
            for i in cutlass.range_constexpr(2):
                handle = (queries, grads)[i].acquire_and_advance()
                atom, g, s = parts[2 + i]
                cute.copy(
                    atom, g[None, tile, served], s[None, handle.index], tma_bar_ptr=handle.barrier
                )
                if cutlass.const_expr(i == 0):
                    load_stats(stats, reach.base + tile, served, handle)
                handle.commit()
            served, tile = onward((served, tile), first, count, plan)
        for stage in cutlass.range_constexpr(plan.stages):
            if stage < count * plan.group:
                free_stats(stage, plan)


def free_stats(stage: Any, plan: WarpgroupBackwardPlan) -> None:
    """Wait until all threads that compute have read levels and -delta of a stage."""
    cute.arch.barrier(barrier_id=STATS + stage, number_of_threads=plan.threads + 32)


@cute.jit
def load_stats(stats: Any, at: Any, head: Any, handle: Any):
    """Start the copy of levels and -delta of a tile."""
    run = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32)
    source = stats[0][at, head, None, None].iterator.align(16)
    with cute.arch.elect_one():
        cute.copy(
            run, cute.make_tensor(source, stats[1].layout[0]), stats[1][None, handle.index],
            mbar_ptr=handle.barrier,
        )  # fmt: skip


def onward(place: Any, first: Any, count: Any, plan: WarpgroupBackwardPlan) -> tuple[Any, Any]:
    """Head and tile of queries behind those of `place`; carried along, as a division by `count`
    takes registers that there are not."""
    served, tile = place
    if plan.group == 1:
        return served, tile + 1
    wraps = tile + 1 == first + count
    return cute.where(wraps, served + 1, served), cute.where(wraps, first, tile + 1)


@cute.jit
def visit(
    worker: cutlass.Constexpr[Worker], sums: cutlass.Constexpr[Sums], loads: Any, states: Any,
    step: Any, place: Any, after: Any, scale_log2: Any, last: cutlass.Constexpr[bool],
):  # fmt: skip
    """One tile of queries, whose scores are there; those of the next one are made as well.

    No product is under way when this begins or ends: ptxas does not follow them around a loop, and
    would let each wait for the one before.

    Args:
        loads: pipelines of Q and dO.
        states: of them, of this tile's buffers.
        place: head and tile of queries.
        after: the next tile of queries.
        last: whether no tile follows.
    """
    plan = worker.plan
    queries, grads = loads
    of_q, of_g = states
    head, tile = place
    weigh_tile(worker, grads, states, tile, scale_log2)
    if cutlass.const_expr(plan.early):
        worker.narrowed(worker.rP, worker.weights)
        warpgroup.fence()
        worker.start_dv(of_g.index)
        warpgroup.wait_group(1)
    else:
        warpgroup.wait_group(0)
    worker.slope(of_q.index)
    worker.narrowed(worker.rG, worker.slopes)
    worker.put_slopes(step % 2)
    if worker.stores():
        cute.arch.cp_async_bulk_wait_group(0, read=True)  # the last dQ has left shared memory
    if cutlass.const_expr(not plan.early):
        worker.narrowed(worker.rP, worker.weights)
        warpgroup.fence()
        worker.start_dv(of_g.index)
    worker.meet()  # all of dS is there
    warpgroup.fence()
    worker.start_dq(step % 2)
    following = of_q.clone()
    following.advance()
    worker.start_dk(of_q.index)
    warpgroup.wait_group(1)  # dV and dQ are there
    grads.consumer_release(of_g)
    if cutlass.const_expr(not last):
        start_next(worker, queries, following, after)
    if cutlass.const_expr(plan.atomics):
        add_by_threads(worker, sums, head, tile)
    else:
        add_to_dq(worker, sums, head, tile)
    warpgroup.wait_group(0)
    queries.consumer_release(of_q)


@cute.jit
def consume(
    worker: cutlass.Constexpr[Worker], sums: cutlass.Constexpr[Sums], loads: Any, head: Any,
    scale_log2: Any,
):  # fmt: skip
    """dK and dV of a warpgroup's keys, and its parts of dQ."""
    plan = worker.plan
    first, count = worker.reach.tiles()
    worker.rK.fill(0.0)
    worker.rV.fill(0.0)
    if count > 0:
        steps = count * plan.group
        kind = pipeline.PipelineUserType.Consumer
        of_q = pipeline.make_pipeline_state(kind, plan.stages)
        of_g = pipeline.make_pipeline_state(kind, plan.grads)
        served, tile = head * plan.group, first
        loads[0].make_consumer().wait()
        loads[2].consumer_wait(of_q)
        if cutlass.const_expr(plan.ragged):
            clear(worker, 0, 0, worker.reach.keys_left, plan.n)
            clear(worker, 2, of_q.index, worker.reach.queries_left(tile), plan.m)
        warpgroup.fence()
        worker.start_scores(of_q.index)
        if cutlass.const_expr(loads[1] is not None):
            loads[1].make_consumer().wait()
            if cutlass.const_expr(plan.ragged):
                clear(worker, 1, 0, worker.reach.keys_left, plan.n)
        warpgroup.wait_group(0)
        for step in range(steps - 1):
            place, (served, tile) = (served, tile), onward((served, tile), first, count, plan)
            work(worker, sums, loads[2:], (of_q, of_g), step, place, tile, scale_log2, False)
            of_q.advance()
            of_g.advance()
        place = (served, tile)
        work(worker, sums, loads[2:], (of_q, of_g), steps - 1, place, None, scale_log2, True)


@cute.jit
def work(
    worker: cutlass.Constexpr[Worker], sums: cutlass.Constexpr[Sums], loads: Any, states: Any,
    step: Any, place: Any, after: Any, scale_log2: Any, last: cutlass.Constexpr[bool],
):  # fmt: skip
    """What a kernel does with a tile of queries; arguments as for `visit`."""
    if cutlass.const_expr(worker.plan.only == "values"):
        visit_values(worker, loads, states, place, after, scale_log2, last)
    elif cutlass.const_expr(worker.plan.only == "keys"):
        visit_keys(worker, sums, loads, states, step, place, after, scale_log2, last)
    else:
        visit(worker, sums, loads, states, step, place, after, scale_log2, last)


@cute.jit
def store_rows(worker: cutlass.Constexpr[Worker], into: Any):
    """Store dK and dV of a sequence's last keys, behind which those of another begin.

    Args:
        into: for each the matrix (keys, elements) of the sequence.
    """
    plan, reach = worker.plan, worker.reach
    across = plan.head_dim // 8
    for at in range(worker.tid, reach.keys_left * across, plan.threads):
        row, column = at // across, at % across
        for i in cutlass.range_constexpr(len(into)):
            held = cute.make_rmem_tensor(8, plan.dtype)
            cute.autovec_copy(worker.piece(i, row, column, 0), held)
            line = into[i][reach.first_key + row, None].iterator + cute.assume(8 * column, divby=8)
            cute.autovec_copy(held, cute.make_tensor(line.align(16), cute.make_layout(8)))


@cute.jit
def store_tiles(worker: cutlass.Constexpr[Worker], stores: Any):
    """Store dK and dV by TMA; arguments as for `finish`."""
    cute.arch.fence_proxy("async.shared", space="cta")
    worker.meet()
    if worker.stores():
        for i in cutlass.range_constexpr(len(stores)):
            if worker.which == i:
                atom, s, g = stores[i]
                cute.copy(atom, s, g)
        cute.arch.cp_async_bulk_commit_group()


@cute.jit
def finish(worker: cutlass.Constexpr[Worker], stores: Any, into: Any, scale: Any):
    """Store dK and dV.

    Args:
        stores: for each an atom, shared memory and coordinates.
        into: as for `store_rows`, or None where each batch has its own keys.
    """
    worker.renew()
    results = (worker.rK, worker.rV)
    if cutlass.const_expr(worker.plan.only == "values"):
        results = (worker.rV,)
    else:
        worker.rK.store(worker.rK.load() * scale)
    worker.meet()  # nobody reads K and V any more
    for i in cutlass.range_constexpr(len(stores)):
        worker.put_results(results[i], i)
    if cutlass.const_expr(not worker.plan.ragged):
        store_tiles(worker, stores)
    elif worker.reach.keys_left >= worker.plan.n:
        store_tiles(worker, stores)
    else:
        worker.meet()
        store_rows(worker, into)
    if worker.stores():
        cute.arch.cp_async_bulk_wait_group(0, read=True)


def rows_of(tensor: Any, head: Any, batch: Any, first: Any, plan: WarpgroupBackwardPlan) -> Any:
    """Coordinates (rows, elements) of a head of a sequence that starts at row `first`; `head` None:
    (rows, elements, heads)."""
    if not plan.ragged:
        return tensor[None, None, head, batch]
    offset = (first, 0) if head is not None else (first, 0, 0)
    return cute.domain_offset(offset, tensor[None, None, head, 0])


def partition(atom: Any, smem: Any, tiles: Any) -> tuple[Any, Any, Any]:
    """What TMA moves: atom, coordinates (values, ...) and shared memory (values, stages)."""
    s, g = cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(smem, 0, 2), cute.group_modes(tiles, 0, 2)
    )
    return atom, g, s


@cute.kernel
def backward_kernel(
    atoms: Any,
    coords: Any,
    mStats: cute.Tensor,
    mSums: Any,
    mTurns: Any,
    results: Any,
    starts: Any,
    factors: Any,
    scale: cutlass.Float32,
    scale_log2: cutlass.Float32,
    mmas: Any,
    plan: cutlass.Constexpr[WarpgroupBackwardPlan],
):
    tid, _, _ = cute.arch.thread_idx()
    block, head, batch = cute.arch.block_idx()
    group = cute.arch.make_warp_uniform(tid // GROUP)
    mK, mV, mQ, mG, mDk, mDv, tSums = coords
    first_q, queries = span(mQ, starts[0], batch)
    first_k, keys = span(mK, starts[1], batch)
    if cutlass.const_expr(plan.ragged):
        if block * plan.n >= keys:  # the grid is made for the longest sequence
            return
    base = tile_index(0, batch, first_q, queries, starts[0], plan.m)
    reach = Reach(block * plan.n, queries, keys, base, plan)

    memory = utils.SmemAllocator()
    shared = [
        None if s is None else
        memory.allocate_tensor(plan.dtype, s.outer, 1024, swizzle=s.inner)
        for s in plan.layouts()
    ]  # fmt: skip
    sSums = mSums
    if cutlass.const_expr(tSums is not None):
        sums_layout = cute.append(plan.sums_layout(), cute.make_layout(GROUPS, stride=plan.piece))
        sSums = memory.allocate_tensor(cutlass.Float32, sums_layout, 128)
    stats = memory.allocate_tensor(
        cutlass.Float32, cute.make_layout((2 * plan.known, plan.stages)), 128
    )
    threads = pipeline.Agent.Thread
    loads = tuple(
        None if count is None else pipeline.PipelineTmaAsync.create(
            num_stages=stages, producer_group=pipeline.CooperativeGroup(threads, 1),
            consumer_group=pipeline.CooperativeGroup(threads, plan.warps),
            tx_count=count, defer_sync=True,
        )
        for stages, count in zip(
            (1, 1, plan.stages, plan.grads), plan.bytes_of_tiles(), strict=True
        )
    )  # fmt: skip
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()

    tile_k = (plan.n, plan.head_dim)
    if group == GROUPS:
        cute.arch.setmaxregister_decrease(REGISTERS[0])
        if cute.arch.make_warp_uniform(cute.arch.warp_idx()) == plan.warps:
            tiles = [
                None
                if m is None
                else cute.local_tile(rows_of(m, head, batch, first_k, plan), tile_k, (block, 0))
                for m in (mK, mV)
            ]
            tiles += [
                cute.local_tile(
                    rows_of(m, None, batch, first_q, plan), (plan.m, plan.head_dim),
                    (None, 0, None),
                )
                for m in (mQ, mG)
            ]  # fmt: skip
            once = [None if s is None else s[None, None, 0] for s in shared[:2]]
            parts = tuple(
                None if a is None else partition(a, s, t)
                for a, s, t in zip(atoms[:4], (*once, *shared[2:4]), tiles, strict=True)
            )
            produce(loads, parts, (mStats, stats), head, reach, plan)
    else:
        cute.arch.setmaxregister_increase(REGISTERS[1])
        worker = Worker(mmas, (*shared, stats), tid, reach, plan)
        sums = Sums((atoms[6], tSums, sSums), mTurns, mStats.shape[1], block)
        consume(worker, sums, loads, head, scale_log2)
        stores = []
        made = [(a, m) for a, m in zip(atoms[4:6], (mDk, mDv), strict=True) if a is not None]
        for i, (a, m) in enumerate(made):
            tile = cute.local_tile(rows_of(m, head, batch, first_k, plan), tile_k, (block, 0))
            atom, g, smem = partition(a, worker.shared[i][None, None, 0], tile)
            stores.append((atom, smem, g))
        into = None
        if cutlass.const_expr(plan.ragged):
            into = tuple(sequence(m, starts[1], head, batch) for m in results if m is not None)
        if cutlass.const_expr(plan.scaled):
            known = Factors(*factors, plan.group)  # pyright: ignore[reportCallIssue]
            scale = known.of_dk(head, batch)
        finish(worker, stores, into, scale)


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
    plan: cutlass.Constexpr[WarpgroupBackwardPlan],
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
        stats, sums: (T, H, 2, known) and (T, H, m * D) in f32: room for T tiles of queries.
        turns: (T, H, 2) in i32 where `plan.ordered`, else None.
        starts_q, starts_k: where sequences start along Sq and Sk, and where the last one ends, of
            i32, where `plan.ragged`; else None. With them B is 1.
        longest_q, longest_k: lengths of the longest sequences; not used without `starts_q`.
        scale: of scores.
        of_dq, of_dk, of_slopes, q_scales, k_scales, v_scales: as for `Factors`, where
            `plan.scaled`.
    """
    mQ, mK, mV, mO, mG, mDq, mDk, mDv = (
        as_heads(t, plan.head_dim) for t in (q, k, v, out, grad, dq, dk, dv)
    )
    if cutlass.const_expr(plan.wide):
        plan = plan.of("keys")
    mmas = plan.products()
    factors = None
    if cutlass.const_expr(plan.scaled):
        factors = (scale * LOG2_E, of_dq, of_dk, of_slopes, q_scales, k_scales, v_scales)
    over_q = [cute.ceil_div(mQ.shape[0], plan.m), mQ.shape[2], mQ.shape[3]]
    over_k = [cute.ceil_div(mK.shape[0], plan.n), mK.shape[2], mK.shape[3]]
    if cutlass.const_expr(plan.ragged):
        over_q = [cute.ceil_div(longest_q, plan.m), mQ.shape[2], starts_q.shape[0] - 1]
        over_k = [cute.ceil_div(longest_k, plan.n), mK.shape[2], starts_k.shape[0] - 1]
    threads = [plan.threads, 1, 1]
    prepare_kernel(mO, mG, logs, stats, sums, turns, starts_q, factors, plan).launch(
        grid=over_q, block=threads
    )
    arrays = (mK, mV, mQ, mG, mDk, mDv)
    starts = (starts_q, starts_k)
    if cutlass.const_expr(plan.wide):
        launch(arrays, stats, sums, turns, starts, (factors, scale), over_k, plan.of("values"))
    launch(arrays, stats, sums, turns, starts, (factors, scale), over_k, plan)
    finish_kernel(sums, mDq, starts_q, factors, scale, mmas[2], plan).launch(
        grid=over_q, block=threads
    )


def launch(
    arrays: tuple[Any, ...], stats: Any, sums: Any, turns: Any, starts: Any, scales: Any, grid: Any,
    plan: WarpgroupBackwardPlan,
) -> None:  # fmt: skip
    """Launch the kernel of a plan.

    Args:
        arrays: K, V, Q, dO, dK and dV, as of `as_heads`.
        stats, sums, turns: as for `attention_backward`.
        starts: of queries and of keys.
        scales: what `Factors` is made of, or None, and the scale of scores.
        grid: blocks.
    """
    factors, scale = scales
    load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
    sK, sV, sQ, sG, _ = (
        None if s is None else cute.slice_(s, (None, None, 0)) for s in plan.layouts()
    )
    keys, values = plan.only != "values", plan.only != "keys"
    of_keys, of_queries = (plan.n, plan.head_dim), (plan.m, plan.head_dim)
    smem = (sK, sV, sQ, sG, sK if keys else None, (sV if keys else sK) if values else None)
    made: list[tuple[Any, Any]] = [
        (None, None) if s is None else cpasync.make_tiled_tma_atom(op, t, s, tile)
        for op, t, s, tile in zip(
            (load,) * 4 + (store,) * 2, arrays, smem,
            (of_keys, of_keys, of_queries, of_queries, of_keys, of_keys), strict=True,
        )
    ]  # fmt: skip
    workspace = None
    if keys and not plan.atomics:
        lines = sums.shape[0] * sums.shape[1] * (plan.m * plan.head_dim // LINE)
        workspace = cute.make_tensor(
            sums.iterator.align(16), cute.make_layout((lines, LINE), stride=(LINE, 1))
        )
        made.append(cpasync.make_tiled_tma_atom(
            cpasync.CopyReduceBulkTensorTileS2GOp(), workspace, plan.sums_layout(),
            (plan.piece // LINE, LINE),
        ))  # fmt: skip
    else:
        made.append((None, None))
    results = None
    if plan.ragged:
        results = tuple(t if s is not None else None for t, s in zip(arrays[4:], smem[4:],
                                                                     strict=True))  # fmt: skip
    backward_kernel(
        tuple(a for a, _ in made), tuple(t for _, t in made), stats,
        sums if keys and plan.atomics else None, turns, results,
        starts, factors, scale, scale * LOG2_E, plan.products(), plan,
    ).launch(
        grid=grid, block=[plan.threads + GROUP, 1, 1], min_blocks_per_mp=1
    )  # fmt: skip
