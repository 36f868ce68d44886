# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""One access in the checking mode: compared with those before it, and remembered.

In: a `Checker`, which knows who has synchronised with whom, and what some lanes read or write. Out:
an error that names both lines, if nothing orders the two; the shadow with this access in it.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from opencute.base.errors import RaceError
from opencute.ir.core import Op
from opencute.sim.faults import byte_name
from opencute.sim.fused.shadows import FEWEST, Walk
from opencute.sim.lanes import Lanes
from opencute.sim.report import doubt
from opencute.sim.sync.clocks import AGENTS, ELECTIONS, FREED, OVER, SEEN, distinct
from opencute.sim.sync.group import WARP
from opencute.sim.sync.shadow import (
    EVERYBODY,
    FOREIGN,
    LEVEL,
    ONE,
    PENDING,
    READING,
    STRENGTH,
    TIME,
    WHO,
    WHOLE_BLOCK,
    Column,
    Shadow,
)
from opencute.sim.values import Array

if TYPE_CHECKING:
    from opencute.sim.sync.checker import Checker

__all__ = ["AccessCheck"]

_SEVERAL = WARP  # in the place of a lane
_MANY = 32  # pieces that are worth a look at whether they follow each other


def _span(pieces: Array) -> slice | None:
    """The pieces as a range, if they are one, in order."""
    n = pieces.size
    if n < _MANY:
        return None
    first = int(pieces[0])
    if int(pieces[-1]) - first != n - 1 or not (pieces[1:] - pieces[:-1] == 1).all():
        return None
    return slice(first, first + n)


