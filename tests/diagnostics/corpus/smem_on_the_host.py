# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Only kernels have shared memory."""

import cutlass
import cutlass.cute as cute
from cutlass.utils import SmemAllocator


@cute.jit
def host(n: cutlass.Int32):
    SmemAllocator().allocate_array(cutlass.Float32, 32)


host(3)
