# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""x *= alpha in place; the kernel returns nothing and is judged by what it wrote.

opencute verify examples/scale_inplace.py --rtol 0 --atol 0
"""

import numpy as np

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

DTYPE = np.float32
SHAPE = (128, 256)


@cute.kernel
def scale_kernel(gX: cute.Tensor, alpha: cutlass.Float32):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    idx = bidx * 128 + tidx
    m, n = gX.shape[1]
    if idx < m * n:
        tile = gX[None, (idx // n, idx % n)]
        x = tile.load()
        tile.store((x.to(cutlass.Float32) * alpha).to(x.dtype))


@cute.jit
def scale(mX: cute.Tensor, alpha: cutlass.Float32):
    gX = cute.zipped_divide(mX, (1, 128 // mX.element_type.width))
    scale_kernel(gX, alpha).launch(
        grid=cute.ceil_div(cute.size(gX, mode=[1]), 128), block=[128, 1, 1]
    )


def kernel_fn(x, alpha):
    scale(from_dlpack(x, assumed_align=16), alpha)


def reference_fn(x, alpha):
    x[...] = (x.astype(np.float32) * np.float32(alpha)).astype(x.dtype)


def get_inputs():
    rng = np.random.default_rng(np.random.randint(1 << 31))
    return [rng.standard_normal(SHAPE).astype(DTYPE), 0.5]


def get_bytes(x, alpha):
    return 2 * x.nbytes
