# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A thread reads what another writes, with no barrier between them."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
from cutlass.utils import SmemAllocator


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    s = SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(64), 16)
    s[i] = i
    t[i] = s[63 - i]


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=64)


host(from_dlpack(np.zeros(64, np.int32)).mark_layout_dynamic())
