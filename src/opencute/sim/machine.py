# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a program with cohorts: lanes that are at the same place, kept as plain data.

A cohort runs until it waits, diverges or ends. Divergence makes two cohorts that meet again at the
join: values from before the split are unchanged there (SSA), so the parent's registers are kept and
only the operation's results are merged. If nothing else can run, the innermost unfinished join is
given up: the lanes that came go on alone, so that late lanes are never waited for in vain. If then
nothing can run either, the waiting lanes are a deadlock, and the report names all of them.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opencute.base.errors import DeadlockError
from opencute.ir.core import Op
from opencute.sim.control import endless, step_limit
from opencute.sim.lanes import Lanes, merge_value
from opencute.sim.program import Program, Step
from opencute.sim.values import Array
from opencute.sim.wait import Wait

__all__ = ["Cohort", "run_program"]


@dataclass(eq=False)
class _Meeting:
    """A join that lanes are expected at."""

    op: Op
    lanes: Lanes
    registers: dict[str, Any]
    left: int
    outer: tuple[tuple[_Meeting, Array], ...]
    open: bool = True
    arrived: list[tuple[Array, Cohort]] = field(default_factory=list)


@dataclass(eq=False)
class Cohort:
    """Lanes that are at one place of the program.

    Args:
        pc: the step they are at.
        lanes: who they are.
        registers: values by register name.
        wait: what they wait for, if they do.
        meetings: joins where they are expected, innermost last, with their positions there.
    """

    pc: int
    lanes: Lanes
    registers: dict[str, Any]
    wait: Wait | None = None
    meetings: tuple[tuple[_Meeting, Array], ...] = ()


class _Machine:
    def __init__(self, program: Program, pick: Callable[[Sequence[Cohort]], int] | None) -> None:
        self.steps = program.steps
        self.pick = pick
        self.ready: list[Cohort] = []
        self.parked: list[Cohort] = []
        self.meetings: list[_Meeting] = []
        self.ended: list[Cohort] = []
        self.limit = step_limit()
        self.turns: Counter[int] = Counter()  # of loops, by the step that jumps back

    def run(self, root: Cohort) -> list[Cohort]:
        self.ready.append(root)
        while True:
            while self.ready:
                self._step(self._next())
                self._wake()
            if not self.parked and not self.meetings:
                return self.ended
            if self._release_some() or self._give_up():
                continue
            _deadlock(self.parked)

    def _next(self) -> Cohort:
        ready = self.ready
        if len(ready) == 1:
            return ready.pop()
        if self.pick is not None:
            return ready.pop(self.pick(ready))
        # Whoever is furthest behind runs first, so that laggards meet the others.
        return ready.pop(min(range(len(ready)), key=lambda i: ready[i].pc))

    def _step(self, cohort: Cohort) -> None:
        steps = self.steps
        while True:
            step = steps[cohort.pc]
            if step.kind == "segment":
                assert step.run is not None
                step.run(cohort.lanes, cohort.registers)
                cohort.pc += 1
            elif step.kind == "jump":
                if step.to <= cohort.pc:
                    self._turn(cohort.pc, step)
                cohort.pc = step.to
            elif step.kind == "branch":
                if not self._branch(cohort, step):
                    return
            elif step.kind == "wait":
                if not self._wait(cohort, step):
                    return
            elif step.kind == "join":
                joined = self._join(cohort, step)
                if joined is None:
                    return
                cohort = joined
            else:
                self.ended.append(cohort)
                return

    def _turn(self, at: int, step: Step) -> None:
        self.turns[at] += 1
        if self.turns[at] > self.limit:
            assert step.op is not None
            raise endless(step.op, self.turns[at])

    # ------------------------------------------------------------------ divergence
    def _branch(self, cohort: Cohort, step: Step) -> bool:
        cond = cohort.registers[step.uses[0]]
        if type(cond) is np.ndarray:
            held = int(np.count_nonzero(cond))
            if 0 < held < cond.size:
                self._split(cohort, cond, cohort.pc + 1, step)
                return False
            cond = held > 0
        cohort.pc = cohort.pc + 1 if cond else step.to
        return True

    def _split(self, cohort: Cohort, cond: Array, then: int, step: Step) -> None:
        lanes = cohort.lanes
        lanes.run.report.splits += 1
        meetings = cohort.meetings
        # All exits of one loop meet once; lanes that may run apart never do.
        inside = bool(meetings) and meetings[-1][0].op is step.op
        if not inside and not _whole_warps(lanes, cond):
            assert step.op is not None
            meeting = _Meeting(step.op, lanes, cohort.registers, lanes.n, meetings)
            self.meetings.append(meeting)
            position = np.arange(lanes.n).reshape(lanes.P, lanes.Q)
            meetings = (*meetings, (meeting, position))
        for side, pc in ((cond, then), (~cond, step.to)):
            self.ready.append(self._cut(cohort, side, pc, meetings))

    def _cut(self, cohort: Cohort, side: Array, pc: int, meetings: Any) -> Cohort:
        part, pick, _ = cohort.lanes.sub(side)
        registers = cohort.registers
        kept = {r: pick(registers[r]) for r in self.steps[pc].live if r in registers}
        wait = cohort.wait
        if wait is not None:
            wait = _narrowed(wait, pick)
        return Cohort(pc, part, kept, wait, tuple((m, pick(p)) for m, p in meetings))

    def _join(self, cohort: Cohort, step: Step) -> Cohort | None:
        if cohort.meetings and cohort.meetings[-1][0].op is step.op:
            meeting, position = cohort.meetings[-1]
            if meeting.open:
                meeting.arrived.append((position, cohort))
                meeting.left -= cohort.lanes.n
                if meeting.left:
                    return None
                self.meetings.remove(meeting)
                cohort = self._merged(meeting, step)
            else:
                cohort.meetings = cohort.meetings[:-1]
        cohort.pc += 1
        return cohort

    def _merged(self, meeting: _Meeting, step: Step) -> Cohort:
        lanes = meeting.lanes
        live = step.live
        registers = {r: v for r, v in meeting.registers.items() if r in live}
        flat = Lanes(lanes.run, 1, lanes.n, None, None)
        for name, kind in step.results:
            if name not in live:
                continue
            parts = [
                (("flat", p.ravel()), _flat(c.registers[name], p.shape)) for p, c in meeting.arrived
            ]
            value = merge_value(flat, parts, kind)
            registers[name] = _mapped(value, lambda v: v.reshape(lanes.P, lanes.Q, *v.shape[2:]))
        return Cohort(meeting.arrived[0][1].pc, lanes, registers, None, meeting.outer)

    # ------------------------------------------------------------------ waiting
    def _wait(self, cohort: Cohort, step: Step) -> bool:
        if cohort.wait is not None:
            cohort.wait = None
        else:
            assert step.run is not None
            wait = step.run(cohort.lanes, cohort.registers)
            if wait is not None:
                cohort.lanes.run.report.waits += 1
                cohort.wait = wait
                self.parked.append(cohort)
                return False
        cohort.pc += 1
        return True

    def _wake(self) -> None:
        if not self.parked:
            return
        still: list[Cohort] = []
        for cohort in self.parked:
            assert cohort.wait is not None
            ready = cohort.wait.ready()
            done = ready.all() if type(ready) is np.ndarray else ready
            (self.ready if done else still).append(cohort)
        self.parked = still

    def _release_some(self) -> bool:
        """Cut off lanes whose wait is over from those of other blocks that still wait."""
        for i, cohort in enumerate(self.parked):
            assert cohort.wait is not None
            ready = cohort.wait.ready()
            if type(ready) is np.ndarray and ready.any():
                del self.parked[i]
                waiting = self._cut(cohort, ~ready, cohort.pc, cohort.meetings)
                self.parked.append(waiting)
                self.ready.append(self._cut(cohort, ready, cohort.pc, cohort.meetings))
                return True
        return False

    def _give_up(self) -> bool:
        """Nothing runs: the innermost join that some lanes have reached is not waited for."""
        for meeting in reversed(self.meetings):
            if meeting.arrived:
                self.meetings.remove(meeting)
                meeting.open = False
                for _, cohort in meeting.arrived:
                    cohort.meetings = cohort.meetings[:-1]
                    cohort.pc += 1
                    self.ready.append(cohort)
                return True
        return False


