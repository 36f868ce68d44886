# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Step 1: C = A B^T in f32, a thread for each element of C. A (M, K), B (N, K), C (M, N)."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def gemm_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    m, n = bidy * 16 + tidy, bidx * 16 + tidx
    total = cutlass.Float32(0.0)
    for k in range(mA.shape[1]):
        total += mA[m, k] * mB[n, k]
    mC[m, n] = total


@cute.jit
def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    m, n = c.shape
    gemm_kernel(a, b, c).launch(grid=(n // 16, m // 16, 1), block=(16, 16, 1))


def kernel_fn(a, b):
    c = np.empty((a.shape[0], b.shape[0]), np.float32)
    gemm(*(from_dlpack(t, assumed_align=16) for t in (a, b, c)))
    return c


def reference_fn(a, b):
    return a.astype(np.float32) @ b.astype(np.float32).T


def get_inputs():
    rng = np.random.default_rng(0)
    return [rng.integers(-4, 5, shape).astype(np.float32) for shape in ((64, 48), (64, 48))]
