# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Waits for an mbarrier by parity: which phase they mean must not depend on when they come.

A parity names every second phase. A thread that waits for one, and in this run gets phase j, would
have got phase j - 2 if it had come before phase j - 1 was complete. So it has to know that phase
j - 1 is: because it has waited for it, or has met somebody who has, or has met all who arrived in
it. A barrier that ran ahead of those who wait for it is found so: they wait for phase 2 where they
mean phase 0.

What is found is kept until the kernel ends, or nobody can go on, for the races that follow from it
have messages of their own.
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
from opencute.sim.sync.clocks import AGENT, AGENTS, FREED, Clocks, key
from opencute.sim.sync.deadlock import describe_slots
from opencute.sim.values import Array

__all__ = ["Phases"]


@dataclass(eq=False)
class _Over:
    """A phase that is complete.

    Args:
        number: which.
        time: when it was complete.
        op: what completed it.
        arrivals: who had arrived, and when.
        alone: whether it waited for nothing but these arrivals.
    """

    number: int
    time: int
    op: Op
    arrivals: list[tuple[Array, int]]
    alone: bool


@dataclass(eq=False)
class _Missed:
    """A wait that may get another phase than it means."""

    op: Op
    who: str
    parity: int
    phase: int
    over: _Over


class Phases:
    """The phases of one mbarrier, and who knows that they are over (checking mode).

    Args:
        checker: of the launch.
        name: what messages call the barrier.
        place: of the barrier.
        born: when it was initialised.
    """

    def __init__(self, checker: Any, name: str, place: int, born: int) -> None:
        self.clocks: Clocks = checker.clocks
        self.name = name
        self.agent: int = checker.agent(("phases", place, born), f"a phase of {name}")
        self.key = key(AGENT, self.agent - AGENTS)
        self.arrivals: list[tuple[Array, int]] = []
        self.alone = True
        self.over: list[_Over] = []
        self.missed: _Missed | None = None

    def arrived(self, slots: Array) -> None:
        """Threads have arrived."""
        self.arrivals.append((slots, self.clocks.now))

    def complete(self, op: Op, number: int) -> dict[int, int]:
        """A phase is complete; returns what those who see that come to know."""
        now = self.clocks.tick()
        self.over = [*self.over[-1:], _Over(number, now, op, self.arrivals, self.alone)]
        self.arrivals, self.alone = [], True
        return {self.key: now}

    def seen(self, slots: Array) -> None:
        """Threads have seen that the last phase is complete."""
        if self.over:
            self.clocks.learn(slots, [{self.key: self.over[-1].time}])

    def waits(self, op: Op, run: Any, slots: Array, phase: int, parity: int) -> None:
        """Threads wait for a phase, or have got it.

        Args:
            op: the wait.
            run: the launch.
            slots: who.
            phase: which it is in this run.
            parity: what they named it by.
        """
        over = next((o for o in self.over if o.number == phase - 1), None)
        if over is None or self.missed is not None:
            return
        if self.clocks.all_know(slots, (self.agent,), over.time, FREED):
            return
        for slot in slots.tolist():
            who = np.array([slot])
            if self.clocks.all_know(who, (self.agent,), over.time, FREED) or self._met(slot, over):
                continue
            self.missed = _Missed(op, describe_slots(run, who), parity, phase, over)
            return

    def _met(self, slot: int, over: _Over) -> bool:
        """Whether a thread knows all who arrived in a phase, and that was all it waited for."""
        if not over.alone:
            return False
        first = self.clocks.first_block * self.clocks.threads
        for slots, time in over.arrivals:
            others = slots[slots != slot]
            me = np.full(others.size, slot)
            times = np.full(others.size, time)
            if others.size and not self.clocks.knows(me, others + first, times, FREED).all():
                return False
        return True

    def fault(self) -> SimulationError | None:
        """What was found, as an error."""
        missed = self.missed
        if missed is None:
            return None
        over = missed.over
        return SimulationError(
            f"{missed.who} waits for {self.name} by parity {missed.parity}, and gets its phase "
            f"{missed.phase}, without an order to its phase {over.number}, completed at "
            f"{over.op.loc}",
            code="OC3029", loc=missed.op.loc,
            expected=f"a wait for phase {over.number} before, or an order to who waited for it",
            found=f"had it come earlier, it would have got phase {over.number - 1}",
            hint="who completes a phase has to know that all have seen the one before: let readers "
            "arrive at a second mbarrier, and writers wait for that; who waits for some phases "
            "only needs an order to those who wait for the others",
        )  # fmt: skip

    def note(self) -> str:
        """What a deadlock's message says of it, empty if there is nothing."""
        fault = self.fault()
        return "" if fault is None else f"\n    {fault.code}: {fault.message}"
