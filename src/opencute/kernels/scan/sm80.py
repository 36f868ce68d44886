# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Cumulative sums along the middle axis of (outer, n, inner): along neighbours in memory where
inner is 1, else across them.

A block goes through the axis in order and carries the sum along. Where rows are long and few, each
block has a tile of one: it leaves the tile's sum, looks back at what the tiles before it have left,
and leaves the sum up to its own end, so that all is read once. What it finds it adds from the left,
so that the result does not depend on who was first. Across rows, several blocks share an axis in
`sm80_across`.

Floor: bytes of argument and result over the bandwidth.

Source of looking back: Merrill, Garland, "Single-pass Parallel Prefix Scan with Decoupled
Look-back", 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.lib.smem_allocator import SmemAllocator

__all__ = [
    "OF_TILE",
    "UP_TO_END",
    "Across",
    "Along",
    "scan_across",
    "scan_along",
    "scan_tiles",
    "word_of",
]  # fmt: skip


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

    @property
    def vectors(self) -> int:
        """Vectors of a block's turn, or of its tile."""
        return self.threads * self.reps


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


def _vectors(t: Any, row: Any, how: Along) -> Any:
    """A row as (elements of a vector, vectors)."""
    layout = cute.make_layout((how.vec, t.shape[1] // how.vec), stride=(1, how.vec))
    return cute.make_tensor(t[row, None].iterator, layout)


@cute.jit
def _scan_turn(
    tiles: Any, first: Any, thread: Any, sums: Any, how: cutlass.Constexpr[Along]
):  # fmt: skip
    """Sums of the vectors from `first` on.

    Args:
        sums: shared memory for a number of each warp and vector of a thread, which may be written
            again after the barrier after the next one.

    Returns:
        The sums within each vector of this thread, those of all before it, and that of all.
    """
    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
    raw = cute.make_rmem_tensor((how.vec, how.reps), tiles.element_type)
    raw.fill(0.0)
    for r in cutlass.range_constexpr(how.reps):
        at = first + r * how.threads + thread
        if at < tiles.shape[1]:
            cute.autovec_copy(tiles[None, at], raw[None, r])
    held = cute.make_rmem_tensor((how.vec, how.reps), cutlass.Float32)
    held.store(raw.load().to(cutlass.Float32))
    before = cute.make_rmem_tensor((how.reps,), cutlass.Float32)
    for r in cutlass.range_constexpr(how.reps):
        for v in cutlass.range_constexpr(1, how.vec):
            held[v, r] = held[v - 1, r] + held[v, r]
        own, before[r] = _of_lanes(held[how.vec - 1, r], lane)
        if lane == 31:
            sums[r * how.warps + warp] = own
    cute.arch.sync_threads()
    of_warp = cutlass.Float32(0.0)
    if lane < how.warps * how.reps:
        of_warp = sums[lane]
    of_warp, before_warp = _of_lanes(of_warp, lane)
    for r in cutlass.range_constexpr(how.reps):
        before[r] = cute.arch.shuffle_sync(before_warp, r * how.warps + warp) + before[r]
    return held, before, cute.arch.shuffle_sync(of_warp, 31)


@cute.jit
def _store_turn(
    held: Any, before: Any, carry: Any, out: Any, first: Any, thread: Any,
    how: cutlass.Constexpr[Along], exclusive: cutlass.Constexpr[bool],
):  # fmt: skip
    """Write the sums of a turn, on top of what was before it."""
    for r in cutlass.range_constexpr(how.reps):
        start = carry + before[r]
        result = cute.make_rmem_tensor((how.vec,), out.element_type)
        for v in cutlass.range_constexpr(how.vec):
            if cutlass.const_expr(not exclusive):
                result[v] = (start + held[v, r]).to(out.element_type)
            elif cutlass.const_expr(v == 0):
                result[v] = start.to(out.element_type)
            else:
                result[v] = (start + held[v - 1, r]).to(out.element_type)
        at = first + r * how.threads + thread
        if at < out.shape[1]:
            cute.autovec_copy(result, out[None, at])


@cute.kernel
def _along(
    gX: cute.Tensor, gOut: cute.Tensor, how: cutlass.Constexpr[Along],
    exclusive: cutlass.Constexpr[bool],
):  # fmt: skip
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    tiles, out = _vectors(gX, row, how), _vectors(gOut, row, how)
    # Sums of the warps of a turn, in two buffers by turns, so that one barrier is enough.
    sums = SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((32, 2)))
    carry = cutlass.Float32(0.0)
    turn = cutlass.Int32(0)
    for first in range(0, tiles.shape[1], how.vectors):
        held, before, total = _scan_turn(tiles, first, thread, sums[None, turn], how)
        _store_turn(held, before, carry, out, first, thread, how, exclusive)
        carry = carry + total
        turn = 1 - turn


# What a tile leaves: a number, and above it whether it is the sum of the tile or up to its end.
OF_TILE, UP_TO_END = 1, 2


def word_of(number: Any, kind: int) -> Any:
    """A number and what it is, as one word."""
    bits = cutlass.Uint64(number.bitcast(cutlass.Uint32))
    return (bits | (kind << 32)).bitcast(cutlass.Int64)


@cute.jit
def _look_back(words: Any, tile: Any, own: Any, lane: Any):
    """The sum before a tile, for a warp; leaves the sum up to its end for the tiles after it.

    Each lane waits for one of the 32 tiles before: the farthest for the sum up to its end, which
    is there sooner or later, as tiles are given out in order. What is nearer may have come further.
    """
    if lane == 0:
        kind = OF_TILE
        cute.arch.store(words + tile, word_of(own, kind), sem="relaxed", scope="gpu")
    at = tile - 1 - lane
    wanted = cutlass.Int32(OF_TILE)
    if lane == 31:
        wanted = cutlass.Int32(UP_TO_END)
    found = cutlass.Int64(0)
    if at >= 0:
        while cutlass.Int32(found >> 32) < wanted:
            found = cute.arch.load(words + at, cutlass.Int64, sem="relaxed", scope="gpu")
    cute.arch.sync_warp()
    number = cutlass.Int32(found).bitcast(cutlass.Float32)
    # The nearest tile whose sum goes up to its end; before the first tile there is nothing.
    ends = cute.arch.vote_ballot_sync((at < 0) | (cutlass.Int32(found >> 32) == UP_TO_END))
    nearest = cute.arch.popc((ends & -ends) - 1)
    before = cute.arch.shuffle_sync(number, nearest)
    for i in range(nearest):
        before = before + cute.arch.shuffle_sync(number, nearest - 1 - i)
    if lane == 0:
        word = word_of(before + own, UP_TO_END)
        cute.arch.store(words + tile, word, sem="relaxed", scope="gpu")
    return before


@cute.kernel
def _along_tiles(
    gX: cute.Tensor, gState: cute.Tensor, gOut: cute.Tensor, how: cutlass.Constexpr[Along],
    exclusive: cutlass.Constexpr[bool],
):  # fmt: skip
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    tiles, out = _vectors(gX, row, how), _vectors(gOut, row, how)
    smem = SmemAllocator()
    sums = smem.allocate_tensor(cutlass.Float32, cute.make_layout(32))
    start = smem.allocate_tensor(cutlass.Float32, cute.make_layout(1))
    ticket = smem.allocate_tensor(cutlass.Int32, cute.make_layout(1))
    words = gState[row, None].iterator
    # Whoever comes first has the first tile: no tile waits for one that nobody works on.
    if thread == 0:
        last = words + gState.shape[1] - 1
        ticket[0] = cute.arch.atomic_add(last, cutlass.Int64(1)).to(cutlass.Int32)
    cute.arch.sync_threads()
    tile = ticket[0]
    first = tile * how.vectors
    held, before, total = _scan_turn(tiles, first, thread, sums, how)
    if cute.arch.warp_idx() == 0:
        carry = _look_back(words, tile, total, cute.arch.lane_idx())
        if thread == 0:
            start[0] = carry
    cute.arch.sync_threads()
    _store_turn(held, before, start[0], out, first, thread, how, exclusive)


@cute.kernel
def _across(
    gX: cute.Tensor, gOut: cute.Tensor, how: cutlass.Constexpr[Across],
    exclusive: cutlass.Constexpr[bool],
):  # fmt: skip
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
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
        whole = rows // how.reps * how.reps
        for first in range(0, whole, how.reps):
            _rows(tiles, out, carry, first, how.reps, exclusive)
        for row in range(whole, rows):
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


def _rows_of(t: Any, how: Along) -> Any:
    """A matrix with what is known of its rows."""
    stride = cute.assume(t.stride[0], divby=how.vec)
    return cute.make_tensor(t.iterator, cute.make_layout(t.shape, stride=(stride, 1)))


@cute.jit
def scan_along(
    x: cute.Tensor, out: cute.Tensor, how: cutlass.Constexpr[Along],
    exclusive: cutlass.Constexpr[bool],
):  # fmt: skip
    """Launch the kernel on matrices (outer, n), a block for each row.

    Args:
        exclusive: whether an element's own value is left out of its sum.
    """
    _along(_rows_of(x, how), _rows_of(out, how), how, exclusive).launch(
        grid=[x.shape[0], 1, 1], block=[how.threads, 1, 1]
    )


@cute.jit
def scan_tiles(
    x: cute.Tensor, state: cute.Tensor, out: cute.Tensor, how: cutlass.Constexpr[Along],
    exclusive: cutlass.Constexpr[bool],
):  # fmt: skip
    """Launch the kernel on matrices (outer, n), a block for each `how.vectors` of a row.

    Args:
        state: (outer, blocks of a row + 1) of i64, all 0.
        exclusive: whether an element's own value is left out of its sum.
    """
    _along_tiles(_rows_of(x, how), state, _rows_of(out, how), how, exclusive).launch(
        grid=[x.shape[0], state.shape[1] - 1, 1], block=[how.threads, 1, 1]
    )


@cute.jit
def scan_across(
    x: cute.Tensor, out: cute.Tensor, how: cutlass.Constexpr[Across],
    exclusive: cutlass.Constexpr[bool],
):  # fmt: skip
    """Launch the kernel on (outer, n, inner).

    Args:
        exclusive: whether an element's own value is left out of its sum.
    """
    known = []
    for t in (x, out):
        outer, row = (cute.assume(d, divby=how.vec) for d in t.stride[:2])
        known.append(
            cute.make_tensor(t.iterator, cute.make_layout(t.shape, stride=(outer, row, 1)))
        )
    wide = cute.ceil_div(x.shape[2] // how.vec, how.threads)
    _across(known[0], known[1], how, exclusive).launch(
        grid=[x.shape[0] * wide, 1, 1],
        block=[how.threads, 1, 1],
        min_blocks_per_mp=1,  # or ptxas spills to make room for more
    )
