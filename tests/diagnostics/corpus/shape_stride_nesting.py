# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Shape and stride are nested alike."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    t[i] = 1


@cute.jit
def host(t: cute.Tensor):
    x = cute.make_layout((2, (3, 4)), stride=((1, 2), 6))


host(from_dlpack(np.zeros(8, np.float32)))
