# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A block has so much shared memory and no more."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    first = cute.arch.alloc_smem(cutlass.Float32, 32768, 128)
    second = cute.arch.alloc_smem(cutlass.Float32, 32768, 128)
    (first + i).store(1.0)
    (second + i).store(1.0)
    t[i] = 0


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=4)


host(from_dlpack(np.zeros(8, np.int32)).mark_layout_dynamic())
