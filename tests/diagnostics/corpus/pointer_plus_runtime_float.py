# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A pointer moves by integers: an element of an array of floats is none."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor, t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    cute.arch.atomic_add(t.iterator + x[i], 1)


@cute.jit
def host(x: cute.Tensor, t: cute.Tensor):
    kernel(x, t).launch(grid=1, block=4)


host(from_dlpack(np.zeros(4, np.float32)), from_dlpack(np.zeros(8, np.int32)))
