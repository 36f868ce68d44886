# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The threads of a warp come to a barrier together."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    if i < 16:
        cute.arch.sync_threads()
    t[i] = 0


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=64)


host(from_dlpack(np.zeros(64, np.int32)).mark_layout_dynamic())
