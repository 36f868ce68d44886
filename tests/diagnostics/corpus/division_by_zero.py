# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The host divides by zero."""

import cutlass
import numpy as np
from cutlass import cute


@cute.kernel
def kernel(t: cute.Tensor):
    t[0] = 1


@cute.jit
def host(t: cute.Tensor, parts: cutlass.Int32):
    kernel(t).launch(grid=12 // parts, block=1)


host(np.zeros(4, np.int32), 0)
