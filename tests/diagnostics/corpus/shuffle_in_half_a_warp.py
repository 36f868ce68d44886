# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Threads that a shuffle waits for have gone on to a barrier."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    v = t[i]
    if i < 16:
        v = cute.arch.shuffle_sync_bfly(v, 1)
    cute.arch.sync_threads()
    t[i] = v


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=64)


host(from_dlpack(np.zeros(64, np.int32)).mark_layout_dynamic())
