# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Reductions of the middle axis of (outer, n, inner): along neighbours in memory where inner is 1,
else across them.

A block writes the result of its part of the axis; several parts are reduced once more.
Floor: bytes of the argument over the bandwidth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.reduce.operation import Operation
from opencute.lib.smem_allocator import SmemAllocator

__all__ = ["Across", "Along", "reduce_across", "reduce_along"]


@dataclass(frozen=True)
class Along:
    """How threads share an axis whose elements are neighbours.

    Args:
        threads: threads of a row: a power of two up to 32, or a multiple of 32.
        groups: rows of a block.
        vec: neighbouring elements that a thread moves at once; divides the axis.
        reps: vectors that a thread loads before it uses them.
    """

    threads: int
    groups: int
    vec: int
    reps: int = 4


@dataclass(frozen=True)
class Across:
    """How threads share an axis across rows of neighbours.

    Args:
        columns: threads next to each other in a row.
        rows: rows that a block reads at once, a power of two.
        vec: neighbouring elements that a thread moves at once; divides the rows.
        reps: rows that a thread loads before it uses them.
    """

    columns: int
    rows: int
    vec: int
    reps: int = 4


def _fresh(op: Operation, count: int) -> tuple[Any, ...]:
    held = tuple(cute.make_rmem_tensor((count,), dtype) for dtype, _ in op.parts)
    for h, (_, start) in zip(held, op.parts, strict=True):
        h.fill(start)
    return held


def _take(op: Operation, held: tuple[Any, ...], v: int, other: tuple[Any, ...]) -> None:
    result = op.combine(tuple(h[v] for h in held), other)
    for h, r in zip(held, result, strict=True):
        h[v] = r


