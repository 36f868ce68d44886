# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Only some lanes of a warp come to a reduction of all of them."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    if i < x.shape[0]:
        total = cute.arch.warp_reduction_sum(x[i])
        if i == 0:
            y[0] = total


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    kernel(x, y).launch(grid=1, block=32)


host(from_dlpack(np.ones(20, np.float32)), from_dlpack(np.zeros(1, np.float32)))
