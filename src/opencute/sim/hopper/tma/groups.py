# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Bulk copies to global memory, in groups by thread: they read and write as late as they may.

A copy is two pieces of work, reading its source and writing its destination. What a thread waits
for takes place when it waits; the rest when nobody can go on without it, or at the end.

In: `start`, `commit` and `wait` by lanes. Out: the copies' effects on memory, when they are due.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opencute.ir.core import Op
from opencute.sim.hopper.agents import Agents, Work, agents_of
from opencute.sim.hopper.tma.map_uses import map_uses_of
from opencute.sim.hopper.tma.traffic import known_of
from opencute.sim.lanes import Lanes
from opencute.sim.sync.group import Group
from opencute.sim.values import Array

__all__ = ["BulkCopy", "BulkGroups", "bulk_groups_of"]


def bulk_groups_of(group: Group) -> BulkGroups:
    """The bulk groups of the blocks that run together."""
    return group.state("bulk groups", BulkGroups)


@dataclass(eq=False)
class BulkCopy:
    """A copy under way.

    Args:
        slots: the threads that started it.
        groups: for each, the number of the group that it belongs to.
        read: reads the source.
        write: writes the destination.
        reads: flights that read (checking mode).
        writes: flights that write.
    """

    slots: Array
    groups: Array
    read: Work
    write: Work
    reads: list[Any] = field(default_factory=list)
    writes: list[Any] = field(default_factory=list)


class BulkGroups:
    """The bulk copies of the blocks that run together.

    Args:
        group: the blocks.
    """

    def __init__(self, group: Group) -> None:
        self.agents: Agents = agents_of(group)
        self.commits = np.zeros(group.blocks * group.threads, np.int64)
        self.flying: list[BulkCopy] = []

    def start(
        self, op: Op, lanes: Lanes, read: Callable[[], None], write: Callable[[], None], name: str
    ) -> BulkCopy:
        """Lanes start a copy.

        Args:
            op: the operation.
            lanes: who.
            read: reads the source.
            write: writes what was read.
            name: what messages call it.
        """

        def first() -> None:
            read()
            known_of(copy.reads)

        def then() -> None:
            self.agents.finish(reading)
            write()
            known_of(copy.writes)

        reading = self.agents.post(op, lanes, first, name=f"{name}, reading")
        writing = self.agents.post(op, lanes, then, name=name)
        slots = lanes.slot.ravel()
        copy = BulkCopy(slots, self.commits[slots], reading, writing)
        self.flying.append(copy)
        return copy

    def commit(self, lanes: Lanes) -> None:
        """Lanes close their group."""
        self.commits[lanes.slot] += 1

    def wait(self, lanes: Lanes, groups: int, read: bool) -> None:
        """Lanes wait until at most `groups` of their groups are under way, or still read."""
        checker = lanes.run.checker
        if not self.flying and checker is None:
            return
        due = np.full(self.commits.size, -1, np.int64)
        slots = lanes.slot
        due[slots] = self.commits[slots] - groups
        if checker is not None:
            map_uses_of(lanes.run.group).waited(checker, slots, due)
        for copy in self.flying:
            over = copy.groups < due[copy.slots]
            if not over.any():
                continue
            self.agents.finish(copy.read if read else copy.write)
            if checker is not None:
                done = [*copy.reads, *(() if read else copy.writes)]
                checker.waited_for(copy.slots[over], *done)
        if checker is None:
            self.flying = [c for c in self.flying if not c.write.done]
