# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A compiled function keeps the element types that it was compiled for."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.jit
def host(x: cute.Tensor):
    cute.printf("%d", cute.size(x))


compiled = cute.compile(host, from_dlpack(np.zeros(8, np.float32)))
compiled(from_dlpack(np.zeros(8, np.float16)))
