# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Readers of global memory: one word stands for a thread, a block or everybody.

In: the words of readers. Out: an error if one of them is not known to be over; reads remembered.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.sim.sync.checks.writers import WriterChecks
from opencute.sim.sync.clocks import distinct
from opencute.sim.sync.shadow import (
    EVERYBODY,
    LEVEL,
    ONE,
    STRENGTH,
    TIME,
    WHO,
    WHOLE_BLOCK,
)
from opencute.sim.values import Array

__all__ = ["GlobalReaders"]


class GlobalReaders(WriterChecks):
    """One access and those who read global memory before it."""

    def _remember_readers(self) -> None:
        shadow = self.shadow
        shadow.has_readers = True
        before, mine = self._words(shadow.reader[0]), self._mine()
        self._remember_beside(before, mine)
        self._set(shadow.last_read, self.checker.number(self.access.op))
        self._note_blocks()

    def _note_blocks(self) -> None:
        """Which blocks have read global memory."""
        if self.blocks is None or self.clocks.blocks == 1:
            block = self.slots if self.clocks.blocks > 1 else self.slots[:1]
            self.blocks = (block + self.first) // self.clocks.threads
        self.shadow.blocks.update(distinct(np.ravel(self.blocks)))

    def _remember_beside(self, before: Array, mine: Array) -> None:
        """Readers of what others have read before, or read now."""
        shadow, threads = self.shadow, self.clocks.threads
        new: Array = mine
        # What stands for several readers is as weak as the weakest of them.
        weakest: Any = self.strength
        if before.any():
            weakest = np.minimum(np.where(before == 0, 3, (before >> STRENGTH) & 3), weakest)
            block = (self.slots + self.first) // threads
            level, who = (before >> LEVEL) & 3, before & WHO
            own = (before != 0) & (level == ONE) & (who == self.slots + self.first)
            theirs = np.where(level == ONE, who // threads, who)
            same = (level != EVERYBODY) & (theirs == block)
            past = same & (before >> TIME <= self.clocks.floor[self.slots])
            # A reader that is known to me stands behind me: who knows me knows it too.
            ask = np.flatnonzero((before != 0) & ~own & ~past & (level == ONE))
            if ask.size and self.clocks.row.any():
                past[ask] = self.clocks.knows(self.slots[ask], who[ask], before[ask] >> TIME)
            wide = np.where(same, (WHOLE_BLOCK << LEVEL) + block, EVERYBODY << LEVEL)
            wide += self.time + (weakest << STRENGTH)
            new = np.where((before == 0) | own | past, mine, wide)
        self._set(shadow.reader[0], new)
        if self.span is not None:
            return
        found = self._words(shadow.reader[0])
        bad = np.flatnonzero(found != new)
        if bad.size == 0:
            return
        found, pieces = found[bad], self.pieces[bad]
        block = (self.slots[bad] + self.first) // threads
        theirs = np.where((found >> LEVEL) & 3 == ONE, (found & WHO) // threads, found & WHO)
        same = ((found >> LEVEL) & 3 != EVERYBODY) & (theirs == block)
        # A place that several blocks meet at in one operation must end as everybody's.
        order = np.argsort(~same, kind="stable")
        wide = np.where(same, (WHOLE_BLOCK << LEVEL) + block, EVERYBODY << LEVEL)
        wide += self.time + ((weakest if type(weakest) is int else weakest[bad]) << STRENGTH)
        shadow.reader[0][pieces[order]] = wide[order]

    def _against_readers(self) -> None:
        shadow, threads = self.shadow, self.clocks.threads
        if not shadow.has_readers:
            return
        before = self._words(shadow.reader[0])
        if not before.any():
            return
        level, who, time = (before >> LEVEL) & 3, before & WHO, before >> TIME
        mine = (level == ONE) & (who == self.slots + self.first)
        block = (self.slots + self.first) // threads
        theirs = np.where(level == ONE, who // threads, who)
        past = (level != EVERYBODY) & (theirs == block) & (time <= self.clocks.floor[self.slots])
        suspect = (before != 0) & ~mine & ~past
        if self.strength:
            suspect &= (before >> STRENGTH) & 3 == 0
        at = np.flatnonzero(suspect)
        if at.size == 0:
            return
        one = at[level[at] == ONE]
        known = self.clocks.knows(self.slots[one], who[one], time[one], self.kind)
        bad = one[~known]
        if bad.size:
            self._read_race(int(bad[0]), int(who[bad[0]]))
        several = at[level[at] != ONE]
        asked: dict[tuple[int, int, int], bool] = {}
        for i in several.tolist():
            key = (int(self.slots[i]), int(before[i] & ~(3 << STRENGTH)), int(block[i]))
            known_all = asked.get(key)
            if known_all is None:
                blocks = [int(who[i])] if level[i] == WHOLE_BLOCK else sorted(shadow.blocks)
                known_all = asked[key] = all(
                    self.clocks.knows_block(key[0], b, int(time[i]), self.kind) for b in blocks
                )
            if not known_all:
                self._read_race(i, -1)

    def _read_race(self, i: int, who: int) -> None:
        self._race(i, who, "read", self._last_reader(i))
