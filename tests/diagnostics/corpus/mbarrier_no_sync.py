# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""No barrier of the block between the initialisation and the first use."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    bar = cute.arch.alloc_smem(cutlass.Int64, 1)
    if i == 0:
        cute.arch.mbarrier_init(bar, 64)
    cute.arch.mbarrier_init_fence()
    cute.arch.mbarrier_arrive(bar)
    t[i] = 0


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=64)


host(from_dlpack(np.zeros(64, np.int32)).mark_layout_dynamic())
