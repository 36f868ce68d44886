# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Readers of shared memory: threads of the block, a word for each of its warps.

In: the words of readers. Out: an error if one of them is not known to be over; reads remembered.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import numpy as np

from opencute.sim.sync.checks.elsewhere import ReadersElsewhere
from opencute.sim.sync.clocks import AGENTS, ELECTIONS
from opencute.sim.sync.group import WARP
from opencute.sim.sync.shadow import SEVERAL
from opencute.sim.values import Array

__all__ = ["SharedReaders"]

_AT_ONCE = 4096  # reads of whole warps that are asked about together


class SharedReaders(ReadersElsewhere):
    """One access and the threads of the block that read before it."""

    def _remember_readers_of_shared(self) -> None:
        if self.away is not None:
            self._remember_far_readers()
            return
        shadow, threads = self.shadow, self.clocks.threads
        shadow.has_readers, shadow.latest_read = True, self.clocks.now
        inner = self.slots % threads if self.clocks.blocks > 1 else self.slots
        at = (inner >> 5) * shadow.pieces_in_all
        at += self.pieces
        mine = (inner & 31) + ((self.clocks.now << 8) + (self.strength << 6))
        flat = shadow.reader.reshape(-1)
        flat[at] = mine
        if self.span is None:
            found = flat.take(at)
            shared = np.flatnonzero(found != mine)
            if shared.size:
                flat[at[shared]] = (found[shared] & ~63) | SEVERAL
        now = (self.clocks.now << 32) + self.checker.number(self.access.op)
        self._set(shadow.last_read, now)

    def _forget(self) -> None:
        """Forget reads that barriers have ordered before all that can follow.

        Threads of other blocks of a cluster know less of them.
        """
        if self.shadow.late and self.lanes.run.cluster == (1, 1, 1):
            self.shadow.forget(self.clocks.least_floor())

    def _against_readers_of_shared(self) -> None:
        shadow, threads = self.shadow, self.clocks.threads
        if not shadow.has_readers:
            return
        floor = self.floor if self.away is None else 0
        if shadow.latest_read <= floor:
            return
        self._forget()
        at = np.flatnonzero(self._words(shadow.last_read) >= (floor + 1) << 32)
        if at.size == 0:
            return
        words = shadow.reader[:, self.pieces[at]].T
        floor = self.clocks.floor[self.slots[at]]
        home = self.slots // threads
        if self.away is not None:
            floor = np.where(self.away[at], 0, floor)
            home = self._home()
        place, warp = np.nonzero((words >> 8) > floor[:, None])
        if place.size == 0:
            return
        word = words[place, warp]
        slot = self.slots[at[place]]
        base = home[at[place]] * threads + warp * WARP
        lane, time = word & 63, word >> 8
        ok = (lane != SEVERAL) & (base + lane == slot)
        if self.strength:
            ok |= (word >> 6) & 3 > 0
        pardoned = np.zeros(slot.size, np.bool_)
        if self.checker.elections:
            pardoned = self._read_before_election(slot, base, time)
            ok |= pardoned
        several = np.flatnonzero(~ok & (lane == SEVERAL))
        one = np.flatnonzero(~ok & (lane != SEVERAL))
        other = base + self.first + np.where(lane == SEVERAL, 0, lane)
        ok[one] = self.clocks.knows(slot[one], other[one], time[one], self.kind)
        if several.size:
            found = self._unknown_lane(slot[several], base[several], time[several])
            if found is not None:
                j = int(several[found[0]])
                op = self._last_reader(int(at[place[j]]))
                self._race(int(at[place[j]]), int(other[j]) + found[1], "read", op)
            ok[several] = True
        bad = np.flatnonzero(~ok)
        if bad.size:
            j = int(bad[0])
            op = self._last_reader(int(at[place[j]]))
            self._race(int(at[place[j]]), int(other[j]), "read", op)

    def _unknown_lane(self, slots: Array, bases: Array, times: Array) -> tuple[int, int] | None:
        """The first lane of a warp (by its first slot) whose read some thread does not know of: the
        index of the thread, and the lane; None: all are known."""
        threads, lanes = self.clocks.threads, np.arange(min(WARP, self.clocks.threads))
        for some in [lanes] if slots.size <= _AT_ONCE else lanes[:, None]:
            other = bases[:, None] + some
            who = np.broadcast_to(slots[:, None], other.shape)
            when = np.broadcast_to(times[:, None], other.shape)
            unknown = (bases[:, None] % threads + some < threads) & (other != who)
            at = unknown.nonzero()
            unknown[at] = ~self.clocks.knows(who[at], other[at] + self.first, when[at], self.kind)
            if unknown.any():
                lane = int(unknown.any(axis=0).argmax())
                return int(unknown[:, lane].argmax()), int(some[lane])
        return None

    def _read_before_election(self, slots: Array, warps: Array, times: Array) -> Array:
        """Whether threads know of an election in a warp (by its first slot) after it read then.

        All lanes have come to an election, so what they read before, they have read; what they
        wrote is another matter.
        """
        clocks = self.clocks
        out = np.zeros(slots.size, np.bool_)
        rows = clocks.row[slots]
        for i, warp in np.unique(np.stack([rows, warps]), axis=1).T.tolist():
            name = AGENTS + ELECTIONS + warp + self.first
            known = clocks.rows[i].knows(clocks, name, self.kind)
            out |= (rows == i) & (warps == warp) & (times <= known)
        return out
