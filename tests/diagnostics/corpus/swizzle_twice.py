# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Pointer and layout are not swizzled both."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
from cutlass.utils import SmemAllocator


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    swizzle = cute.make_swizzle(3, 4, 3)
    layout = cute.make_composed_layout(swizzle, 0, cute.make_layout((8, 64)))
    s = SmemAllocator().allocate_tensor(cutlass.Float16, cute.make_layout((8, 64)), 1024, swizzle)
    both = cute.make_tensor(s.iterator, layout)
    both[i, 0] = cutlass.Float16(1)
    t[i] = 0


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=4)


host(from_dlpack(np.zeros(8, np.int32)).mark_layout_dynamic())
