# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""An access compared with the last writers of what it touches, and writes remembered.

In: the words of writers. Out: an error if one of them is not known to be over.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import numpy as np

from opencute.ir.core import Op
from opencute.sim.sync.checks.reports import Reports
from opencute.sim.sync.clocks import AGENTS, FREED, OVER
from opencute.sim.sync.shadow import FOREIGN, PENDING, STRENGTH, TIME, WHO
from opencute.sim.values import Array

__all__ = ["WriterChecks"]


class WriterChecks(Reports):
    """One access and those who wrote before it."""

    def _mine(self) -> Array:
        mine = self.slots + (self.first + self.time + (self.strength << STRENGTH))
        if self.away is not None:
            self.shadow.foreign = True
            mine = mine + np.where(self.away, FOREIGN, 0)
        return mine

    def _against_writers(self) -> None:
        shadow = self.shadow
        if not shadow.has_writers:
            return
        if shadow.columns and self.away is None and not shadow.foreign and (
            shadow.latest_write <= self.floor
        ):  # fmt: skip
            return
        before = self._words(self.shadow.writer)
        same_block = self.shadow.columns > 0 or self.clocks.blocks == 1
        most = int(before.max())
        if most == 0:
            return
        if same_block and self.shadow.columns and most < (self.floor + 1) << TIME:
            near = self.away is None and not self.shadow.foreign
            if near or (self.away is None and not (before & FOREIGN).any()):
                return
        who = before & WHO
        pending = before >= PENDING
        mine = who == self.slots + self.first
        suspect = (before != 0) & (~mine | pending)
        if self.verb == "write" and self.access.op is self._op_in_flight(before, pending & mine):
            suspect &= ~(pending & mine)  # the copy itself arrives
        if self.strength:
            suspect &= ~self._both_strong(before, who)
        at = np.flatnonzero(suspect)
        if at.size == 0:
            return
        late = at[pending[at]]
        if late.size:
            self._not_waited(int(late[0]), int(who[late[0]]))
        known = self.clocks.knows(self.slots[at], who[at], before[at] >> TIME, self.kind)
        if self.kind == FREED:  # a unit; other blocks' threads do not free what they wrote
            far = at[known & (who[at] < AGENTS) & (before[at] & FOREIGN > 0)]
            known[np.isin(at, far)] = self.clocks.knows(
                self.slots[far], who[far], before[far] >> TIME, OVER
            )
        bad = self._differing(at[~known], who[at[~known]])
        if bad.size:
            i = int(bad[0])
            if who[i] >= AGENTS:
                self._not_waited(i, int(who[i]))
            op = self.checker.ops[self.shadow.write_op[self.pieces[i]]]
            self._race(i, int(who[i]), "wrote", op)
        self._known_writers(at, who, before)

    def _known_writers(self, at: Array, who: Array, before: Array) -> None:
        """Those that are known."""

    def _op_in_flight(self, before: Array, mask: Array) -> Op | None:
        at = np.flatnonzero(mask)
        if at.size == 0:
            return None
        return self.checker.ops[self.shadow.write_op[self.pieces[at[0]]]]

    def _both_strong(self, before: Array, who: Array) -> Array:
        strong = (before >> STRENGTH) & 3
        same_block = who // self.clocks.threads == (self.slots + self.first) // self.clocks.threads
        return (strong > 0) & (same_block | ((strong == 2) & (self.strength == 2)))

    def _remember_writers(self) -> None:
        shadow = self.shadow
        mine = self._mine()
        if self.verb == "begin":
            mine = (mine & ~PENDING) | PENDING
        shadow.wrote((PENDING if self.verb == "begin" else self.time) >> TIME)
        self._set(shadow.writer, mine)
        self._set(shadow.write_op, self.checker.number(self.access.op))
        if self.span is not None or (self.verb == "update" and self.strength == 2):
            return
        found = shadow.writer.take(self.pieces)
        if self.verb == "update":
            block = (self.slots + self.first) // self.clocks.threads
            bad = np.flatnonzero((found & WHO) // self.clocks.threads != block)
        else:
            bad = np.flatnonzero(found != mine)
            bad = self._differing(bad, found[bad] & WHO, at_once=True)
        if bad.size:
            i = int(bad[0])
            self._race(i, int(found[i] & WHO), "wrote", self.access.op)

    def _differing(self, at: Array, who: Array, *, at_once: bool = False) -> Array:
        """Those of some writes that change what the same operation wrote there for other threads.

        Threads of a block that all write one value, as when each of them clears a flag, may do so
        in any order; published kernels do.

        Args:
            at: which of the pieces.
            who: wrote there before, one for each of `at`.
            at_once: the others are lanes of this very access; else what they wrote is in memory.
        """
        value = getattr(self.access, "written", None)
        if at.size == 0 or value is None or self.verb != "write":
            return at
        grain = 1 << self.shadow.shift
        if value.ndim > 2:  # not yet spread over the lanes
            value = value if value.ndim > 3 else value[..., None, :]
            value = np.broadcast_to(value, (*self.shape, value.shape[-1]))
        new = np.ascontiguousarray(value).reshape(-1).view(np.uint8).reshape(-1, grain)
        threads = self.clocks.threads
        far = who // threads != (self.slots[at] + self.first) // threads
        if at_once:
            last = np.zeros(int(self.pieces.max()) + 1, np.int64)
            last[self.pieces] = np.arange(self.pieces.size)
            return at[far | (new[at] != new[last[self.pieces[at]]]).any(axis=1)]
        same_op = self.shadow.write_op[self.pieces[at]] == self.checker.number(self.access.op)
        places = (self.pieces[at] << self.shadow.shift)[:, None] + np.arange(grain)
        inside = places[:, -1] < self.buffer.raw.size
        old = self.buffer.raw[np.where(inside[:, None], places, 0)]
        return at[far | ~same_op | ~inside | (new[at] != old).any(axis=1)]
