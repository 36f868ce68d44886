# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Groups of warps that share a named barrier by mistake.

A barrier only counts: if two groups that know nothing of each other use one, warps of both may meet
in one generation, and neither group has met. Whether they do depends on time, so what is asked is
whether they could: a warp that arrives has to know that the generation before was complete, because
it was there and waited, or because something else orders it behind all who arrived in it.

In: arrivals of warps, and barriers that have opened. Out: an error that names both lines. Groups
that a run orders by something that another run may do the other way round, such as who takes a
lock first, are not found.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.sim.sync.clocks import Clocks
from opencute.sim.sync.deadlock import describe_slots
from opencute.sim.sync.group import WARP, Group
from opencute.sim.values import Array

__all__ = ["Generations"]


@dataclass(eq=False)
class _Last:
    """A generation that is complete.

    Args:
        op: what arrived last.
        times: when each warp arrived; 0: it was not there.
        waited: which of them waited.
    """

    op: Op
    times: Array
    waited: Array


class Generations:
    """Who met last at each named barrier of the blocks that run together.

    Args:
        clocks: what the threads know.
    """

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks

    def start(self, group: Group) -> None:
        """Other blocks run from now on."""
        self.group = group
        self.coming: dict[tuple[int, int], tuple[Op, Array]] = {}
        self.last: dict[int, dict[int, _Last]] = {}

    def arrived(self, op: Op, run: Any, name: int, warps: Array, time: int) -> None:
        """Warps (blocks x warps) arrive at a barrier.

        Raises:
            SimulationError: they may be too early, for the generation before.
        """
        known = self.last.get(name)
        for block in np.flatnonzero(warps.any(axis=1)).tolist():
            last = None if known is None else known.get(block)
            if last is not None:
                self._check(op, run, name, block, np.flatnonzero(warps[block]), last)
            _, times = self.coming.get((name, block), (op, None))
            if times is None:
                times = np.zeros(self.group.warps, np.int64)
            times[warps[block]] = time
            self.coming[name, block] = op, times

    def opened(self, name: int, block: int, waited: Array) -> None:
        """A barrier has opened; `waited`: for which warps."""
        op, times = self.coming.pop((name, block))
        self.last.setdefault(name, {})[block] = _Last(op, times, waited.copy())

    def met(self, op: Op, run: Any, name: int) -> None:
        """All threads of all blocks meet at a barrier.

        Raises:
            SimulationError: as for `arrived`.
        """
        for block, last in self.last.pop(name, {}).items():
            self._check(op, run, name, block, np.arange(self.group.warps), last)

    def _check(self, op: Op, run: Any, name: int, block: int, warps: Array, last: _Last) -> None:
        warps = warps[~last.waited[warps]]
        if not warps.size:
            return
        threads, start = self.group.threads, block * self.group.threads
        others = np.flatnonzero(last.times)
        who, whom = (x.ravel() for x in np.meshgrid(warps, others, indexing="ij"))
        times = last.times[whom]
        first = self.clocks.first_block * threads
        known = (who == whom) | self.clocks.knows(
            start + who * WARP, first + start + whom * WARP, times
        )
        if known.all():
            return
        i = int(np.flatnonzero(~known)[0])
        here, there = (describe_slots(run, self._threads(start, int(w))) for w in (who[i], whom[i]))
        raise SimulationError(
            f"nothing orders {here}, which arrive at barrier {name}, behind the meeting before, "
            f"for which {there} arrived at {last.op.loc}: they may get into it",
            code="OC3028", loc=op.loc,
            hint="groups of warps that do not know of each other need barriers of their own "
            "(barrier_id)",
        )  # fmt: skip

    def _threads(self, start: int, warp: int) -> Array:
        return start + np.arange(warp * WARP, min((warp + 1) * WARP, self.group.threads))
