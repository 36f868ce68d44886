# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Transposition through shared memory.

Where rows are whole vectors of 128 bits, a thread reads a square of `vec` vectors, exchanges rows
and columns in its registers, and shared memory only brings the vectors in the order in which whole
lines are written. A swizzle keeps eight neighbouring threads on different banks on both sides.
Otherwise elements go one at a time through a tile with padded rows.

Floor: bytes of argument and result over the bandwidth.
"""

from __future__ import annotations

import opencute as cutlass
from opencute import cute
from opencute.lib.smem_allocator import SmemAllocator

__all__ = ["ELEMENTS_HIGH", "transpose_elements", "transpose_vectors", "vectors_high"]

_SIDE = 8  # vectors of 128 bits in a row of a tile: a line of memory
_TILES = 4  # tiles of a block, each with threads of its own
_EDGE, _STEP = 32, 8  # of the tile of elements, and rows that a block reads at once


@cute.kernel
def _vectors(gX: cute.Tensor, gOut: cute.Tensor, vec: cutlass.Constexpr[int]):
    """Block (side, side, tiles): square (x, y) of its tile for each thread."""
    x, y, tile = cute.arch.thread_idx()
    column, stripe, batch = cute.arch.block_idx()
    _, rows, columns = gX.shape
    edge = _SIDE * vec
    low = vec.bit_length() - 1
    # Rows of the result: (element in a row, row) of each tile.
    layout = cute.make_composed_layout(
        cute.make_swizzle(3, low, 3 + low), 0,
        cute.make_layout((edge, edge, _TILES), stride=(1, edge, edge * edge)),
    )  # fmt: skip
    shared = SmemAllocator().allocate_tensor(gX.element_type, layout, byte_alignment=128)
    left = column * edge
    top = (stripe * _TILES + tile) * edge

    held = cute.make_rmem_tensor((vec, vec), gX.element_type)
    if left + x * vec < columns and top + y * vec < rows:
        source = cute.local_tile(
            gX[batch, None, None], (vec, vec), (top // vec + y, left // vec + x)
        )
        for r in cutlass.range_constexpr(vec):
            cute.autovec_copy(source[r, None], held[None, r])
        turned = cute.make_rmem_tensor((vec, vec), gX.element_type)
        for r in cutlass.range_constexpr(vec):
            for c in cutlass.range_constexpr(vec):
                turned[r, c] = held[c, r]
        target = cute.local_tile(shared[None, None, tile], (vec, vec), (y, x))
        for c in cutlass.range_constexpr(vec):
            cute.autovec_copy(turned[None, c], target[None, c])
    cute.arch.sync_threads()
    # Thread x of the next eight writes vector x of a row of the result, y rows of the tile apart.
    piece = cute.make_rmem_tensor((vec,), gX.element_type)
    for r in cutlass.range_constexpr(vec):
        row = y + r * _SIDE
        if left + row < columns and top + x * vec < rows:
            cute.autovec_copy(cute.local_tile(shared[None, row, tile], (vec,), (x,)), piece)
            cute.autovec_copy(
                piece, cute.local_tile(gOut[batch, left + row, None], (vec,), (top // vec + x,))
            )


@cute.kernel
def _elements(gX: cute.Tensor, gOut: cute.Tensor):
    x, y, _ = cute.arch.thread_idx()
    column, stripe, batch = cute.arch.block_idx()
    _, rows, columns = gX.shape
    pad = max(4 * 8 // gX.element_type.width, 1)  # neighbouring rows begin on different banks
    layout = cute.make_layout((_EDGE, _EDGE), stride=(_EDGE + pad, 1))
    shared = SmemAllocator().allocate_tensor(gX.element_type, layout, byte_alignment=16)
    left, top = column * _EDGE, stripe * _EDGE
    for r in cutlass.range_constexpr(_EDGE // _STEP):
        row = y + r * _STEP
        if top + row < rows and left + x < columns:
            shared[row, x] = gX[batch, top + row, left + x]
    cute.arch.sync_threads()
    for r in cutlass.range_constexpr(_EDGE // _STEP):
        row = y + r * _STEP
        if left + row < columns and top + x < rows:
            gOut[batch, left + row, top + x] = shared[x, row]


ELEMENTS_HIGH = _EDGE
"""Rows that a block of `transpose_elements` reads."""


def vectors_high(vec: int) -> int:
    """Rows that a block of `transpose_vectors` reads."""
    return _SIDE * vec * _TILES


@cute.jit
def transpose_vectors(x: cute.Tensor, out: cute.Tensor, vec: cutlass.Constexpr[int]):
    """Launch the kernel on (batch, M, N) and (batch, N, M).

    Args:
        vec: elements of 128 bits; divides M, N and all strides but the last.
    """
    known = []
    for t in (x, out):
        batch, row = (cute.assume(d, divby=vec) for d in t.stride[:2])
        known.append(
            cute.make_tensor(t.iterator, cute.make_layout(t.shape, stride=(batch, row, 1)))
        )
    edge = _SIDE * vec
    _vectors(*known, vec).launch(
        grid=[
            cute.ceil_div(x.shape[2], edge),
            cute.ceil_div(x.shape[1], vectors_high(vec)),
            x.shape[0],
        ],
        block=[_SIDE, _SIDE, _TILES],
    )  # fmt: skip


@cute.jit
def transpose_elements(x: cute.Tensor, out: cute.Tensor):
    """Launch the kernel on (batch, M, N) and (batch, N, M) of any extents and strides."""
    _elements(x, out).launch(
        grid=[cute.ceil_div(x.shape[2], _EDGE), cute.ceil_div(x.shape[1], _EDGE), x.shape[0]],
        block=[_EDGE, _STEP, 1],
    )
