# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Step 7: an epilogue that adds a bias and stores through shared memory and TMA.

a (M, K), b (N, K), bias (N), c (M, N), all f16, matrices row-major, extents divisible by the tile:
c = a @ b.T + bias
"""

import numpy as np

import cutlass
import cutlass.cute as cute
import cutlass.utils.hopper_helpers as sm90_utils
from cutlass import pipeline, utils
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.cute.runtime import from_dlpack


def group(size: int) -> pipeline.CooperativeGroup:
    return pipeline.CooperativeGroup(pipeline.Agent.Thread, size)


@cute.jit
def multiply(
    consumer: pipeline.PipelineConsumer, mma: cute.TiledMma, acc: cute.Tensor, rA: cute.Tensor,
    rB: cute.Tensor, steps: cutlass.Int32,
):  # fmt: skip
    """The sums of a tile."""
    acc.fill(0.0)
    mma.set(warpgroup.Field.ACCUMULATE, True)
    for _ in range(steps):
        buffer = consumer.wait_and_advance()
        warpgroup.fence()
        for kk in cutlass.range_constexpr(cute.size(rA, mode=[2])):
            at = (None, None, kk, buffer.index)
            cute.gemm(mma, acc, rA[at], rB[at], acc)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        buffer.release()


@cute.jit
def produce(
    producer: pipeline.PipelineProducer, sched: utils.StaticPersistentTileScheduler, a: tuple,
    b: tuple, steps: cutlass.Int32,
):  # fmt: skip
    """Load the tiles of A and B; `a` and `b` are atom, source, target and mask."""
    (atom_a, fromA, toA, mask_a), (atom_b, fromB, toB, mask_b) = a, b
    work = sched.initial_work_tile_info()
    while work.is_valid_tile:
        m, n, _ = work.tile_idx
        for k in range(steps):
            buffer = producer.acquire_and_advance()
            cute.copy(
                atom_a, fromA[None, m, k], toA[None, buffer.index],
                tma_bar_ptr=buffer.barrier, mcast_mask=mask_a,
            )  # fmt: skip
            cute.copy(
                atom_b, fromB[None, n, k], toB[None, buffer.index],
                tma_bar_ptr=buffer.barrier, mcast_mask=mask_b,
            )  # fmt: skip
            buffer.commit()
        sched.advance_to_next_work()
        work = sched.get_current_work()
    producer.tail()


@cute.jit
def finish(
    acc: cute.Tensor, tC: cute.Tensor, tBias: cute.Tensor, store: tuple,
    meet: pipeline.NamedBarrier, warp: cutlass.Int32,
):  # fmt: skip
    """acc + bias to shared memory, and from there by TMA; `store` is atom, source and target."""
    atom, source, target = store
    extra = cute.make_rmem_tensor(acc.shape, cutlass.Float16)
    cute.autovec_copy(tBias, extra)  # a broadcast: its rows have stride 0
    if warp == 0:
        cute.arch.cp_async_bulk_wait_group(0, read=True)  # the last tile has left sC
    meet.arrive_and_wait()
    out = cute.make_rmem_tensor(acc.shape, cutlass.Float16)
    out.store((acc.load() + extra.load().to(cutlass.Float32)).to(cutlass.Float16))
    cute.autovec_copy(out, tC)
    cute.arch.fence_proxy("async.shared", space="cta")  # TMA reads through another proxy
    meet.arrive_and_wait()
    if warp == 0:
        cute.copy(atom, source, target)
        cute.arch.cp_async_bulk_commit_group()


@cute.kernel
def gemm_kernel(
    atom_a: cute.CopyAtom, mA: cute.Tensor, atom_b: cute.CopyAtom, mB: cute.Tensor,
    atom_c: cute.CopyAtom, mC: cute.Tensor, bias: cute.Tensor, mma: cute.TiledMma,
    layout_a: cute.ComposedLayout, layout_b: cute.ComposedLayout, layout_c: cute.ComposedLayout,
    params: utils.PersistentTileSchedulerParams,
    tile: cutlass.Constexpr, stages: cutlass.Constexpr, cluster: cutlass.Constexpr,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    consumers = 4 * (tile[0] // 64)  # warps
    blocks = cute.make_layout((*cluster, 1))
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    at = blocks.get_flat_coord(rank)
    smem = utils.SmemAllocator()
    sA = smem.allocate_tensor(cutlass.Float16, layout_a.outer, 1024, swizzle=layout_a.inner)
    sB = smem.allocate_tensor(cutlass.Float16, layout_b.outer, 1024, swizzle=layout_b.inner)
    sC = smem.allocate_tensor(cutlass.Float16, layout_c.outer, 1024, swizzle=layout_c.inner)
    loads = pipeline.PipelineTmaAsync.create(
        num_stages=stages, producer_group=group(1),
        consumer_group=group(consumers * (cluster[0] + cluster[1] - 1)),
        tx_count=2 * tile[2] * (tile[0] + tile[1]),
        cta_layout_vmnk=cute.make_layout((1, *cluster, 1)), defer_sync=True,
    )  # fmt: skip
    pipeline.pipeline_init_arrive(cluster_shape_mn=cluster, is_relaxed=True)
    producer, consumer = loads.make_participants()
    gA = cute.local_tile(mA, (tile[0], tile[2]), (None, None))
    gB = cute.local_tile(mB, (tile[1], tile[2]), (None, None))
    toA, fromA = cpasync.tma_partition(
        atom_a, at[1], cute.make_layout(cluster[1]), cute.group_modes(sA, 0, 2),
        cute.group_modes(gA, 0, 2),
    )  # fmt: skip
    toB, fromB = cpasync.tma_partition(
        atom_b, at[0], cute.make_layout(cluster[0]), cute.group_modes(sB, 0, 2),
        cute.group_modes(gB, 0, 2),
    )  # fmt: skip
    mask_a, mask_b = None, None
    if cutlass.const_expr(cluster[1] > 1):  # the blocks of a cluster's row share A
        mask_a = cute.make_layout_image_mask(blocks, at, mode=1)
    if cutlass.const_expr(cluster[0] > 1):  # those of a column share B
        mask_b = cute.make_layout_image_mask(blocks, at, mode=0)
    sched = utils.StaticPersistentTileScheduler.create(
        params, cute.arch.block_idx(), cute.arch.grid_dim()
    )
    pipeline.pipeline_init_wait(cluster_shape_mn=cluster)
    steps = cute.size(gA, mode=[3])
    if warp >= consumers:
        cute.arch.setmaxregister_decrease(40)
        if warp == consumers:
            a, b = (atom_a, fromA, toA, mask_a), (atom_b, fromB, toB, mask_b)
            produce(producer, sched, a, b, steps)
    else:
        cute.arch.setmaxregister_increase(232)
        thr = mma.get_slice(tidx)
        gC = cute.local_tile(mC, tile[:2], (None, None))
        fromC, toC = cpasync.tma_partition(
            atom_c, 0, cute.make_layout(1), cute.group_modes(sC, 0, 2), cute.group_modes(gC, 0, 2)
        )
        tC = thr.partition_C(sC)[None, None, None, 0]
        rows = cute.make_layout((mC.shape[0], mC.shape[1]), stride=(0, 1))
        gBias = cute.local_tile(cute.make_tensor(bias.iterator, rows), tile[:2], (None, None))
        tBias = thr.partition_C(gBias)
        rA, rB = mma.make_fragment_A(thr.partition_A(sA)), mma.make_fragment_B(thr.partition_B(sB))
        acc = cute.make_rmem_tensor(tC.shape, cutlass.Float32)
        meet = pipeline.NamedBarrier(barrier_id=1, num_threads=32 * consumers)
        work = sched.initial_work_tile_info()
        while work.is_valid_tile:
            m, n, _ = work.tile_idx
            multiply(consumer, mma, acc, rA, rB, steps)
            store = (atom_c, fromC[None, 0], toC[None, m, n])
            finish(acc, tC, tBias[None, None, None, m, n], store, meet, warp)
            sched.advance_to_next_work()
            work = sched.get_current_work()
        if warp == 0:
            cute.arch.cp_async_bulk_wait_group(0, read=True)  # shared memory lives as the block


@cute.jit
def gemm(
    a: cute.Tensor,
    b: cute.Tensor,
    bias: cute.Tensor,
    c: cute.Tensor,
    tile: cutlass.Constexpr = (64, 64, 64),
    stages: cutlass.Constexpr = 2,
    cluster: cutlass.Constexpr = (2, 1),
    blocks: cutlass.Constexpr = 2,
):
    row = utils.LayoutEnum.ROW_MAJOR
    major = warpgroup.OperandMajorMode.K
    groups = tile[0] // 64
    mma = sm90_utils.make_trivial_tiled_mma(
        cutlass.Float16, cutlass.Float16, major, major, cutlass.Float32, (groups, 1, 1),
        (64, tile[1]),
    )  # fmt: skip
    layout_a = sm90_utils.make_smem_layout_a(row, tile, cutlass.Float16, stages)
    layout_b = sm90_utils.make_smem_layout_b(row, tile, cutlass.Float16, stages)
    one, many = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileG2SMulticastOp()
    atom_a, tA = cpasync.make_tiled_tma_atom(
        many if cluster[1] > 1 else one, a, cute.slice_(layout_a, (None, None, 0)),
        (tile[0], tile[2]), num_multicast=cluster[1],
    )  # fmt: skip
    atom_b, tB = cpasync.make_tiled_tma_atom(
        many if cluster[0] > 1 else one, b, cute.slice_(layout_b, (None, None, 0)),
        (tile[1], tile[2]), num_multicast=cluster[0],
    )  # fmt: skip
    layout_c = sm90_utils.make_smem_layout_epi(cutlass.Float16, row, tile[:2], 1)
    atom_c, tC = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileS2GOp(), c, cute.slice_(layout_c, (None, None, 0)), tile[:2]
    )
    tiles = (a.shape[0] // tile[0], b.shape[0] // tile[1], 1)
    params = utils.PersistentTileSchedulerParams(tiles, (*cluster, 1))
    grid = utils.StaticPersistentTileScheduler.get_grid_shape(params, blocks // cute.size(cluster))
    gemm_kernel(
        atom_a, tA, atom_b, tB, atom_c, tC, bias, mma, layout_a, layout_b, layout_c, params,
        tile, stages, cluster,
    ).launch(grid=grid, block=[128 * (groups + 1), 1, 1], cluster=[*cluster, 1])  # fmt: skip


def kernel_fn(a, b, bias):
    c = np.empty((a.shape[0], b.shape[0]), np.float16)
    gemm(*(from_dlpack(t, assumed_align=16) for t in (a, b, bias, c)))
    return c


def reference_fn(a, b, bias):
    return (a.astype(np.float32) @ b.astype(np.float32).T + bias).astype(np.float16)


def get_inputs():
    rng = np.random.default_rng(0)
    shapes = ((128, 192), (128, 192), (128,))
    return [rng.integers(-4, 5, shape).astype(np.float16) for shape in shapes]
