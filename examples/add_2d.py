# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""c = a + b on row-major matrices, 128 bits per thread, from one compiled function.

opencute verify examples/add_2d.py --rtol 0 --atol 0
"""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

DTYPE = np.float32
SHAPE = (192, 512)


@cute.kernel
def add_kernel(gA: cute.Tensor, gB: cute.Tensor, gC: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    idx = bidx * bdim + tidx
    _, (m, n) = gA.shape
    if idx < m * n:
        at = (None, (idx // n, idx % n))
        gC[at] = gA[at].load() + gB[at].load()


@cute.jit
def add(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, threads: cutlass.Constexpr = 256):
    vec = 128 // mA.element_type.width
    gA, gB, gC = (cute.zipped_divide(t, (1, vec)) for t in (mA, mB, mC))
    grid = cute.ceil_div(cute.size(gC, mode=[1]), threads)
    add_kernel(gA, gB, gC).launch(grid=(grid, 1, 1), block=(threads, 1, 1))


_compiled = {}


def kernel_fn(a, b):
    out = np.empty_like(a)
    args = [from_dlpack(t, assumed_align=16).mark_layout_dynamic() for t in (a, b, out)]
    key = a.dtype
    if key not in _compiled:
        _compiled[key] = cute.compile(add, *args)
    _compiled[key](*args)
    return out


def reference_fn(a, b):
    return a + b


def get_inputs():
    rng = np.random.default_rng(np.random.randint(1 << 31))
    return [rng.standard_normal(SHAPE).astype(DTYPE) for _ in range(2)]


def get_bytes(a, b):
    return 3 * a.nbytes
