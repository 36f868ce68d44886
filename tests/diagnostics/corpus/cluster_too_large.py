# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A cluster has at most 16 blocks."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    t[i] = 1


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=32, block=4, cluster=(32, 1, 1))


host(from_dlpack(np.zeros(8, np.float32)))
