# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where a number is annotated a tuple is none."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor, n: cutlass.Int32):
    i, _, _ = cute.arch.thread_idx()
    if i < n:
        x[i] = 1.0


@cute.jit
def host(x: cute.Tensor):
    kernel(x, x.shape).launch(grid=1, block=32)


host(from_dlpack(np.zeros((4, 8), np.float32)))
