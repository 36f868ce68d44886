# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of matrices to where TMA reads them: at multiples of 16 bytes, rows and all.

Floor: bytes of both over the bandwidth.
"""

from __future__ import annotations

import opencute as cutlass
from opencute import cute

__all__ = ["PAD_THREADS", "PAD_VECTORS", "pad"]

PAD_THREADS, PAD_VECTORS = 256, 8  # of a block, and of a thread, that are on their way at a time


@cute.kernel
def _pad(gX: cute.Tensor, gOut: cute.Tensor, vec: cutlass.Constexpr[int]):
    """Block (row, part of the row, matrix)."""
    tid, _, _ = cute.arch.thread_idx()
    row, part, batch = cute.arch.block_idx()
    columns = gX.shape[2]
    source, target = gX[batch, row, None].iterator, gOut[batch, row, None].iterator
    align = vec * gX.element_type.width // 8
    held = cute.make_rmem_tensor((vec, PAD_VECTORS), gX.element_type)
    first = (part * (PAD_VECTORS * PAD_THREADS) + tid) * vec
    layout = cute.make_layout(vec)
    for i in cutlass.range_constexpr(PAD_VECTORS):
        at = first + i * (PAD_THREADS * vec)
        if at < columns:
            cute.autovec_copy(cute.make_tensor((source + at).align(align), layout), held[None, i])
    for i in cutlass.range_constexpr(PAD_VECTORS):
        at = first + i * (PAD_THREADS * vec)
        if at < columns:
            cute.autovec_copy(held[None, i], cute.make_tensor((target + at).align(align), layout))


@cute.jit
def pad(x: cute.Tensor, out: cute.Tensor, vec: cutlass.Constexpr[int]):
    """Launch the kernel.

    Args:
        x, out: (batch, rows, columns), rows contiguous; `vec` elements, which divide rows, are
            moved at once.
    """
    batch, rows, columns = x.shape
    parts = cute.ceil_div(columns, PAD_THREADS * PAD_VECTORS * vec)
    _pad(x, out, vec).launch(grid=[rows, parts, batch], block=[PAD_THREADS, 1, 1])
