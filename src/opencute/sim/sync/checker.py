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
from typing import Any

import numpy as np

from opencute.ir.core import Op
from opencute.sim.hopper.order import BarrierOrder
from opencute.sim.hopper.proxies import AgentNumbers, Proxies
from opencute.sim.hopper.trailing import Trailing
from opencute.sim.lanes import Lanes
from opencute.sim.sync.access_check import AccessCheck
from opencute.sim.sync.clocks import AGENT, ELECTIONS, WARPS, Clocks, Times, key
from opencute.sim.sync.fences import Fences, reach
from opencute.sim.sync.generations import Generations
from opencute.sim.sync.group import WARP, Group
from opencute.sim.sync.messages import Messages
from opencute.sim.sync.shadow import (
    Shadow,
)
from opencute.sim.values import Array

__all__ = ["Checker"]


class Checker:
    """The checks of one launch.

    Args:
        earlier: the kernel before, if this one may start before that has ended.
    """

    def __init__(self, earlier: Any = None) -> None:
        self.earlier = earlier
        self.elections = 0
        self.told: set[tuple[int, int]] = set()
        """What has been warned of: by operations."""
        self.lets_start = False
        """Whether a thread has let the next kernel start."""
        self.clocks = Clocks()
        self.fences = Fences(self.clocks)
        self.messages = Messages(self.clocks, self.fences)
        self.mbarriers = BarrierOrder(self)
        self.agents = AgentNumbers()
        self.parties: dict[int, int] = {}
        """For a warp's part of a product, the number of the whole one."""
        self.sources: dict[int, Any] = {}
        self.starters: dict[tuple[int, int], int] = {}  # unit, what started it: the thread
        """Where what units write last comes from, by their numbers: published kernels let each warp
        store one tile."""
        self.ordinary: set[int] = set()
        """Units that use memory as threads do, through the generic proxy."""
        self.proxies = Proxies(self.clocks)
        self.generations = Generations(self.clocks)
        self.trailing = Trailing(self)
        self.ops: list[Op] = []
        self.known: dict[int, int] = {}
        self.shadows: dict[int, tuple[Any, Shadow]] = {}
        self.arrivals: dict[tuple[int, int], list[tuple[int, list[Times]]]] = {}

    def start(self, group: Group, first_block: int) -> None:
        """Other blocks run from now on."""
        self.group = group
        self.clocks.start(group, first_block)
        self.fences.start(group)
        self.messages.start(group)
        self.proxies.start(group)
        self.generations.start(group)
        self.trailing.start(group)
        self.mbarriers.start(group)
        self.arrivals = {}
        self.shadows = {k: v for k, v in self.shadows.items() if v[1].columns == 0}

    # ------------------------------------------------------------------ synchronisation
    def met(self, op: Op, lanes: Lanes, name: int) -> None:
        """All threads of all blocks have met at a barrier."""
        if self.generations.last:
            self.generations.met(op, lanes.run, name)
        self.clocks.meet_blocks(np.ones(self.group.blocks, np.bool_))

    def arrived(self, op: Op, run: Any, name: int, warps: Array) -> None:
        """Warps (blocks x warps) have arrived at a barrier: what they know is for all who wait."""
        clocks = self.clocks
        now = clocks.tick()
        self.generations.arrived(op, run, name, warps, now)
        for block, warp in np.argwhere(warps).tolist():
            slots = self._warp_slots(block, warp)
            self.arrivals.setdefault((name, block), []).append(
                (int(clocks.floor[slots].max()), self._news(block, warp, slots, now))
            )

    def _warp_slots(self, block: int, warp: int) -> Array:
        start = block * self.group.threads
        last = min((warp + 1) * WARP, self.group.threads)
        return np.arange(start + warp * WARP, start + last)

    def _news(self, block: int, warp: int, slots: Array, now: int) -> list[Times]:
        clocks = self.clocks
        number = (clocks.first_block + block) * clocks.warps + warp
        return [{key(WARPS, number): now}, *clocks.rows_of(slots)]

    def opened(self, name: int, done: Array, here: Array, syncs: Array) -> None:
        """A barrier has opened in some blocks, where warps are `here` or wait (`syncs`)."""
        clocks = self.clocks
        everyone = syncs.all(axis=1) & done  # what has ended has synchronised with nobody
        if everyone.any():
            clocks.meet_blocks(everyone)
        for block in np.flatnonzero(done).tolist():
            arrivals = self.arrivals.pop((name, block), [])
            self.generations.opened(name, block, syncs[block])
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
            clocks.raise_floor(slots, np.maximum(clocks.floor[slots], floor))
            clocks.near[slots] = now
            # What several warps know is one object.
            every = {id(times): times for _, news in arrivals for times in news}
            clocks.learn(slots, list(every.values()))

    def warp_met(self, lanes: Lanes, part: Array | None) -> None:
        """Lanes have met at a barrier of their warp; `part`: which (a table), None: all."""
        group, clocks = self.group, self.clocks
        if part is None:
            slots = lanes.slot.reshape(-1, WARP)
            if (clocks.row[slots] == clocks.row[slots[:, :1]]).all():
                clocks.near[slots] = clocks.tick()
                clocks.raise_floor(slots, clocks.floor[slots].max(axis=1, keepdims=True))
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
            clocks.learn(slots, [{key(AGENT, ELECTIONS + first): now}])
            self.elections += 1

    def fence(self, lanes: Lanes, scope: str, sem: str = "acq_rel") -> None:
        """Threads have made visible what they did, and may rely on what they saw."""
        self.fences.fence(lanes, reach(scope), sem == "sc")

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
        else:
            if self.earlier is not None:
                self.earlier.check(self, lanes, access, verb, buffer, offsets, mask)
            maps = self.group.rest.get("map uses") if verb != "read" else None
            if maps is not None:
                maps.changed(access.op, lanes, access.width, buffer, offsets, mask)
        shadow = self.shadow(buffer)
        strength = 0
        if access.order is not None:
            strength = self.messages.access(lanes, access, verb, buffer, offsets)
        AccessCheck(self, lanes, access, verb, buffer, offsets, mask, shadow, strength).run()
