# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The order that mbarriers give: what those who arrive know, those who wait come to know.

A barrier gathers knowledge (times by the keys of `clocks`) from arrivals and from copies that bring
bytes. When a phase is complete, what was gathered belongs to whoever waits for it.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from opencute.sim.sync.clocks import BLOCK, THREAD, WARPS, Clocks, key
from opencute.sim.sync.group import WARP
from opencute.sim.values import Array

__all__ = ["BarrierOrder", "Knowledge", "gathered"]

Times = dict[int, int]


@dataclass(eq=False)
class Knowledge:
    """What a barrier passes on.

    Args:
        coming: gathered in the phase that is not complete.
        there: of all phases that are complete.
        waiting: slots of the threads that wait for the phase.
    """

    coming: Times = field(default_factory=dict[int, int])
    there: Times = field(default_factory=dict[int, int])
    waiting: list[Array] = field(default_factory=list)

    def add(self, times: Times) -> None:
        """Gather more for the phase that is not complete."""
        _merge(self.coming, times)


def _merge(into: Times, times: Times) -> None:
    for k, t in times.items():
        if t > into.get(k, 0):
            into[k] = t


def gathered(clocks: Clocks, slots: Array) -> Times:
    """What some threads know, and what they themselves have done up to now."""
    now = clocks.tick()
    group, threads, first = clocks.group, clocks.threads, clocks.first_block
    out: Times = {}
    for times in clocks.rows_of(slots):
        _merge(out, times)
    block = slots // threads
    warps = block * clocks.warps + slots % threads // WARP
    for warp in np.unique(warps).tolist():
        mine = slots[warps == warp]
        b, w = divmod(warp, clocks.warps)
        number = first * clocks.warps + warp
        if np.unique(mine).size >= group.alive[b, w]:
            _merge(out, {key(WARPS, number): now})
        else:
            start = first * threads
            _merge(out, {key(THREAD, start + s): now for s in mine.tolist()})
            _merge(out, {key(WARPS, number): int(clocks.near[mine].max())})
        _merge(out, {key(BLOCK, first + b): int(clocks.floor[mine].max())})
    return out


class BarrierOrder:
    """Passes on what is known through mbarriers.

    Args:
        clocks: what the threads know.
    """

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks

    def gather(self, known: Knowledge, slots: Array) -> None:
        """Threads arrive."""
        known.add(gathered(self.clocks, slots))

    def phase_done(self, known: Knowledge) -> None:
        """A phase is complete: all who wait for it know."""
        _merge(known.there, known.coming)
        known.coming = {}
        waiting, known.waiting = known.waiting, []
        if waiting:
            self.learn(known, np.unique(np.concatenate(waiting)))

    def learn(self, known: Knowledge, slots: Array) -> None:
        """Threads have seen that a phase is complete."""
        self.clocks.learn(slots, [known.there])
