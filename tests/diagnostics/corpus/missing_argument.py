# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""All run-time arguments are needed."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.jit
def host(x: cute.Tensor, n: cutlass.Int32):
    cute.printf("%d", n)


x = from_dlpack(np.zeros(8, np.float32))
cute.compile(host, x, 3)(x)
