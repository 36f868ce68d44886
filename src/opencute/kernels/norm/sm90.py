# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Norms of rows that are too long for the registers of a block: the blocks of a cluster share them.

Each block holds its part of a row, sums it up, and writes its sums to the shared memory of all
others; they meet once. A row is read once and written once.

Floor: as for `sm80`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.base.interned import interned
from opencute.kernels.arrays import item_bits, vector_elements
from opencute.kernels.checked import typed_fields
from opencute.kernels.norm.sm80 import early
from opencute.lib.rows import Rows
from opencute.lib.smem_allocator import SmemAllocator

__all__ = [
    "ClusterRows",
    "cluster_backward_choice",
    "cluster_choice",
    "cluster_norm",
    "ring_choice",
    "ring_space",
    "whole_parts",
]

_MOST = 8  # blocks of a cluster
_EACH = 64  # elements of a thread, at most
_DERIVED = 16  # elements of a thread, for derivatives: it holds seven registers for two of them
_DERIVED_LEAST = 4096  # elements of a row whose derivatives are taken so
_SMEM = 200 << 10  # bytes for parts of rows, of all blocks of a multiprocessor
_SHORT = 8192  # elements of a row that a block of 256 threads takes
_LEAST = 32_768  # elements of a row that a block shares with others rather than hold alone


