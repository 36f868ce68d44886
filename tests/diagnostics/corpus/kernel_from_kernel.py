# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A kernel is launched by a host function only."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def inner(t: cute.Tensor):
    t[0] = 1


@cute.kernel
def kernel(t: cute.Tensor):
    inner(t)


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=4)


host(from_dlpack(np.zeros(8, np.float32)))
