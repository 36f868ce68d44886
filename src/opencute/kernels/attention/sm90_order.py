# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which tiles of queries a block that stays works on, one after the other.

In: the extents of all heads, or where sequences start. Out: for each turn a tile, a head and a
batch, and which keys the tile's queries see::

    for turn in range(order.count()):
        tile, head, batch = order.tile(turn)
        start, count = order.places(tile, batch).tiles()

Queries that see all keys: each block takes every n-th tile. Others: tiles are sorted by how many
keys they see, for as many heads at a time as the L2 cache holds the keys of, up and down in turns.
Blocks take one of each round, in turns from both ends, so that all have alike much to do; what is
left, the shortest tiles, are blocks of their own, which start where room is first. Sequences that
lie end to end: one after the other, each sorted for itself, up and down in turns. Blocks take every
n-th tile, and of many the last two rounds are blocks of their own, as other sequences make other
sums. How many tiles there are is known on the device only, and blocks find theirs by their warps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.attention.sm90 import Places, WarpgroupPlan

__all__ = ["Order", "locate"]


@dataclass(frozen=True)
class Order:
    """Which tiles of queries a block has.

    Args:
        blocks: tiles of a head.
        heads: heads of a batch.
        pairs: heads of all batches.
        section: heads whose tiles are sorted together, of sequences end to end those of one at
            most; the last ones' longest come first.
        parts: how many sections there are, of sequences end to end in one.
        lengths: queries, and keys, of all sequences.
        starts: where sequences' queries and keys start, or None twice: each batch has its own.
        total: tiles of all sequences, where those lie end to end and tiles differ.
    """

    blocks: Any
    heads: Any
    pairs: Any
    section: Any
    parts: Any
    lengths: tuple[Any, Any]
    starts: tuple[Any, Any]
    plan: WarpgroupPlan
    total: Any = None

    @property
    def even(self) -> bool:
        """Whether all tiles of a sequence see equally many keys."""
        return self.plan.after is None and self.plan.before is None

    @property
    def ragged(self) -> bool:
        """Whether sequences lie end to end."""
        return self.starts[0] is not None

    def rounds(self) -> Any:
        """How many tiles the blocks that stay have, where tiles differ."""
        if not self.ragged:
            return self.blocks * self.pairs // self.plan.blocks
        rounds = self.total // self.plan.blocks
        return rounds - _apart(rounds)

    def grid(self) -> Any:
        """How many blocks there are; of sequences, at most."""
        total, wide = self.blocks * self.pairs, self.plan.blocks
        if self.even:
            return cutlass.min(total, wide)
        if self.ragged:
            return cutlass.min(total, (_apart(total // wide) + 2) * wide - 1)
        stay = cutlass.min(self.rounds(), 1) * self.plan.blocks
        return stay + total - self.rounds() * wide

    def count(self) -> Any:
        """How many tiles this block has."""
        block, wide = cute.arch.block_idx()[0], self.plan.blocks
        if self.even:
            if self.ragged:
                total = locate(0, self.starts[0], self.heads, self.plan.m)[2]
                return cute.ceil_div(cutlass.max(total - block, 0), wide)
            return cute.ceil_div(self.blocks * self.pairs - block, wide)
        rounds = self.rounds()
        alone: Any = 1
        if self.ragged:
            alone = cutlass.Int32(self.alone(rounds) < self.total)
        return cute.where((block < wide) & (rounds > 0), rounds, alone)

    def alone(self, rounds: Any) -> Any:
        """Which tile is that of a block of its own, counted in the order of all."""
        wide = self.plan.blocks
        return rounds * wide + cute.arch.block_idx()[0] - cutlass.min(rounds, 1) * wide

    def tile(self, turn: Any) -> tuple[Any, Any, Any]:
        """Tile, head and batch of a turn of this block."""
        block, wide = cute.arch.block_idx()[0], self.plan.blocks
        if self.even:
            index = turn * wide + block
            if self.ragged:
                return self._tile_of_sequences(index)
            pair, tile = index // self.blocks, index % self.blocks
            return tile, pair % self.heads, pair // self.heads
        rounds = self.rounds()
        stays = (block < wide) & (rounds > 0)
        if self.ragged:
            index = cute.where(stays, turn * wide + block, self.alone(rounds))
            return self._tile_of_sequences(index)
        back = (turn & 1) * (wide - 1 - 2 * block)
        index = cute.where(stays, turn * wide + block + back, self.alone(rounds))
        part = index // (self.section * self.blocks)
        index = index - part * (self.section * self.blocks)
        size = cutlass.min(self.section, self.pairs - part * self.section)
        row, column = index // size, index % size
        pair = part * self.section + column
        tile = cute.where((self.parts - part) % 2 == 1, self.blocks - 1 - row, row)
        return tile, pair % self.heads, pair // self.heads

    def _tile_of_sequences(self, index: Any) -> tuple[Any, Any, Any]:
        """The same of sequences end to end, one after the other."""
        sequence, index, _ = locate(index, self.starts[0], self.heads, self.plan.m)
        _, queries, _, _ = self.span(sequence)
        tiles = cute.ceil_div(queries, self.plan.m)
        if self.even:
            return index % tiles, index // tiles, sequence
        part = index // (self.section * tiles)
        index = index - part * (self.section * tiles)
        size = cutlass.min(self.section, self.heads - part * self.section)
        row, column = index // size, index % size
        # Also across sequences the direction changes from one section to the next.
        behind = (self.starts[0].shape[0] - 1 - sequence) * self.parts - part
        tile = cute.where(behind % 2 == 1, tiles - 1 - row, row)
        return tile, part * self.section + column, sequence

    def span(self, batch: Any) -> tuple[Any, Any, Any, Any]:
        """Where a sequence's queries start, how many there are, and the same of its keys."""
        if not self.ragged:
            return 0, self.lengths[0], 0, self.lengths[1]
        starts, starts_k = self.starts
        first, first_k = starts[batch], starts_k[batch]
        return first, starts[batch + 1] - first, first_k, starts_k[batch + 1] - first_k

    def places(self, tile: Any, batch: Any) -> Places:
        """Which keys a tile's queries see."""
        _, queries, _, keys = self.span(batch)
        return Places(tile * self.plan.m + (keys - queries), keys, self.plan)


def _apart(rounds: Any) -> Any:
    """How many of all rounds of tiles of sequences end to end are blocks of their own."""
    return cutlass.min(rounds // 4, 2)


@cute.jit
def locate(index: Any, starts: Any, heads: Any, m: cutlass.Constexpr[int]):
    """Which sequence a tile of queries belongs to, found by a warp.

    Args:
        index: of the tile, counted over all sequences and their heads.
        starts: where sequences start, and the last one ends.

    Returns:
        The sequence, the tile's index in it, and how many tiles there are.
    """
    lane = cute.arch.lane_idx()
    count = starts.shape[0] - 1
    sequence, inside, before = cutlass.Int32(0), cutlass.Int32(0), cutlass.Int32(0)
    for first in range(0, count, 32):
        tiles = cutlass.Int32(0)
        if first + lane < count:
            length = starts[first + lane + 1] - starts[first + lane]
            tiles = cute.ceil_div(length, m) * heads
        upto = tiles
        for step in cutlass.range_constexpr(5):
            below = cute.arch.shuffle_sync_up(upto, 1 << step)
            upto = cute.where(lane >= (1 << step), upto + below, upto)
        passed = cute.arch.popc(cute.arch.vote_ballot_sync(before + upto <= index))
        total = cute.arch.shuffle_sync(upto, 31)
        start = cute.arch.shuffle_sync(upto - tiles, cutlass.min(passed, 31))
        here = (before <= index) & (index < before + total)
        sequence = cute.where(here, first + passed, sequence)
        inside = cute.where(here, index - before - start, inside)
        before = before + total
    return (
        cute.arch.make_warp_uniform(sequence), cute.arch.make_warp_uniform(inside),
        cute.arch.make_warp_uniform(before),
    )  # fmt: skip
