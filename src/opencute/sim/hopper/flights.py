# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Reads and writes of memory by hardware units, for the checking mode.

A unit reads or writes between the moment when a thread starts it and the moment when it ends, so
its access is checked when it starts, and stays in the way of all others until it ends; from then on
only those know of it who have waited for it::

    flight = checker.async_write(op, slots, buffer, places, 16, checker.agent(key, "a TMA load"))
    ...
    times = flight.land()                  # what those who wait for it come to know
    bars.complete_tx(place, bytes, by=op, known=times)
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from opencute.base.errors import RaceError
from opencute.ir.core import Op
from opencute.sim.sync.access_check import AccessCheck
from opencute.sim.sync.checker import Checker
from opencute.sim.sync.clocks import AGENT, AGENTS, FREED, SEEN, Clocks, distinct, key
from opencute.sim.sync.columns import READING, Column
from opencute.sim.sync.shadow import FOREIGN, PENDING, TIME, WHO, first_of_each
from opencute.sim.values import Array

__all__ = ["Flight", "check_read", "known_words", "read_at_once", "start"]


class Flight:
    """One access of a unit that is under way.

    Args:
        checker: of the launch.
        agent: the unit's number.
        verb: read or write.
        shadow: of the memory.
        pieces: what of it.
        op: what started it.
        run: the launch.
        homes: of shared memory: the blocks whose it is.
    """

    def __init__(
        self, checker: Checker, agent: int, verb: str, shadow: Any, pieces: Array, op: Op, run: Any,
        homes: list[int],
    ) -> None:  # fmt: skip
        self.checker, self.agent, self.verb, self.op = checker, agent, verb, op
        self.run, self.homes = run, homes
        self.shadow, self.shift = shadow, shadow.shift
        self.pieces = pieces
        self.landed: dict[int, int] | None = None

    def _now_pieces(self) -> Array:
        """The pieces, which may have been cut smaller meanwhile."""
        if self.shadow.shift == self.shift:
            return self.pieces
        factor = 1 << (self.shift - self.shadow.shift)
        return (self.pieces[:, None] * factor + np.arange(factor)).reshape(-1)

    def land(self) -> dict[int, int]:
        """It has ended; returns what those who wait for it come to know."""
        if self.landed is not None:
            return self.landed
        now, pieces, shadow = self.checker.clocks.tick(), self._now_pieces(), self.shadow
        if self.verb == "write":
            mine = shadow.writer[pieces] & WHO == self.agent
            shadow.writer[pieces[mine]] = (now << TIME) + FOREIGN + self.agent
        elif shadow.columns:
            column = shadow.extra[self.agent]
            column.words[column.at(pieces)] = now << 8
            column.flying, column.latest = column.flying - 1, now
        if self.homes:
            self.checker.trailing.by_unit(
                self.op, self.run, self.agent, self.homes, now, writes=self.verb == "write"
            )
        self.landed = {key(AGENT, self.agent - AGENTS): now}
        return self.landed


def start(
    checker: Checker, verb: str, op: Op, run: Any, slots: Array, buffer: Any, places: Array,
    width: int, agent: int,
) -> Flight:  # fmt: skip
    """A unit starts to read or write; see `Checker.async_read`."""
    check: _AgentCheck | None = None
    slot = -1
    for slot in np.asarray(slots).ravel().tolist():
        check = _AgentCheck(checker, verb, op, run, slot, buffer, places, width, agent)
        check.check()
    assert check is not None
    check.remember()
    if verb == "write":
        checker.starters[agent, id(op)] = slot
    homes = check.homes if check.shadow.columns and check.pieces.size else []
    return Flight(checker, agent, verb, check.shadow, check.pieces, op, run, homes)


def known_words(clocks: Clocks, slot: int, words: list[int], kind: int = SEEN) -> bool:
    """Whether all writers of these words are units that a thread has waited for."""
    row, name = clocks.rows[clocks.row[slot]], (kind, *words)
    if name in row.sure:
        return True
    known = all(
        w == 0
        or (w & WHO >= AGENTS and w < PENDING and row.knows(clocks, w & WHO, kind) >= w >> TIME)
        for w in words
    )
    if known:
        row.sure.add(name)
    return known


def check_read(
    checker: Checker, op: Op, run: Any, slot: int, buffer: Any, places: Array, width: int,
    agent: int,
) -> None:  # fmt: skip
    """Check what a unit that a thread starts is going to read.

    Raises:
        RaceError: something is not ordered, or not fenced.
    """
    _AgentCheck(checker, "read", op, run, slot, buffer, places, width, agent).check()


def read_at_once(
    checker: Checker, op: Op, lanes: Any, buffer: Any, places: Array, mask: Any, width: int,
    agent: int,
) -> Flight | None:  # fmt: skip
    """Lanes start one unit that reads global memory, for each of them; None: somebody has written
    there, so each of them has to be checked."""
    shadow = checker.shadow(buffer)
    access = SimpleNamespace(op=op, width=width, order=None)
    check = AccessCheck(checker, lanes, access, "read", buffer, places, mask, shadow, 0)
    if not check.read_unwritten():
        return None
    return Flight(checker, agent, "read", shadow, check.pieces[:0], op, lanes.run, [])


