# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A single store writes elements of its pointer, not half of the next one too."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    cute.arch.store(y.iterator + i, x[i] * 2.0)


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    kernel(x, y).launch(grid=1, block=4)


host(from_dlpack(np.zeros(8, np.float32)), from_dlpack(np.zeros(8, np.float16)))
