# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Cumulative sums along the middle axis of (outer, n, inner): along neighbours in memory where
inner is 1, else across them.

A block goes through its part of the axis in order and carries the sum along. Where several blocks
share an axis, each begins with the sum of the parts before its own.

Floor: bytes of argument and result over the bandwidth; half as much again with several parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.lib.smem_allocator import SmemAllocator

__all__ = ["Across", "Along", "scan_across", "scan_along"]


@dataclass(frozen=True)
class Along:
    """How threads share an axis whose elements are neighbours.

    Args:
        warps: warps of a block; ``warps * reps`` is at most 32.
        vec: neighbouring elements that a thread moves at once; divides the axis.
        reps: vectors of a thread in a turn.
    """

    warps: int
    vec: int
    reps: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps


@dataclass(frozen=True)
class Across:
    """How threads share an axis across rows of neighbours.

    Args:
        threads: threads next to each other in a row.
        vec: neighbouring elements that a thread moves at once; divides the rows.
        reps: rows that a thread loads before it uses them.
    """

    threads: int
    vec: int
    reps: int = 8


@cute.jit
def _of_lanes(value: Any, lane: Any) -> Any:
    """The sums up to each lane, with and without its own value."""
    for k in cutlass.range_constexpr(5):
        other = cute.arch.shuffle_sync_up(value, 1 << k)
        if lane >= 1 << k:
            value = value + other
    before = cute.arch.shuffle_sync_up(value, 1)
    if lane == 0:
        before = cutlass.Float32(0.0)
    return value, before


@cute.kernel
def _along(
    gX: cute.Tensor, gStart: Any, gOut: cute.Tensor, span: cutlass.Int32,
    how: cutlass.Constexpr[Along], exclusive: cutlass.Constexpr[bool],
):  # fmt: skip
    thread, _, _ = cute.arch.thread_idx()
    row, part, _ = cute.arch.block_idx()
    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
    vectors = gX.shape[1] // how.vec
    tiles, out = (
        cute.make_tensor(
            t[row, None].iterator, cute.make_layout((how.vec, vectors), stride=(1, how.vec))
        )
        for t in (gX, gOut)
    )
    # Sums of the warps of a turn, in two buffers by turns, so that one barrier is enough.
    sums = SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((32, 2)))
    slots = how.warps * how.reps
    carry = cutlass.Float32(0.0)
    if cutlass.const_expr(gStart is not None):
        carry = gStart[row, part, 0]
    begin = part * span
    end = cutlass.min(begin + span, vectors)
    turn = cutlass.Int32(0)
    for first in range(begin, end, how.threads * how.reps):
        raw = cute.make_rmem_tensor((how.vec, how.reps), gX.element_type)
        raw.fill(0.0)
        for r in cutlass.range_constexpr(how.reps):
            at = first + r * how.threads + thread
            if at < end:
                cute.autovec_copy(tiles[None, at], raw[None, r])
        held = cute.make_rmem_tensor((how.vec, how.reps), cutlass.Float32)
        held.store(raw.load().to(cutlass.Float32))
        before = cute.make_rmem_tensor((how.reps,), cutlass.Float32)
        for r in cutlass.range_constexpr(how.reps):
            for v in cutlass.range_constexpr(1, how.vec):
                held[v, r] = held[v - 1, r] + held[v, r]
            own, before[r] = _of_lanes(held[how.vec - 1, r], lane)
            if lane == 31:
                sums[r * how.warps + warp, turn] = own
        cute.arch.sync_threads()
        of_warp = cutlass.Float32(0.0)
        if lane < slots:
            of_warp = sums[lane, turn]
        of_warp, before_warp = _of_lanes(of_warp, lane)
        for r in cutlass.range_constexpr(how.reps):
            start = carry + cute.arch.shuffle_sync(before_warp, r * how.warps + warp) + before[r]
            result = cute.make_rmem_tensor((how.vec,), gOut.element_type)
            for v in cutlass.range_constexpr(how.vec):
                if cutlass.const_expr(not exclusive):
                    result[v] = (start + held[v, r]).to(gOut.element_type)
                elif cutlass.const_expr(v == 0):
                    result[v] = start.to(gOut.element_type)
                else:
                    result[v] = (start + held[v - 1, r]).to(gOut.element_type)
            at = first + r * how.threads + thread
            if at < end:
                cute.autovec_copy(result, out[None, at])
        carry = carry + cute.arch.shuffle_sync(of_warp, 31)
        turn = 1 - turn


