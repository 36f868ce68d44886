# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Who touched each piece of memory last: a word for the writer, and one or more for the readers.

A word is ``time << 33 | level << 31 | strength << 29 | who``; 0 is nobody. The pieces are as large
as the smallest access so far allows. Global memory has one word for all readers, which stands for a
thread, a block or everybody; shared memory has one for each warp of the block, and columns for
readers from elsewhere: warps of other blocks, and hardware units, as far as there are any.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import numpy as np

from opencute.sim.values import Array

__all__ = [
    "EVERYBODY", "FOREIGN", "LEVEL", "ONE", "PENDING", "READING", "STRENGTH", "TIME", "WHO",
    "WHOLE_BLOCK", "Column", "Shadow",
]  # fmt: skip

WHO = (1 << 29) - 1
STRENGTH = 29
LEVEL = 31
TIME = 33
ONE, WHOLE_BLOCK, EVERYBODY = 0, 1, 2
PENDING = ((1 << 30) - 1) << TIME
"""The time of a write by a copy in flight: later than all others."""
FOREIGN = 1 << LEVEL
"""Marks writers of shared memory that are no threads of its block."""
_SHIFT = 4  # of the pieces, as long as all accesses are as large
READING = ((1 << 30) - 1) << 8
"""The word of a reader that has not ended."""


class Column:
    """Words for one reader from elsewhere, as those for a warp of the block: time << 8 | lane.

    Args:
        size: pieces.
        who: the number of the warp's first thread, or of the agent.
        base: the first of the pieces.
    """

    def __init__(self, size: int, who: int, base: int = 0) -> None:
        self.words = np.zeros(size, np.int64)
        self.op = np.zeros(size, np.int32)
        self.who, self.base = who, base
        self.block = -1
        """Of a unit: the block whose memory it has read, -1: several."""
        self.flying = 0
        """Of a unit: reads that have not ended."""
        self.latest = 0
        """Of a unit: when the last one ended."""
        self._aware: dict[int, tuple[int, Array]] = {}

    def known_by(self, slots: int, kind: int) -> Array:
        """Of a unit: which threads are known to know of all that it has read, to be added to.

        Args:
            slots: how many threads run.
            kind: how well they know.
        """
        found = self._aware.get(kind)
        if found is None or found[0] != self.latest:
            found = self._aware[kind] = (self.latest, np.zeros(slots, np.bool_))
        return found[1]

    def at(self, pieces: Array) -> Array:
        """Where its words of some pieces are."""
        return pieces - self.base if self.base else pieces

    def refine(self, factor: int) -> None:
        """The pieces are cut smaller."""
        self.words, self.op = np.repeat(self.words, factor), np.repeat(self.op, factor)
        self.base *= factor

    def widen(self, size: int) -> None:
        """It reads the memory of several blocks."""
        for name in ("words", "op"):
            old = getattr(self, name)
            new = np.zeros(size, old.dtype)
            new[self.base : self.base + old.size] = old
            setattr(self, name, new)
        self.base, self.block = 0, -1


class Shadow:
    """The shadow of one buffer.

    Args:
        size: its bytes.
        columns: words for readers of each piece.
    """

    def __init__(self, size: int, columns: int = 0) -> None:
        self.size = size
        self.columns = columns
        self.shift = _SHIFT
        n = -(-size >> _SHIFT)
        self.writer = np.zeros(n, np.int64)
        self.write_op = np.zeros(n, np.int32)
        # Of shared memory: time << 32 | operation.
        self.last_read = np.zeros(n, np.int64 if columns else np.int32)
        self.reader = np.zeros((max(columns, 1), n), np.int64)
        self.blocks: set[int] = set()
        self.foreign = False
        self.extra: dict[int, Column] = {}

    def pieces(self, places: Array, width: int) -> Array:
        """Numbers of the pieces that runs of `width` bytes touch, on a further axis."""
        grain = 1 << self.shift
        low = int(np.bitwise_or.reduce(places, axis=None)) | width if places.size else width
        if low & (grain - 1):
            self._refine(low & -low)
            grain = 1 << self.shift
        first = places >> self.shift
        count = width // grain
        return first[..., None] if count == 1 else first[..., None] + np.arange(count)

    def _refine(self, grain: int) -> None:
        """Cut the pieces smaller."""
        factor = (1 << self.shift) // grain
        for name in ("writer", "write_op", "last_read", "reader"):
            setattr(self, name, np.repeat(getattr(self, name), factor, axis=-1))
        for column in self.extra.values():
            column.refine(factor)
        self.shift = grain.bit_length() - 1

    def column(self, who: int, block: int = -1, blocks: int = 1) -> Column:
        """The words of a reader from elsewhere, who reads the memory of one block, or of several
        (-1) of the `blocks` whose memory this is."""
        column = self.extra.get(who)
        size = self.writer.size
        if column is None:
            if block >= 0 and size % blocks == 0:
                size //= blocks
                column = self.extra[who] = Column(size, who, block * size)
                column.block = block
            else:
                column = self.extra[who] = Column(size, who)
        elif column.block >= 0 and column.block != block:
            column.widen(size)
        return column
