# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Step 2: a block makes a tile of C from tiles of A and B in shared memory."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

T = 16  # a tile is T x T, for A, B and C


@cute.kernel
def gemm_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    gA = cute.local_tile(mA, (T, T), (bidy, None))  # (row, k, tile of k)
    gB = cute.local_tile(mB, (T, T), (bidx, None))
    gC = cute.local_tile(mC, (T, T), (bidy, bidx))
    smem = cutlass.utils.SmemAllocator()
    padded = cute.make_layout((T, T), stride=(T + 1, 1))
    sA = smem.allocate_tensor(cutlass.Float32, padded)
    sB = smem.allocate_tensor(cutlass.Float32, padded)
    total = cutlass.Float32(0.0)
    for kt in range(gA.shape[2]):
        sA[tidy, tidx] = gA[tidy, tidx, kt]
        sB[tidy, tidx] = gB[tidy, tidx, kt]
        cute.arch.sync_threads()  # the tiles are there
        for k in cutlass.range_constexpr(T):
            total += sA[tidy, k] * sB[tidx, k]
        cute.arch.sync_threads()  # all have read them
    gC[tidy, tidx] = total


@cute.jit
def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    m, n = c.shape
    gemm_kernel(a, b, c).launch(grid=(n // T, m // T, 1), block=(T, T, 1))


def kernel_fn(a, b):
    c = np.empty((a.shape[0], b.shape[0]), np.float32)
    gemm(*(from_dlpack(t, assumed_align=16) for t in (a, b, c)))
    return c


def reference_fn(a, b):
    return a.astype(np.float32) @ b.astype(np.float32).T


def get_inputs():
    rng = np.random.default_rng(0)
    return [rng.integers(-4, 5, shape).astype(np.float32) for shape in ((64, 48), (64, 48))]
