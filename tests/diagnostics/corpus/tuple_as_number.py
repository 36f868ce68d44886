# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""thread_idx() gives a tuple, no number."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor):
    i = cute.arch.thread_idx()
    if i < 8:
        x[0] = 1.0


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=1, block=32)


host(from_dlpack(np.zeros(32, np.float32)))
