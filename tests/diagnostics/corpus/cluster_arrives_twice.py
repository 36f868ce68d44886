# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Two arrivals at the barrier of the cluster, and one wait."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    cute.arch.cluster_arrive()
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    t[cute.arch.block_idx()[0] * 32 + i] = 0


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=2, block=32, cluster=2)


host(from_dlpack(np.zeros(64, np.int32)).mark_layout_dynamic())
