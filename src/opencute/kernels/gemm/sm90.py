# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix products on Hopper: TMA loads, `wgmma`, persistent blocks, specialised warpgroups.

One warp loads tiles of A and B to a ring of buffers in shared memory, for all blocks of its cluster
that need them. Two warpgroups multiply: either each has half of a tile's rows, or they take turns,
one tile each, and one stores while the other multiplies. `sm90_epilogue` does the rest.

Floor: 2 M N K operations over what `wgmma` reaches from shared memory. Of a tile's main loop, a
warpgroup waits for buffers only.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute, pipeline, utils
from opencute.cute.nvgpu import cpasync, warpgroup
from opencute.kernels.gemm.sm90_epilogue import (
    Epilogue,
    finish_tile,
    full_barriers,
    leave,
    memory_of,
    start_tile,
)
from opencute.kernels.gemm.sm90_plan import CONSUMERS, HopperPlan

__all__ = [
    "CONSUMER_REGISTERS", "LOADER_REGISTERS", "first_step", "further_steps", "group_of",
    "hopper_gemm", "hopper_gemm_kernel", "multiply", "multiply_twice", "operand_parts", "prepared",
]  # fmt: skip

LOADER_REGISTERS, CONSUMER_REGISTERS = 40, 232


@cute.kernel
def hopper_gemm_kernel(
    atom_a: cute.CopyAtom,
    mA: cute.Tensor,
    atom_b: cute.CopyAtom,
    mB: cute.Tensor,
    atom_d: Any,
    mD: cute.Tensor,
    extra: Any,
    params: utils.PersistentTileSchedulerParams,
    mma: cute.TiledMma,
    part_mma: cute.TiledMma,
    columns: cutlass.Int32,
    plan: cutlass.Constexpr[HopperPlan],
):
    """A cluster for some tiles of D."""
    tid, _, _ = cute.arch.thread_idx()
    group = cute.arch.make_warp_uniform(tid // 128)
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    cluster = cute.make_layout((*plan.config.cluster, 1))
    if warp == 4 * CONSUMERS:
        for atom in (atom_a, atom_b, atom_d):
            if cutlass.const_expr(atom is not None):
                cpasync.prefetch_descriptor(atom)
    smem = utils.SmemAllocator()
    sA, sB = (
        smem.allocate_tensor(plan.types[i], s.outer, 1024, swizzle=s.inner)
        for i, s in enumerate((plan.operand_smem(0), plan.operand_smem(1)))
    )
    matrices = memory_of(smem, (atom_d, mD), extra, plan)
    full = full_barriers(plan, matrices[1])
    told = plan.config.cluster[0] + plan.config.cluster[1] - 1
    loads = pipeline.PipelineTmaAsync.create(
        num_stages=plan.stages, producer_group=group_of(1),
        consumer_group=group_of(4 * plan.config.owners * told), tx_count=plan.operand_bytes(),
        cta_layout_vmnk=cute.make_layout((1, *plan.config.cluster, 1)), defer_sync=True,
    )  # fmt: skip
    turns = None
    if cutlass.const_expr(plan.config.pingpong):
        turns = pipeline.PipelineOrder.create(
            depth=2, length=CONSUMERS, group_id=group, producer_group=group_of(128),
            defer_sync=True,
        )  # fmt: skip
    if cutlass.const_expr(full is not None):
        if warp == 0:
            with cute.arch.elect_one():
                full.init()
    pipeline.pipeline_init_arrive(cluster_shape_mn=plan.config.cluster, is_relaxed=True)
    sched = utils.StaticPersistentTileScheduler.create(
        params, cute.arch.block_idx(), cute.arch.grid_dim()
    )
    steps = cute.ceil_div(mA.shape[1], plan.tile[2])
    pipeline.pipeline_init_wait(cluster_shape_mn=plan.config.cluster)
    if group == CONSUMERS:
        cute.arch.setmaxregister_decrease(LOADER_REGISTERS)
        if warp == 4 * CONSUMERS:
            rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
            at = cluster.get_flat_coord(rank)
            operands = tuple(
                operand_parts(atom, m, s, cluster, at, i, plan)
                for i, (atom, m, s) in enumerate(((atom_a, mA, sA), (atom_b, mB, sB)))
            )
            produce(loads, sched, steps, operands, plan)
    else:
        cute.arch.setmaxregister_increase(CONSUMER_REGISTERS)
        epilogue = Epilogue(
            plan, (group, tid % 128), matrices, full, extra, (mA.shape[0], columns), part_mma
        )
        consume(loads, turns, sched, steps, (sA, sB), mma, group, epilogue, plan)


def group_of(size: int) -> Any:
    """Threads, or warps, that arrive at a barrier."""
    return pipeline.CooperativeGroup(pipeline.Agent.Thread, size)


def operand_parts(
    atom: Any, m: Any, s: Any, cluster: Any, at: Any, which: int, plan: Any
) -> tuple[Any, ...]:
    """What is needed to load tiles of A or B: atom, coordinates, shared memory, receiving blocks.

    Args:
        cluster: layout of the cluster's blocks.
        at: this block's coordinate.
        which: 0 for A, which blocks along columns share; 1 for B.
    """
    along = 1 - which
    tiles = cute.local_tile(m, (plan.tile[which], plan.tile[2]), (None, None, None))
    blocks = plan.config.cluster[along]
    into, coords = cpasync.tma_partition(
        atom, at[along], cute.make_layout(blocks), cute.group_modes(s, 0, 2),
        cute.group_modes(tiles, 0, 2),
    )  # fmt: skip
    mask: Any = 0
    if blocks > 1:
        mask = cute.make_layout_image_mask(cluster, at, mode=along)
    return atom, coords, into, mask


@cute.jit
def produce(loads: Any, sched: Any, steps: Any, operands: Any, plan: cutlass.Constexpr[HopperPlan]):
    """Load the tiles of A and B, in the order in which they are multiplied."""
    state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, plan.stages)
    work = sched.initial_work_tile_info()
    while work.is_valid_tile:
        tile = work.tile_idx
        for k in range(steps):
            loads.producer_acquire(state)
            for i in cutlass.range_constexpr(2):
                atom, coords, into, mask = operands[i]
                cute.copy(
                    atom,
                    coords[None, tile[i], k, 0 if plan.shared[i] else tile[2]],
                    into[None, state.index],
                    tma_bar_ptr=loads.producer_get_barrier(state),
                    mcast_mask=mask,
                    cache_policy=plan.policy(i),
                )
            loads.producer_commit(state)
            state.advance()
        sched.advance_to_next_work()
        work = sched.get_current_work()
    loads.producer_tail(state)


