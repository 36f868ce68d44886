# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Step 4: f16 operands on tensor cores: mma.sync, with ldmatrix from padded shared memory."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def gemm_kernel(
    mA: cute.Tensor,
    mB: cute.Tensor,
    mC: cute.Tensor,
    mma: cute.TiledMma,
    copy: cute.TiledCopy,
    tile: cutlass.Constexpr,
):
    tidx, _, _ = cute.arch.thread_idx()
    m, n, _ = cute.arch.block_idx()
    bm, bn, bk = tile
    gA = cute.local_tile(mA, (bm, bk), (m, None))  # (row, k, tile of k)
    gB = cute.local_tile(mB, (bn, bk), (n, None))
    gC = cute.local_tile(mC, (bm, bn), (m, n))
    smem = cutlass.utils.SmemAllocator()
    # Rows of bk + 8 elements: the eight rows that ldmatrix reads at once are in different banks.
    sA = smem.allocate_tensor(cutlass.Float16, cute.make_layout((bm, bk), stride=(bk + 8, 1)), 16)
    sB = smem.allocate_tensor(cutlass.Float16, cute.make_layout((bn, bk), stride=(bk + 8, 1)), 16)

    thr = copy.get_slice(tidx)
    tAg, tAs = thr.partition_S(gA), thr.partition_D(sA)
    tBg, tBs = thr.partition_S(gB), thr.partition_D(sB)
    held_a, held_b = (cute.make_fragment_like(t[None, None, None, 0]) for t in (tAg, tBg))

    part = mma.get_slice(tidx)
    tCg = part.partition_C(gC)
    rA, rB = (mma.make_fragment_A(part.partition_A(sA)), mma.make_fragment_B(part.partition_B(sB)))
    acc = mma.make_fragment_C(tCg)
    acc.fill(0.0)
    matrices = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16)
    load_a = cute.make_tiled_copy_A(matrices, mma)
    load_b = cute.make_tiled_copy_B(matrices, mma)
    thr_a, thr_b = load_a.get_slice(tidx), load_b.get_slice(tidx)
    from_a, to_a = thr_a.partition_S(sA), thr_a.retile(rA)
    from_b, to_b = thr_b.partition_S(sB), thr_b.retile(rB)
    for kt in range(gA.shape[2]):
        cute.copy(copy, tAg[None, None, None, kt], held_a)
        cute.copy(copy, tBg[None, None, None, kt], held_b)
        cute.copy(copy, held_a, tAs)
        cute.copy(copy, held_b, tBs)
        cute.arch.sync_threads()
        for k in cutlass.range_constexpr(cute.size(rA, mode=[2])):
            cute.copy(load_a, from_a[None, None, k], to_a[None, None, k])
            cute.copy(load_b, from_b[None, None, k], to_b[None, None, k])
            cute.gemm(mma, acc, rA[None, None, k], rB[None, None, k], acc)
        cute.arch.sync_threads()
    cute.autovec_copy(acc, tCg)


@cute.jit
def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, tile: cutlass.Constexpr = (64, 64, 32)):
    op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    # Two by two warps; each makes 16 columns at a time, so that ldmatrix loads four matrices of B.
    mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    threads = cute.make_layout((32, 4), stride=(4, 1))
    copy = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8), stride=(8, 1)))
    gemm_kernel(a, b, c, mma, copy, tile).launch(
        grid=(c.shape[0] // tile[0], c.shape[1] // tile[1], 1), block=128
    )


def kernel_fn(a, b):
    c = np.empty((a.shape[0], b.shape[0]), np.float32)
    gemm(*(from_dlpack(t, assumed_align=16) for t in (a, b, c)))
    return c


def reference_fn(a, b):
    return a.astype(np.float32) @ b.astype(np.float32).T


def get_inputs():
    rng = np.random.default_rng(0)
    return [rng.integers(-4, 5, shape).astype(np.float16) for shape in ((64, 96), (64, 96))]
