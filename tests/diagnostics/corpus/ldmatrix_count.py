# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""ldmatrix moves 1, 2 or 4 matrices."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    op = warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=3)
    t[i] = 0


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=32)


host(from_dlpack(np.zeros(32, np.int32)).mark_layout_dynamic())
