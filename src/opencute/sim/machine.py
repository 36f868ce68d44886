# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a program with cohorts: lanes that are at the same place, kept as plain data.

A cohort runs until it waits, diverges or ends. Divergence makes two cohorts that meet again at the
join: values from before the split are unchanged there (SSA), so the parent's registers are kept and
only the operation's results are merged. If nothing else can run, blocks that are whole at a join go
on without the others, which may wait for them; then the innermost unfinished join is given up: the
lanes that came go on alone, so that late lanes are never waited for in vain. If then nothing can
run either, the waiting lanes are a deadlock, and the report names all of them.
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

from opencute.ir.core import Op
from opencute.sim.control import endless, step_limit
from opencute.sim.hopper.agents import pending_agents
from opencute.sim.lanes import Lanes, merge_value
from opencute.sim.memory import SimPointer
from opencute.sim.program import Program, Step
from opencute.sim.sync.deadlock import deadlock
from opencute.sim.sync.group import Group
from opencute.sim.values import Array
from opencute.sim.wait import Wait

__all__ = ["Cohort", "run_program"]

_PATIENCE = 64  # turns without news before a join is given up
_CLOCK_TURNS = 20_000  # turns that a loop may take which looks at a clock


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
    gone: Array | None = None  # lanes of blocks that did not wait for the others


@dataclass(eq=False)
class Cohort:
    """Lanes that are at one place of the program.

    Args:
        pc: the step they are at.
        lanes: who they are.
        registers: values by register name.
        wait: what they wait for, if they do.
        turn: what a loop that waits for memory carries into its next turn and may end it.
        before: as `turn`, when it was last allowed to go on without news.
        meetings: joins where they are expected, innermost last, with their positions there.
    """

    pc: int
    lanes: Lanes
    registers: dict[str, Any]
    wait: Wait | None = None
    meetings: tuple[tuple[_Meeting, Array], ...] = ()
    turn: tuple[Any, ...] | None = None
    before: tuple[Any, ...] | None = None


class _Machine:
    def __init__(self, program: Program, pick: Callable[[Sequence[Cohort]], int] | None) -> None:
        self.steps = program.steps
        self.pick = pick
        self.ready: list[Cohort] = []
        self.parked: list[Cohort] = []
        self.meetings: list[_Meeting] = []
        self.ended: list[Cohort] = []
        self.limit = step_limit()
        self.idle_turns = 0
        self.turns: Counter[int] = Counter()  # of loops, by the step that jumps back

    def run(self, root: Cohort) -> list[Cohort]:
        self.ready.append(root)
        group = root.lanes.run.group
        group.rest["whereabouts"] = self._whereabouts
        while True:
            while self.ready:
                self._step(self._next())
                self._wake()
            if not self.parked and not self.meetings:
                self._finish_agents(group)
                return self.ended
            if self._release_some() or self._release_blocks() or self._agents_step(group):
                continue
            # A loop that still gets somewhere goes first, but not for ever: others may wait at a
            # join for the very lanes that turn.
            patient = self.idle_turns < _PATIENCE
            if (patient and self._turn_again()) or self._give_up() or self._turn_again():
                continue
            deadlock(self.parked)

    def _agents_step(self, group: Group) -> bool:
        """No thread can go on: a hardware unit does what it was asked for, if there is anything."""
        agents = pending_agents(group)
        if agents is None:
            return False
        agents.step(self.pick)
        self.idle_turns = 0
        self._wake()
        return True

    def _whereabouts(self) -> list[tuple[Cohort, str]]:
        """Who is where, in words, but for the cohort whose step is under way."""
        out = [(c, f"at {c.wait.op.name} at {c.wait.op.loc}") for c in self.parked if c.wait]
        for meeting in self.meetings:
            past = f"past the condition at {meeting.op.loc}"
            out += [(c, past) for _, c in meeting.arrived]
        return out + [(c, self._next_place(c.pc)) for c in self.ready]

    def _next_place(self, pc: int) -> str:
        """The next place with a name that those who are ready at a step come to."""
        step = self.steps[pc]
        while step.kind == "segment" or (step.kind == "jump" and step.to > pc):
            pc = pc + 1 if step.kind == "segment" else step.to
            step = self.steps[pc]
        if step.op is None:
            return "at the end of the kernel"
        if step.kind == "wait":
            return f"before {step.op.name} at {step.op.loc}"
        return f"{'past' if step.kind == 'join' else 'before'} the condition at {step.op.loc}"

    @staticmethod
    def _finish_agents(group: Group) -> None:
        agents = pending_agents(group)
        if agents is not None:
            agents.drain()

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
            elif step.kind == "spin":
                self._turn(cohort.pc, step)
                self._spin(cohort, step)
                return
            elif step.kind == "join":
                joined = self._join(cohort, step)
                if joined is None:
                    return
                cohort = joined
            else:
                self.ended.append(cohort)
                cohort.lanes.run.group.end(cohort.lanes)
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
            wait = wait.narrowed(pick)
        turn = None if cohort.turn is None else tuple(map(pick, cohort.turn))
        return Cohort(pc, part, kept, wait, tuple((m, pick(p)) for m, p in meetings), turn)

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
        if meeting.gone is not None:
            meeting = _narrowed(meeting, ~meeting.gone, meeting.arrived)
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
            wait, cohort.wait = cohort.wait, None
            got = None if wait.results is None else wait.results()
        else:
            assert step.run is not None
            got = step.run(cohort.lanes, cohort.registers)
            if type(got) is Wait:
                cohort.lanes.run.waited(cohort.lanes, got.op)
                cohort.wait = got
                cohort.turn = None
                self.parked.append(cohort)
                return False
        if step.defs:
            assert got is not None
            cohort.registers.update(zip(step.defs, got, strict=True))
        cohort.pc += 1
        return True

    # ------------------------------------------------------------------ loops that wait for memory
    def _spin(self, cohort: Cohort, step: Step) -> None:
        """Let others run before the next turn of a loop that reads what they may write."""
        cohort_pc, cohort.pc = cohort.pc, step.to
        # What may end the loop and is not memory; a register tensor may hold something else always.
        cohort.turn = tuple(cohort.registers.get(u) for u in step.uses)
        if step.counts:
            cohort.turn = (*cohort.turn, self.turns[cohort_pc])
        group = cohort.lanes.run.group
        seen = group.version
        assert step.op is not None
        wait = cohort.wait = Wait(
            step.op,
            lambda: group.version != seen,
            lambda: "a loop in which nothing changes",
        )
        barriers = group.rest.get("mbarriers")
        if barriers is not None and barriers.tried(cohort.lanes):
            wait.text = lambda: f"a loop that tries {barriers.tried(cohort.lanes)}"
            wait.missing = lambda: barriers.tried_missing(cohort.lanes)
        self.parked.append(cohort)

    def _turn_again(self) -> bool:
        """Nothing else can run: loops whose values change from turn to turn go on."""
        self.idle_turns += 1
        timed = self.idle_turns < _CLOCK_TURNS
        again = [c for c in self.parked if c.turn is not None and _gets_somewhere(c, timed)]
        for cohort in again:
            self.parked.remove(cohort)
            cohort.wait = None
            self.ready.append(cohort)
        return bool(again)

    def _wake(self) -> None:
        if not self.parked:
            return
        still: list[Cohort] = []
        for cohort in self.parked:
            assert cohort.wait is not None
            ready = cohort.wait.ready()
            done = ready.all() if type(ready) is np.ndarray else ready
            if done and cohort.turn is not None:
                cohort.wait = None  # the next turn begins; there is nothing to finish
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

    def _release_blocks(self) -> bool:
        """Blocks that are whole at a join go on: others may wait for what they do next."""
        for meeting in reversed(self.meetings):
            here = _whole_blocks(meeting)
            if here is None:
                continue
            gone, rest = [], []
            for position, cohort in meeting.arrived:
                side = here.reshape(-1)[position]
                for part, into in ((side, gone), (~side, rest)):
                    if part.any():
                        cut = self._cut(cohort, part, cohort.pc, cohort.meetings)
                        into.append((cut.meetings[-1][1], cut))
            free = _narrowed(meeting, here, gone)
            meeting.arrived = rest
            meeting.gone = here if meeting.gone is None else meeting.gone | here
            cohort = self._merged(free, self.steps[gone[0][1].pc])
            cohort.pc += 1
            self.ready.append(cohort)
            return True
        return False

    def _give_up(self) -> bool:
        """Nothing runs: the innermost join that some lanes have reached is not waited for."""
        for meeting in reversed(self.meetings):
            if meeting.arrived:
                self.meetings.remove(meeting)
                meeting.open = False
                self.idle_turns = 0
                for _, cohort in meeting.arrived:
                    cohort.meetings = cohort.meetings[:-1]
                    cohort.pc += 1
                    self.ready.append(cohort)
                return True
        return False


