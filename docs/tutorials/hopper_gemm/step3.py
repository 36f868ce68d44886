# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Step 3: a ring of buffers, so that TMA loads the next tiles while wgmma multiplies.

a (M, K), b (N, K), c (M, N), all f16 and row-major, extents divisible by the tile: c = a @ b.T
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


@cute.kernel
def gemm_kernel(
    atom_a: cute.CopyAtom,
    mA: cute.Tensor,
    atom_b: cute.CopyAtom,
    mB: cute.Tensor,
    mC: cute.Tensor,
    mma: cute.TiledMma,
    layout_a: cute.ComposedLayout,
    layout_b: cute.ComposedLayout,
    tile: cutlass.Constexpr,
    stages: cutlass.Constexpr,
):
    tidx, _, _ = cute.arch.thread_idx()
    m, n, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = utils.SmemAllocator()
    sA = smem.allocate_tensor(cutlass.Float16, layout_a.outer, 1024, swizzle=layout_a.inner)
    sB = smem.allocate_tensor(cutlass.Float16, layout_b.outer, 1024, swizzle=layout_b.inner)
    loads = pipeline.PipelineTmaAsync.create(
        num_stages=stages, producer_group=group(1), consumer_group=group(4 * (tile[0] // 64)),
        tx_count=2 * tile[2] * (tile[0] + tile[1]),
    )  # fmt: skip
    producer, consumer = loads.make_participants()
    one = cute.make_layout(1)
    gA = cute.local_tile(mA, (tile[0], tile[2]), (m, None))
    gB = cute.local_tile(mB, (tile[1], tile[2]), (n, None))
    toA, fromA = cpasync.tma_partition(
        atom_a, 0, one, cute.group_modes(sA, 0, 2), cute.group_modes(gA, 0, 2)
    )
    toB, fromB = cpasync.tma_partition(
        atom_b, 0, one, cute.group_modes(sB, 0, 2), cute.group_modes(gB, 0, 2)
    )
    thr = mma.get_slice(tidx)
    tC = thr.partition_C(cute.local_tile(mC, tile[:2], (m, n)))
    rA, rB = mma.make_fragment_A(thr.partition_A(sA)), mma.make_fragment_B(thr.partition_B(sB))
    acc = cute.make_rmem_tensor(tC.shape, cutlass.Float32)
    acc.fill(0.0)
    mma.set(warpgroup.Field.ACCUMULATE, True)
    steps = cute.size(gA, mode=[2])
    if warp == 0:
        for k in range(cutlass.min(stages, steps)):  # fill the ring
            buffer = producer.acquire_and_advance()
            cute.copy(atom_a, fromA[None, k], toA[None, buffer.index], tma_bar_ptr=buffer.barrier)
            cute.copy(atom_b, fromB[None, k], toB[None, buffer.index], tma_bar_ptr=buffer.barrier)
            buffer.commit()
    for k in range(steps):
        full = consumer.wait_and_advance()
        warpgroup.fence()
        for kk in cutlass.range_constexpr(cute.size(rA, mode=[2])):
            at = (None, None, kk, full.index)
            cute.gemm(mma, acc, rA[at], rB[at], acc)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        full.release()
        if warp == 0 and k + stages < steps:
            buffer = producer.acquire_and_advance()  # waits until every warp has released it
            cute.copy(
                atom_a, fromA[None, k + stages], toA[None, buffer.index], tma_bar_ptr=buffer.barrier
            )
            cute.copy(
                atom_b, fromB[None, k + stages], toB[None, buffer.index], tma_bar_ptr=buffer.barrier
            )
            buffer.commit()
    out = cute.make_rmem_tensor(acc.shape, cutlass.Float16)
    out.store(acc.load().to(cutlass.Float16))
    cute.autovec_copy(out, tC)


@cute.jit
def gemm(
    a: cute.Tensor,
    b: cute.Tensor,
    c: cute.Tensor,
    tile: cutlass.Constexpr = (64, 64, 64),
    stages: cutlass.Constexpr = 2,
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
    op = cpasync.CopyBulkTensorTileG2SOp()
    atom_a, tA = cpasync.make_tiled_tma_atom(
        op, a, cute.slice_(layout_a, (None, None, 0)), (tile[0], tile[2])
    )
    atom_b, tB = cpasync.make_tiled_tma_atom(
        op, b, cute.slice_(layout_b, (None, None, 0)), (tile[1], tile[2])
    )
    gemm_kernel(atom_a, tA, atom_b, tB, c, mma, layout_a, layout_b, tile, stages).launch(
        grid=[a.shape[0] // tile[0], b.shape[0] // tile[1], 1], block=[128 * groups, 1, 1]
    )


def kernel_fn(a, b):
    c = np.empty((a.shape[0], b.shape[0]), np.float16)
    gemm(*(from_dlpack(t, assumed_align=16) for t in (a, b, c)))
    return c


def reference_fn(a, b):
    return (a.astype(np.float32) @ b.astype(np.float32).T).astype(np.float16)


def get_inputs():
    rng = np.random.default_rng(0)
    shapes = ((128, 192), (128, 192))
    return [rng.integers(-4, 5, shape).astype(np.float16) for shape in shapes]
