# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A pointer into shared memory that promises more than is true."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
from cutlass.utils import SmemAllocator


@cute.kernel
def kernel(t: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    s = SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(8), 4)
    part = cute.make_tensor((s.iterator + 1).align(16), cute.make_layout(4))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    r = cute.make_rmem_tensor(4, cutlass.Float32)
    cute.copy(atom, part, r)
    t[i] = 0


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=4)


host(from_dlpack(np.zeros(8, np.int32)).mark_layout_dynamic())
