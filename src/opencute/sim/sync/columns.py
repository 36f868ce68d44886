# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Words of readers of shared memory from elsewhere: units, and warps of other blocks.

A word is ``time << 8 | lane``. What products read is kept in a log as long as nobody has to look at
single pieces, since the same places are read again and again::

    read = column.reads(parts, 16, READING, number, reach)
    ...
    column.ended([read], now)
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from opencute.sim.values import Array

if TYPE_CHECKING:
    from opencute.sim.sync.shadow import Shadow

__all__ = ["READING", "Column", "Parts", "ProductColumn", "Read"]

READING = ((1 << 30) - 1) << 8
"""The word of a reader that has not ended."""
_LOGGED = 128  # reads of one warpgroup that are kept apart
Parts = Sequence[tuple[Array, tuple[int, ...]]]
"""Where runs begin, in order, and which of the units read them. Arrays are not to be written to."""


class Column:
    """Words for one reader from elsewhere, as those for a warp of the block: time << 8 | lane.

    Args:
        shadow: of the memory.
        size: pieces.
        who: the number of the warp's first thread, or of the agent.
        base: the first of the pieces.
        block: of a unit: the block whose memory it has read, -1: several.
    """

    def __init__(self, shadow: Shadow, size: int, who: int, base: int = 0, block: int = -1) -> None:
        self.shadow, self.size = shadow, size
        self._words: Array | None = None
        self._op: Array | None = None
        self.who, self.base, self.block = who, base, block
        self.units: tuple[int, ...] = (who,)
        """The parts of it that others may know of."""
        self.flying = 0
        """Of a unit: reads that have not ended."""
        self.latest = 0
        """Of a unit: when the last one ended."""
        self._aware: dict[int, tuple[int, Array]] = {}

    @property
    def words(self) -> Array:
        """The words."""
        if self._words is None:
            self._words = np.zeros(self.size, np.int64)
        return self._words

    @property
    def op(self) -> Array:
        """For each piece, the number of the operation that read it."""
        if self._op is None:
            self._op = np.zeros(self.size, np.int32)
        return self._op

    def each(self) -> Sequence[Column]:
        """Columns of words, one for each of the units."""
        return (self,)

    def logged(self, first: int, last: int) -> list[Read] | None:
        """What the log says of the bytes from `first` to `last`; None: words have to be looked at
        one by one."""
        return None

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
        if self._words is not None:
            self._words = np.repeat(self._words, factor)
        if self._op is not None:
            self._op = np.repeat(self._op, factor)
        self.base *= factor
        self.size *= factor

    def widen(self, size: int) -> None:
        """It reads the memory of several blocks."""
        for name in ("_words", "_op"):
            old = getattr(self, name)
            if old is not None:
                new = np.zeros(size, old.dtype)
                new[self.base : self.base + old.size] = old
                setattr(self, name, new)
        self.base, self.block, self.size = 0, -1, size


class Read:
    """What the warps of a warpgroup read of one operand, or have read last.

    Args:
        parts: where, and who.
        width: bytes of each run.
        word: as in a column.
        op: the operation's number.
        reach: the first byte and the one after the last.
    """

    __slots__ = ("op", "parts", "reach", "settled", "width", "word")

    def __init__(
        self, parts: Parts, width: int, word: int, op: int, reach: tuple[int, int]
    ) -> None:
        self.parts, self.width, self.word, self.op, self.reach = parts, width, word, op, reach
        self.settled = False


class ProductColumn(Column):
    """The reads of a warpgroup's products; each warp's part has a number of its own.

    Args:
        shadow: of the memory.
        size: pieces.
        who: the number of the whole.
        base: the first of the pieces.
        block: whose memory it is.
        units: the numbers of the parts.
    """

    def __init__(
        self, shadow: Shadow, size: int, who: int, base: int, block: int, units: tuple[int, ...]
    ) -> None:
        super().__init__(shadow, size, who, base, block)
        self.units = units
        self.log: dict[int, Read] = {}
        """What is not in the words yet, by what tells what is read."""
        self._parts: dict[int, Column] = {}

    def each(self) -> Sequence[Column]:
        """Columns of words, one for each of the units."""
        log, self.log = self.log, {}
        for read in log.values():
            self._settle(read)
        return list(self._parts.values())

    def _settle(self, read: Read) -> None:
        read.settled = True
        for places, warps in read.parts:
            pieces = self.shadow.cut(id(places), (places,), read.width)
            for unit in (self.units[w] for w in warps):
                part = self._parts.get(unit)
                if part is None:
                    part = Column(self.shadow, self.size, unit, self.base, self.block)
                    self._parts[unit] = part
                at = part.at(pieces)
                part.words[at] = read.word
                part.op[at] = read.op

    def reads(self, parts: Parts, width: int, word: int, op: int, reach: tuple[int, int]) -> Read:
        """Warps read runs of a width, for now in the log only; see `Read`."""
        if len(self.log) >= _LOGGED:
            self.each()
        self.log.pop(id(parts), None)  # what comes later goes last
        read = self.log[id(parts)] = Read(parts, width, word, op, reach)
        return read

    def ended(self, reads: list[Read], now: int) -> None:
        """Reads have ended, together."""
        for read in reads:
            read.word = now << 8
            if read.settled:
                self._settle(read)
        self.flying, self.latest = self.flying - 1, now

    def logged(self, first: int, last: int) -> list[Read] | None:
        """As for all columns."""
        if self._parts:
            return None
        return [r for r in self.log.values() if r.reach[0] < last and first < r.reach[1]]

    def refine(self, factor: int) -> None:
        """The pieces are cut smaller."""
        super().refine(factor)
        for part in self._parts.values():
            part.refine(factor)
