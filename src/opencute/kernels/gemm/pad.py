# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of matrices to where TMA reads them: at multiples of 16 bytes, rows and all.

Rows begin anywhere. Eight elements that are in two vectors of 16 bytes are moved to fit in
registers: words by selects, bytes in them by `prmt`.

Floor: bytes of both over the bandwidth.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute

__all__ = ["PAD_THREADS", "PAD_VECTORS", "elements", "load_around", "moved", "pad", "place"]

PAD_THREADS, PAD_VECTORS = 256, 2  # of a block, and of a thread, that are on their way at a time


def place(pointer: Any) -> Any:
    """How many bytes after a multiple of 16 something is."""
    return (pointer.toint() & 15).to(cutlass.Int32)


@cute.jit
def load_around(pointer: Any, first: Any, extent: Any, both: Any):
    """Start to load the two vectors that a vector's elements are in, if all of both are the row's.

    Args:
        pointer: to the first element of the row.
        first: number of the first element that is wanted.
        extent: elements of the row.
        both: registers, (elements of a vector, 2).
    """
    vec, size = both.shape[0], both.element_type.width // 8
    here = pointer + first
    both.fill(0)
    if (first >= vec) & (first + 2 * vec <= extent):
        start = here - place(here) // size
        for i in cutlass.range_constexpr(2):
            source = (start + vec * i).align(16)
            cute.autovec_copy(cute.make_tensor(source, cute.make_layout(vec)), both[None, i])


@cute.jit
def moved(pointer: Any, first: Any, extent: Any, both: Any, into: Any):
    """A vector's elements, of what `load_around` has loaded or, at a row's ends, one by one."""
    vec = both.shape[0]
    off = place(pointer + first)
    old, new = (cute.recast_tensor(t, cutlass.Uint32) for t in (both, into))
    w = [old[i % 4, i // 4] for i in range(8)]
    w = [cute.where((off & 8) != 0, w[i + 2], w[i]) for i in range(6)]
    w = [cute.where((off & 4) != 0, w[i + 1], w[i]) for i in range(5)]
    pick = (off & 3) * 0x1111 + 0x3210
    for i in cutlass.range_constexpr(4):
        new[i] = cute.arch.prmt(w[i], w[i + 1], pick)
    if (first < vec) | (first + 2 * vec > extent):
        into.fill(0)
        elements(pointer, first, extent, into)


@cute.jit
def elements(pointer: Any, first: Any, extent: Any, into: Any):
    """Elements from one on, each of them only if it is one of the row's."""
    for i in cutlass.range_constexpr(cute.size(into)):
        at = first + i
        if (at >= 0) & (at < extent):
            into[i] = (pointer + at).load()


@cute.kernel
def _pad(gX: cute.Tensor, gOut: cute.Tensor):
    """Block (row, part of the row, matrix)."""
    tid, _, _ = cute.arch.thread_idx()
    row, part, batch = cute.arch.block_idx()
    vec = 128 // gX.element_type.width
    columns = gX.shape[2]
    source, target = gX[batch, row, None].iterator, gOut[batch, row, None].iterator
    both = cute.make_rmem_tensor((vec, 2, PAD_VECTORS), gX.element_type)
    one = cute.make_rmem_tensor((vec,), gX.element_type)
    first = (part * (PAD_VECTORS * PAD_THREADS) + tid) * vec
    for i in cutlass.range_constexpr(PAD_VECTORS):
        load_around(source, first + i * (PAD_THREADS * vec), columns, both[None, None, i])
    for i in cutlass.range_constexpr(PAD_VECTORS):
        at = first + i * (PAD_THREADS * vec)
        if at < columns:
            moved(source, at, columns, both[None, None, i], one)
            into = cute.make_tensor((target + at).align(16), cute.make_layout(vec))
            cute.autovec_copy(one, into)


@cute.jit
def pad(x: cute.Tensor, out: cute.Tensor):
    """Launch the kernel.

    Args:
        x: (batch, rows, columns), rows contiguous.
        out: the same with rows that begin at multiples of 16 bytes, and room for whole vectors.
    """
    batch, rows, columns = x.shape
    each = PAD_THREADS * PAD_VECTORS * (128 // x.element_type.width)
    _pad(x, out).launch(grid=[rows, cute.ceil_div(columns, each), batch], block=[PAD_THREADS, 1, 1])
