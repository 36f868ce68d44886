# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Step 1: y = alpha x + y, a thread for each element."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def axpy_kernel(x: cute.Tensor, y: cute.Tensor, alpha: cutlass.Float32):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    if i < cute.size(x):  # the last block has more threads than there are elements
        y[i] = alpha * x[i] + y[i]


@cute.jit
def axpy(x: cute.Tensor, y: cute.Tensor, alpha: cutlass.Float32):
    axpy_kernel(x, y, alpha).launch(grid=cute.ceil_div(cute.size(x), 128), block=128)


def kernel_fn(x, y):
    out = y.copy()
    axpy(from_dlpack(x), from_dlpack(out), 0.5)
    return out


def reference_fn(x, y):
    return np.float32(0.5) * x + y


def get_inputs():
    rng = np.random.default_rng(0)
    return [rng.integers(-8, 9, 1000).astype(np.float32) for _ in range(2)]
