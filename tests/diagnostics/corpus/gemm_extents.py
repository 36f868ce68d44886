# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""K of both operands is the same."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op)

    a = cute.make_rmem_tensor((8, 1, 2), cutlass.Float16)
    b = cute.make_rmem_tensor((4, 1, 1), cutlass.Float16)
    c = cute.make_rmem_tensor((4, 1, 1), cutlass.Float32)
    cute.gemm(mma, c, a, b, c)
    t[i] = 0


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=32)


host(from_dlpack(np.zeros(32, np.int32)).mark_layout_dynamic())
