# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A pointer's alignment is a promise about the address."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    p = (t.iterator + 1).align(16)
    row = cute.make_tensor(p, cute.make_layout(4))
    row.store(cute.full((4,), 1.0))


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=1)


host(from_dlpack(np.zeros(8, np.float32), assumed_align=16))
