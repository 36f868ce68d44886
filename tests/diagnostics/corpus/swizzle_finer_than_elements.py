# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A swizzle of byte addresses keeps elements whole."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass import utils
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    s = utils.SmemAllocator().allocate_tensor(
        cutlass.Float32, cute.make_layout((32, 32)), 128, swizzle=cute.make_swizzle(3, 0, 5)
    )
    s[i, 0] = cutlass.Float32(1)
    t[i] = s[i, 0]


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=4)


host(from_dlpack(np.zeros(8, np.float32)).mark_layout_dynamic())
