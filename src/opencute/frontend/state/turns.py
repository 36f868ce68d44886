# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Run-time loops: a body is traced until the types of what it carries settle.

In: the variables before, and the body as a function from a turn's variables to the next one's. Out:
an `scf` op, and the variables after::

    Loop(("s",), (0,), ()).run_for(LoopRange(n), lambda i, s: (s + i,))
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Generator, Iterable, Iterator
from types import FunctionType
from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.dialects import scf
from opencute.frontend.carried import Built, NoJoin, Plan, Session, Static, plan_for
from opencute.frontend.leaving import at_run_time
from opencute.frontend.ranges import LoopRange
from opencute.frontend.state.guesses import Guess, carried_parts, guessed, like, settled
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
from opencute.frontend.state.links import check, cut, drop, mark
from opencute.frontend.state.watch import MISSING, Key, Watch
from opencute.frontend.unbound import Later, Unbound
from opencute.ir.builder import current_block, insert_at, new_block
from opencute.ir.core import Block, Op, Value
from opencute.lang.block import smem_plan
from opencute.lang.numbers import Boolean, Numeric, number_in

__all__ = ["Loop", "truth"]

_TURNS = 8  # a loop's types settle after a few tracings of its body, or never


def truth(cond: Any) -> Any:
    """What Python's `if` makes of a value: a bool, or a run-time Boolean.

    The `__bool__` of a user's class may give a run-time value, which Python's `bool` refuses.
    """
    cond = number_in(cond)
    if isinstance(cond, Numeric):
        return cond.to(Boolean) if cond.is_dynamic else bool(cond)
    method = getattr(type(cond), "__bool__", None)
    if method is not None and not isinstance(method, types.WrapperDescriptorType):
        said = number_in(method(cond))  # of a vector: raises with a hint
        if isinstance(said, Boolean):
            return truth(said)
        if isinstance(said, bool):
            return said
    return bool(cond)