class AccessCheck:
    """One access, compared with those before.

    Arrays have one element for each piece that is touched, flat: the piece, and who touches it.
    """

    kind: int
    """The weakest knowledge that is enough of what the block itself, or units, did before."""
    blocks: Array | None = None
    """The blocks of those who touch them, if that is known without a look at each."""

    def __init__(
        self, checker: Checker, lanes: Lanes, access: Any, verb: str, buffer: Any,
        offsets: Array, mask: Any, shadow: Shadow, strength: int,
    ) -> None:  # fmt: skip
        self.checker, self.clocks = checker, checker.clocks
        self.lanes, self.access, self.verb, self.buffer = lanes, access, verb, buffer
        self.shadow, self.strength = shadow, strength
        self.kind = OVER if verb in ("write", "begin") else SEEN
        self.offsets = offsets if offsets.ndim == 3 else offsets[..., None]
        self.mask = mask
        shadow.fit(self.offsets, access.width)
        self.shape = (lanes.P, lanes.Q, *self.offsets.shape[2:])
        if mask is None:
            self.blocks = lanes.bid if type(lanes.bid) is np.ndarray else np.array([lanes.bid])
        self._begin()

    @cached_property
    def pieces(self) -> Array:
        """The pieces that are touched."""
        pieces = self.shadow.pieces(self.offsets, self.access.width)
        every = np.broadcast_to(pieces, (*self.shape, pieces.shape[3]))
        return every.reshape(-1) if self.mask is None else every[self.mask].reshape(-1)

    @cached_property
    def slots(self) -> Array:
        """For each of them, who touches it."""
        count = self.access.width >> self.shadow.shift
        slots = self.lanes.slot[..., None, None]
        every = np.broadcast_to(slots, (*self.shape, count))
        return every.reshape(-1) if self.mask is None else every[self.mask].reshape(-1)

    @cached_property
    def span(self) -> slice | None:
        """The pieces, if they follow each other; then each is touched once."""
        return _span(self.pieces)

    def _begin(self) -> None:
        self.first = self.clocks.first_block * self.clocks.threads
        self.time = self.clocks.now << TIME
        self.floor = self._least_floor()
        self.away: Any = None
        """Which of them touch another block's shared memory; None: nobody does."""
        if self.shadow.columns and not hasattr(self.buffer, "start"):
            home = self._home()
            away = home != self.slots // self.clocks.threads
            if away.any():
                self.away = away
                trailing = self.checker.trailing
                trailing.by_threads(self.access.op, self.lanes.run, self.slots, home)

    def _home(self) -> Array:
        """The block (of those that run) whose shared memory each piece is in."""
        stride = self.buffer.arena.stride >> self.shadow.shift
        return self.pieces // stride

    def _words(self, words: Array) -> Array:
        """The words of the pieces; to be looked at before others are written."""
        return words.take(self.pieces) if self.span is None else words[self.span]

    def _set(self, words: Array, values: Any) -> None:
        words[self.pieces if self.span is None else self.span] = values

    def _least_floor(self) -> int:
        """The time up to which all of these lanes know their blocks."""
        cache, version = self.lanes.cache, self.clocks.version
        known = cache.get("floor")
        if known is None or known[0] != version:
            slots = self.lanes.slot
            floor = self.clocks.floor
            floor = floor if slots.size == floor.size else floor[slots]
            known = cache["floor"] = (version, int(floor.min()))
        return known[1]

    def run(self) -> None:
        """Check, then remember."""
        if self.offsets.size == 0 or (self.mask is not None and not self.mask.any()):
            return
        if self.away is None and self._walked():
            return
        shared = self.shadow.columns > 0
        self._against_writers()
        if self.verb == "read":
            self._remember_readers_of_shared() if shared else self._remember_readers()
            return
        self._against_readers_of_shared() if shared else self._against_readers()
        if self.shadow.extra:
            self._against_extra()
        self._remember_writers()

    def _walked(self) -> bool:
        """Let native loops do it, as far as no more than a look at each word is needed."""
        shadow, shared = self.shadow, self.shadow.columns > 0
        if self.verb == "update" or (not shared and self.strength):
            return False
        if self.verb == "read" and not shared and self.clocks.row.any():
            return False  # readers may know each other in more ways
        if self.lanes.n * self.offsets.shape[2] * (self.access.width >> shadow.shift) < FEWEST:
            return False
        offsets, (slots, inner, blocks) = self.offsets, self._who()
        if self.mask is not None:
            offsets = np.broadcast_to(offsets, self.shape)[self.mask]
            slots, inner, blocks = (
                np.broadcast_to(x[..., None], self.shape)[self.mask] for x in (slots, inner, blocks)
            )
        walk = Walk(offsets, slots, inner, blocks, self.access.width, shadow.shift)
        if not walk.worth:
            return False
        if self.verb == "read":
            (self._walk_read if shared else self._walk_read_global)(walk)
            return True
        if shared:
            self._walk_against(walk)
        elif shadow.has_writers or shadow.has_readers:
            clocks = self.clocks
            if walk.look_global(
                shadow.writer, shadow.reader, clocks.floor, self.first, clocks.threads, False
            ):
                self._against_writers()
                self._against_readers()
        shadow.has_writers = True
        word = PENDING if self.verb == "begin" else self.time + (self.strength << STRENGTH)
        number = self.checker.number(self.access.op)
        if walk.write(shadow.writer, shadow.write_op, self.first, word, number):
            self._remember_writers()
        return True

    def _walk_against(self, walk: Walk) -> None:
        """Compare writes to shared memory with all that was there before."""
        shadow = self.shadow
        if shadow.has_writers or shadow.has_readers:
            most, bits, last = walk.look(shadow.writer, shadow.last_read)
            if not self._known_to_all(most, bits):
                self._against_writers()
            if last >= (self.floor + 1) << 32:
                self._against_readers_of_shared()
        if shadow.extra:
            self._against_extra()

    def _who(self) -> tuple[Array, Array, Array]:
        """Of the lanes: their numbers, those within their blocks, and the blocks' in the launch."""
        known = self.lanes.cache.get("who")
        if known is None:
            slots = np.ascontiguousarray(self.lanes.slot)
            block, inner = np.divmod(slots, self.clocks.threads)
            known = slots, inner, block + self.clocks.first_block
            self.lanes.cache["who"] = known
        return known

    def _walk_read(self, walk: Walk) -> None:
        shadow, now = self.shadow, self.clocks.now
        shadow.has_readers = True
        word = (now << 8) + (self.strength << 6)
        stamp = (now << 32) + self.checker.number(self.access.op)
        most, bits = walk.read_shared(shadow.writer, shadow.last_read, shadow.reader, word, stamp)
        if not self._known_to_all(most, bits):
            self._against_writers()

    def _walk_read_global(self, walk: Walk) -> None:
        shadow, clocks = self.shadow, self.clocks
        floor, first, threads = clocks.floor, self.first, clocks.threads
        if shadow.has_writers and walk.look_global(
            shadow.writer, shadow.reader, floor, first, threads, True
        ):
            self._against_writers()
        shadow.has_readers = True
        number = self.checker.number(self.access.op)
        walk.read_global(
            shadow.last_read, shadow.reader[0], floor, first, threads, self.time, 0, number
        )
        self._note_blocks()

    def _known_to_all(self, most: int, bits: int) -> bool:
        """Whether all lanes know of these writers of shared memory, by the block's barriers."""
        return most == 0 or (
            most < (self.floor + 1) << TIME and not (self.shadow.foreign and bits & FOREIGN)
        )

    def read_unwritten(self) -> bool:
        """Remember a read of global memory, if nobody has written there; tells whether."""
        if self.pieces.size:
            if self.shadow.has_writers and self._words(self.shadow.writer).any():
                return False
            self._remember_readers()
        return True

    # ------------------------------------------------------------------ writers
    def _mine(self) -> Array:
        mine = self.slots + (self.first + self.time + (self.strength << STRENGTH))
        if self.away is not None:
            self.shadow.foreign = True
            mine = mine + np.where(self.away, FOREIGN, 0)
        return mine

    def _against_writers(self) -> None:
        if not self.shadow.has_writers:
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
        shadow.has_writers = True
        mine = self._mine()
        if self.verb == "begin":
            mine = (mine & ~PENDING) | PENDING
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

    # ------------------------------------------------------------------ readers of shared memory
    def _remember_readers_of_shared(self) -> None:
        if self.away is not None:
            self._remember_far_readers()
            return
        shadow, threads = self.shadow, self.clocks.threads
        shadow.has_readers = True
        inner = self.slots % threads if self.clocks.blocks > 1 else self.slots
        at = (inner >> 5) * shadow.writer.size
        at += self.pieces
        mine = (inner & 31) + ((self.clocks.now << 8) + (self.strength << 6))
        flat = shadow.reader.reshape(-1)
        flat[at] = mine
        if self.span is None:
            found = flat.take(at)
            shared = np.flatnonzero(found != mine)
            if shared.size:
                flat[at[shared]] = (found[shared] & ~63) | _SEVERAL
        now = (self.clocks.now << 32) + self.checker.number(self.access.op)
        self._set(shadow.last_read, now)

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
            column.words[several] = (column.words[several] & ~63) | _SEVERAL
            column.op[pieces] = number

    def _against_extra(self) -> None:
        """Readers that are no threads of the block: those of other blocks, and agents."""
        for block, columns in self.shadow.by_block.items():
            at, each = self._part(block)
            if not each.size:
                continue
            pieces, shift = self.pieces[at], self.shadow.shift
            reach = int(pieces.min()) << shift, (int(pieces.max()) + 1) << shift
            for column in list(columns.values()):
                if not (column.who >= AGENTS and self._over(reach, each, column)):
                    self._against_column(column, at)

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
        whole = (lane == _SEVERAL) & (column.who < AGENTS)
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
        words = column.untouched(*reach)
        return words is not None and all(
            w < READING and self.clocks.all_know(slots, column.who, w >> 8, self.kind)
            for w in words
        )

    def _all_know(self, slots: Array, column: Column) -> bool:
        """Whether threads know all that a unit has read."""
        aware = column.known_by(self.clocks.floor.size, self.kind)
        if slots.size == 1:
            slot, clocks = int(slots[0]), self.clocks
            if not aware[slot]:
                row = clocks.rows[clocks.row[slot]]
                aware[slot] = row.knows(clocks, column.who, self.kind) >= column.latest
            return bool(aware[slot])
        if aware[slots].all():
            return True
        known = self.clocks.all_know(slots, column.who, column.latest, self.kind)
        aware[slots] |= known
        return known

    def _against_readers_of_shared(self) -> None:
        shadow, threads = self.shadow, self.clocks.threads
        if not shadow.has_readers:
            return
        floor = self.floor if self.away is None else 0
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
        ok = (lane != _SEVERAL) & (base + lane == slot)
        if self.strength:
            ok |= (word >> 6) & 3 > 0
        pardoned = np.zeros(slot.size, np.bool_)
        if self.checker.elections:
            pardoned = self._read_before_election(slot, base, time)
            ok |= pardoned
        several = np.flatnonzero(~ok & (lane == _SEVERAL))
        one = np.flatnonzero(~ok & (lane != _SEVERAL))
        other = base + self.first + np.where(lane == _SEVERAL, 0, lane)
        ok[one] = self.clocks.knows(slot[one], other[one], time[one], self.kind)
        for i in range(min(WARP, threads)):
            left = several[~pardoned[several] & (ok[several] | (i == 0))]
            left = left[base[left] % threads + i < threads]
            mine = base[left] + i == slot[left]
            known = mine | self.clocks.knows(slot[left], other[left] + i, time[left], self.kind)
            ok[left] = known
            bad = left[~known]
            if bad.size:
                j = int(bad[0])
                op = self._last_reader(int(at[place[j]]))
                self._race(int(at[place[j]]), int(other[j]) + i, "read", op)
        bad = np.flatnonzero(~ok)
        if bad.size:
            j = int(bad[0])
            op = self._last_reader(int(at[place[j]]))
            self._race(int(at[place[j]]), int(other[j]), "read", op)

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

    def _last_reader(self, i: int) -> Op:
        return self.checker.ops[int(self.shadow.last_read[self.pieces[i]]) & 0xFFFFFFFF]

    # ------------------------------------------------------------------ readers of global memory
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

    # ------------------------------------------------------------------ reports
    def _where(self, i: int) -> tuple[str, str, str]:
        """Who, at which byte, of what."""
        place = int(self.pieces[i]) << self.shadow.shift
        name = self.buffer.name
        if self.shadow.columns:
            name, place = self.buffer.arena.name_of(place)
        me = self._name(int(self.slots[i]) + self.first)
        return me, byte_name(self.buffer, place), name

    def _name(self, thread: int) -> str:
        if thread >= AGENTS:
            return self.checker.agents.name(thread)
        threads = self.clocks.threads
        return self.lanes.run.describe(thread // threads, thread % threads)

    def _race(self, i: int, who: int, did: str, op: Op) -> None:
        me, place, name = self._where(i)
        mine = int(self.slots[i]) + self.first
        verb = {"read": "reads", "update": "updates"}.get(self.verb, "writes")
        other = "other threads" if who < 0 else self._name(who)
        raise RaceError(
            f"{me} {verb} byte {place} of {name!r}, which {other} {did} at {op.loc} with no order "
            "between them",
            code="OC3401", loc=self.access.op.loc,
            hint=self._as_one(did, op) + self._hint(mine, who),
        )  # fmt: skip

    def _as_one(self, did: str, op: Op) -> str:
        """What to say first of a line that reads and writes, as ``s[i] += 1`` does."""
        a, b = op.loc, self.access.op.loc
        if (did == "read") == (self.verb == "read") or a is None or b is None:
            return ""
        if (a.file, a.line, a.caller) != (b.file, b.line, b.caller):
            return ""
        return (
            "this line reads and writes in two steps; where threads add to one element, "
            "cute.arch.atomic_add does both in one; otherwise "
        )

    def _hint(self, mine: int, who: int) -> str:
        threads = self.clocks.threads
        alone = self.lanes.run.grid == (1, 1, 1)  # whoever it is, it is in the same block
        if (who < 0 and not alone) or (who >= 0 and mine // threads != who // threads):
            if self.shadow.columns:
                return (
                    "threads of a cluster are ordered by cluster_arrive() and cluster_wait(), or "
                    "by an mbarrier, whose arrivals and waits are for the own block where they do "
                    'not say otherwise: scope="cluster" for both, or fence_acq_rel_cluster() '
                    "before the arrival and after the wait, is of the cluster's scope"
                )
            return (
                "threads of different blocks are ordered by a release (or a fence and an atomic "
                "store) that the other one acquires, or by another launch"
            )
        if who >= 0 and mine % threads // WARP == who % threads // WARP:
            return "the threads are in one warp: sync_warp() or a barrier between the accesses"
        return (
            "the threads are in one block: a barrier, such as sync_threads(), between the accesses"
        )

    def _not_waited(self, i: int, who: int) -> None:
        me, place, name = self._where(i)
        op = self.checker.ops[self.shadow.write_op[self.pieces[i]]]
        verb = {"read": "reads", "update": "updates"}.get(self.verb, "writes")
        mine = int(self.slots[i]) + self.first
        if who >= AGENTS:
            raise RaceError(
                f"{me} {verb} byte {place} of {name!r}, which {self._name(who)} writes, started at "
                f"{op.loc}, without waiting until it has",
                code="OC3402", loc=self.access.op.loc,
                hint="wait for the mbarrier that counts its bytes, or for its group; where it is "
                "waited for, look at the count of bytes it expects, which has to be that of all "
                "its copies, and at the parity, that of the phase before lets a wait pass at once",
            )  # fmt: skip
        text = "the same thread" if mine == who else self._name(who)
        raise RaceError(
            f"{me} {verb} byte {place} of {name!r}, while a copy that {text} started at {op.loc} "
            "is still writing there",
            code="OC3402", loc=self.access.op.loc,
            hint="wait for the copy (cp_async_commit_group, cp_async_wait_group), and let a "
            "barrier follow before other threads read",
        )  # fmt: skip

    def _still_read(self, i: int, who: int, op: Op) -> NoReturn:
        me, place, name = self._where(i)
        raise RaceError(
            f"{me} writes byte {place} of {name!r}, which {self._name(who)} reads, started at "
            f"{op.loc}, without waiting until it has",
            code="OC3403", loc=self.access.op.loc,
            hint="wait for its group (cp_async_bulk_wait_group, warpgroup.wait_group), then let "
            "others know through a barrier",
        )  # fmt: skip

    def _others_waited(self, i: int, op: Op) -> None:
        """A warp's part of a product has ended, as only another warp has waited for.

        Why this only warns (PTX ISA, "wgmma.commit_group", "wgmma.wait_group"): a wait is for what
        the executing threads have committed, and a group takes what the executing warp has started,
        so that a warp is sure of its own part only; but there is one group for a warpgroup, and one
        instruction for its four warps, so that the whole of it may be meant. Published libraries
        let one thread of a warpgroup free a tile after its own wait, and GPUs show no difference.
        A kernel without the warning is right by either reading: each warp arrives, or the
        warpgroup meets before one thread does. OPENCUTE_SIM_STRICT makes it an error.
        """
        told = (id(self.access.op), id(op))
        if told in self.checker.told:
            return
        self.checker.told.add(told)
        me, place, name = self._where(i)
        doubt(RaceError(
            f"{me} writes byte {place} of {name!r}, which a product of a warpgroup read, started "
            f"at {op.loc}, and not all warps that started it have waited for it and said so",
            code="OC3410", loc=self.access.op.loc,
            hint="the manual lets each warp wait for its own: let each one arrive, or all meet, "
            "before one thread goes on for them",
        ))  # fmt: skip
