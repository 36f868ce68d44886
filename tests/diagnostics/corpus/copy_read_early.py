# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What cp.async copies is there after a wait."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
from cutlass.utils import SmemAllocator


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    s = SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(4), 16)
    cute.arch.cp_async((s.iterator + i), (t.iterator + i), 4)
    cute.arch.cp_async_commit_group()
    t[i] = s[i]


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=4)


host(from_dlpack(np.zeros(8, np.float32)).mark_layout_dynamic())