class _AgentCheck(AccessCheck):
    """The access of a unit, compared with those before on behalf of the thread that starts it."""

    def __init__(
        self, checker: Checker, verb: str, op: Op, run: Any, slot: int, buffer: Any,
        places: Array, width: int, agent: int,
    ) -> None:  # fmt: skip
        self.checker, self.clocks, self.agent, self.slot = checker, checker.clocks, agent, slot
        self.lanes: Any = SimpleNamespace(run=run, slot=np.array([[slot]]), cache={})
        self.access: Any = SimpleNamespace(op=op, width=width, order=None)
        self.verb, self.buffer, self.strength = verb, buffer, 0
        self.kind = SEEN if verb == "read" else FREED
        self.shadow = checker.shadow(buffer)
        self.pieces = self.shadow.pieces(np.asarray(places).reshape(-1), width).reshape(-1)
        self.first = self.clocks.first_block * self.clocks.threads
        self.time = self.clocks.now << TIME
        self.floor = int(self.clocks.floor[slot])
        self.away = None

    @cached_property
    def reach(self) -> tuple[int, int]:
        """The first of the pieces, and the last."""
        return int(self.pieces.min()), int(self.pieces.max())

    @cached_property
    def homes(self) -> list[int]:
        """Of shared memory: the blocks (of those that run) whose it is."""
        if self.clocks.blocks == 1:
            return [0]
        stride = self.buffer.arena.stride >> self.shadow.shift
        first, last = (piece // stride for piece in self.reach)
        return [first] if first == last else distinct(self.pieces // stride)

    @cached_property
    def slots(self) -> Array:  # type: ignore[override]
        """Who touches the pieces: the thread that starts the unit."""
        return np.full(self.pieces.size, self.slot)

    def check(self) -> None:
        """Compare it with accesses of threads and other units."""
        if self.pieces.size == 0:
            return
        if self.shadow.columns and self.verb != "read":
            own = self.slot // self.clocks.threads
            if self.homes != [own]:
                self.away = self._home() != own
        self._against_writers()
        if self.verb == "read":
            return
        self._against_readers_of_shared() if self.shadow.columns else self._against_readers()
        if self.shadow.extra:
            self._against_extra()

    def _columns(self) -> list[tuple[int, dict[int, Column]]]:
        """As for threads: of those blocks only whose memory it is."""
        found = self.shadow.by_block
        return [(block, found[block]) for block in (*self.homes, -1) if block in found]

    def _part(self, block: int) -> tuple[Any, Array]:
        """As for threads: all is by one."""
        own = self.slot // self.clocks.threads
        if block < 0 or self.clocks.blocks == 1 or (self.away is None and block == own):
            return slice(None), np.array([self.slot])
        if self.away is None:
            return slice(0), np.zeros(0, np.int64)
        return super()._part(block)

    def remember(self) -> None:
        """It is under way."""
        shadow, number = self.shadow, self.checker.number(self.access.op)
        if self.verb == "write":
            shadow.foreign = True
            shadow.wrote(PENDING >> TIME)
            shadow.writer[self.pieces] = PENDING + FOREIGN + self.agent
            shadow.write_op[self.pieces] = number
        elif shadow.columns:
            home = self.homes[0] if len(self.homes) == 1 else -1
            column = shadow.column(self.agent, home, self.clocks.blocks)
            column.flying += 1
            at = column.at(self.pieces)
            column.words[at] = READING
            column.op[at] = number
        else:
            self._remember_readers()

    def _against_writers(self) -> None:
        before = self.shadow.writer.take(self.pieces)
        few = first_of_each(before)
        many = few is None
        if few is None:
            few = np.sort(np.unique(before, return_index=True)[1])
        before = before[few]  # what follows depends on nothing but the word and who asks
        if not many and known_words(self.clocks, self.slot, before.tolist(), self.kind):
            return
        every = self.pieces, self.slots
        self.pieces, self.slots = self.pieces[few], self.slots[: few.size]
        self._against_words(before)
        self.pieces, self.slots = every

    def _against_words(self, before: Array) -> None:
        if self.agent in self.checker.sources and self._same_again(before):
            return
        super()._against_writers()
        if self.agent in self.checker.ordinary:
            return
        who = before & WHO
        ordinary = np.flatnonzero((before != 0) & (who < AGENTS))
        if ordinary.size == 0:
            return
        times = before[ordinary] >> TIME
        bad = self.checker.proxies.unseen(self.slot, who[ordinary], times, self.kind)
        if bad is None:
            return
        i = int(ordinary[bad])
        _, place, name = self._where(i)
        op = self.checker.ops[self.shadow.write_op[self.pieces[i]]]
        raise RaceError(
            f"{self._name(self.agent)} {self.verb}s byte {place} of {name!r}, which "
            f"{self._name(int(who[i]))} wrote at {op.loc} through the generic proxy, with no proxy "
            "fence between them",
            code="OC3406", loc=self.access.op.loc,
            hint='cute.arch.fence_proxy("async.shared", space="cta") after the writes, and a '
            "barrier before the asynchronous operation",
        )  # fmt: skip

    def _same_again(self, before: Array) -> bool:
        """Whether units write the same there, from one place by one operation."""
        sources = self.checker.sources
        mine = sources[self.agent]
        others = np.unique(before & WHO).tolist()
        return self.verb == "write" and all(sources.get(w) == mine for w in others)
