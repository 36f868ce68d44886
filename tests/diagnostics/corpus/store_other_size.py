# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A vector is stored to a tensor of its size."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    r = cute.make_rmem_tensor(4, cutlass.Int32)
    r.store(cute.full((2,), 1))
    t[i] = r[0]


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=4)


host(from_dlpack(np.zeros(8, np.int32)).mark_layout_dynamic())
