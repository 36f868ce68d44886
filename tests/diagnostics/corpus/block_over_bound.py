# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The block must not exceed the bound that the kernel is compiled for."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    t[i] = 1


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=64, max_number_threads=32)


host(from_dlpack(np.zeros(8, np.float32)))
