# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers that the warps of a cluster tell each other, again and again, without its barrier.

Each warp writes its numbers to all blocks, asynchronously; they count their bytes on an mbarrier of
the block that they come to (of a block without others, its warps count). Nobody waits for anything
but that::

    exchange = Exchange(warps=8, blocks=4, numbers=2)
    exchange.begin()                       # one thread, once; the blocks meet afterwards
    for turn in ...:                       # 0, 1, 2, ...
        exchange.tell(turn, (total, squares), rank, thread)
        told = exchange.wait(turn)         # (numbers, each of a lane's warps)

With two sets of numbers, who tells those of turn t + 2 has seen all of turn t + 1, which warps send
when they have read those of turn t: they may be overwritten. Who tells a turn before the one before
is waited for needs four.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.lib.smem_allocator import SmemAllocator

__all__ = ["Exchange"]


class Exchange:
    """Shared memory for numbers of all warps of a cluster.

    Args:
        warps: of a block.
        blocks: of the cluster, at most 32.
        numbers: Float32 of a warp: one, two or four.
        sets: two, or four where the next turn is told before this one is waited for.
    """

    def __init__(self, warps: int, blocks: int, numbers: int, sets: int = 2) -> None:
        self.warps, self.blocks, self.numbers, self.sets = warps, blocks, numbers, sets
        memory = SmemAllocator()
        shape = (numbers, warps * blocks, sets)
        self.slots = memory.allocate_tensor(cutlass.Float32, cute.make_layout(shape), 16)
        self.bars = memory.allocate_array(cutlass.Int64, sets, 8)

    def begin(self) -> None:
        """Make the barriers; for one thread, which executes a fence for them afterwards."""
        for i in range(self.sets):
            cute.arch.mbarrier_init(self.bars + i, self.warps if self.blocks == 1 else 1)

    def tell(self, turn: Any, values: tuple[Any, ...], rank: Any, thread: Any) -> None:
        """Send a warp's numbers, the same in all of its lanes, to all blocks.

        Args:
            turn: how often that was done before.
            rank: of this block in the cluster.
            thread: index of this thread.
        """
        _tell(self, turn % self.sets, values, rank, thread)

    def wait(self, turn: Any) -> Any:
        """What all warps have told, (numbers, ceil(warps * blocks / 32)): each lane of a warp has
        those of others, 0 where there is none.

        Warp w of block b is in place ``w * blocks + b``, lane i has the places i, i + 32, ...
        """
        at = turn % self.sets
        cute.arch.mbarrier_wait(self.bars + at, turn // self.sets % 2)
        many = -(-self.warps * self.blocks // 32)
        held = cute.make_rmem_tensor((self.numbers, many), cutlass.Float32)
        held.fill(0.0)
        _take(self, at, held)
        return held


@cute.jit
def _tell(
    exchange: cutlass.Constexpr[Exchange], at: Any, values: Any, rank: Any, thread: Any
) -> None:
    bar, lane = exchange.bars + at, thread % 32
    if thread == 0 and exchange.blocks > 1:
        size = 4 * exchange.numbers * exchange.warps * exchange.blocks
        cute.arch.mbarrier_arrive_and_expect_tx(bar, size)
    cute.arch.sync_warp()  # what any lane has read, it has read before its warp tells
    if lane < exchange.blocks:
        place = exchange.slots[None, thread // 32 * exchange.blocks + rank, at]
        if cutlass.const_expr(exchange.blocks == 1):
            for i, value in enumerate(values):
                place[i] = value
            cute.arch.mbarrier_arrive(bar)
        else:
            cute.arch.st_async(place.iterator, values, bar, lane)


@cute.jit
def _take(exchange: cutlass.Constexpr[Exchange], at: Any, held: Any) -> None:
    places = exchange.warps * exchange.blocks
    for j in cutlass.range_constexpr(held.shape[1]):
        place = cute.arch.lane_idx() + 32 * j
        if cutlass.const_expr(32 * (j + 1) <= places) or place < places:
            cute.autovec_copy(exchange.slots[None, place, at], held[None, j])
