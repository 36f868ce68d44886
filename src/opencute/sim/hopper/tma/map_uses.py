# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensor maps that copies under way may still read: nobody may change them meanwhile.

A copy reads its map when its unit gets to it. Whoever changes the map has to know that this is
over: that a load's bytes have come (its mbarrier's phase was waited for), or that the thread which
started the copy has waited for its bulk groups (PTX ISA, "cp.async.bulk.wait_group": with `.read`,
too, reading of the tensor map is over; loads belong to these groups as far as their maps go).

In: `used` when a copy starts, `waited` when groups are waited for. Out: `changed` raises for writes
that nothing orders after the reads. Maps that host code made cannot be written and are left out.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opencute.arch.tma import DESCRIPTOR_BYTES
from opencute.base.errors import RaceError
from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.sync.clocks import AGENT, AGENTS, FREED, key
from opencute.sim.sync.deadlock import describe_slots
from opencute.sim.sync.group import Group
from opencute.sim.values import Array

__all__ = ["MapUses", "map_uses_of"]


def map_uses_of(group: Group) -> MapUses:
    """The maps in use of the blocks that run together."""
    return group.state("map uses", MapUses)


@dataclass(eq=False)
class _Use:
    """A copy that reads a map.

    Args:
        op: the copy.
        slot: the thread that started it.
        bulk: the number of that thread's bulk group.
        agent: what reading maps for that thread is known by.
        flights: what else tells that the copy is over: any of them.
        over: when its thread has waited for its bulk group, 0: it has not.
    """

    op: Op
    slot: int
    bulk: int
    agent: int
    flights: Sequence[Any] = field(default_factory=list)
    over: int = 0

    @property
    def landed(self) -> int:
        """When the first of its flights ended, 0: none has."""
        times = [t for f in self.flights if f.landed for t in f.landed.values()]
        return min(times, default=0)

    def known_to(self, clocks: Any, slot: int) -> bool:
        """Whether a thread knows that the map is read no more."""
        ends = [(self.agent, self.over)] if self.over else []
        for f in self.flights:
            ends += [(f.agent, t) for t in (f.landed or {}).values()]
        return any(clocks.all_know(np.array([slot]), (unit,), time, FREED) for unit, time in ends)


class MapUses:
    """Which copies read maps in global memory that kernels may write (checking mode).

    Args:
        group: the blocks.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self.uses: dict[int, dict[int, list[_Use]]] = {}
        """By the map's address, and by the thread that started the copy."""
        self.buffers: dict[int, list[int]] = {}
        """The addresses of maps in use, by their buffer's base."""

    def used(
        self, op: Op, lanes: Lanes, ptr: SimPointer, bulk: Array, targets: Sequence[Any] = ()
    ) -> None:
        """Lanes start copies.

        Args:
            op: the copy.
            lanes: who.
            ptr: the maps.
            bulk: for each lane, the bulk group that it is in.
            targets: of loads, where they go: flights of each lane there tell that it is over.
        """
        checker = lanes.run.checker
        addresses = lanes.full(np.atleast_2d(np.asarray(ptr.address()))).ravel().tolist()
        buffers = {a: lanes.run.table.find(a) for a in set(addresses)}
        if all(b is None or b.space != "gmem" or b.read_only for b in buffers.values()):
            return
        flights: dict[int, list[Any]] = {}
        for target in targets:
            for slot, flight in zip(target.lanes.slot.ravel(), target.flights, strict=True):
                flights.setdefault(int(slot), []).append(flight)
        slots = lanes.slot.ravel().tolist()
        for slot, address, group in zip(slots, addresses, bulk.tolist(), strict=True):
            agent = checker.agent(("the map of a copy", slot), "the reading of a tensor map")
            self._add(
                address, buffers[address], _Use(op, slot, group, agent, flights.get(slot, ()))
            )

    def _add(self, address: int, buffer: Any, use: _Use) -> None:
        if buffer is None or buffer.space != "gmem" or buffer.read_only:
            return
        if address not in self.uses:
            self.buffers.setdefault(buffer.base, []).append(address)
        uses = self.uses.setdefault(address, {}).setdefault(use.slot, [])
        # Who knows of the last one of a thread to end knows of those that ended before it.
        ended = [u for u in uses if u.over or u.landed]
        if len(ended) > 1:
            last = max(ended, key=lambda u: max(u.over, u.landed))
            uses[:] = [u for u in uses if u is last or u not in ended]
        uses.append(use)

    def waited(self, checker: Any, slots: Array, due: Array) -> None:
        """Threads have waited for their bulk groups with numbers below `due` (by slot)."""
        if not self.uses:
            return
        waiting = set(slots.ravel().tolist())
        for by_slot in self.uses.values():
            for slot in waiting & by_slot.keys():
                for use in by_slot[slot]:
                    if use.over or use.bulk >= due[slot]:
                        continue
                    use.over = checker.clocks.tick()
                    times = {key(AGENT, use.agent - AGENTS): use.over}
                    checker.clocks.learn(np.array([slot]), [times])

    def changed(
        self, op: Op, lanes: Lanes, width: int, buffer: Any, offsets: Array, mask: Any
    ) -> None:
        """Lanes write global memory.

        Args:
            op: what writes.
            lanes: who.
            width: bytes of a run.
            buffer: the memory.
            offsets: of the runs, (P, Q) or (P, Q, runs), either of them may be 1.
            mask: which are written, None: all.

        Raises:
            RaceError: a map that a copy under way may still read.
        """
        for address in self.buffers.get(buffer.base, ()):
            start = address - buffer.base
            hit = (offsets < start + DESCRIPTOR_BYTES) & (offsets + width > start)
            if mask is not None:
                hit = hit & mask
            if not hit.any():
                continue
            hit = np.broadcast_to(hit, (lanes.P, lanes.Q, *hit.shape[2:]))
            while hit.ndim > 2:
                hit = hit.any(axis=-1)
            for where in np.argwhere(hit).tolist():
                self._change(op, lanes, address, (where[0], where[1]))
            self.uses[address] = {}

    def _change(self, op: Op, lanes: Lanes, address: int, where: tuple[int, int]) -> None:
        """A lane writes to a map."""
        clocks, slot = lanes.run.checker.clocks, int(lanes.slot[where])
        for uses in self.uses[address].values():
            for use in uses:
                if use.known_to(clocks, slot):
                    continue
                who = describe_slots(lanes.run, np.array([use.slot]))
                raise RaceError(
                    f"{lanes.name(where)}: a tensor map is changed that the copy at {use.op.loc}, "
                    f"started by {who}, may still read",
                    code="OC3412", loc=op.loc,
                    hint="before the change, wait for the load's mbarrier, or let the thread that "
                    "started the copy call cp_async_bulk_commit_group() and "
                    "cp_async_bulk_wait_group(0, read=True), and meet it (sync_warp, a barrier)",
                )  # fmt: skip
