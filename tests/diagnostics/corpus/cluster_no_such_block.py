# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A block of the cluster that does not exist."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    bar = cute.arch.alloc_smem(cutlass.Int64, 1)
    cute.arch.mbarrier_arrive(bar, 2)
    t[cute.arch.block_idx()[0] * 32 + i] = 0


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=2, block=32, cluster=2)


host(from_dlpack(np.zeros(64, np.int32)).mark_layout_dynamic())
