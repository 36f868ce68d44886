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

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

import numpy as np

from opencute.sim.sync.columns import Column, ProductColumn
from opencute.sim.values import Array

__all__ = [
    "EVERYBODY", "FOREIGN", "GRAIN", "LATE", "LEVEL", "ONE", "PENDING", "SEVERAL", "STRENGTH",
    "TIME", "WHO", "WHOLE_BLOCK", "LateRead", "RunsOfEach", "Shadow", "first_of_each",
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
GRAIN = 1 << _SHIFT
"""Bytes of such a piece."""
SEVERAL = 32
"""In the place of a lane: more than one."""
_FEW = 16  # different words that are looked at one by one
LATE = 1 << 21
"""Pieces of reads whose words are not set yet, at the most."""
_CUTS = 1024  # sets of places whose pieces are remembered


class LateRead(Protocol):
    """A read whose words are not set yet."""

    time: int
    size: int
    """Pieces that it touches."""

    def settle(self, shadow: Shadow) -> None:
        """Set them."""


class RunsOfEach:
    """Places of runs of `GRAIN` bytes, prepared to be looked up often.

    Args:
        groups: arrays of where runs begin, whole multiples of `GRAIN`, by who reads them.
    """

    def __init__(self, groups: Sequence[Sequence[Array]]) -> None:
        self.groups = groups
        every = [part for parts in groups for part in parts]
        self.pieces = np.concatenate(every) >> _SHIFT
        self.sizes = np.array([part.size for part in every])
        self.starts = np.cumsum(self.sizes) - self.sizes


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
        self.pieces_in_all = -(-size >> _SHIFT)
        self._arrays: dict[str, Array] = {}
        self.has_writers = self.has_readers = False
        """Whether anybody has written there, read there (not as a unit)."""
        self.latest_write = self.latest_read = 0
        """Of shared memory: a time that no word of a writer is later than, and when threads of the
        block read last."""
        self.reach: tuple[int, int] | None = (0, 0)
        """Of global memory: the bytes that have been used lie there; None: anywhere."""
        self.late: list[LateRead] = []
        """Reads that are not in the words of readers yet."""
        self.waiting = 0
        """How many pieces they touch."""
        self.blocks: set[int] = set()
        self.foreign = False
        self.extra: dict[int, Column] = {}
        self._cuts: dict[Hashable, tuple[Any, int, Array]] = {}

        self.by_block: dict[int, dict[int, Column]] = {}
        """The readers from elsewhere by the block whose memory they read, -1: several."""

    # ------------------------------------------------------------------ words
    def _array(self, name: str, dtype: Any, *more: int) -> Array:
        found = self._arrays.get(name)
        if found is None:
            found = self._arrays[name] = np.zeros((*more, self.pieces_in_all), dtype)
        return found

    @property
    def writer(self) -> Array:
        """The word of each piece's writer."""
        return self._array("writer", np.int64)

    @property
    def write_op(self) -> Array:
        """The number of the operation that wrote each piece."""
        return self._array("write_op", np.int32)

    @property
    def last_read(self) -> Array:
        """The operation that read each piece last; of shared memory: time << 32 | operation."""
        self.settle()
        return self._array("last_read", np.int64 if self.columns else np.int32)

    @property
    def reader(self) -> Array:
        """The words of each piece's readers."""
        self.settle()
        return self._array("reader", np.int64, max(self.columns, 1))

    def wrote(self, time: int) -> None:
        """Words of writers have been set, to a time that is no later."""
        self.has_writers = True
        self.latest_write = max(self.latest_write, time)

    # ------------------------------------------------------------------ reads not yet in words
    def postpone(self, read: LateRead) -> None:
        """Remember a read; its words are set when somebody looks at words of readers."""
        self.late.append(read)
        self.waiting += read.size
        if self.waiting > LATE:
            self.settle()

    def settle(self) -> None:
        """Set the words of all reads."""
        if self.late:
            late, self.late, self.waiting = self.late, [], 0
            for read in late:
                read.settle(self)

    def forget(self, time: int) -> None:
        """Reads up to a time are known to all who can ever write there."""
        self.late = [read for read in self.late if read.time > time]
        self.waiting = sum(read.size for read in self.late)

    def cut(self, name: Hashable, parts: Sequence[Array], width: int) -> Array:
        """Pieces of runs, as `pieces`, flat; remembered by a name made of the parts' identity."""
        known = self._cuts.get(name)
        if known is None or known[1] != self.shift:
            if len(self._cuts) >= _CUTS:
                self._cuts.clear()
            part = parts[0] if len(parts) == 1 else np.concatenate(parts)
            pieces = self.pieces(part, width).reshape(-1)
            known = self._cuts[name] = (parts, self.shift, pieces)
        return known[2]

    def few_writers(self, name: Hashable, parts: Sequence[Array], width: int) -> list[int] | None:
        """The different words of who wrote some runs; None: there are many. See `cut`."""
        words = self.writer.take(self.cut(name, parts, width))
        at = first_of_each(words)
        return None if at is None else words[at].tolist()

    def writers_of_each(self, runs: RunsOfEach) -> list[list[int] | None]:
        """As `few_writers`, for several groups of runs at once."""
        if self.shift != _SHIFT:
            return [self.few_writers(tuple(map(id, g)), g, GRAIN) for g in runs.groups]
        words = self.writer.take(runs.pieces)
        least = np.minimum.reduceat(words, runs.starts)
        most = np.maximum.reduceat(words, runs.starts)
        few = words == least.repeat(runs.sizes)
        few |= words == most.repeat(runs.sizes)
        mine = list(zip(least.tolist(), most.tolist(), strict=True))
        fine = np.logical_and.reduceat(few, runs.starts).tolist()
        out: list[list[int] | None] = []
        at = 0
        for group in runs.groups:
            end = at + len(group)
            if all(fine[at:end]):
                out.append(list({word for pair in mine[at:end] for word in pair}))
            else:
                out.append(self.few_writers(tuple(map(id, group)), group, GRAIN))
            at = end
        return out

    def fit(self, places: Array, width: int) -> None:
        """See that runs of `width` bytes are whole pieces."""
        low = int(np.bitwise_or.reduce(places, axis=None)) | width if places.size else width
        if low & ((1 << self.shift) - 1):
            self._refine(low & -low)

    def pieces(self, places: Array, width: int) -> Array:
        """Numbers of the pieces that runs of `width` bytes touch, on a further axis."""
        self.fit(places, width)
        self.reach = None
        grain = 1 << self.shift
        first = places >> self.shift
        count = width // grain
        return first[..., None] if count == 1 else first[..., None] + np.arange(count)

    def _refine(self, grain: int) -> None:
        """Cut the pieces smaller."""
        self.settle()
        factor = (1 << self.shift) // grain
        self.pieces_in_all *= factor
        for name, words in self._arrays.items():
            self._arrays[name] = np.repeat(words, factor, axis=-1)
        for column in self.extra.values():
            column.refine(factor)
        self.shift = grain.bit_length() - 1

    def column(self, who: int, block: int = -1, blocks: int = 1) -> Column:
        """The words of a reader from elsewhere, who reads the memory of one block, or of several
        (-1) of the `blocks` whose memory this is."""
        column = self.extra.get(who)
        size = self.pieces_in_all
        if column is None:
            if block >= 0 and size % blocks == 0:
                column = Column(self, size // blocks, who, block * (size // blocks), block)
            else:
                column = Column(self, size, who)
            self._add(column)
        elif column.block >= 0 and column.block != block:
            del self.by_block[column.block][who]
            column.widen(size)
            self.by_block.setdefault(-1, {})[who] = column
        return column

    def products(self, who: int, units: tuple[int, ...], block: int, blocks: int) -> ProductColumn:
        """The reads of a warpgroup's products, by the part of each warp; see `column`."""
        column = self.extra.get(who)
        if column is None:
            size = self.pieces_in_all // blocks
            column = ProductColumn(self, size, who, block * size, block, units)
            self._add(column)
        assert isinstance(column, ProductColumn)
        return column

    def _add(self, column: Column) -> None:
        self.extra[column.who] = column
        self.by_block.setdefault(column.block, {})[column.who] = column


def first_of_each(words: Array) -> Array | None:
    """Where each word is first, in order; None if there are many different ones."""
    (rest,) = (words != words[0]).nonzero()
    if not rest.size:
        return np.zeros(1, np.int64)
    found = [0]
    while rest.size:
        if len(found) == _FEW:
            return None
        found.append(int(rest[0]))
        rest = rest[words[rest] != words[rest[0]]]
    return np.array(found)
