# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The checking mode: finds accesses of different threads that nothing orders.

Two accesses to one place, of which one writes, must be ordered by a barrier, a barrier of the warp,
or a release that an acquire has seen; two atomic ones need not. That is decided by what threads
know (`clocks`), not by the order in which they happen to run, so that no race is missed because
lanes run in lock step. A write that a copy in flight (cp.async) will do is in nobody's knowledge.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NoReturn

import numpy as np

from opencute.base.errors import RaceError
from opencute.ir.core import Op
from opencute.sim.hopper.order import BarrierOrder
from opencute.sim.hopper.proxies import AgentNumbers, Proxies
from opencute.sim.hopper.trailing import Trailing
from opencute.sim.lanes import Lanes
from opencute.sim.sync.clocks import AGENT, AGENTS, Clocks, key
from opencute.sim.sync.group import WARP, Group
from opencute.sim.sync.messages import Messages
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
    Shadow,
)
from opencute.sim.values import Array

__all__ = ["AccessCheck", "Checker"]

_SEVERAL = WARP  # in the place of a lane
_ELECTIONS = 1 << 27
"""Elections have numbers as agents have, from here on: by the first thread of their warp."""
_STRENGTHS = {"cta": 1, "cluster": 2, "gpu": 2, "sys": 2, "": 1}


