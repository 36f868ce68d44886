# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""relu on a row-major matrix: each thread takes one 128-bit vector.

opencute verify examples/relu_2d.py --rtol 0 --atol 0
"""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

DTYPE = np.float16
SHAPE = (256, 512)


@cute.kernel
def relu_kernel(gA: cute.Tensor, gC: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    idx = bidx * bdim + tidx
    m, n = gA.shape[1]
    if idx < m * n:
        a = gA[(None, (idx // n, idx % n))].load()
        gC[(None, (idx // n, idx % n))] = cute.where(a > 0, a, 0)


@cute.jit
def relu(mA: cute.Tensor, mC: cute.Tensor):
    vec = 128 // mA.element_type.width
    gA = cute.zipped_divide(mA, (1, vec))  # ((1, vec), (M, N / vec))
    gC = cute.zipped_divide(mC, (1, vec))
    threads = 256
    count = cute.size(gA, mode=[1])
    relu_kernel(gA, gC).launch(grid=cute.ceil_div(count, threads), block=threads)


def kernel_fn(x):
    out = np.empty_like(x)
    relu(*(from_dlpack(t, assumed_align=16).mark_layout_dynamic() for t in (x, out)))
    return out


def reference_fn(x):
    return np.maximum(x, 0)


def get_inputs():
    rng = np.random.default_rng(np.random.randint(1 << 31))
    return [rng.standard_normal(SHAPE).astype(DTYPE)]


def get_bytes(x):
    return 2 * x.nbytes
