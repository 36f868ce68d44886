# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A tiler has at most the rank of the layout."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    t[i] = 1


@cute.jit
def host(t: cute.Tensor):
    x = cute.zipped_divide(t, (1, 2, 3))


host(from_dlpack(np.zeros(8, np.float32)))
