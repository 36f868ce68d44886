# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a kernel uses from its host function must be passed as an argument."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.jit
def host(t: cute.Tensor):
    n = cute.size(t) + 1

    @cute.kernel
    def kernel():
        t[0] = n

    kernel().launch(grid=1, block=1)


host(from_dlpack(np.zeros(8, np.float32)).mark_layout_dynamic())
