# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of functions have names."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    fragment = cute.make_rmem_tensor(4, dtyp=t.element_type)
    fragment.fill(0)


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=4)


host(from_dlpack(np.zeros(8, np.int32)))
