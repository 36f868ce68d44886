# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A function of this name is the one that elects a thread."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


def elect_one():
    return True


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    with elect_one():
        t[i] = 1


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=4)


host(from_dlpack(np.zeros(8, np.int32)).mark_layout_dynamic())
