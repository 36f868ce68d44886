# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix products on Hopper whose tiles do not fill it: blocks share tiles, by `sm90_share`.

Few rows, or few columns, are the columns of tiles of 128 rows, so that all of the large matrix is
read by instructions of the size that they have; tiles in as many buffers as there is room for keep
enough bytes on their way from memory.

Floor: bytes of the operands over the bandwidth of memory, or 2 M N K operations over what `wgmma`
reaches.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute, pipeline, utils
from opencute.cute.nvgpu import cpasync
from opencute.kernels.gemm.sm90 import (
    CONSUMER_REGISTERS,
    LOADER_REGISTERS,
    group_of,
    multiply,
    multiply_twice,
    operand_parts,
    prepared,
)
from opencute.kernels.gemm.sm90_epilogue import (
    Epilogue,
    finish_tile,
    full_barriers,
    leave,
    memory_of,
    start_tile,
)
from opencute.kernels.gemm.sm90_plan import CONSUMERS, HopperPlan
from opencute.kernels.gemm.sm90_share import ClusterSums, MemorySums, Work, sums_layout

__all__ = ["hopper_shared_gemm", "hopper_shared_kernel"]


@cute.kernel
def hopper_shared_kernel(
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
    sums: Any,
    flags: Any,
    tag: Any,
    plan: cutlass.Constexpr[HopperPlan],
):
    """A cluster for some parts of tiles of D."""
    tid, _, _ = cute.arch.thread_idx()
    group = cute.arch.make_warp_uniform(tid // 128)
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    config = plan.config
    cluster = cute.make_layout((*config.cluster, 1))
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
    told = config.cluster[0] + config.cluster[1] - 1
    loads = pipeline.PipelineTmaAsync.create(
        num_stages=plan.stages, producer_group=group_of(1),
        consumer_group=group_of(4 * CONSUMERS * told), tx_count=plan.operand_bytes(),
        cta_layout_vmnk=cute.make_layout((1, *config.cluster, 1)), defer_sync=True,
    )  # fmt: skip
    work = Work(params, cute.ceil_div(mA.shape[1], plan.tile[2]), plan)
    near: Any = None
    if cutlass.const_expr(config.split > 1):
        near = ClusterSums(smem, plan, (group, tid % 128), work)
    if warp == 0:
        with cute.arch.elect_one():
            if cutlass.const_expr(full is not None):
                full.init()
            if cutlass.const_expr(near is not None):
                near.init()
    pipeline.pipeline_init_arrive(cluster_shape_mn=config.blocks, is_relaxed=True)
    if cutlass.const_expr(config.split > 1):
        # What is loaded is the block's own: that other blocks have begun counts with sums only.
        cute.arch.sync_threads()
    else:
        pipeline.pipeline_init_wait(cluster_shape_mn=config.blocks)
    if group == CONSUMERS:
        cute.arch.setmaxregister_decrease(LOADER_REGISTERS)
        if warp == 4 * CONSUMERS:
            at = (0, 0, 0)
            if cutlass.const_expr(config.split == 1):
                at = cluster.get_flat_coord(work.rank)
            operands = tuple(
                operand_parts(atom, m, s, cluster, at, i, plan)
                for i, (atom, m, s) in enumerate(((atom_a, mA, sA), (atom_b, mB, sB)))
            )
            produce(loads, work, operands, plan)
        if cutlass.const_expr(config.split > 1):
            pipeline.pipeline_init_wait(cluster_shape_mn=config.blocks)
    else:
        cute.arch.setmaxregister_increase(CONSUMER_REGISTERS)
        epilogue = Epilogue(
            plan, (group, tid % 128), matrices, full, extra, (mA.shape[0], columns), part_mma
        )
        if cutlass.const_expr(config.split > 1):
            pipeline.pipeline_init_wait(cluster_shape_mn=config.blocks)
            epilogue.rank = work.rank
        others = near
        if cutlass.const_expr(near is None):
            others = MemorySums(
                sums, flags, tag, work, epilogue.barrier, (group, tid % 128)
            )  # fmt: skip
        consume(loads, work, (sA, sB), mma, group, epilogue, others, plan)


@cute.jit
def produce(loads: Any, work: Any, operands: Any, plan: cutlass.Constexpr[HopperPlan]):
    """Load the steps of A and B, in the order in which they are multiplied."""
    state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, plan.stages)
    while work.more():
        number, first, count = work.part()
        tile = work.place(number)
        for step in range(count):
            loads.producer_acquire(state)
            for i in cutlass.range_constexpr(2):
                atom, coords, into, mask = operands[i]
                cute.copy(
                    atom,
                    coords[None, tile[i], first + step, 0 if plan.shared[i] else tile[2]],
                    into[None, state.index],
                    tma_bar_ptr=loads.producer_get_barrier(state),
                    mcast_mask=mask,
                    cache_policy=plan.policy(i),
                )
            loads.producer_commit(state)
            state.advance()
        work.advance()
    loads.producer_tail(state)


