# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of a launch are given by name."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    t[0] = 1


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch((1, 1, 1), (4, 1, 1))


host(from_dlpack(np.zeros(8, np.int32)))
