# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A static shape is part of what was compiled."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.jit
def host(x: cute.Tensor):
    cute.printf("%d", cute.size(x))


compiled = cute.compile(host, from_dlpack(np.zeros((4, 8), np.float32)))
compiled(from_dlpack(np.zeros((4, 12), np.float32)))
