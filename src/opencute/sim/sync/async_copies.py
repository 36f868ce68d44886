# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Asynchronous copies of a thread (cp.async): they take place as late as the program allows.

A copy that is started reads nothing and writes nothing until its thread waits for its group; until
then its destination counts as not written, so that reading it too early is found by what it
decides, and at once in the checking mode. What no thread has waited for when all have ended changes
nothing that anyone sees, but a GPU carries it out: what it reads has to be there.

In: `start`, `commit` and `wait` by lanes. Out: the copies' effects on memory, when they are due.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.sync.group import Group
from opencute.sim.values import Array

__all__ = ["Copies", "copies_of"]

_ALL = 1 << 62


def copies_of(group: Group) -> Copies:
    """The asynchronous copies of the blocks that run together."""
    return group.state("copies", Copies)


@dataclass(eq=False)
class _Copy:
    """A copy that some lanes have started.

    Args:
        op: the operation.
        lanes: who.
        groups: for each lane (P, Q), the number of the group that the copy belongs to.
        number: how many copies were started before it.
        perform: does it: ``perform(lanes, *values)``.
        check: raises if it cannot read its source: ``check(lanes, *values)``.
        values: what both need, for these lanes.
    """

    op: Op
    lanes: Lanes
    groups: Array
    number: int
    perform: Callable[..., None]
    check: Callable[..., None]
    values: tuple[Any, ...]


class Copies:
    """The copies in flight of the blocks that run together.

    Args:
        group: the blocks.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self.commits = np.zeros(group.blocks * group.threads, np.int64)
        self.flying: list[_Copy] = []
        self.started = 0
        group.on_end.append(self._ended)

    def start(
        self, op: Op, lanes: Lanes, perform: Callable[..., None], check: Callable[..., None],
        values: Sequence[Any],
    ) -> None:  # fmt: skip
        """Lanes start a copy, which ``perform(lanes, *values)`` will carry out; if nobody waits
        for it, ``check(lanes, *values)`` looks whether its source can be read."""
        groups = self.commits[lanes.slot]
        self.flying.append(_Copy(op, lanes, groups, self.started, perform, check, tuple(values)))
        self.started += 1

    def commit(self, lanes: Lanes) -> None:
        """Lanes close their group."""
        self.commits[lanes.slot] += 1

    def wait(self, lanes: Lanes, groups: int) -> None:
        """Lanes wait until at most `groups` of their groups are under way; -1: for all copies."""
        if not self.flying:
            return
        due = np.zeros(self.commits.size, np.int64)
        slot = lanes.slot
        due[slot] = _ALL if groups < 0 else self.commits[slot] - groups
        self._perform(lambda copy: copy.groups < due[copy.lanes.slot])

    def finish(self, lanes: Lanes, before: int) -> None:
        """What lanes started, as long as `started` was less than `before`, takes place."""
        due = np.zeros(self.commits.size, np.bool_)
        due[lanes.slot] = True
        self._perform(lambda copy: due[copy.lanes.slot] & (copy.number < before))

    def _ended(self) -> None:
        """Threads have ended: once all have, what is still under way is looked at.

        Raises:
            OutOfBoundsError: a copy that nobody waited for reads outside of its tensor.
            MisalignedError: it reads at an address that its size does not divide.
        """
        if self.flying and self.group.ended.all():
            for copy in self.flying:
                copy.check(copy.lanes, *copy.values)

    def _perform(self, due: Callable[[_Copy], Array]) -> None:
        flying, self.flying = self.flying, []
        for copy in flying:
            done = due(copy)
            if done.all():
                copy.perform(copy.lanes, *copy.values)
            elif done.any():
                copy.perform(*self._part(copy, done))
                lanes_left, *values = self._part(copy, ~done)
                left = copy.groups[~done].reshape(lanes_left.P, lanes_left.Q)
                self.flying.append(
                    replace(copy, lanes=lanes_left, groups=left, values=tuple(values))
                )
            else:
                self.flying.append(copy)

    @staticmethod
    def _part(copy: _Copy, cond: Array) -> tuple[Any, ...]:
        part, pick, _ = copy.lanes.sub(cond)
        return (part, *map(pick, copy.values))
