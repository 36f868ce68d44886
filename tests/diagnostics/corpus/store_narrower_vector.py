# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A vector of a wider type is converted before it is stored."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    y[None, i] = x[None, i].load()


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    kernel(cute.zipped_divide(x, (4,)), cute.zipped_divide(y, (4,))).launch(grid=1, block=8)


host(from_dlpack(np.zeros(32, np.float32)), from_dlpack(np.zeros(32, np.int8)))
