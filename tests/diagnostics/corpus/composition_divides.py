# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A composition needs extents that divide."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    t[i] = 1


@cute.jit
def host(t: cute.Tensor):
    a = cute.make_layout((3, 5), stride=(1, 9))
    x = cute.composition(a, cute.make_layout(4))


host(from_dlpack(np.zeros(8, np.float32)))
