# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Step 5: softmax of rows, a block for each: reductions by shuffles and shared memory."""

import operator

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

WARPS = 4


@cute.jit
def of_block(value: cutlass.Float32, op: cutlass.Constexpr, cells: cute.Tensor):
    """A reduction of one number of each thread, which all threads get."""
    value = cute.arch.warp_reduction(value, op)
    tidx, _, _ = cute.arch.thread_idx()
    if tidx % 32 == 0:
        cells[tidx // 32] = value
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(WARPS):
        value = cells[i] if cutlass.const_expr(i == 0) else op(value, cells[i])
    cute.arch.sync_threads()  # all have read before the cells are used again
    return value


@cute.kernel
def softmax_kernel(x: cute.Tensor, y: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    cells = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(WARPS))
    n = x.shape[1]

    most = -cutlass.Float32.inf
    for i in range(tidx, n, 32 * WARPS):
        most = cute.math.max(most, x[row, i])
    most = of_block(most, cute.math.max, cells)

    total = cutlass.Float32(0.0)
    for i in range(tidx, n, 32 * WARPS):
        total += cute.math.exp(x[row, i] - most)
    total = of_block(total, operator.add, cells)

    for i in range(tidx, n, 32 * WARPS):
        y[row, i] = cute.math.exp(x[row, i] - most) / total


@cute.jit
def softmax(x: cute.Tensor, y: cute.Tensor):
    softmax_kernel(x, y).launch(grid=x.shape[0], block=32 * WARPS)


def kernel_fn(x):
    y = np.empty_like(x)
    softmax(*(from_dlpack(t).mark_layout_dynamic() for t in (x, y)))
    return y


def reference_fn(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def get_inputs():
    return [np.random.default_rng(0).standard_normal((5, 300)).astype(np.float32)]
