# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Cumulative sums across rows, along a long middle axis of (outer, n, inner), in one pass.

A block has a tile: some rows of 32 vectors. Each warp sums its rows and keeps them in shared memory
(as f32 in registers, where the compiler would have them, they leave no room for other blocks); the
block leaves the sums of its columns, one thread for each looks back at what the tiles above
have left, and then the warps write their rows. Tiles are given out from the top, a row of tiles
after the other, so that those that a tile waits for are on their way.

What a thread finds it adds from the top, so that the result does not depend on who was first.

Floor: bytes of argument and result over the bandwidth; what tiles leave is 8 bytes of a column, and
stays in the L2 cache.

Source of looking back: Merrill, Garland, "Single-pass Parallel Prefix Scan with Decoupled
Look-back", 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.scan.sm80 import OF_TILE, UP_TO_END, word_of
from opencute.lib.smem_allocator import SmemAllocator

__all__ = ["AcrossTiles", "scan_across_tiles"]

_LANES = 32


@dataclass(frozen=True)
class AcrossTiles:
    """How a tile is shared.

    Args:
        vec: neighbouring elements that a thread moves at once; divides the rows, at most `warps`.
        warps: warps of a block, one below the other.
        reps: rows of a thread.
        seen: tiles above that a tile looks back at, at once.
    """

    vec: int
    warps: int = 8
    reps: int = 8
    seen: int = 8

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return _LANES * self.warps

    @property
    def columns(self) -> int:
        """Elements of a row of a tile."""
        return _LANES * self.vec

    @property
    def rows(self) -> int:
        """Rows of a tile."""
        return self.warps * self.reps


@cute.jit
def _look_back(
    words: Any, tile: Any, own: Any, apart: cutlass.Constexpr[int], seen: cutlass.Constexpr[int]
):
    """The sum of a column above a tile; leaves that up to the tile's end for those below.

    All of the `seen` tiles above are read at once, until one of them knows the sum up to its end
    and those between at least their own. The farthest does sooner or later, as tiles are given out
    in order.

    Args:
        words: what the first tile leaves of this column; those of the next are `apart` further.
        own: the tile's sum.
    """
    before = cutlass.Float32(0.0)
    if tile > 0:
        cute.arch.store(words + tile * apart, word_of(own, OF_TILE), sem="relaxed", scope="gpu")
        found = _read(words, tile, apart, seen)
        while not _known(found):
            found = _read(words, tile, apart, seen)
        for i in cutlass.range_constexpr(seen - 1, -1, -1):
            # A farther one that is not there yet is behind one that knows the sum up to its end.
            number = cutlass.Int32(found[i]).bitcast(cutlass.Float32)
            if cutlass.Int32(found[i] >> 32) != UP_TO_END:
                number = before + number
            before = number
    cute.arch.store(
        words + tile * apart, word_of(before + own, UP_TO_END), sem="relaxed", scope="gpu"
    )
    return before


def _read(words: Any, tile: Any, apart: int, seen: int) -> tuple[Any, ...]:
    """What the tiles above have left, nearest first; the first tile again where there are fewer."""
    places = (words + cutlass.max(tile - 1 - i, 0) * apart for i in range(seen))
    return tuple(cute.arch.load(p, cutlass.Int64, sem="relaxed", scope="gpu") for p in places)


def _known(found: tuple[Any, ...]) -> Any:
    """Whether a tile knows the sum up to its end, and those before it in `found` their own."""
    known = cutlass.Boolean(False)
    for word in reversed(found):
        kind = cutlass.Int32(word >> 32)
        known = (kind == UP_TO_END) | (known & (kind != 0))
    return known


