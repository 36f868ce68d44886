# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A vector is made of neighbours."""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack
from cutlass.utils import SmemAllocator


@cute.kernel
def kernel(t: cute.Tensor):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=64)
    s = SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(4, stride=2), 16)
    g = cute.make_tensor(t.iterator.align(16), cute.make_layout(4))
    cute.copy(atom, g, s)


@cute.jit
def host(t: cute.Tensor):
    kernel(t).launch(grid=1, block=4)


host(from_dlpack(np.zeros(8, np.float32)).mark_layout_dynamic())
