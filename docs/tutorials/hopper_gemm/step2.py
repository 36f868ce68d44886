# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Step 2: TMA copies the tiles, an mbarrier says when they have come.

a (M, K), b (N, K), c (M, N), all f16 and row-major, extents divisible by the tile: c = a @ b.T
"""

import numpy as np

import cutlass
import cutlass.cute as cute
import cutlass.utils.hopper_helpers as sm90_utils
from cutlass import utils
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.cute.runtime import from_dlpack


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
):
    tidx, _, _ = cute.arch.thread_idx()
    m, n, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = utils.SmemAllocator()
    sA = smem.allocate_tensor(cutlass.Float16, layout_a.outer, 1024, swizzle=layout_a.inner)
    sB = smem.allocate_tensor(cutlass.Float16, layout_b.outer, 1024, swizzle=layout_b.inner)
    full = smem.allocate_array(cutlass.Int64, 1)
    if tidx == 0:
        cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
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
    tile_bytes = 2 * tile[2] * (tile[0] + tile[1])
    for k in range(cute.size(gA, mode=[2])):
        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full, tile_bytes)
            cute.copy(atom_a, fromA[None, k], toA[None, 0], tma_bar_ptr=full)
            cute.copy(atom_b, fromB[None, k], toB[None, 0], tma_bar_ptr=full)
        cute.arch.mbarrier_wait(full, k % 2)  # phases are told apart by their parity
        warpgroup.fence()
        for kk in cutlass.range_constexpr(cute.size(rA, mode=[2])):
            cute.gemm(mma, acc, rA[None, None, kk, 0], rB[None, None, kk, 0], acc)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        cute.arch.sync_threads()  # all have read before TMA writes the next tile
    out = cute.make_rmem_tensor(acc.shape, cutlass.Float16)
    out.store(acc.load().to(cutlass.Float16))
    cute.autovec_copy(out, tC)


@cute.jit
def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, tile: cutlass.Constexpr = (64, 64, 64)):
    row = utils.LayoutEnum.ROW_MAJOR
    major = warpgroup.OperandMajorMode.K
    groups = tile[0] // 64
    mma = sm90_utils.make_trivial_tiled_mma(
        cutlass.Float16, cutlass.Float16, major, major, cutlass.Float32, (groups, 1, 1),
        (64, tile[1]),
    )  # fmt: skip
    layout_a = sm90_utils.make_smem_layout_a(row, tile, cutlass.Float16, 1)
    layout_b = sm90_utils.make_smem_layout_b(row, tile, cutlass.Float16, 1)
    op = cpasync.CopyBulkTensorTileG2SOp()
    atom_a, tA = cpasync.make_tiled_tma_atom(
        op, a, cute.slice_(layout_a, (None, None, 0)), (tile[0], tile[2])
    )
    atom_b, tB = cpasync.make_tiled_tma_atom(
        op, b, cute.slice_(layout_b, (None, None, 0)), (tile[1], tile[2])
    )
    gemm_kernel(atom_a, tA, atom_b, tB, c, mma, layout_a, layout_b, tile).launch(
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
