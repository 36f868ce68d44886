# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Two blocks write one element."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    t[i] = cute.arch.block_idx()[0]


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=2, block=4)


host(from_dlpack(np.zeros(8, np.int32)).mark_layout_dynamic())
