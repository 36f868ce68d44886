# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""y = alpha * x + y on vectors of any length: full vectors, then a tail of single elements.

opencute verify examples/axpy_ragged.py
"""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

DTYPE = np.float32
LENGTH = 10_007


@cute.kernel
def axpy_kernel(alpha: cutlass.Float32, mX: cute.Tensor, mY: cute.Tensor, mOut: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    vec = 128 // mX.element_type.width
    first = (bidx * bdim + tidx) * vec
    n = cute.size(mX)
    if first + vec <= n:
        x, y, out = (cute.zipped_divide(t, (vec,))[None, first // vec] for t in (mX, mY, mOut))
        out.store((alpha * x.load() + y.load()).to(mOut.element_type))
    elif first < n:
        for i in range(first, n):
            mOut[i] = (alpha * mX[i] + mY[i]).to(mOut.element_type)


@cute.jit
def axpy(alpha: cutlass.Float32, mX: cute.Tensor, mY: cute.Tensor, mOut: cute.Tensor):
    vec = 128 // mX.element_type.width
    threads = 128
    grid = cute.ceil_div(cute.ceil_div(cute.size(mX), vec), threads)
    axpy_kernel(alpha, mX, mY, mOut).launch(grid=grid, block=threads)


def kernel_fn(alpha, x, y):
    out = np.empty_like(x)
    axpy(alpha, *(from_dlpack(t, assumed_align=16).mark_layout_dynamic() for t in (x, y, out)))
    return out


def reference_fn(alpha, x, y):
    return (np.float32(alpha) * x.astype(np.float32) + y.astype(np.float32)).astype(x.dtype)


def get_inputs():
    rng = np.random.default_rng(np.random.randint(1 << 31))
    return [1.5, *(rng.standard_normal(LENGTH).astype(DTYPE) for _ in range(2))]


def get_bytes(alpha, x, y):
    return 3 * x.nbytes
