# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Operands of an MMA are in registers."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import from_dlpack
from cutlass.utils import SmemAllocator


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op)

    s = SmemAllocator().allocate_tensor(cutlass.Float16, cute.make_layout((8, 1, 1)), 16)
    b = cute.make_rmem_tensor((4, 1, 1), cutlass.Float16)
    c = cute.make_rmem_tensor((4, 1, 1), cutlass.Float32)
    cute.gemm(mma, c, s, b, c)
    t[i] = 0


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=32)


host(from_dlpack(np.zeros(32, np.int32)).mark_layout_dynamic())