def _gets_somewhere(cohort: Cohort, timed: bool) -> bool:
    """Whether a loop carries something else than at its last turn without news, or, for a while,
    looks at a clock."""
    group = cohort.lanes.run.group
    assert cohort.turn is not None
    now = (group.version, cohort.lanes.n, *cohort.turn)
    before, cohort.before = cohort.before, now
    if before is None or (timed and group.clock_read) or before[:2] != now[:2]:
        return True
    return any(not _equal(a, b) for a, b in zip(before, now, strict=True))


def _equal(a: Any, b: Any) -> bool:
    """Whether a value is the same as before, as far as one can see cheaply."""
    if a is b:
        return True
    if type(a) is np.ndarray and type(b) is np.ndarray:
        return a.shape == b.shape and a.tobytes() == b.tobytes()
    if type(a) is SimPointer and type(b) is SimPointer:
        return a.buffer is b.buffer and _equal(a.offset, b.offset)
    same = type(a) is type(b) and a == b
    return same if type(same) is bool else False


def _whole_blocks(meeting: _Meeting) -> Array | None:
    """Lanes of those blocks whose lanes have all come to a join; None: no such block."""
    if not meeting.arrived:
        return None
    lanes = meeting.lanes
    blocks = np.broadcast_to(lanes.slot // lanes.run.group.threads, (lanes.P, lanes.Q)).ravel()
    there = np.zeros(blocks.size, np.bool_)
    for position, _ in meeting.arrived:
        there[position.ravel()] = True
    expected = ~there if meeting.gone is None else ~(there | meeting.gone.ravel())
    here = there & ~np.isin(blocks, blocks[expected])
    return here.reshape(lanes.P, lanes.Q) if here.any() else None


def _narrowed(meeting: _Meeting, keep: Array, arrived: list[tuple[Array, Cohort]]) -> _Meeting:
    """A join for some of the lanes of another one, at which they are already."""
    part, pick, _ = meeting.lanes.sub(keep)
    old = np.arange(meeting.lanes.n).reshape(meeting.lanes.P, meeting.lanes.Q)
    new = np.zeros(meeting.lanes.n, np.int64)
    new[pick(old).ravel()] = np.arange(part.n)
    return _Meeting(
        meeting.op, part, {r: pick(v) for r, v in meeting.registers.items()}, 0,
        tuple((m, pick(p)) for m, p in meeting.outer),
        arrived=[(new[position], cohort) for position, cohort in arrived],
    )  # fmt: skip


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
