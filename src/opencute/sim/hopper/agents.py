# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Hardware units that work on their own: what they do takes place as late as the program allows.

An operation posts the work; the machine performs it only when no thread can go on without it, so
that a program that does not wait reads what was there before. The oldest work comes first, or one
picked by the seed. What nobody waited for takes place when the kernel ends::

    work = agents_of(lanes.run.group).post(op, lanes, lambda: copy(...), name="TMA load")
    ...
    work.done          # what a wait of the issuing thread looks at
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from opencute.ir.core import Op
from opencute.sim.sync.group import Group

__all__ = ["Agents", "Work", "agents_of", "pending_agents"]

_KEY = "agents"


@dataclass(eq=False)
class Work:
    """Something that a unit will do.

    Args:
        op: the operation that started it.
        lanes: who started it, None if that does not matter.
        perform: does it.
        name: what messages call it.
        done: whether it has taken place.
    """

    op: Op
    lanes: Any
    perform: Callable[[], None]
    name: str
    done: bool = False


class Agents:
    """The work that is under way in the blocks that run together.

    Args:
        group: the blocks.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self.pending: list[Work] = []

    def post(self, op: Op, lanes: Any, perform: Callable[[], None], *, name: str) -> Work:
        """Start work that takes place later; the result says when it has."""
        work = Work(op, lanes, perform, name)
        self.pending.append(work)
        return work

    def finish(self, work: Work) -> None:
        """Let one piece of work take place now, if it has not."""
        if not work.done:
            self.pending.remove(work)
            self._perform(work)

    def step(self, pick: Callable[[Sequence[Any]], int] | None = None) -> bool:
        """Let the oldest work take place, or the one that `pick` chooses; False: there is none."""
        if not self.pending:
            return False
        self._perform(self.pending.pop(0 if pick is None else pick(self.pending)))
        return True

    def drain(self) -> None:
        """Let everything take place, the oldest first."""
        while self.step():
            pass

    def _perform(self, work: Work) -> None:
        work.done = True
        work.perform()
        self.group.changed()


def agents_of(group: Group) -> Agents:
    """The units of the blocks that run together."""
    return group.state(_KEY, Agents)


def pending_agents(group: Group) -> Agents | None:
    """The units, if any work is under way."""
    agents = group.rest.get(_KEY)
    return agents if agents is not None and agents.pending else None
