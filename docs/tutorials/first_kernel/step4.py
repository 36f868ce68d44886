# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Step 4: a transposition through shared memory, whose rows are padded."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

PITCH = 33  # 32 and one: neighbours of a column are in different banks


@cute.kernel
def transpose_kernel(x: cute.Tensor, y: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, column, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    tile = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32), stride=(PITCH, 1)))
    gX = cute.local_tile(x, (32, 32), (row, column))
    gY = cute.local_tile(y, (32, 32), (column, row))
    warp, lane = tidx // 32, tidx % 32
    for i in cutlass.range_constexpr(0, 32, 4):
        tile[i + warp, lane] = gX[i + warp, lane]
    cute.arch.sync_threads()  # all of the tile is there before anybody reads it
    for i in cutlass.range_constexpr(0, 32, 4):
        gY[i + warp, lane] = tile[lane, i + warp]


@cute.jit
def transpose(x: cute.Tensor, y: cute.Tensor):
    m, n = x.shape
    transpose_kernel(x, y).launch(grid=(m // 32, n // 32, 1), block=128)


def kernel_fn(x):
    y = np.empty(x.shape[::-1], x.dtype)
    transpose(from_dlpack(x), from_dlpack(y))
    return y


def reference_fn(x):
    return x.T


def get_inputs():
    return [np.arange(64 * 96, dtype=np.float32).reshape(64, 96)]