class Loop:
    """A run-time loop in the making: its body is traced until the variables' types settle."""

    def __init__(self, names: Names, current: Values, reached: Values, parts: Values = ()) -> None:
        self.names = names
        self.before = current
        self.parts = parts
        self.watch = Watch((*current, *reached), own_cells(parts, names), parts)
        check()
        self.links = mark()
        self.memory = smem_plan.mark()
        self.outside = current_block()
        self.guess = guessed(parts, self.watch)
        self.guesses = 2
        """How many more times something may be carried that is only thought to change."""
        self.changed: set[Key] = set()
        self._begin(self.guess)

    def _begin(self, guess: Guess) -> None:
        """Carry the variables, and what else is thought to change."""
        self.keys = guess.keys
        self.rebound = {
            i: guess.rebound and guess.rebound[i] for i, x in enumerate(self.before)
            if (guess.rebound is None or i in guess.rebound) and id(x) in self.watch.known
        }  # fmt: skip
        if not self.keys and not self.rebound:
            self.guesses = 0
        self.session = Session(self.watch.known)
        start = self._with_items(self.before, {})
        with insert_at(Block()):  # objects that say what they consist of make constants for that
            self.plans = join(
                self._names(), [start], "cannot be carried through a loop", self.session,
                dynamic=True,
            )  # fmt: skip
            for i, parts in self.rebound.items():
                self.plans[i] = self._another(self.before[i], self.plans[i], parts)

    def _another(self, obj: Any, plan: Plan, parts: Any) -> Plan:
        """The plan for a variable that does not keep its object."""
        self.session.known = self.watch.known - {id(obj)}
        try:
            return like(plan_for(obj, dynamic=True, session=self.session), obj, parts)
        except NoJoin:
            return plan
        finally:
            self.session.known = self.watch.known

    def _turns(self) -> Iterator[None]:
        """Attempts at tracing the body."""
        for _ in range(_TURNS):
            smem_plan.rewind(self.memory)
            self.changed.clear()
            yield
        raise _unsettled()

    @contextlib.contextmanager
    def _trying(self, block: Block) -> Generator[None]:
        """Trace into a block. What goes wrong with guessed items is tried without them."""
        try:
            with insert_at(block):
                yield
        except Exception:
            if not self.guesses:
                raise
            drop(self.links)
            self.watch.restore()
            self._begin(Guess())

    def _with_items(self, row: Values, changes: dict[Key, Any]) -> Values:
        return (*row, *item_values(self.watch, self.keys, changes))

    def _names(self) -> Names:
        return (*self.names, *map(self.watch.describe, self.keys))

    def _enter(self, args: Iterable[Value]) -> Values:
        """The variables at the start of a turn; changed items are set."""
        out = rebuild(self.plans, args)
        row = self.entry = write_back(self.watch, self.keys, out, {})
        self.entered = dict(zip(self.keys, out[len(row) :], strict=True))
        link_all(self.session, self._names(), self.plans)
        return row

    def _changes(self) -> dict[Key, Any]:
        """The items that the trace has changed, which are put back."""
        changes = self.watch.changes()
        self.changed.update(k for k, x in changes.items() if x is not self.entered.get(k, MISSING))
        return changes

    def _admit(self, changes: dict[Key, Any]) -> bool:
        """Carry changed items from now on; whether there are new ones."""
        fresh = [k for k in changes if k not in self.keys]
        if not fresh:
            return False
        count = len(self.names)
        plans = dict(zip(self.keys, self.plans[count:], strict=True))
        plans |= zip(fresh, map(Static, item_values(self.watch, fresh, {})), strict=True)
        # In an order that does not depend on what was guessed.
        self.keys = sorted(plans, key=self.watch.place)
        self.plans[count:] = [plans[k] for k in self.keys]
        return True

    def _misled(self, row: Values) -> Values | None:
        """Whether something is carried that does not change after all; it no longer is.

        Returns:
            The variables as they would be then; None if all is as it was thought to be.
        """
        if not self.guesses:
            return None
        kept = {i for i in self.rebound if row[i] is self.entry[i]}
        if not kept and self.changed.issuperset(self.keys):
            return None
        self.guesses -= 1
        count = len(self.names)
        items = dict(zip(self.keys, self.plans[count:], strict=True))
        self.keys = [k for k in self.keys if k in self.changed]
        self.plans[count:] = [items[k] for k in self.keys]
        self.rebound = {i: p for i, p in self.rebound.items() if i not in kept}
        return tuple(self.before[i] if i in kept else x for i, x in enumerate(row))

    def _leave(self, row: Values) -> tuple[Values, bool]:
        """The variables at the end of a turn, and whether the plans have been found to fit."""
        cut(self.links)
        changes = self._changes()
        check_shapes(self.watch, [{}, shapes_of(self.watch, changes)], "a run-time loop")
        states = [{}, states_of(self.watch, changes)]
        self.watch.restore()
        instead = self._misled(row)
        if instead is not None:
            if not self.guesses:
                self._begin(Guess())
                return row, False
            row, changes = instead, {k: x for k, x in changes.items() if k in self.changed}
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
        fits = (
            instead is None
            and not fresh
            and [p.facts() for p in self.plans] == [q.facts() for q in new]
        )
        if not fits or self.rebound:
            self.session = session
            self.plans = new
        self.session.states, self.session.path = states, 1
        return after, fits

    def _start(self) -> list[Value]:
        self.session.path = 0
        return flatten(self.plans, self._with_items(self.before, {}))

    def _finish(self, op: Op) -> Values:
        rebound = {
            i: carried_parts(p)
            for i, (x, p) in enumerate(zip(self.before, self.plans, strict=False))
            if id(x) in self.watch.known and isinstance(p, Built)
        }
        settled(self.parts, self.watch, self.keys, rebound)
        return self._enter(op.results)

    def run_for(self, loop: LoopRange, body: Callable[..., Values]) -> Values:
        """Build an `scf.for`."""
        with self.watch.inside():
            return self._for(loop, body)

    def _for(self, loop: LoopRange, body: Callable[..., Values]) -> Values:
        lower, upper, step, item = loop.bounds()
        out: Values = ()
        after: Values = ()
        for _ in self._turns():
            region, block = new_block([lower.type, *types_of(self.plans)])
            fits = False
            with self._trying(block):
                out = at_run_time(body, item(block.args[0]), *self._enter(block.args[1:]))
                after, fits = self._leave(out)
            if not fits:
                continue
            bound = self._bind(out, loop.runs())
            self._more_arguments(bound, block, 1)
            with insert_at(block):
                scf.yield_(flatten(self.plans, after))
            op = scf.for_(lower, upper, step, self._start(), region)
            loop.annotate(op)
            return self._finish(op)
        raise _unsettled()

    def _bind(self, out: Values, runs: bool) -> list[int]:
        """Give variables that every turn binds, and nothing before the loop, a start value: the
        loop certainly runs, and no turn has read them before it bound them. A return value is not
        read unless it has been set.

        Returns:
            The numbers of these variables.
        """
        before = list(self.before)
        found: list[int] = []
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
                found.append(i)
        self.before = tuple(before)
        return found

    def _more_arguments(self, variables: list[int], block: Block, first: int) -> list[int]:
        """Arguments of a traced body for variables that it does not read.

        Args:
            variables: their numbers, ascending; their plans are known.
            first: the number of the first variable's argument.

        Returns:
            The numbers of the new arguments.
        """
        out: list[int] = []
        for i in variables:
            at = first + len(types_of(self.plans[:i]))
            for k, type in enumerate(self.plans[i].types()):
                block.insert_argument(at + k, type)
                out.append(at + k)
        return out

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
        out: Values = ()
        after_row: Values = ()
        if self.guess.flags:
            # Whether the condition is known is told by what is known now.
            guess, self.guesses = self.guess, 0
            self._begin(Guess())
            head = self._condition(cond, new_block(types_of(self.plans))[1])
            if isinstance(head, bool):
                smem_plan.rewind(self.memory)
                return head
            self.guesses = 2
            self._begin(guess)
        for _ in self._turns():
            before, before_block = new_block(types_of(self.plans))
            head = self._condition(cond, before_block)
            if isinstance(head, bool):
                smem_plan.rewind(self.memory)
                return head
            if head is None:
                continue
            after, after_block = new_block(types_of(self.plans))
            fits = False
            with self._trying(after_block):
                out = at_run_time(body, *self._enter(after_block.args))
                after_row, fits = self._leave(out)
            if not fits:
                continue
            bound = self._bind(out, runs)
            for i in self._more_arguments(bound, before_block, 0):
                head.operands.insert(1 + i, before_block.args[i])
            self._more_arguments(bound, after_block, 0)
            with insert_at(after_block):
                scf.yield_(flatten(self.plans, after_row))
            types = types_of(self.plans)
            return self._finish(scf.while_(self._start(), types, before, after))
        raise _unsettled()

    def _condition(self, cond: Callable[..., tuple[Any, Values]], block: Block) -> Op | bool | None:
        """Trace the condition of a `while`: its `scf.condition`; its value, if that is known; None
        if it has to be traced again."""
        with self._trying(block):
            test, start = cond(*self._enter(block.args))
            test = truth(test)
            cut(self.links)
            changes = self._changes()
            self.watch.restore()
            if self._admit(changes):
                return None
            if test is True or test is False:
                return test
            row = self._with_items(start, changes)
            with insert_at(self.outside):
                bound = self._bind(start, True)  # what the condition binds, the body can read
            self._more_arguments(bound, block, 0)
            return scf.condition(test.ir_value(), flatten(self.plans, row))
        return None


def _unsettled() -> TypeMismatchError:
    return TypeMismatchError(
        "the types of a loop's variables do not settle", code="OC1251",
        hint="give each variable one type before the loop, such as cutlass.Float32(0)",
    )  # fmt: skip
