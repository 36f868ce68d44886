# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Groups of a warp reduction are powers of two."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    t[i] = cute.arch.warp_reduction_sum(i, threads_in_group=24)


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=32)


host(from_dlpack(np.zeros(32, np.int32)).mark_layout_dynamic())