@cute.jit
def consume(
    loads: Any, turns: Any, sched: Any, steps: Any, smem: Any, mma: Any, group: Any, epilogue: Any,
    plan: cutlass.Constexpr[HopperPlan],
):  # fmt: skip
    """Multiply tiles, and finish them."""
    pingpong = plan.config.pingpong
    own = mma.get_slice(0 if pingpong else group * 128)
    rA = mma.make_fragment_A(own.partition_A(smem[0]))
    rB = mma.make_fragment_B(own.partition_B(smem[1]))
    acc = mma.make_fragment_C(mma.partition_shape_C(plan.tile[:2]))
    state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, plan.stages)
    turn = cutlass.Int32(0)
    if cutlass.const_expr(pingpong):
        sched.advance_to_next_work(advance_count=group)
        skip(state, group * steps, plan.stages)
    work = sched.get_current_work()
    while work.is_valid_tile:
        tile = work.tile_idx
        if cutlass.const_expr(pingpong):
            turns.wait()
        if cutlass.const_expr(plan.config.twice):
            start_tile(epilogue, tile, plan)
            sums = cute.make_rmem_tensor(acc.layout, cutlass.Float32)
            multiply_twice(loads, state, steps, mma, acc, sums, rA, rB, turns)
            finish(sums, turns, epilogue, tile, turn, plan)
        else:
            multiply(loads, state, steps, mma, acc, rA, rB, turns, (epilogue, tile, plan))
            finish(acc, turns, epilogue, tile, turn, plan)
        turn = turn + 1
        if cutlass.const_expr(pingpong):
            skip(state, steps, plan.stages)
        sched.advance_to_next_work(advance_count=2 if pingpong else 1)
        work = sched.get_current_work()
    leave(epilogue)


