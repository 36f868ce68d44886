# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""An operand that is major in M is loaded with transpose."""

import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import warp
from cutlass.utils import SmemAllocator


@cute.kernel
def kernel():
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)))
    s = SmemAllocator().allocate_tensor(
        cutlass.Float16, cute.make_layout((16, 16), stride=(1, 16)), 16
    )
    op = warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4)
    copy = cute.make_tiled_copy_A(cute.make_copy_atom(op, cutlass.Float16), mma)
    part = copy.get_slice(cute.arch.thread_idx()[0]).partition_S(s)
    cute.copy(copy, part, cute.make_rmem_tensor(part.shape, cutlass.Float16))


@cute.jit
def host():
    kernel().launch(grid=1, block=32)


host()