@cute.kernel
def _across(
    gX: cute.Tensor, gStart: Any, gOut: cute.Tensor, span: cutlass.Int32,
    how: cutlass.Constexpr[Across], exclusive: cutlass.Constexpr[bool],
):  # fmt: skip
    thread, _, _ = cute.arch.thread_idx()
    block, part, _ = cute.arch.block_idx()
    _, rows, inner = gX.shape
    vectors = inner // how.vec
    wide = cute.ceil_div(vectors, how.threads)
    outer = block // wide
    column = block % wide * how.threads + thread
    if column < vectors:
        tiles, out = (
            cute.make_tensor(
                t[outer, None, None].iterator,
                cute.make_layout(
                    (how.vec, vectors, rows),
                    stride=(1, how.vec, cute.assume(t.stride[1], divby=how.vec)),
                ),
            )[None, column, None]
            for t in (gX, gOut)
        )
        carry = cute.make_rmem_tensor((how.vec,), cutlass.Float32)
        carry.fill(0.0)
        if cutlass.const_expr(gStart is not None):
            for v in cutlass.range_constexpr(how.vec):
                carry[v] = gStart[outer, part, column * how.vec + v]
        begin = part * span
        end = cutlass.min(begin + span, rows)
        whole = begin + (end - begin) // how.reps * how.reps
        for first in range(begin, whole, how.reps):
            _rows(tiles, out, carry, first, how.reps, exclusive)
        for row in range(whole, end):
            _rows(tiles, out, carry, row, 1, exclusive)


def _rows(tiles: Any, out: Any, carry: Any, first: Any, count: int, exclusive: bool) -> None:
    held = []
    for r in range(count):
        piece = tiles[None, first + r]
        h = cute.make_rmem_tensor(piece.shape, piece.element_type)
        cute.autovec_copy(piece, h)
        held.append(h)
    for r, h in enumerate(held):
        old = carry.load()
        new = old + h.load().to(cutlass.Float32)
        carry.store(new)
        h = cute.make_rmem_tensor(h.shape, out.element_type)
        h.store((old if exclusive else new).to(out.element_type))
        cute.autovec_copy(h, out[None, first + r])


@cute.jit
def scan_along(
    x: cute.Tensor, start: Any, out: cute.Tensor, parts: cutlass.Int32, span: cutlass.Int32,
    how: cutlass.Constexpr[Along], exclusive: cutlass.Constexpr[bool],
):  # fmt: skip
    """Launch the kernel on matrices (outer, n).

    Args:
        start: the sum before each part, (outer, parts, 1) of f32, or None.
        parts: blocks that share a row.
        span: vectors of a part.
        exclusive: whether an element's own value is left out of its sum.
    """
    known = []
    for t in (x, out):
        stride = cute.assume(t.stride[0], divby=how.vec)
        known.append(cute.make_tensor(t.iterator, cute.make_layout(t.shape, stride=(stride, 1))))
    _along(known[0], start, known[1], span, how, exclusive).launch(
        grid=[x.shape[0], parts, 1], block=[how.threads, 1, 1]
    )


@cute.jit
def scan_across(
    x: cute.Tensor, start: Any, out: cute.Tensor, parts: cutlass.Int32, span: cutlass.Int32,
    how: cutlass.Constexpr[Across], exclusive: cutlass.Constexpr[bool],
):  # fmt: skip
    """Launch the kernel on (outer, n, inner).

    Args:
        start: the sum before each part, (outer, parts, inner) of f32, or None.
        parts: blocks that share the axis.
        span: rows of a part.
        exclusive: whether an element's own value is left out of its sum.
    """
    known = []
    for t in (x, out):
        outer, row = (cute.assume(d, divby=how.vec) for d in t.stride[:2])
        known.append(
            cute.make_tensor(t.iterator, cute.make_layout(t.shape, stride=(outer, row, 1)))
        )
    wide = cute.ceil_div(x.shape[2] // how.vec, how.threads)
    _across(known[0], start, known[1], span, how, exclusive).launch(
        grid=[x.shape[0] * wide, parts, 1],
        block=[how.threads, 1, 1],
        min_blocks_per_mp=1,  # or ptxas spills to make room for more
    )
