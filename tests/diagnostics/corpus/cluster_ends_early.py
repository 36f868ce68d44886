# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A block may have ended when its neighbour reads its shared memory."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    bar = cute.arch.alloc_smem(cutlass.Int64, 1)
    if i == 0:
        cute.arch.mbarrier_init(bar, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.cluster_arrive_relaxed()
    cute.arch.cluster_wait()
    far = cute.arch.map_dsmem_ptr(bar, cute.arch.block_idx_in_cluster() ^ 1)
    if i == 0:
        cute.arch.mbarrier_arrive(bar, cute.arch.block_idx_in_cluster() ^ 1)
    t[cute.arch.block_idx()[0] * 32 + i] = 0


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=2, block=32, cluster=2)


host(from_dlpack(np.zeros(64, np.int32)).mark_layout_dynamic())
