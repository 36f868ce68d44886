# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""An address that is no memory."""

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_ptr


@cute.kernel
def kernel(p: cute.Pointer):
    p.store(1.0) if False else cute.make_tensor(p, cute.make_layout(1)).fill(1.0)


@cute.jit
def host(p: cute.Pointer):
    kernel(p).launch(grid=1, block=1)


host(make_ptr(cutlass.Float32, 64, cute.AddressSpace.gmem))
