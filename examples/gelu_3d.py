# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""gelu on a batch of matrices, one block row per (batch, row), computed in f32.

opencute verify examples/gelu_3d.py --rtol 1e-3 --atol 1e-3
"""

import math

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

DTYPE = np.float16
SHAPE = (4, 32, 256)


@cute.kernel
def gelu_kernel(mX: cute.Tensor, mOut: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, batch, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    vec = 128 // mX.element_type.width
    gX = cute.zipped_divide(mX[batch, row, None], (vec,))
    gOut = cute.zipped_divide(mOut[batch, row, None], (vec,))
    for j in range(tidx, cute.size(gX, mode=[1]), bdim):
        x = gX[None, j].load().to(cutlass.Float32)
        y = 0.5 * x * (1.0 + cute.math.erf(x * (1 / math.sqrt(2))))
        gOut[None, j] = y.to(mOut.element_type)


@cute.jit
def gelu(mX: cute.Tensor, mOut: cute.Tensor):
    batches, rows, _ = mX.shape
    gelu_kernel(mX, mOut).launch(grid=(rows, batches, 1), block=(64, 1, 1))


def kernel_fn(x):
    out = np.empty_like(x)
    gelu(from_dlpack(x, assumed_align=16), from_dlpack(out, assumed_align=16))
    return out


def reference_fn(x):
    wide = x.astype(np.float64)
    erf = np.vectorize(math.erf)
    return (0.5 * wide * (1 + erf(wide / math.sqrt(2)))).astype(x.dtype)


def get_inputs():
    rng = np.random.default_rng(np.random.randint(1 << 31))
    return [rng.standard_normal(SHAPE).astype(DTYPE)]


def get_bytes(x):
    return 2 * x.nbytes
