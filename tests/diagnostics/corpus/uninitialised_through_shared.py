# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A sum that begins with registers that nothing wrote goes through shared memory."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(8))
    total = cute.make_rmem_tensor(1, cutlass.Float32)
    for j in range(4):
        total[0] = total[0] + x[i] * j
    s[i] = total[0]
    cute.arch.sync_threads()
    y[i] = s[7 - i]


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    kernel(x, y).launch(grid=1, block=8)


host(from_dlpack(np.ones(8, np.float32)), from_dlpack(np.zeros(8, np.float32)))
