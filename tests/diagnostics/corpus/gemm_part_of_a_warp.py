# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""All threads of a warp take part in an MMA."""

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

    a, b = (cute.make_rmem_tensor((n, 1, 1), cutlass.Float16) for n in (8, 4))
    c = cute.make_rmem_tensor((4, 1, 1), cutlass.Float32)
    for r in (a, b, c):
        r.fill(0)
    if i < 16:
        cute.gemm(mma, c, a, b, c)
    t[i] = 0


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=32)


host(from_dlpack(np.zeros(32, np.int32)).mark_layout_dynamic())
