# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""An integer tensor holds no fractions."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    y[i] = 0.5


@cute.jit
def host(y: cute.Tensor):
    kernel(y).launch(grid=1, block=32)


host(from_dlpack(np.zeros(32, np.int32)))
