# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What other libraries write as methods of arrays are functions here."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    t[0] = t.load().sum()


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=4)


host(from_dlpack(np.zeros(8, np.int32)))
