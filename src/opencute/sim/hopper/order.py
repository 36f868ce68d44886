# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The order that mbarriers give: what those who arrive know, those who wait come to know.

A barrier gathers knowledge (times by the keys of `clocks`) from arrivals and from copies that bring
bytes. When a phase is complete, what was gathered belongs to whoever waits for it.

Scopes count (PTX ISA, "mbarrier.arrive", "Release and Acquire Patterns"): an arrival without words
releases for its own block. At another block's barrier it frees tiles for units that refill them,
and orders nothing else; `.release.cluster`, or a fence of the cluster's scope before, does. A wait
without words acquires from its own block: what others did is over then, and may be written over;
who reads what they wrote has to acquire for the cluster, or to fence after the wait.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opencute.base.errors import RaceError
from opencute.ir.core import Op
from opencute.sim.sync.clocks import (
    AGENT,
    AGENTS,
    BLOCK,
    FREED,
    SEEN,
    STARTS,
    THREAD,
    WARPS,
    Clocks,
    Times,
    as_kind,
    distinct,
    key,
)
from opencute.sim.sync.deadlock import describe_slots
from opencute.sim.sync.fences import CLUSTER, OWN, merge, reach
from opencute.sim.sync.group import WARP, Group
from opencute.sim.values import Array

__all__ = ["BarrierOrder", "Birth", "Knowledge", "gathered"]


@dataclass(eq=False)
class Birth:
    """How a barrier was initialised.

    Args:
        op: the operation.
        slot: by whom.
        agent: the number under which others know of it.
        time: when.
        fenced: whether that thread has fenced since.
        aware: which threads (by slot) are known to know of it; empty: nobody.
    """

    op: Op
    slot: int
    agent: int
    time: int
    fenced: bool = False
    aware: Array = field(default_factory=lambda: np.zeros(0, np.bool_))

    def known_to(self, slots: Array) -> bool:
        """Whether threads are all known to know of it."""
        aware = self.aware
        if not aware.size:
            return False
        return bool(aware[slots[0]] if slots.size == 1 else aware[slots].all())


@dataclass(eq=False)
class Knowledge:
    """What a barrier passes on.

    Args:
        coming: gathered in the phase that is not complete: from the barrier's own block and from
            units, and from threads of other blocks that released for the cluster.
        there: of all phases that are complete.
        waiting: slots of the threads that wait for the phase, and how far they acquire.
    """

    coming: tuple[Times, Times] = field(default_factory=lambda: ({}, {}))
    there: tuple[Times, Times] = field(default_factory=lambda: ({}, {}))
    waiting: list[tuple[Array, int]] = field(default_factory=list)

    def add(self, times: Times, far: int = OWN) -> None:
        """Gather more for the phase that is not complete."""
        merge(self.coming[far], times)


def gathered(clocks: Clocks, slots: Array) -> Times:
    """What some threads know, and what they themselves have done up to now."""
    now = clocks.tick()
    group, threads, first = clocks.group, clocks.threads, clocks.first_block
    out: Times = {}
    for times in clocks.rows_of(slots):
        merge(out, times)
    block = slots // threads
    warps = block * clocks.warps + slots % threads // WARP
    for warp in distinct(warps):
        mine = slots[warps == warp]
        b, w = divmod(warp, clocks.warps)
        number = first * clocks.warps + warp
        alive = group.alive[b, w]
        if mine.size >= alive and np.unique(mine).size >= alive:
            merge(out, {key(WARPS, number): now})
        else:
            start = first * threads
            merge(out, {key(THREAD, start + s): now for s in mine.tolist()})
            merge(out, {key(WARPS, number): int(clocks.near[mine].max())})
        merge(out, {key(BLOCK, first + b): int(clocks.floor[mine].max())})
    return out


