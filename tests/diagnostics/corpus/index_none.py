# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""An argument that may be None is asked for that before it is used."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor, bias):
    i, _, _ = cute.arch.thread_idx()
    x[i] = x[i] + bias[i]


@cute.jit
def host(x: cute.Tensor, bias):
    kernel(x, bias).launch(grid=1, block=32)


host(from_dlpack(np.zeros(32, np.float32)), None)
