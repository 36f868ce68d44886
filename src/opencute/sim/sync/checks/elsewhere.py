# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Readers of shared memory that are no threads of its block: units, and threads of other blocks.

In: the columns of a shadow. Out: an error, or a warning, if one of them may still read.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from opencute.sim.sync.checks.global_readers import GlobalReaders
from opencute.sim.sync.clocks import AGENTS, OVER, distinct
from opencute.sim.sync.columns import READING, Column
from opencute.sim.sync.group import WARP
from opencute.sim.sync.shadow import SEVERAL
from opencute.sim.values import Array

__all__ = ["ReadersElsewhere"]


class ReadersElsewhere(GlobalReaders):
    """One access and those who read from elsewhere before it."""

    def _remember_far_readers(self) -> None:
        """Readers of another block's memory have a column for each of their warps."""
        shadow, clocks = self.shadow, self.clocks
        warps = self.slots // clocks.threads * clocks.warps + self.slots % clocks.threads // WARP
        number = self.checker.number(self.access.op)
        for warp in distinct(warps):
            mine = warps == warp
            block, inner = divmod(warp, clocks.warps)
            base = block * clocks.threads + inner * WARP
            column = shadow.column(base + self.first)
            pieces = self.pieces[mine]
            words = self.slots[mine] - base + ((clocks.now << 8) + (self.strength << 6))
            column.words[pieces] = words
            several = pieces[column.words[pieces] != words]
            column.words[several] = (column.words[several] & ~63) | SEVERAL
            column.op[pieces] = number

    def _against_extra(self) -> None:
        """Readers that are no threads of the block: those of other blocks, and agents."""
        for block, columns in self._columns():
            at, each = self._part(block)
            if not each.size:
                continue
            pieces, shift = self.pieces[at], self.shadow.shift
            reach = int(pieces.min()) << shift, (int(pieces.max()) + 1) << shift
            for column in list(columns.values()):
                if column.who >= AGENTS and self._over(reach, each, column):
                    continue
                for one in column.each():
                    self._against_column(one, at)

    def _columns(self) -> Iterable[tuple[int, dict[int, Column]]]:
        """The readers of each block's memory that the access may be in; -1: of several."""
        return self.shadow.by_block.items()

    def _part(self, block: int) -> tuple[Any, Array]:
        """What of the access is in one block's memory, and by whom; -1: all of it."""
        if block < 0 or self.clocks.blocks == 1:
            return slice(None), np.array(distinct(self.slots))
        home = self.slots // self.clocks.threads if self.away is None else self._home()
        at = np.flatnonzero(home == block)
        return at, np.array(distinct(self.slots[at]), np.int64)

    def _against_column(self, column: Column, part: Any) -> None:
        clocks, pieces, slots = self.clocks, self.pieces[part], self.slots[part]
        words = column.words.take(column.at(pieces))
        at = np.flatnonzero(words)
        if self.strength:
            at = at[(words[at] >> 6) & 3 == 0]
        if at.size == 0:
            return
        words, pieces, slots = words[at], pieces[at], slots[at]
        time, lane = words >> 8, words & 63
        whole = (lane == SEVERAL) & (column.who < AGENTS)
        who = column.who + np.where(whole, 0, lane)
        kind = self.kind if column.who >= AGENTS else min(self.kind, OVER)
        ok = (words < READING) & clocks.knows(slots, who, time, kind)
        ok |= ~whole & (who == slots + self.first)
        for i in range(1, WARP if whole.any() else 1):
            ok &= ~whole | clocks.knows(slots, who + i, time, kind)
        if ok.all():
            return
        bad = np.flatnonzero(~ok)
        first = int(bad[0])
        party = self.checker.parties.get(column.who, 0)
        likely = party > 0
        if likely:
            of = np.full(bad.size, party)
            sure = (words[bad] < READING) & clocks.knows(slots[bad], of, time[bad], self.kind)
            likely = bool(sure.all())
            first = first if likely else int(bad[~sure][0])
        i = int(np.arange(self.pieces.size)[part][at[first]])
        op = self.checker.ops[column.op[column.at(pieces)[first]]]
        if likely:
            self._others_waited(i, op)
        elif column.who >= AGENTS:
            self._still_read(i, column.who, op)
        else:
            self._race(i, int(who[first]), "read", op)

    def _over(self, reach: tuple[int, int], slots: Array, column: Column) -> bool:
        """Whether threads are known to know all that a unit has read of some bytes."""
        if not column.flying and self._all_know(slots, column):
            return True
        reads = column.logged(*reach)
        return reads is not None and all(
            r.word < READING and self.clocks.all_know(slots, column.units, r.word >> 8, self.kind)
            for r in reads
        )

    def _all_know(self, slots: Array, column: Column) -> bool:
        """Whether threads know all that a unit has read."""
        aware = column.known_by(self.clocks.floor.size, self.kind)
        if slots.size == 1:
            slot, clocks = int(slots[0]), self.clocks
            if not aware[slot]:
                row, latest = clocks.rows[clocks.row[slot]], column.latest
                aware[slot] = all(row.knows(clocks, u, self.kind) >= latest for u in column.units)
            return bool(aware[slot])
        if aware[slots].all():
            return True
        known = self.clocks.all_know(slots, column.units, column.latest, self.kind)
        aware[slots] |= known
        return known
