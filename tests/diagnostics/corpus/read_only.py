# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""An array that NumPy protects is an input."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    t[0] = 1.0


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=1)


x = np.zeros(8, np.float32)
x.flags.writeable = False
host(from_dlpack(x))