class Checker:
    """The checks of one launch.

    Args:
        earlier: the kernel before, if this one may start before that has ended.
    """

    def __init__(self, earlier: Any = None) -> None:
        self.earlier = earlier
        self.elections = 0
        self.lets_start = False
        """Whether a thread has let the next kernel start."""
        self.clocks = Clocks()
        self.messages = Messages(self.clocks)
        self.mbarriers = BarrierOrder(self)
        self.agents = AgentNumbers()
        self.proxies = Proxies(self.clocks)
        self.trailing = Trailing(self)
        self.ops: list[Op] = []
        self.known: dict[int, int] = {}
        self.shadows: dict[int, tuple[Any, Shadow]] = {}
        self.arrivals: dict[tuple[int, int], list[tuple[int, dict[int, int]]]] = {}

    def start(self, group: Group, first_block: int) -> None:
        """Other blocks run from now on."""
        self.group = group
        self.clocks.start(group, first_block)
        self.messages.start(group)
        self.proxies.start(group)
        self.trailing.start(group)
        self.mbarriers.start(group)
        self.arrivals = {}
        self.shadows = {k: v for k, v in self.shadows.items() if v[1].columns == 0}

    # ------------------------------------------------------------------ synchronisation
    def met(self, lanes: Lanes) -> None:
        """All threads of all blocks have met at a barrier."""
        self.clocks.meet_blocks(np.ones(self.group.blocks, np.bool_))

    def arrived(self, name: int, warps: Array) -> None:
        """Warps (blocks x warps) have arrived at a barrier: what they know is for all who wait."""
        clocks = self.clocks
        now = clocks.tick()
        for block, warp in np.argwhere(warps).tolist():
            slots = self._warp_slots(block, warp)
            self.arrivals.setdefault((name, block), []).append(
                (int(clocks.floor[slots].max()), self._news(block, warp, slots, now))
            )

    def _warp_slots(self, block: int, warp: int) -> Array:
        start = block * self.group.threads
        last = min((warp + 1) * WARP, self.group.threads)
        return np.arange(start + warp * WARP, start + last)

    def _news(self, block: int, warp: int, slots: Array, now: int) -> dict[int, int]:
        clocks = self.clocks
        number = (clocks.first_block + block) * clocks.warps + warp
        news = {number << 2 | 1: now}
        for times in clocks.rows_of(slots):
            for k, t in times.items():
                news[k] = max(news.get(k, 0), t)
        return news

    def opened(self, name: int, done: Array, here: Array, syncs: Array) -> None:
        """A barrier has opened in some blocks, where warps are `here` or wait (`syncs`)."""
        clocks = self.clocks
        everyone = syncs.all(axis=1) & done  # what has ended has synchronised with nobody
        if everyone.any():
            clocks.meet_blocks(everyone)
        for block in np.flatnonzero(done).tolist():
            arrivals = self.arrivals.pop((name, block), [])
            if everyone[block]:
                continue
            warps = np.flatnonzero(syncs[block]).tolist()
            slots = np.concatenate(
                [self._warp_slots(block, w) for w in warps] or [np.zeros(0, int)]
            )
            if slots.size == 0:
                continue
            now = clocks.tick()
            floor = max(f for f, _ in arrivals)
            clocks.floor[slots] = np.maximum(clocks.floor[slots], floor)
            clocks.near[slots] = now
            clocks.learn(slots, [news for _, news in arrivals])

    def warp_met(self, lanes: Lanes, part: Array | None) -> None:
        """Lanes have met at a barrier of their warp; `part`: which (a table), None: all."""
        group, clocks = self.group, self.clocks
        if part is None:
            slots = lanes.slot.reshape(-1, WARP)
            if (clocks.row[slots] == clocks.row[slots[:, :1]]).all():
                clocks.near[slots] = clocks.tick()
                clocks.floor[slots] = clocks.floor[slots].max(axis=1, keepdims=True)
                return
            for row in slots:
                clocks.meet(row, True)
            return
        for warp in np.flatnonzero(part.any(axis=1)).tolist():
            block, w = divmod(warp, group.warps)
            slots = block * group.threads + w * WARP + np.flatnonzero(part[warp])
            whole = slots.size == group.alive[block, w]
            clocks.meet(slots, bool(whole))

    def elected(self, lanes: Lanes) -> None:
        """A lane of each warp has been elected: where all lanes are there, they have read what
        they read before."""
        group, clocks = self.group, self.clocks
        warps = group.warp_of(lanes)
        counts = np.bincount(warps, minlength=group.alive.size)
        now = clocks.tick()
        for warp in np.flatnonzero((counts > 0) & (counts >= group.alive.ravel())).tolist():
            block, inner = divmod(warp, group.warps)
            slots = self._warp_slots(block, inner)
            first = clocks.first_block * clocks.threads + int(slots[0])
            clocks.learn(slots, [{key(AGENT, _ELECTIONS + first): now}])
            self.elections += 1

    def fence(self, lanes: Lanes, scope: str) -> None:
        """Threads have made visible what they did, and may rely on what they saw."""
        self.messages.fence(lanes)

    def proxy_fence(self, lanes: Lanes) -> None:
        """Threads let hardware units see what they did, and what they know."""
        self.proxies.fence(lanes)
        self.mbarriers.fence(lanes)

    def finish(self) -> None:
        """All blocks that ran together have ended.

        Raises:
            RaceError: one may have ended while others still used its shared memory.
            SimulationError: bytes have come to an mbarrier that nobody expected.
        """
        self.trailing.finish()
        barriers = self.group.rest.get("mbarriers")
        if barriers is not None:
            barriers.finish()

    # ------------------------------------------------------------------ units of the hardware
    def agent(self, unit: Hashable, name: str) -> int:
        """The number of a hardware unit: one for all that is waited for together.

        Args:
            unit: what it is known by, such as the place of the mbarrier that counts its bytes.
            name: what messages call it, such as "a TMA load".
        """
        return self.agents.number(unit, name)

    def async_read(
        self, op: Op, run: Any, slots: Any, buffer: Any, places: Array, width: int, agent: int
    ) -> Any:
        """A unit starts to read memory: what it reads must be known to whoever starts it, and have
        passed a proxy fence where threads wrote it.

        Args:
            op: what starts it.
            run: the launch.
            slots: the threads that start it.
            buffer: the memory; of shared memory, any buffer of the arena.
            places: where the runs that it reads begin: in the arena, or in the buffer.
            width: bytes of each run.
            agent: its number.

        Returns:
            The flight, whose `land()` says that it has ended.

        Raises:
            RaceError: something is not ordered, or not fenced.
        """
        from opencute.sim.hopper.flights import start

        return start(self, "read", op, run, slots, buffer, places, width, agent)

    def async_write(
        self, op: Op, run: Any, slots: Any, buffer: Any, places: Array, width: int, agent: int
    ) -> Any:
        """As `async_read`, for a unit that writes."""
        from opencute.sim.hopper.flights import start

        return start(self, "write", op, run, slots, buffer, places, width, agent)

    def waited_for(self, slots: Any, *flights: Any) -> None:
        """Threads have waited until these flights have ended."""
        if flights:
            self.clocks.learn(np.asarray(slots).ravel(), [f.land() for f in flights])

    # ------------------------------------------------------------------ accesses
    def number(self, op: Op) -> int:
        """The number of an operation in shadows."""
        n = self.known.get(id(op))
        if n is None:
            n = self.known[id(op)] = len(self.ops)
            self.ops.append(op)
        return n

    def shadow(self, buffer: Any) -> Shadow:
        """The shadow of a buffer."""
        shared = buffer.space == "smem"
        owner = buffer.arena if shared else buffer
        known = self.shadows.get(id(owner))
        if known is None:
            if shared:
                shadow = Shadow(owner.raw.size, self.group.warps)
            else:
                shadow = Shadow(buffer.size)
            known = self.shadows[id(owner)] = (owner, shadow)
        return known[1]

    def __call__(
        self, lanes: Lanes, access: Any, verb: str, buffer: Any, offsets: Array, mask: Any
    ) -> None:
        """Compare one access with those before, and remember it."""
        if buffer.space == "smem":
            barriers = self.group.rest.get("mbarriers")
            if barriers is not None:
                barriers.touched(lanes, access, verb, buffer, offsets, mask)
        elif self.earlier is not None:
            self.earlier.check(self, lanes, access, verb, buffer, offsets, mask)
        shadow = self.shadow(buffer)
        strength = 0
        if access.order is not None:
            strength = self.messages.access(lanes, access, verb, buffer, offsets)
        AccessCheck(self, lanes, access, verb, buffer, offsets, mask, shadow, strength).run()


