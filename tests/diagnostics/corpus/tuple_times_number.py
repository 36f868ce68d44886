# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A tuple times a number is a longer tuple."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor):
    i = cute.arch.thread_idx() * 128
    x[i] = 1.0


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=1, block=32)


host(from_dlpack(np.zeros(32, np.float32)))
