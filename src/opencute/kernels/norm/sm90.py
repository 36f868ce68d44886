# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Norms of rows that are too long for the registers of a block: the blocks of a cluster share them.

Each block holds its part of a row, sums it up, and writes its sums to the shared memory of all
others; they meet once. A row is read once and written once.

Floor: as for `sm80`.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.norm.parts import both, matrix_of, vector_of
from opencute.kernels.norm.sm80 import early
from opencute.lib.rows import Rows
from opencute.lib.smem_allocator import SmemAllocator

__all__ = ["cluster_norm"]


@cute.kernel
def _norm(
    gX: cute.Tensor,
    gR: Any,
    gW: Any,
    gB: Any,
    gSum: Any,
    gOut: cute.Tensor,
    eps: cutlass.Float32,
    rows: cutlass.Constexpr[Rows],
    blocks: cutlass.Constexpr[int],
    centred: cutlass.Constexpr[bool],
):
    """A cluster for a row."""
    cute.arch.cluster_arrive_relaxed()
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    rank, row = block % blocks, block // blocks
    buffers = rows.buffers(2)
    slots = SmemAllocator().allocate_tensor(
        cutlass.Float32, cute.make_layout((2, blocks)), byte_alignment=16
    )
    # As they stand in memory they take half of the registers.
    held = rows.load_raw(gX[row, rank, None], thread, 0.0)
    x = held.load().to(cutlass.Float32)
    if cutlass.const_expr(gR is not None):
        x = x + rows.load(gR[row, rank, None], thread, 0.0)
    if cutlass.const_expr(gSum is not None):
        rows.store(gSum[row, rank, None], thread, x)
    total, near = cutlass.Float32(0.0), cutlass.Float32(0.0)
    apart = x
    if cutlass.const_expr(centred):
        # Squares relative to the mean of this part, so that nothing cancels.
        total = rows.sum(x, buffers[None, 0])
        near = total / rows.n
        apart = rows.inside(x - near, thread, 0.0)
    squares = rows.sum(apart * apart, buffers[None, 1])
    cute.arch.cluster_wait()
    tell(slots, rank, thread, total, squares, blocks)
    cute.arch.cluster_arrive()
    weight: Any = None
    bias: Any = None
    soon = cutlass.const_expr(early(rows, gW, gB))
    if cutlass.const_expr(soon):
        weight, bias = both(gW, gB, rows, rank, thread)
    cute.arch.cluster_wait()
    mean, scale = spread(slots, rows.n, eps, blocks, centred)
    if cutlass.const_expr(gR is None):
        x = held.load().to(cutlass.Float32)
    y = (x - mean) * scale if cutlass.const_expr(centred) else x * scale
    if cutlass.const_expr(not soon):
        weight, bias = both(gW, gB, rows, rank, thread)
    if cutlass.const_expr(weight is not None):
        y = y * weight.load().to(cutlass.Float32)
    if cutlass.const_expr(bias is not None):
        y = y + bias.load().to(cutlass.Float32)
    rows.store(gOut[row, rank, None], thread, y)


@cute.jit
def tell(
    slots: Any, rank: Any, thread: Any, total: Any, squares: Any, blocks: cutlass.Constexpr[int]
):
    """Write a block's sums to all blocks, one thread for each."""
    if thread < blocks:
        far = cute.arch.map_dsmem_ptr(slots.iterator, thread)
        (far + rank * 2).store(total)
        (far + (rank * 2 + 1)).store(squares)


def spread(slots: Any, part: int, eps: Any, blocks: int, centred: bool) -> tuple[Any, Any]:
    """Mean and what to multiply with, of all blocks' sums, in the order of their parts."""
    mean = cutlass.Float32(0.0)
    squares = cutlass.Float32(0.0)
    if centred:
        for i in range(blocks):
            mean = mean + slots[0, i]
        mean = mean / (part * blocks)
    for i in range(blocks):
        squares = squares + slots[1, i]
        if centred:
            away = slots[0, i] / part - mean
            squares = squares + away * away * float(part)
    return mean, cute.math.rsqrt(squares / (part * blocks) + eps)


@cute.jit
def cluster_norm(
    x: cute.Tensor,
    residual: Any,
    weight: Any,
    bias: Any,
    total: Any,
    out: cute.Tensor,
    eps: cutlass.Float32,
    rows: cutlass.Constexpr[Rows],
    blocks: cutlass.Constexpr[int],
    centred: cutlass.Constexpr[bool],
):
    """Launch the kernel: as `sm80.norm`, with `rows` the part of a row that a block has."""
    _norm(
        *(matrix_of(t, rows, blocks) for t in (x, residual)),
        *(vector_of(t, rows, blocks) for t in (weight, bias)),
        *(matrix_of(t, rows, blocks) for t in (total, out)), eps, rows, blocks, centred,
    ).launch(
        grid=[x.shape[0] * blocks, 1, 1], block=[rows.threads, 1, 1], cluster=[blocks, 1, 1],
        min_blocks_per_mp=rows.least_blocks,
    )  # fmt: skip