@cute.jit
def consume(
    loads: Any, work: Any, smem: Any, mma: Any, group: Any, epilogue: Any, others: Any,
    plan: cutlass.Constexpr[HopperPlan],
):  # fmt: skip
    """Multiply parts of tiles, and finish those tiles whose last step is this block's."""
    own = mma.get_slice(group * 128)
    rA = mma.make_fragment_A(own.partition_A(smem[0]))
    rB = mma.make_fragment_B(own.partition_B(smem[1]))
    acc = mma.make_fragment_C(mma.partition_shape_C(plan.tile[:2]))
    state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, plan.stages)
    turn = cutlass.Int32(0)
    while work.more():
        number, first, count = work.part()
        tile = work.place(number)
        finishes = cutlass.const_expr(plan.config.split > 1) or work.finishes(first, count)
        if finishes:
            start_tile(epilogue, tile, plan)
        if cutlass.const_expr(plan.config.twice):
            total = cute.make_rmem_tensor(acc.layout, cutlass.Float32)
            multiply_twice(loads, state, count, mma, acc, total, rA, rB, None)
        else:
            total = acc
            multiply(loads, state, count, mma, acc, rA, rB, None, None)
        if cutlass.const_expr(plan.config.split > 1):
            finish_tile(others.exchange(total), epilogue, tile, turn, plan)
            turn = turn + 1
        elif finishes:
            if first > 0:
                others.take(total, number)
            finish_tile(total, epilogue, tile, turn, plan)
            turn = turn + 1
        else:
            others.give(total)
        work.advance()
    leave(epilogue)


@cute.jit
def hopper_shared_gemm(
    a: cute.Tensor,
    b: cute.Tensor,
    d: cute.Tensor,
    extra: Any,
    sums: Any,
    flags: Any,
    tag: Any,
    plan: cutlass.Constexpr[HopperPlan],
):
    """Launch the kernel.

    Args:
        a, b, d, extra: as for `hopper_gemm`.
        sums: with a stream, memory for the sums of all blocks, else None.
        flags: anything, one of 64 bits for each warpgroup that multiplies, else None.
        tag: with a stream, a number of 64 bits that is in none of those, else None.
    """
    extra = extra or ()
    matrices, mma, params = prepared(a, b, d, extra, plan)
    grid = [*plan.config.blocks, plan.clusters]
    if cutlass.const_expr(plan.config.split > 1):
        grid[2] = cutlass.min(params.num_clusters, plan.clusters)
    if cutlass.const_expr(sums is not None):
        layout = sums_layout(plan.sums, flags.shape[0])
        sums = cute.make_tensor(sums.iterator.align(16), layout)
    hopper_shared_kernel(*matrices, params, *mma, b.shape[1], sums, flags, tag, plan).launch(
        grid=grid, block=[plan.threads, 1, 1], cluster=[*plan.config.blocks, 1],
        min_blocks_per_mp=1,
    )  # fmt: skip
