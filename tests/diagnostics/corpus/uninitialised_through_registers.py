# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Data that nothing wrote is kept in registers for a while, and reported where it leaves them."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(16))
    s[i] = x[i]
    cute.arch.sync_threads()
    r = cute.make_rmem_tensor(2, cutlass.Float32)
    r[0] = s[i]
    r[1] = s[i + 8]
    double = cute.make_rmem_tensor(2, cutlass.Float32)
    double.store(r.load() * 2.0)
    cute.autovec_copy(double, y[i, None])


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    kernel(x, y).launch(grid=1, block=8)


host(from_dlpack(np.ones(8, np.float32)), from_dlpack(np.zeros((8, 2), np.float32)))
