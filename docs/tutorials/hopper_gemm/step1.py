# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Step 1: each block makes one tile of C; threads copy, wgmma multiplies.

a (M, K), b (N, K), c (M, N), all f16 and row-major, extents divisible by the tile: c = a @ b.T
"""

import numpy as np

import cutlass
import cutlass.cute as cute
import cutlass.utils.hopper_helpers as sm90_utils
from cutlass import utils
from cutlass.cute.nvgpu import warpgroup
from cutlass.cute.runtime import from_dlpack


@cute.jit
def copy_tile(copy: cute.TiledCopy, tidx: cutlass.Int32, src: cute.Tensor, dst: cute.Tensor):
    """Global memory to registers to shared memory, 16 bytes at a time."""
    thr = copy.get_slice(tidx)
    part = thr.partition_S(src)
    regs = cute.make_fragment_like(part)
    cute.copy(copy, part, regs)
    cute.copy(copy, regs, thr.partition_D(dst))


@cute.kernel
def gemm_kernel(
    mA: cute.Tensor,
    mB: cute.Tensor,
    mC: cute.Tensor,
    mma: cute.TiledMma,
    copy: cute.TiledCopy,
    layout_a: cute.ComposedLayout,
    layout_b: cute.ComposedLayout,
    tile: cutlass.Constexpr,
):
    tidx, _, _ = cute.arch.thread_idx()
    m, n, _ = cute.arch.block_idx()
    smem = utils.SmemAllocator()
    sA = smem.allocate_tensor(cutlass.Float16, layout_a.outer, 1024, swizzle=layout_a.inner)
    sB = smem.allocate_tensor(cutlass.Float16, layout_b.outer, 1024, swizzle=layout_b.inner)
    gA = cute.local_tile(mA, (tile[0], tile[2]), (m, None))  # (rows, k, tiles along K)
    gB = cute.local_tile(mB, (tile[1], tile[2]), (n, None))
    thr = mma.get_slice(tidx)
    tC = thr.partition_C(cute.local_tile(mC, tile[:2], (m, n)))
    rA, rB = mma.make_fragment_A(thr.partition_A(sA)), mma.make_fragment_B(thr.partition_B(sB))
    acc = cute.make_rmem_tensor(tC.shape, cutlass.Float32)
    acc.fill(0.0)
    mma.set(warpgroup.Field.ACCUMULATE, True)
    for k in range(cute.size(gA, mode=[2])):
        copy_tile(copy, tidx, gA[None, None, k], sA[None, None, 0])
        copy_tile(copy, tidx, gB[None, None, k], sB[None, None, 0])
        cute.arch.fence_proxy("async.shared", space="cta")  # wgmma reads through another proxy
        cute.arch.sync_threads()
        warpgroup.fence()
        for kk in cutlass.range_constexpr(cute.size(rA, mode=[2])):
            cute.gemm(mma, acc, rA[None, None, kk, 0], rB[None, None, kk, 0], acc)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        cute.arch.sync_threads()  # all have read before anyone writes the next tile
    out = cute.make_rmem_tensor(acc.shape, cutlass.Float16)
    out.store(acc.load().to(cutlass.Float16))
    cute.autovec_copy(out, tC)


@cute.jit
def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, tile: cutlass.Constexpr = (64, 64, 64)):
    row = utils.LayoutEnum.ROW_MAJOR
    major = warpgroup.OperandMajorMode.K
    groups = tile[0] // 64  # a warpgroup for each 64 rows
    mma = sm90_utils.make_trivial_tiled_mma(
        cutlass.Float16, cutlass.Float16, major, major, cutlass.Float32, (groups, 1, 1),
        (64, tile[1]),
    )  # fmt: skip
    layout_a = sm90_utils.make_smem_layout_a(row, tile, cutlass.Float16, 1)
    layout_b = sm90_utils.make_smem_layout_b(row, tile, cutlass.Float16, 1)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    threads = cute.make_layout((16 * groups, 8), stride=(8, 1))
    copy = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8)))
    gemm_kernel(a, b, c, mma, copy, layout_a, layout_b, tile).launch(
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
