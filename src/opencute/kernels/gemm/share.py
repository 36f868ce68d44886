# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products whose steps are shared among blocks: split-K and stream-K, which are one thing.

All steps along k of some tiles stand in one line, tile after tile; each block takes an equal part
of it. With as many blocks as multiprocessors that is stream-K; with s for each tile, split-K.
Where there are many tiles, each block does whole ones besides, so that no more than two for each
block are shared: neighbouring blocks do neighbouring tiles then, and read the same operands. Blocks
that share tiles are at different places along k, and read different parts of the operands: where
that is too much for memory, only tiles of the last wave are shared, cut into a few pieces.

A block goes through its part from the end, and does its whole tiles after that. What it comes to
first is a tile that it does not reach the end of: it leaves those sums in memory and raises its
flag. What it comes to last is a tile that blocks before it have begun: their sums are there by now,
or will be soon, as each block leaves them first. So a block waits for blocks before it only, which
start no later, and sums are added in an order that depends on the shapes only::

    share = Share(mA, mD, mSums, mFlags, plan)
    for i in range(share.items):
        tile, first, count = share.item(i)      # of its steps, first .. first + count
        ...

Source: Osama, Merrill, Cecka, Garland, Owens, "Stream-K: Work-centric Parallel Decomposition for
Dense Matrix-Matrix Multiplication on the GPU", 2023.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.gemm.parts import place_of

__all__ = ["Share", "give", "take"]


class Share:
    """A block's part of all steps, and its whole tiles.

    Args:
        a, d: matrices (rows, columns, batch).
        sums: what a block leaves, (blocks, tile_m * tile_n).
        flags: whether it has, (blocks,).
        plan: has `tile`, `group`, `pieces` and `threads`.
    """

    def __init__(self, a: Any, d: Any, sums: Any, flags: Any, plan: Any) -> None:
        self.d, self.sums, self.flags, self.plan = d, sums, flags, plan
        self.k_tiles = cute.ceil_div(a.shape[1], plan.tile[2])
        tiles_m, tiles_n = (cute.ceil_div(d.shape[i], plan.tile[i]) for i in (0, 1))
        self.tiles = tiles_m * tiles_n  # of a matrix
        self.block, _, _ = cute.arch.block_idx()
        self.blocks, _, _ = cute.arch.grid_dim()
        all_tiles = self.tiles * d.shape[2]
        self.pieces = plan.pieces
        self.waves = cutlass.max(all_tiles // self.blocks - (0 if self.pieces else 1), 0)
        self.shared = all_tiles - self.waves * self.blocks
        # In pieces where tiles are cut into some, else in steps.
        self.all = self.shared * (self.pieces or self.k_tiles)
        self.each = self.all // self.blocks
        self.more = self.all - self.each * self.blocks  # blocks that have one more
        self.begin, self.end = self.begin_of(self.block), self.begin_of(self.block + 1)
        self.last = (self.end - 1) // self.k_tiles
        # None where there are fewer steps than blocks.
        self.parts = (self.last + 1 - self.begin // self.k_tiles) * cutlass.min(
            self.end - self.begin, 1
        )

    @property
    def items(self) -> Any:
        """What a block has to do: parts of tiles that it shares, and whole ones."""
        return self.parts + self.waves

    def begin_of(self, block: Any) -> Any:
        """The first of the shared steps of a block."""
        if not self.pieces:
            return cutlass.min(block * self.each + cutlass.min(block, self.more), self.all)
        # All have as many, but for the last ones: so they are at few places of their tiles.
        number = cutlass.min(block * (self.each + cutlass.min(self.more, 1)), self.all)
        tile = number // self.pieces
        rest = number - tile * self.pieces
        return tile * self.k_tiles + rest * self.k_tiles // self.pieces

    def item(self, i: Any) -> tuple[Any, Any, Any]:
        """A tile, and which of its steps are this block's: the first one, and how many."""
        whole = cutlass.max(cutlass.min(i + 1 - self.parts, 1), 0)  # 1 or 0
        own = self.shared + self.block + (i - self.parts) * self.blocks
        tile = (1 - whole) * (self.last - i) + whole * own
        start = tile * self.k_tiles
        first = cutlass.max(self.begin - start, 0)  # whole tiles come after those that are shared
        stop = cutlass.min(self.end - start + whole * (start + self.k_tiles), self.k_tiles)
        return tile, first, stop - first

    def place(self, tile: Any) -> tuple[Any, Any, Any]:
        """Row, column and matrix of a tile."""
        batch = tile // self.tiles
        one = tile - batch * self.tiles
        return (*place_of(one, self.d, self.plan.tile[:2], self.plan.group), batch)

    def sums_of(self, block: Any, tid: Any) -> Any:
        """What a thread of a block leaves: neighbouring threads next to each other."""
        return self.sums[block, None].iterator + tid


@cute.jit
def give(share: cutlass.Constexpr, acc: Any, tid: Any):
    """Leave accumulators for the block that goes on with this tile."""
    to = share.sums_of(share.block, tid)
    for i in cutlass.range_constexpr(cute.size(acc)):
        (to + i * share.plan.threads).store(acc[i])
    cute.arch.sync_threads()
    if tid == 0:
        cute.arch.store(share.flags.iterator + share.block, 1, sem="release", scope="gpu")


@cute.jit
def take(share: cutlass.Constexpr, acc: Any, tile: Any, first: Any, tid: Any):
    """Add what blocks before this one have left of the same tile, nearest first."""
    if first > 0:
        start = tile * share.k_tiles
        block = share.block
        while share.begin_of(block) > start:
            block = block - 1
            if tid == 0:
                flag = share.flags.iterator + block
                while cute.arch.load(flag, cutlass.Int32, sem="acquire", scope="gpu") == 0:
                    pass
            cute.arch.sync_threads()
            others = share.sums_of(block, tid)
            for i in cutlass.range_constexpr(cute.size(acc)):
                acc[i] = acc[i] + (others + i * share.plan.threads).load()
