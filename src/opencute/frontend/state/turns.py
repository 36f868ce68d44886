# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Run-time loops: a body is traced until the types of what it carries settle.

In: the variables before, and the body as a function from a turn's variables to the next one's. Out:
an `scf` op, and the variables after::

    Loop(("s",), (0,), ()).run_for(LoopRange(n), lambda i, s: (s + i,))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.dialects import scf
from opencute.frontend.carried import NoJoin, Session, Static, plan_for
from opencute.frontend.leaving import at_run_time
from opencute.frontend.ranges import LoopRange
from opencute.frontend.state.joins import (
    RESULT,
    Names,
    Values,
    check_shapes,
    flatten,
    item_values,
    join,
    link_all,
    rebuild,
    shapes_of,
    states_of,
    types_of,
    write_back,
    zeros_of,
)
from opencute.frontend.state.kept import own_cells
from opencute.frontend.state.links import check, cut, mark
from opencute.frontend.state.watch import Key, Watch
from opencute.frontend.unbound import Later, Unbound
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Op, Value
from opencute.lang.block import smem
from opencute.lang.numbers import Boolean, Numeric, number_in

__all__ = ["Loop", "truth"]

_TURNS = 8  # a loop's types settle after a few tracings of its body, or never


def truth(cond: Any) -> Any:
    """A Python bool, or a dynamic Boolean."""
    cond = number_in(cond)
    if isinstance(cond, Numeric) and cond.is_dynamic:
        return cond.to(Boolean)
    return bool(cond)  # of a vector: raises with a hint


class Loop:
    """A run-time loop in the making: its body is traced until the variables' types settle."""

    def __init__(self, names: Names, current: Values, reached: Values, parts: Values = ()) -> None:
        self.names = names
        self.before = current
        self.watch = Watch((*current, *reached), own_cells(parts, names), parts)
        self.keys: list[Key] = []
        check()
        self.links = mark()
        self.session = Session(self.watch.known)
        self.plans = join(
            names, [current], "cannot be carried through a loop", self.session, dynamic=True
        )

    def _with_items(self, row: Values, changes: dict[Key, Any]) -> Values:
        return (*row, *item_values(self.watch, self.keys, changes))

    def _names(self) -> Names:
        return (*self.names, *map(self.watch.describe, self.keys))

    def _enter(self, args: Iterable[Value]) -> Values:
        """The variables at the start of a turn; changed items are set."""
        row = write_back(self.watch, self.keys, rebuild(self.plans, args), {})
        link_all(self.session, self._names(), self.plans)
        return row

    def _admit(self, changes: dict[Key, Any]) -> bool:
        """Carry changed items from now on; whether there are new ones."""
        fresh = [k for k in changes if k not in self.keys]
        self.plans += [Static(x) for x in item_values(self.watch, fresh, {})]
        self.keys += fresh
        return bool(fresh)

    def _leave(self, row: Values) -> tuple[Values, bool]:
        """The variables at the end of a turn, and whether the plans have been found to fit."""
        cut(self.links)
        changes = self.watch.changes()
        check_shapes(self.watch, [{}, shapes_of(self.watch, changes)], "a run-time loop")
        states = [{}, states_of(self.watch, changes)]
        self.watch.restore()
        fresh = self._admit(changes)
        after = self._with_items(row, changes)
        start = self._with_items(self.before, {})
        session = Session(self.watch.known)
        session.states = states
        new = join(
            self._names(), [start, after], "changes its kind in a loop", session, dynamic=True
        )
        # A variable that is unbound before the loop is not carried.
        new = [p if p.unbound() else q for p, q in zip(self.plans, new, strict=True)]
        fits = not fresh and [p.facts() for p in self.plans] == [q.facts() for q in new]
        if not fits:
            self.session = session
            self.plans = new
        self.session.states, self.session.path = states, 1
        return after, fits

    def _start(self) -> list[Value]:
        self.session.path = 0
        return flatten(self.plans, self._with_items(self.before, {}))

    def _finish(self, op: Op) -> Values:
        return self._enter(op.results)

    def run_for(self, loop: LoopRange, body: Callable[..., Values]) -> Values:
        """Build an `scf.for`."""
        with self.watch.inside():
            return self._for(loop, body)

    def _for(self, loop: LoopRange, body: Callable[..., Values]) -> Values:
        lower, upper, step, item = loop.bounds()
        memory = smem.mark()
        for _ in range(_TURNS):
            smem.rewind(memory)
            region, block = new_block([lower.type, *types_of(self.plans)])
            with insert_at(block):
                out = at_run_time(body, item(block.args[0]), *self._enter(block.args[1:]))
                after, fits = self._leave(out)
                if fits:
                    scf.yield_(flatten(self.plans, after))
            if fits and not self._bind(out, loop.runs()):
                op = scf.for_(lower, upper, step, self._start(), region)
                loop.annotate(op)
                return self._finish(op)
        raise _unsettled()

    def _bind(self, out: Values, runs: bool) -> bool:
        """Give variables that every turn binds, and nothing before the loop, a start value: the
        loop certainly runs, and no turn has read them before it bound them. A return value is not
        read unless it has been set."""
        before = list(self.before)
        for i, (old, new) in enumerate(zip(self.before, out, strict=True)):
            if not self.plans[i].unbound() or isinstance(new, Unbound | FunctionType):
                continue
            if not (runs or self.names[i] == RESULT or isinstance(old, Later)):
                continue
            try:
                self.session.paths = (1,)
                plan = plan_for(new, dynamic=True, session=self.session)
            except NoJoin:
                continue
            finally:
                self.session.paths = None
            zeros = zeros_of(plan.types())
            if zeros is not None:
                self.plans[i], before[i] = plan, plan.rebuild(iter(zeros))
        found = any(a is not b for a, b in zip(before, self.before, strict=True))
        self.before = tuple(before)
        return found

    def run_while(
        self,
        cond: Callable[..., tuple[Any, Values]],
        body: Callable[..., Values],
        *,
        runs: bool = False,
    ) -> Any:
        """Build an `scf.while`; or the condition's value, if it is known while tracing."""
        with self.watch.inside():
            return self._while(cond, body, runs)

    def _while(
        self, cond: Callable[..., tuple[Any, Values]], body: Callable[..., Values], runs: bool
    ) -> Any:
        memory = smem.mark()
        for _ in range(_TURNS):
            smem.rewind(memory)
            types = types_of(self.plans)
            before, before_block = new_block(types)
            with insert_at(before_block):
                test, start = cond(*self._enter(before_block.args))
                test = truth(test)
                cut(self.links)
                changes = self.watch.changes()
                self.watch.restore()
                if self._admit(changes):
                    continue
                if test is True or test is False:
                    smem.rewind(memory)
                    return test
                row = self._with_items(start, changes)
                scf.condition(test.ir_value(), flatten(self.plans, row))
            if self._bind(start, True):  # what the condition binds, the body can read
                continue
            after, after_block = new_block(types)
            with insert_at(after_block):
                out = at_run_time(body, *self._enter(after_block.args))
                after_row, fits = self._leave(out)
                if fits:
                    scf.yield_(flatten(self.plans, after_row))
            if fits and not self._bind(out, runs):
                return self._finish(scf.while_(self._start(), types, before, after))
        raise _unsettled()


def _unsettled() -> TypeMismatchError:
    return TypeMismatchError(
        "the types of a loop's variables do not settle", code="OC1251",
        hint="give each variable one type before the loop, such as cutlass.Float32(0)",
    )  # fmt: skip