def _vectors(sources: tuple[Any, ...], places: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Vectors of all sources from all places, all on their way before the first is used."""
    out = []
    for place in places:
        held = []
        for source in sources:
            piece = source[(None, *place)]
            h = cute.make_rmem_tensor(piece.shape, source.element_type)
            cute.autovec_copy(piece, h)
            held.append(h)
        out.append(tuple(held))
    return out


def _use(op: Operation, state: Any, loaded: Any, vec: int, index: Any, step: int) -> None:
    """Combine a vector into a state of `vec` values; element v is at ``index + v * step``."""
    for v in range(vec):
        other = (loaded[0][v].to(cutlass.Float32),)
        if op.indexed:
            other = (*other, loaded[1][v] if len(loaded) > 1 else index + v * step)
        _take(op, state, v, other)


def _write(op: Operation, outs: tuple[Any, ...], place: tuple[Any, ...], state: Any, scale: Any):
    for out, (dtype, _), value in zip(outs, op.parts, state, strict=True):
        if out is not None:
            if dtype is cutlass.Float32 and scale is not None:
                value = value * scale
            out[place] = value.to(out.element_type)


@cute.kernel
def _along(
    sources: Any, outs: Any, span: cutlass.Int32, scale: Any, op: cutlass.Constexpr[Operation],
    how: cutlass.Constexpr[Along],
):  # fmt: skip
    thread, group, _ = cute.arch.thread_idx()
    block, part, _ = cute.arch.block_idx()
    rows, vectors = sources[0].shape[0], sources[0].shape[1] // how.vec
    row = block * how.groups + group
    at = cutlass.min(row, rows - 1)
    tiles = tuple(
        cute.make_tensor(
            s[at, None].iterator, cute.make_layout((how.vec, vectors), stride=(1, how.vec))
        )
        for s in sources
    )
    state = _fresh(op, how.vec)
    begin = part * span
    end = cutlass.min(begin + span, vectors)
    chunk = how.threads * how.reps
    whole = begin + (end - begin) // chunk * chunk
    for first in range(begin + thread, whole, chunk):
        places = [(first + r * how.threads,) for r in range(how.reps)]
        for place, loaded in zip(places, _vectors(tiles, places), strict=True):
            _use(op, state, loaded, how.vec, place[0] * how.vec, 1)
    for at_vector in range(whole + thread, end, how.threads):
        _use(op, state, _vectors(tiles, [(at_vector,)])[0], how.vec, at_vector * how.vec, 1)

    total = tuple(s[0] for s in state)
    for v in cutlass.range_constexpr(1, how.vec):
        total = op.combine(total, tuple(s[v] for s in state))
    total = _of_group(op, total, how.threads)
    if thread == 0 and row < rows:
        _write(op, outs, (row, part, 0), total, scale)


def _of_group(op: Operation, total: tuple[Any, ...], threads: int) -> tuple[Any, ...]:
    offset = min(threads, 32) // 2
    while offset:
        other = tuple(cute.arch.shuffle_sync_bfly(t, offset) for t in total)
        total = op.combine(total, other)
        offset //= 2
    return total if threads <= 32 else _of_warps(op, total, threads // 32)


@cute.jit
def _of_warps(op: cutlass.Constexpr, total: Any, warps: cutlass.Constexpr) -> Any:
    allocator = SmemAllocator()
    buffers = tuple(
        allocator.allocate_tensor(dtype, cute.make_layout(warps)) for dtype, _ in op.parts
    )
    if cute.arch.lane_idx() == 0:
        for i in cutlass.range_constexpr(len(buffers)):
            buffers[i][cute.arch.warp_idx()] = total[i]
    cute.arch.sync_threads()
    total = tuple(b[0] for b in buffers)
    for w in cutlass.range_constexpr(1, warps):
        total = op.combine(total, tuple(b[w] for b in buffers))
    return total


@cute.kernel
def _across(
    sources: Any, outs: Any, span: cutlass.Int32, scale: Any, op: cutlass.Constexpr[Operation],
    how: cutlass.Constexpr[Across],
):  # fmt: skip
    x, y, _ = cute.arch.thread_idx()
    block, part, _ = cute.arch.block_idx()
    _, rows, inner = sources[0].shape
    vectors = inner // how.vec
    wide = cute.ceil_div(vectors, how.columns)
    outer = block // wide
    column = block % wide * how.columns + x
    inside = column < vectors
    column = cutlass.min(column, vectors - 1)
    tiles = tuple(
        cute.make_tensor(
            s[outer, None, None].iterator,
            cute.make_layout(
                (how.vec, vectors, rows), stride=(1, how.vec, _row_stride(s, how.vec))
            ),
        )
        for s in sources
    )
    state = _fresh(op, how.vec)
    begin = part * span
    end = cutlass.min(begin + span, rows)
    chunk = how.rows * how.reps
    whole = begin + (end - begin) // chunk * chunk
    for first in range(begin + y, whole, chunk):
        places = [(column, first + r * how.rows) for r in range(how.reps)]
        for place, loaded in zip(places, _vectors(tiles, places), strict=True):
            _use(op, state, loaded, how.vec, place[1], 0)
    for row in range(whole + y, end, how.rows):
        _use(op, state, _vectors(tiles, [(column, row)])[0], how.vec, row, 0)

    if cutlass.const_expr(how.rows > 1):
        allocator = SmemAllocator()
        layout = cute.make_layout((how.columns, how.rows, how.vec))
        shared = tuple(allocator.allocate_tensor(dtype, layout) for dtype, _ in op.parts)
        for v in cutlass.range_constexpr(how.vec):
            for i in cutlass.range_constexpr(len(shared)):
                shared[i][x, y, v] = state[i][v]
        for level in cutlass.range_constexpr(1, how.rows.bit_length()):
            half = how.rows >> level
            cute.arch.sync_threads()
            if y < half:
                for v in cutlass.range_constexpr(how.vec):
                    _take(op, state, v, tuple(s[x, y + half, v] for s in shared))
                    if cutlass.const_expr(half > 1):
                        for i in cutlass.range_constexpr(len(shared)):
                            shared[i][x, y, v] = state[i][v]
    if inside and y == 0:
        for v in cutlass.range_constexpr(how.vec):
            place = (outer, part, column * how.vec + v)
            _write(op, outs, place, tuple(s[v] for s in state), scale)


def _row_stride(source: Any, vec: int) -> Any:
    return cute.assume(source.stride[1], divby=vec)


@cute.jit
def reduce_along(
    sources: Any, outs: Any, parts: cutlass.Int32, span: cutlass.Int32, scale: Any,
    op: cutlass.Constexpr[Operation], how: cutlass.Constexpr[Along],
):  # fmt: skip
    """Reduce the rows of matrices.

    Args:
        sources: the values (outer, n), and their indices if they are partial results.
        outs: where values and indices go, (outer, parts, 1) each, or None.
        parts: blocks that share a row.
        span: vectors of a part.
        scale: what values are multiplied with, or None.
    """
    rows = []
    for s in sources:
        stride = cute.assume(s.stride[0], divby=how.vec)
        rows.append(cute.make_tensor(s.iterator, cute.make_layout(s.shape, stride=(stride, 1))))
    _along(tuple(rows), outs, span, scale, op, how).launch(
        grid=[cute.ceil_div(sources[0].shape[0], how.groups), parts, 1],
        block=[how.threads, how.groups, 1],
    )


@cute.jit
def reduce_across(
    sources: Any, outs: Any, parts: cutlass.Int32, span: cutlass.Int32, scale: Any,
    op: cutlass.Constexpr[Operation], how: cutlass.Constexpr[Across],
):  # fmt: skip
    """Reduce the middle axis.

    Args:
        sources: the values (outer, n, inner), and their indices if they are partial results.
        outs: where values and indices go, (outer, parts, inner) each, or None.
        parts: blocks that share the axis.
        span: rows of a part.
        scale: what values are multiplied with, or None.
    """
    known = []
    for s in sources:
        outer, row = (cute.assume(d, divby=how.vec) for d in s.stride[:2])
        known.append(
            cute.make_tensor(s.iterator, cute.make_layout(s.shape, stride=(outer, row, 1)))
        )
    wide = cute.ceil_div(sources[0].shape[2] // how.vec, how.columns)
    _across(tuple(known), outs, span, scale, op, how).launch(
        grid=[sources[0].shape[0] * wide, parts, 1], block=[how.columns, how.rows, 1]
    )
