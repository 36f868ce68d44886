# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A thread reads a row that a matrix does not have: the last tile is not whole."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    tile = cute.local_tile(t, (16, 8), (b, 0))
    tile[i, 0] = tile[i, 3]


@cute.jit
def host(t: cute.Tensor):
    grid = cute.ceil_div(cute.size(t, mode=[0]), 16)
    kernel(t).launch(grid=grid, block=16)


host(from_dlpack(np.zeros((40, 8), np.float32)).mark_layout_dynamic())