class AccessCheck:
    """One access, compared with those before.

    Arrays have one element for each piece that is touched, flat: the piece, and who touches it.
    """

    def __init__(
        self, checker: Checker, lanes: Lanes, access: Any, verb: str, buffer: Any,
        offsets: Array, mask: Any, shadow: Shadow, strength: int,
    ) -> None:  # fmt: skip
        self.checker, self.clocks = checker, checker.clocks
        self.lanes, self.access, self.verb, self.buffer = lanes, access, verb, buffer
        self.shadow, self.strength = shadow, strength
        offsets = offsets if offsets.ndim == 3 else offsets[..., None]
        pieces = shadow.pieces(offsets, access.width)
        slots = lanes.slot[..., None, None]
        shape = (lanes.P, lanes.Q, *pieces.shape[2:])
        if mask is not None:
            self.pieces = np.broadcast_to(pieces, shape)[mask].reshape(-1)
            self.slots = np.broadcast_to(slots, shape)[mask].reshape(-1)
        else:
            self.pieces = np.broadcast_to(pieces, shape).reshape(-1)
            self.slots = np.broadcast_to(slots, shape).reshape(-1)
        self._begin()

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
        if self.pieces.size == 0:
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

    # ------------------------------------------------------------------ writers
    def _mine(self) -> Array:
        mine = self.slots + (self.first + self.time + (self.strength << STRENGTH))
        if self.away is not None:
            self.shadow.foreign = True
            mine = mine + np.where(self.away, FOREIGN, 0)
        return mine

    def _against_writers(self) -> None:
        before = self.shadow.writer.take(self.pieces)
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
        known = self.clocks.knows(self.slots[at], who[at], before[at] >> TIME)
        bad = at[~known]
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
        shadow.writer[self.pieces] = mine
        shadow.write_op[self.pieces] = self.checker.number(self.access.op)
        if self.verb == "update" and self.strength == 2:
            return
        found = shadow.writer.take(self.pieces)
        if self.verb == "update":
            block = (self.slots + self.first) // self.clocks.threads
            bad = np.flatnonzero((found & WHO) // self.clocks.threads != block)
        else:
            bad = np.flatnonzero(found != mine)
        if bad.size:
            i = int(bad[0])
            self._race(i, int(found[i] & WHO), "wrote", self.access.op)

    # ------------------------------------------------------------------ readers of shared memory
    def _remember_readers_of_shared(self) -> None:
        if self.away is not None:
            self._remember_far_readers()
            return
        shadow, threads = self.shadow, self.clocks.threads
        inner = self.slots % threads if self.clocks.blocks > 1 else self.slots
        warp, lane = inner >> 5, inner & 31
        at = warp * shadow.writer.size + self.pieces
        mine = lane + ((self.clocks.now << 8) + (self.strength << 6))
        flat = shadow.reader.reshape(-1)
        flat[at] = mine
        found = flat.take(at)
        shared = np.flatnonzero(found != mine)
        if shared.size:
            flat[at[shared]] = (found[shared] & ~63) | _SEVERAL
        shadow.last_read[self.pieces] = (self.clocks.now << 32) + self.checker.number(
            self.access.op
        )

    def _remember_far_readers(self) -> None:
        """Readers of another block's memory have a column for each of their warps."""
        shadow, clocks = self.shadow, self.clocks
        warps = self.slots // clocks.threads * clocks.warps + self.slots % clocks.threads // WARP
        number = self.checker.number(self.access.op)
        for warp in np.unique(warps).tolist():
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
        clocks = self.clocks
        for column in self.shadow.extra.values():
            words = column.words.take(self.pieces)
            at = np.flatnonzero(words)
            if self.strength:
                at = at[(words[at] >> 6) & 3 == 0]
            if at.size == 0:
                continue
            time, lane = words[at] >> 8, words[at] & 63
            whole = (lane == _SEVERAL) & (column.who < AGENTS)
            who = column.who + np.where(whole, 0, lane)
            ok = (words[at] < READING) & clocks.knows(self.slots[at], who, time)
            ok |= ~whole & (who == self.slots[at] + self.first)
            for i in range(1, WARP if whole.any() else 1):
                ok &= ~whole | clocks.knows(self.slots[at], who + i, time)
            bad = at[~ok]
            if bad.size:
                i, op = int(bad[0]), self.checker.ops[column.op[self.pieces[bad[0]]]]
                if column.who >= AGENTS:
                    self._still_read(i, column.who, op)
                self._race(i, int(who[~ok][0]), "read", op)

    def _against_readers_of_shared(self) -> None:
        shadow, threads = self.shadow, self.clocks.threads
        latest = shadow.last_read.take(self.pieces) >> 32
        at = np.flatnonzero(latest > (self.floor if self.away is None else 0))
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
        ok[one] = self.clocks.knows(slot[one], other[one], time[one])
        for i in range(min(WARP, threads)):
            left = several[~pardoned[several] & (ok[several] | (i == 0))]
            left = left[base[left] % threads + i < threads]
            mine = base[left] + i == slot[left]
            known = mine | self.clocks.knows(slot[left], other[left] + i, time[left])
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
            known = clocks.rows[i].times.get(key(AGENT, _ELECTIONS + warp + self.first), 0)
            out |= (rows == i) & (warps == warp) & (times <= known)
        return out

    def _last_reader(self, i: int) -> Op:
        return self.checker.ops[int(self.shadow.last_read[self.pieces[i]]) & 0xFFFFFFFF]

    # ------------------------------------------------------------------ readers of global memory
    def _remember_readers(self) -> None:
        shadow, threads = self.shadow, self.clocks.threads
        before = shadow.reader[0].take(self.pieces)
        mine = self._mine()
        block = (self.slots + self.first) // threads
        new = mine
        # What stands for several readers is as weak as the weakest of them.
        weakest = np.minimum(np.where(before == 0, 3, (before >> STRENGTH) & 3), self.strength)
        time = self.time + (weakest << STRENGTH)
        if before.any():
            level, who = (before >> LEVEL) & 3, before & WHO
            own = (before != 0) & (level == ONE) & (who == self.slots + self.first)
            theirs = np.where(level == ONE, who // threads, who)
            same = (level != EVERYBODY) & (theirs == block)
            past = same & (before >> TIME <= self.clocks.floor[self.slots])
            # A reader that is known to me stands behind me: who knows me knows it too.
            ask = np.flatnonzero((before != 0) & ~own & ~past & (level == ONE))
            if ask.size and self.clocks.row.any():
                past[ask] = self.clocks.knows(self.slots[ask], who[ask], before[ask] >> TIME)
            wide = np.where(same, (WHOLE_BLOCK << LEVEL) + block, EVERYBODY << LEVEL) + time
            new = np.where((before == 0) | own | past, mine, wide)
        shadow.reader[0][self.pieces] = new
        found = shadow.reader[0].take(self.pieces)
        bad = np.flatnonzero(found != new)
        if bad.size:
            theirs = np.where((found[bad] >> LEVEL) & 3 == ONE, (found[bad] & WHO) // threads,
                              found[bad] & WHO)  # fmt: skip
            same = ((found[bad] >> LEVEL) & 3 != EVERYBODY) & (theirs == block[bad])
            # A place that several blocks meet at in one operation must end as everybody's.
            order = np.argsort(~same, kind="stable")
            wide = np.where(same, (WHOLE_BLOCK << LEVEL) + block[bad], EVERYBODY << LEVEL)
            shadow.reader[0][self.pieces[bad[order]]] = (wide + time[bad])[order]
        shadow.last_read[self.pieces] = self.checker.number(self.access.op)
        shadow.blocks.update(
            np.unique(block).tolist() if self.clocks.blocks > 1 else block[:1].tolist()
        )

    def _against_readers(self) -> None:
        shadow, threads = self.shadow, self.clocks.threads
        before = shadow.reader[0].take(self.pieces)
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
        known = self.clocks.knows(self.slots[one], who[one], time[one])
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
                    self.clocks.knows_block(key[0], b, int(time[i])) for b in blocks
                )
            if not known_all:
                self._read_race(i, -1)

    def _read_race(self, i: int, who: int) -> None:
        self._race(i, who, "read", self._last_reader(i))

    # ------------------------------------------------------------------ reports
    def _where(self, i: int) -> tuple[str, int, str]:
        place = int(self.pieces[i]) << self.shadow.shift
        name = self.buffer.name
        if self.shadow.columns:
            name, place = self.buffer.arena.name_of(place)
        return self._name(int(self.slots[i]) + self.first), place, name

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
            code="OC3401", loc=self.access.op.loc, hint=self._hint(mine, who),
        )  # fmt: skip

    def _hint(self, mine: int, who: int) -> str:
        threads = self.clocks.threads
        if who < 0 or mine // threads != who // threads:
            if self.shadow.columns:
                return (
                    "threads of a cluster are ordered by cluster_arrive() and cluster_wait(), or "
                    "by an mbarrier"
                )
            return (
                "threads of different blocks are ordered by a release (or a fence and an atomic "
                "store) that the other one acquires, or by another launch"
            )
        if mine % threads // WARP == who % threads // WARP:
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
                hint="wait for the mbarrier that counts its bytes, or for its group",
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