def skip(state: Any, count: Any, stages: int) -> None:
    """Move a state past buffers that another warpgroup reads."""
    at = state.index + count
    rounds = at // stages
    state.__init__(stages, 0, at - rounds * stages, state.phase ^ (rounds & 1))


@cute.jit
def finish(acc: Any, turns: Any, epilogue: Any, tile: Any, turn: Any, plan: cutlass.Constexpr[Any]):
    """The epilogue, in turns if there are some."""
    if cutlass.const_expr(turns is not None):
        turns.wait()
    finish_tile(acc, epilogue, tile, turn, plan)
    if cutlass.const_expr(turns is not None):
        turns.arrive()


@cute.jit
def multiply(
    loads: Any, state: Any, steps: Any, mma: Any, acc: Any, rA: Any, rB: Any, turns: Any,
    meanwhile: Any,
):  # fmt: skip
    """The sums of a tile. A buffer is released when the product after the one that reads it has
    been started.

    Args:
        meanwhile: what `start_tile` takes, or None; it is called while the first product runs.
    """
    before = state.clone()
    first_step(loads, state, mma, acc, rA, rB)
    if cutlass.const_expr(meanwhile is not None):
        start_tile(*meanwhile)
    further_steps(loads, state, before, steps, mma, acc, rA, rB, turns)


@cute.jit
def first_step(loads: Any, state: Any, mma: Any, acc: Any, rA: Any, rB: Any):
    """Start the first product of a tile, which is under way when this returns."""
    loads.consumer_wait(state)
    mma.set(warpgroup.Field.ACCUMULATE, False)
    warpgroup.fence()
    for k in cutlass.range_constexpr(cute.size(rA, mode=[2])):
        at = (None, None, k, state.index)
        cute.gemm(mma, acc, rA[at], rB[at], acc)
        mma.set(warpgroup.Field.ACCUMULATE, True)
    warpgroup.commit_group()
    state.advance()


@cute.jit
def further_steps(
    loads: Any, state: Any, before: Any, steps: Any, mma: Any, acc: Any, rA: Any, rB: Any,
    turns: Any,
):  # fmt: skip
    """The products of a tile after its first, and their end.

    Args:
        before: the state of the buffer that the first product reads.
    """
    for _ in range(1, steps):
        loads.consumer_wait(state)
        warpgroup.fence()
        for k in cutlass.range_constexpr(cute.size(rA, mode=[2])):
            at = (None, None, k, state.index)
            cute.gemm(mma, acc, rA[at], rB[at], acc)
        warpgroup.commit_group()
        warpgroup.wait_group(1)
        loads.consumer_release(before)
        before.advance()
        state.advance()
    if cutlass.const_expr(turns is not None):
        turns.arrive()
    warpgroup.wait_group(0)
    loads.consumer_release(before)


@cute.jit
def multiply_twice(
    loads: Any, state: Any, steps: Any, mma: Any, acc: Any, sums: Any, rA: Any, rB: Any, turns: Any
):
    """The sums of a tile, each step's added up in f32."""
    sums.fill(0.0)
    for _ in range(steps):
        loads.consumer_wait(state)
        mma.set(warpgroup.Field.ACCUMULATE, False)
        warpgroup.fence()
        for k in cutlass.range_constexpr(cute.size(rA, mode=[2])):
            at = (None, None, k, state.index)
            cute.gemm(mma, acc, rA[at], rB[at], acc)
            mma.set(warpgroup.Field.ACCUMULATE, True)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        loads.consumer_release(state)
        state.advance()
        sums.store(sums.load() + acc.load())
    if cutlass.const_expr(turns is not None):
        turns.arrive()