def _columns(t: Any, outer: Any, column: Any, how: AcrossTiles) -> Any:
    """A thread's vectors, by rows."""
    layout = cute.make_layout(
        (how.vec, t.shape[2] // how.vec, t.shape[1]),
        stride=(1, how.vec, cute.assume(t.stride[1], divby=how.vec)),
    )
    return cute.make_tensor(t[outer, None, None].iterator, layout)[None, column, None]


@cute.kernel
def _across_tiles(
    gX: cute.Tensor, gState: cute.Tensor, gTicket: cute.Tensor, gOut: cute.Tensor,
    how: cutlass.Constexpr[AcrossTiles], exclusive: cutlass.Constexpr[bool],
):  # fmt: skip
    thread, _, _ = cute.arch.thread_idx()
    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
    smem = SmemAllocator()
    parts = smem.allocate_tensor(cutlass.Float32, cute.make_layout((how.columns, how.warps)), 16)
    start = smem.allocate_tensor(cutlass.Float32, cute.make_layout(how.columns), 16)
    ticket = smem.allocate_tensor(cutlass.Int32, cute.make_layout(1))
    kept = smem.allocate_tensor(
        gX.element_type, cute.make_layout((how.vec, how.threads, how.reps)), 16
    )[None, thread, None]
    if thread == 0:
        ticket[0] = cute.arch.atomic_add(gTicket.iterator, cutlass.Int32(1))
    cute.arch.sync_threads()
    outers, rows, inner = gX.shape
    vectors = inner // how.vec
    wide = cute.ceil_div(vectors, _LANES)
    block, tile = ticket[0] % (wide * outers), ticket[0] // (wide * outers)
    column = block % wide * _LANES + lane
    # Threads beside the rows, and rows below the last one, repeat others: nobody reads their sums.
    inside = cutlass.min(column, vectors - 1)
    source = _columns(gX, block // wide, inside, how)
    into = _columns(gOut, block // wide, inside, how)
    first = tile * how.rows + warp * how.reps
    held = []
    for r in cutlass.range_constexpr(how.reps):
        h = cute.make_rmem_tensor((how.vec,), gX.element_type)
        cute.autovec_copy(source[None, cutlass.min(first + r, rows - 1)], h)
        held.append(h)
    carry = cute.make_rmem_tensor((how.vec,), cutlass.Float32)
    carry.fill(0.0)
    for r, h in enumerate(held):
        cute.autovec_copy(h, kept[None, r])
        carry.store(carry.load() + h.load().to(cutlass.Float32))
    own = cute.local_tile(parts, (how.vec, 1), (lane, warp))
    cute.autovec_copy(carry, own[None, 0])
    cute.arch.sync_threads()
    if thread < how.columns:
        total = cutlass.Float32(0.0)
        for w in cutlass.range_constexpr(how.warps):
            total = total + parts[thread, w]
        words = gState[block, None].iterator + thread
        start[thread] = _look_back(words, tile, total, how.columns, how.seen)
    cute.arch.sync_threads()
    cute.autovec_copy(cute.local_tile(start, (how.vec,), (lane,)), carry)
    for w in range(warp):
        carry.store(carry.load() + cute.local_tile(parts, (how.vec, 1), (lane, w))[None, 0].load())
    for r in cutlass.range_constexpr(how.reps):
        h = cute.make_rmem_tensor((how.vec,), gX.element_type)
        cute.autovec_copy(kept[None, r], h)
        old = carry.load()
        new = old + h.load().to(cutlass.Float32)
        carry.store(new)
        if first + r < rows and column < vectors:
            result = cute.make_rmem_tensor((how.vec,), gOut.element_type)
            result.store((old if exclusive else new).to(gOut.element_type))
            cute.autovec_copy(result, into[None, first + r])


@cute.jit
def scan_across_tiles(
    x: cute.Tensor, state: cute.Tensor, ticket: cute.Tensor, out: cute.Tensor,
    tiles: cutlass.Int32, how: cutlass.Constexpr[AcrossTiles],
    exclusive: cutlass.Constexpr[bool],
):  # fmt: skip
    """Launch the kernel on (outer, n, inner).

    Args:
        state: (blocks side by side, tiles * how.columns) of i64, all 0.
        ticket: one i32 that is 0.
        tiles: how many there are along the axis.
        exclusive: whether an element's own value is left out of its sum.
    """
    known = []
    for t in (x, out):
        outer, row = (cute.assume(d, divby=how.vec) for d in t.stride[:2])
        known.append(
            cute.make_tensor(t.iterator, cute.make_layout(t.shape, stride=(outer, row, 1)))
        )
    _across_tiles(known[0], state, ticket, known[1], how, exclusive).launch(
        grid=[state.shape[0] * tiles, 1, 1], block=[how.threads, 1, 1]
    )