def _narrowed(wait: Wait, pick: Callable[[Any], Any]) -> Wait:
    """The wait of some of the lanes that wait."""
    return Wait(wait.op, lambda: pick(wait.ready()), wait.text)


def _whole_warps(lanes: Lanes, cond: Array) -> bool:
    """Whether a split of one block leaves every warp in one piece."""
    if lanes.P != 1 or cond.shape[1] != lanes.Q or type(lanes.tid) is not np.ndarray:
        return False
    tid = lanes.tid[0]
    if tid.size % 32 or (tid[::32] % 32).any() or (np.diff(tid.reshape(-1, 32)) != 1).any():
        return False
    warps = cond.reshape(-1, 32)
    return bool((warps == warps[:, :1]).all())


def _mapped(value: Any, fn: Callable[[Array], Array]) -> Any:
    if type(value) is np.ndarray:
        return fn(value)
    mapped = getattr(value, "mapped", None)
    return mapped(fn) if mapped is not None else value


def _flat(value: Any, grid: tuple[int, ...]) -> Any:
    size = grid[0] * grid[1]
    return _mapped(
        value,
        lambda v: np.broadcast_to(v, (*grid, *v.shape[2:])).reshape(1, size, *v.shape[2:]),
    )


def _deadlock(parked: Sequence[Cohort]) -> None:
    lines = []
    for cohort in sorted(parked, key=lambda c: c.pc):
        wait = cohort.wait
        assert wait is not None
        lanes = cohort.lanes
        last = (lanes.P - 1, lanes.Q - 1)
        who = lanes.name((0, 0))
        if lanes.n > 1:
            who += f" to {lanes.name(last)} ({lanes.n} threads)"
        lines.append(f"{wait.op.name} at {wait.op.loc}: {who}: {wait.text()}")
    first = parked[0].wait
    assert first is not None
    raise DeadlockError(
        "no thread can make progress; waiting are\n    " + "\n    ".join(lines),
        code="OC3501",
        loc=first.op.loc,
    )


def run_program(
    program: Program,
    lanes: Lanes,
    arguments: Sequence[Any],
    pick: Callable[[Sequence[Cohort]], int] | None = None,
) -> list[Cohort]:
    """Run a program; returns the cohorts that ended, with the results in their registers.

    Args:
        program: what to run.
        lanes: who runs it.
        arguments: one value for each argument.
        pick: chooses who runs next, for other schedules; default: who is furthest behind.

    Raises:
        DeadlockError: lanes wait and nothing can run.
    """
    registers = dict(zip(program.arguments, arguments, strict=True))
    return _Machine(program, pick).run(Cohort(0, lanes, registers))