class BarrierOrder:
    """Passes on what is known through mbarriers, and sees that they are known themselves.

    Args:
        checker: of the launch.
    """

    def __init__(self, checker: Any) -> None:
        self.checker = checker
        self.clocks: Clocks = checker.clocks

    def start(self, group: Group) -> None:
        """Other blocks run from now on."""
        self.inits: dict[int, list[tuple[Birth, int, int]]] = {}
        self.fenced: dict[int, Times] = {}

    # ------------------------------------------------------------------ initialisation
    def made(self, op: Op, place: int, slot: int, name: str) -> Birth:
        """A thread has initialised a barrier."""
        now = self.clocks.tick()
        agent = self.checker.agent(("mbarrier", place, now), name)
        birth = Birth(op, slot, agent, now)
        k = key(AGENT, agent - AGENTS)
        self.clocks.learn(np.array([slot]), [{k: now}])
        self.inits.setdefault(slot, []).append((birth, k, now))
        return birth

    def fence(self, lanes: Any) -> None:
        """Threads make the barriers that they have initialised visible."""
        for slot in lanes.slot.ravel().tolist() if self.inits else ():
            for birth, k, now in self.inits.get(slot, ()):
                birth.fenced = True
                self.fenced.setdefault(slot, {})[k] = now

    def used(self, op: Op, run: Any, birth: Birth, slots: Array, name: str) -> None:
        """Threads use a barrier.

        Raises:
            RaceError: they do not know that it has been initialised.
        """
        if not birth.aware.size:
            birth.aware = np.zeros(self.clocks.floor.size, np.bool_)
        asked = slots[~birth.aware[slots]]
        if not asked.size:
            return
        if not self.clocks.all_know(asked, (birth.agent,), birth.time, SEEN):
            n = asked.size
            known = self.clocks.knows(asked, np.full(n, birth.agent), np.full(n, birth.time))
            slot = int(asked[~known][0])
            raise RaceError(
                f"{describe_slots(run, np.array([slot]))} uses {name}, which "
                f"{describe_slots(run, np.array([birth.slot]))} initialised at {birth.op.loc}, "
                "with no order between them",
                code="OC3404", loc=op.loc,
                hint="after mbarrier_init: mbarrier_init_fence(), then sync_threads(), or "
                "cluster_arrive_relaxed() and cluster_wait() where other blocks use it",
            )  # fmt: skip
        birth.aware[asked] = True

    def bytes_come(self, op: Op, birth: Birth, name: str) -> None:
        """A unit counts bytes on a barrier.

        Raises:
            RaceError: the thread that initialised it has not fenced.
        """
        if not birth.fenced:
            raise RaceError(
                f"an asynchronous operation counts its bytes on {name}, which was initialised at "
                f"{birth.op.loc} without a fence",
                code="OC3405", loc=op.loc, hint="mbarrier_init_fence() after mbarrier_init",
            )  # fmt: skip

    # ------------------------------------------------------------------ phases
    def gather(
        self, known: Knowledge, slots: Array, home: int | None = None,
        order: tuple[str, str] = ("", ""),
    ) -> None:  # fmt: skip
        """Threads arrive.

        Args:
            known: what the barrier knows.
            slots: who.
            home: the block whose barrier it is; None: the cluster's.
            order: the words of the arrival: what it is, and for whom.
        """
        blocks = slots // self.clocks.threads
        if home is None or (blocks == home).all():
            known.add(self._released(slots, order, OWN))
            return
        near = blocks == home
        if near.any():
            known.add(self._released(slots[near], order, OWN))
        slots = slots[~near]
        known.add(self._released(slots, order, CLUSTER), CLUSTER)
        if order[0] != "relaxed":
            known.add(as_kind(gathered(self.clocks, slots), FREED))

    def _released(self, slots: Array, order: tuple[str, str], far: int) -> Times:
        """What threads release at a distance."""
        if order[0] != "relaxed" and reach(order[1], OWN) >= far:
            return gathered(self.clocks, slots)
        return self.checker.fences.before(slots, far)

    def gather_starts(self, known: Knowledge, blocks: list[int]) -> None:
        """Blocks (of those that run) have come to their cluster's barrier, in whatever order to
        other memory: they have begun."""
        first = self.clocks.first_block + STARTS
        known.add({key(AGENT, first + block): 1 for block in blocks})

    def gather_fenced(self, known: Knowledge, slots: Array) -> None:
        """Threads arrive at their cluster's barrier without a release: what they have fenced
        counts, and initialisations of barriers."""
        known.add(self.checker.fences.before(slots, CLUSTER))
        for slot in slots.tolist() if self.fenced else ():
            known.add(self.fenced.get(slot, {}))

    def phase_done(self, known: Knowledge) -> None:
        """A phase is complete: all who wait for it know."""
        for there, coming in zip(known.there, known.coming, strict=True):
            merge(there, coming)
        known.coming = ({}, {})
        waiting, known.waiting = known.waiting, []
        for far in {far for _, far in waiting}:
            self.learn(known, np.concatenate([s for s, f in waiting if f == far]), far)

    def learn(self, known: Knowledge, slots: Array, acquired: int = CLUSTER) -> None:
        """Threads have seen that a phase is complete; how far they acquire, -1: not at all."""
        fences = self.checker.fences
        fences.take(slots, known.there[OWN], OWN, acquired)
        fences.take(slots, known.there[CLUSTER], CLUSTER, acquired)