def as_tma_matrix(t: Any, row_major: bool, dtype: Any) -> Any:
    """A tensor (batch, rows, columns) as (rows, columns, batch), its strides in whole vectors."""
    vec = 128 // t.element_type.width
    at = cute.recast_ptr(t.iterator.align(16), dtype=dtype)
    batch, rows, columns = t.shape

    def by(stride: Any) -> Any:
        # Those of a single row come as anything, such as 1: what TMA takes they become.
        return cute.assume((stride + (vec - 1)) // vec * vec, divby=vec)

    stride = (by(t.stride[1]), 1) if row_major else (1, by(t.stride[2]))
    layout = cute.make_layout((rows, columns, batch), stride=(*stride, by(t.stride[0])))
    return cute.make_tensor(at, layout)


def moved(t: Any, plan: Any, columns: int, loaded: bool) -> tuple[Any, Any]:
    """How parts of a matrix of the epilogue are moved, and its tensor; threads do it where there
    is None."""
    if not plan.direct:
        matrix = as_tma_matrix(t, plan.row_major, t.element_type)
        return tuple(plan.part_atom(matrix, columns, loaded))  # type: ignore[return-value]
    batch, rows, columns = t.shape
    by = lambda x: cute.assume((x + (plan.direct - 1)) // plan.direct * plan.direct,  # noqa: E731
                               divby=plan.direct)  # fmt: skip
    stride = (by(t.stride[1]), 1) if plan.row_major else (1, by(t.stride[2]))
    layout = cute.make_layout((rows, columns, batch), stride=(*stride, by(t.stride[0])))
    return None, cute.make_tensor(t.iterator, layout)


@cute.jit
def hopper_gemm(
    a: cute.Tensor,
    b: cute.Tensor,
    d: cute.Tensor,
    extra: Any,
    plan: cutlass.Constexpr[HopperPlan],
):
    """Launch the kernel.

    Args:
        a, b: (batch, M, K) and (batch, N, K), in the majors of the plan; the batch may be 1.
        d: (batch, M, N), row-major; half as many columns where the visitor is gated.
        extra: the visitor's operands: vectors, numbers, matrices as d.
    """
    extra = extra or ()
    matrices, mma, params = prepared(a, b, d, extra, plan)
    grid = utils.StaticPersistentTileScheduler.get_grid_shape(params, plan.clusters)
    hopper_gemm_kernel(*matrices, params, *mma, b.shape[1], plan).launch(
        grid=grid, block=[plan.threads, 1, 1], cluster=[*plan.config.cluster, 1],
        min_blocks_per_mp=1,
    )  # fmt: skip


def prepared(a: Any, b: Any, d: Any, extra: Any, plan: Any) -> tuple[Any, ...]:
    """What kernels are given: matrices, each with how it is moved; instructions; the tiles."""
    mA, mB = (as_tma_matrix(t, plan.k_major[i], plan.types[i]) for i, t in enumerate((a, b)))
    operands = tuple(
        moved(x, plan, plan.columns, kind == "load") if kind in ("load", "store") else x
        for kind, x in zip(plan.visitor.kinds, extra, strict=True)
    )
    tiles = (*(cute.ceil_div(t.shape[0], plan.tile[i]) for i, t in enumerate((mA, mB))), d.shape[0])
    params = utils.PersistentTileSchedulerParams(
        tiles, (*plan.config.cluster, 1), plan.config.group, False
    )
    matrices = (*plan.operand_atom(mA, 0), *plan.operand_atom(mB, 1),
                *moved(d, plan, plan.result_columns, False), operands)  # fmt: skip
    return matrices, (plan.tiled_mma(), plan.part_mma()), params
