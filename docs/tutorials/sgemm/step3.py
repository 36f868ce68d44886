# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Step 3: a thread makes a square of C in registers; a tiled MMA of fma and a tiled copy."""

import numpy as np

import cutlass
import cutlass.cute as cute
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
    # k outside: what the threads of a warp read at once lies side by side.
    sA = smem.allocate_tensor(cutlass.Float32, cute.make_layout((bm, bk), stride=(1, bm + 4)), 16)
    sB = smem.allocate_tensor(cutlass.Float32, cute.make_layout((bn, bk), stride=(1, bn + 4)), 16)

    thr = copy.get_slice(tidx)
    tAg, tAs = thr.partition_S(gA), thr.partition_D(sA)
    tBg, tBs = thr.partition_S(gB), thr.partition_D(sB)
    held_a, held_b = (cute.make_fragment_like(t[None, None, None, 0]) for t in (tAg, tBg))

    part = mma.get_slice(tidx)
    tCsA, tCsB, tCg = part.partition_A(sA), part.partition_B(sB), part.partition_C(gC)
    rA, rB = mma.make_fragment_A(tCsA), mma.make_fragment_B(tCsB)
    acc = mma.make_fragment_C(tCg)
    acc.fill(0.0)
    for kt in range(gA.shape[2]):
        cute.copy(copy, tAg[None, None, None, kt], held_a)
        cute.copy(copy, tBg[None, None, None, kt], held_b)
        cute.autovec_copy(held_a, tAs)
        cute.autovec_copy(held_b, tBs)
        cute.arch.sync_threads()
        for k in cutlass.range_constexpr(bk):
            cute.autovec_copy(tCsA[None, None, k], rA[None, None, k])
            cute.autovec_copy(tCsB[None, None, k], rB[None, None, k])
            cute.gemm(mma, acc, rA[None, None, k], rB[None, None, k], acc)
        cute.arch.sync_threads()
    cute.autovec_copy(acc, tCg)


@cute.jit
def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, tile: cutlass.Constexpr = (64, 64, 16)):
    op = cute.nvgpu.MmaUniversalOp(cutlass.Float32)
    # 16 x 16 threads, each with four neighbouring rows and columns of every 64.
    four = cute.make_layout((16, 4), stride=(4, 1))
    mma = cute.make_tiled_mma(
        op, cute.make_layout((16, 16, 1), stride=(16, 1, 0)), permutation_mnk=(four, four, None)
    )
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    threads = cute.make_layout((64, 4), stride=(4, 1))
    copy = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 4), stride=(4, 1)))
    gemm_kernel(a, b, c, mma, copy, tile).launch(
        grid=(c.shape[0] // tile[0], c.shape[1] // tile[1], 1), block=256
    )


def kernel_fn(a, b):
    c = np.empty((a.shape[0], b.shape[0]), np.float32)
    gemm(*(from_dlpack(t, assumed_align=16) for t in (a, b, c)))
    return c


def reference_fn(a, b):
    return a.astype(np.float32) @ b.astype(np.float32).T


def get_inputs():
    rng = np.random.default_rng(0)
    return [rng.integers(-4, 5, shape).astype(np.float32) for shape in ((64, 48), (64, 48))]