@dataclass(frozen=True)
class ClusterRows:
    """How the blocks of a cluster share a row.

    Args:
        threads: of a block.
        vec: elements moved at once.
        blocks: of a cluster: 2, 4 or 8; where clusters stay, also 1.
        stages: parts of rows that each block has on their way: clusters stay, and take every so
            many-th row. 0: a cluster takes one row.
        beside: blocks of a multiprocessor, where clusters stay.
    """

    threads: int
    vec: int
    blocks: int
    stages: int = 0
    beside: int = 2

    def part(self, n: int) -> Rows:
        """What a block has of a row of `n` elements.

        Raises:
            ArgumentError: there are no such parts, or they do not fit in registers.
        """
        typed_fields(self, "OC2503")
        whole = self.blocks * self.vec
        known = (2, 4, 8) if self.stages == 0 else (1, 2, 4, 8)
        good = self.blocks in known and self.threads % 32 == 0 and 32 <= self.threads <= 1024
        good = good and self.vec >= 1 and not self.vec & (self.vec - 1)
        good = good and 0 <= self.stages <= 16 and 1 <= self.beside * self.threads <= 2048
        if not good or n % whole or n // self.blocks > self.threads * _EACH:
            raise ArgumentError(
                f"these blocks cannot share rows of {n} elements", code="OC2503", found=self,
                expected=f"parts of whole vectors, at most {_EACH} elements for a thread",
            )  # fmt: skip
        return interned(Rows(n // self.blocks, self.threads, self.vec))


def cluster_choice(n: int, vec: int) -> ClusterRows | None:
    """How a cluster shares rows of `n` elements that are moved `vec` at a time; None if one block
    holds them, or blocks cannot."""
    if n <= _LEAST:
        return None
    for threads in (256, 512, 1024):  # small blocks: some load while others wait for sums
        for each in (32, _EACH) if threads == 512 else (32,):
            if n % (_MOST * vec) == 0 and n // _MOST <= threads * each:
                return ClusterRows(threads, vec, _MOST)
    return None


def ring_choice(n: int, vec: int, loaded: tuple[Any, ...], *, centred: bool) -> ClusterRows | None:
    """How clusters that stay share rows of `n` elements; None if they cannot, or need not.

    Args:
        vec: elements that are moved at once.
        loaded: the arrays that bulk copies load.
        centred: LayerNorm: weight and bias, where they do not stay in registers, are twice as much
            as rows themselves.
    """
    if n <= (_SHORT if centred else _LEAST):
        return None
    each = max(_SHORT, n // _MOST)
    blocks = next((b for b in (1, 2, 4, 8) if n <= b * each and n % (b * vec) == 0), None)
    if blocks is None or not whole_parts(n, blocks, *loaded):
        return None
    part = n // blocks
    threads = next((t for t in (256, 512, 1024) if part <= 32 * t), None)
    if threads is None:
        return None
    stage = part * sum(item_bits(a) for a in loaded) // 8
    beside = 2 if threads == 256 else 1  # so that weight and bias stay in registers
    if 2 * beside * stage > _SMEM:
        return None
    return ClusterRows(threads, vec, blocks, 2, beside)


def whole_parts(n: int, blocks: int, *arrays: Any) -> bool:
    """Whether the blocks' parts of rows of `n` elements start at multiples of 16 bytes."""
    return n % blocks == 0 and all(
        vector_elements(n // blocks, item_bits(a), a) * item_bits(a) == 128 for a in arrays
    )


def cluster_backward_choice(n: int, vec: int, loaded: tuple[Any, ...]) -> ClusterRows | None:
    """How clusters that stay share rows of `n` elements, for derivatives; None if they cannot, or
    need not.

    Args:
        vec: elements that are moved at once.
        loaded: the arrays that bulk copies load.
    """
    most = 512 * _DERIVED
    blocks = next((b for b in (1, 2, 4, 8) if n <= b * most and n % (b * vec) == 0), None)
    if n < _DERIVED_LEAST or blocks is None or not whole_parts(n, blocks, *loaded):
        return None
    part = n // blocks
    threads = 32 * -(-part // (32 * _DERIVED))
    beside = min(512 // threads, 8)
    stage = part * sum(item_bits(a) for a in loaded) // 8
    stages = min(_SMEM // beside // stage, 6)
    return ClusterRows(threads, vec, blocks, stages, beside) if stages >= 4 else None


def ring_space(n: int, vec: int, size: int, *, derived: bool = False) -> Iterator[ClusterRows]:
    """Choices of clusters that stay that are worth trying.

    Args:
        n: elements of a row.
        vec: elements that are moved at once, 16 bytes of them.
        size: bytes that bulk copies load for an element.
        derived: for derivatives.
    """
    for blocks in (b for b in (1, 2, 4, 8) if n % (b * vec) == 0):
        part = n // blocks
        least = -(-part // (_DERIVED if derived else 32))
        for threads in dict.fromkeys((32 * -(-least // 32), 512, 1024)):
            for stages in (4, 5, 6) if derived else (1, 2, 3):
                for beside in (1, 2, 3, 4):
                    fits = beside * stages * part * size <= _SMEM and beside * threads <= 1536
                    if fits and least <= threads <= 1024 and part >= threads * vec:
                        yield ClusterRows(threads, vec, blocks, stages, beside)


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


def both(weight: Any, bias: Any, rows: Rows, rank: Any, thread: Any) -> Any:
    """A thread's elements of weight and bias, of what there is."""
    return tuple(
        None if t is None else rows.load_raw(t[rank, None], thread, 0.0) for t in (weight, bias)
    )


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

    def matrix(t: Any) -> Any:
        if t is None:
            return None
        stride = cute.assume(t.stride[0], divby=rows.vec)
        layout = cute.make_layout((t.shape[0], blocks, rows.n), stride=(stride, rows.n, 1))
        return cute.make_tensor(t.iterator, layout)

    def vector(t: Any) -> Any:
        layout = cute.make_layout((blocks, rows.n), stride=(rows.n, 1))
        return None if t is None else cute.make_tensor(t.iterator, layout)

    _norm(
        *(matrix(t) for t in (x, residual)), *(vector(t) for t in (weight, bias)),
        *(matrix(t) for t in (total, out)), eps, rows, blocks, centred,
    ).launch(
        grid=[x.shape[0] * blocks, 1, 1], block=[rows.threads, 1, 1], cluster=[blocks, 1, 1],
        min_blocks_per_mp=rows.least_blocks,
    )  # fmt: skip
