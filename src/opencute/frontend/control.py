# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Statements of rewritten code: `if`, `for` and `while`.

Each function takes the parts of a statement as functions, the variables that they assign, and the
objects that they can change. If the condition is known while tracing it does what Python does;
otherwise it builds an `scf` op whose results are the variables, and the items of lists and objects
that the parts changed::

    x, = if_(i < n, then, orelse, ("x",), (x,))
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from opencute.base.errors import LanguageError, TypeMismatchError
from opencute.dialects import arith, cute, scf
from opencute.dialects.cute import PtrType
from opencute.frontend.carried import NoJoin, Plan, Static, Unbound, plan_for
from opencute.frontend.leaving import at_run_time, go_on
from opencute.frontend.mutation import MISSING, Key, Watch
from opencute.frontend.ranges import LoopRange, dynamic_range
from opencute.ir.builder import current_block, insert_at, new_block
from opencute.ir.core import Block, Op, Region, Value
from opencute.ir.types import I64, FloatType, IntegerType, Type, element_type
from opencute.lang.block.smem import branches, mark, rewind
from opencute.lang.numbers import Boolean, Int32, Int64, Numeric
from opencute.lang.tensors import Tensor

__all__ = ["for_", "if_", "reach", "values", "while_"]

Names = tuple[str, ...]
Values = tuple[Any, ...]

_RESULT = "__ocr_result"  # the variable of a function's return value
_TURNS = 8  # a loop's types settle after a few tracings of its body, or never


def values(names: Names, scope: dict[str, Any]) -> Values:
    """The variables of `names` in a function's locals, unbound ones as `Unbound`."""
    return tuple(
        scope[n] if n in scope else Unbound("the return value" if n == _RESULT else n)
        for n in names
    )


def reach(names: Names, scope: dict[str, Any]) -> Values:
    """What the variables of `names` hold that are bound in a function's locals."""
    return tuple(scope[n] for n in names if n in scope)


def _truth(cond: Any) -> Any:
    """A Python bool, or a dynamic Boolean."""
    if isinstance(cond, Numeric) and cond.is_dynamic:
        return cond.to(Boolean)
    return bool(cond)  # of a vector: raises with a hint


def _region(fill: Callable[[Block], None], arg_types: Any = ()) -> Region:
    region, block = new_block(arg_types)
    with insert_at(block):
        fill(block)
    return region


def _join_error(error: NoJoin, name: str, what: str) -> TypeMismatchError:
    if name == _RESULT:
        message = "the function returns different kinds of values on its paths"
    elif name.startswith("the "):
        message = f"{name} {what}"
    else:
        message = f"variable {name!r} {what}"
    return TypeMismatchError(
        message, code="OC1250", expected=error.expected, found=error.found, hint=error.hint
    )


def _plans(
    names: Names, rows: list[Values], what: str, *, dynamic: bool = False, fill: bool = False
) -> list[Plan]:
    """A plan for each variable. The return value may have no value on paths that go on; so may
    others if `fill`."""
    plans: list[Plan] = []
    for i, name in enumerate(names):
        column = [row[i] for row in rows]
        try:
            if fill or name == _RESULT:
                plans.append(_filled(column, dynamic))
            else:
                plans.append(plan_for(*column, dynamic=dynamic))
        except NoJoin as e:
            raise _join_error(e, name, what) from None
    return plans


class _Filled(Plan):
    """A plan whose values are zeros where there is no object."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.types, self.rebuild, self.facts = plan.types, plan.rebuild, plan.facts

    def values(self, obj: Any) -> list[Value]:
        if not isinstance(obj, Unbound):
            return self.plan.values(obj)
        zeros = _zeros(self.plan.types())
        assert zeros is not None
        return zeros


def _filled(column: list[Any], dynamic: bool) -> Plan:
    bound = [x for x in column if not isinstance(x, Unbound)]
    if not bound or len(bound) == len(column):
        return plan_for(*column, dynamic=dynamic)
    plan = plan_for(*bound, dynamic=dynamic)
    return _Filled(plan) if _have_zeros(plan.types()) else plan_for(*column, dynamic=dynamic)


def _flatten(plans: list[Plan], row: Values) -> list[Value]:
    return [v for p, x in zip(plans, row, strict=True) for v in p.values(x)]


def _rebuild(plans: list[Plan], values_: Iterable[Value]) -> Values:
    it = iter(values_)
    return tuple(p.rebuild(it) for p in plans)


def _types(plans: list[Plan]) -> list[Type]:
    return [t for p in plans for t in p.types()]


def _check_size(watch: Watch, changed: Iterable[Key], what: str) -> None:
    for key in changed:
        if watch.resized(key):
            raise LanguageError(
                f"a list changes its length in {what}", code="OC1117", found=watch.describe(key),
                hint="the structure of lists is fixed at compile time; decide with const_expr(), "
                "loop over range_constexpr(), or use a register tensor",
            )  # fmt: skip


def if_(
    cond: Any,
    then: Callable[..., Values],
    orelse: Callable[..., Values],
    names: Names,
    current: Values,
    reached: Values = (),
    *,
    fill: bool = False,
) -> Values:
    """An `if` statement; returns the variables that the branches assign.

    Args:
        cond: the condition.
        then, orelse: the branches; from the variables before to the variables after.
        names: the variables.
        current: their values before.
        reached: other objects that the branches can change.
        fill: give variables that one branch does not bind some value there.

    Raises:
        TypeMismatchError: a variable has values that cannot be joined.
        LanguageError: a list changes its length in a dynamic branch.
    """
    cond = _truth(cond)
    if cond is True or cond is False:
        return (then if cond else orelse)(*current)
    watch = Watch((*current, *reached))
    rows: list[Values] = []
    regions: list[Region] = []
    changes: list[dict[Key, Any]] = []
    with branches() as begin:
        for branch in (then, orelse):
            begin()
            regions.append(_region(lambda _, b=branch: rows.append(at_run_time(b, *current))))
            changes.append(watch.changes())
            _check_size(watch, changes[-1], "a dynamic 'if'")
            watch.restore()
    keys = list(dict.fromkeys([*changes[0], *changes[1]]))
    rows = [
        (*row, *(_present(c.get(k, watch.old(k)), watch, k) for k in keys))
        for row, c in zip(rows, changes, strict=True)
    ]
    names = (*names, *map(watch.describe, keys))
    plans = _plans(names, rows, "has different kinds of values in the branches of a dynamic 'if'",
                   fill=fill)  # fmt: skip
    for region, row in zip(regions, rows, strict=True):
        with insert_at(region.block):
            scf.yield_(_flatten(plans, row))
    op = scf.if_(cond.ir_value(), _types(plans), *regions)
    out = _rebuild(plans, op.results)
    return _write_back(watch, keys, out)


def _present(value: Any, watch: Watch, key: Key) -> Any:
    return Unbound(watch.describe(key)) if value is MISSING else value


def _write_back(watch: Watch, keys: list[Key], out: Values) -> Values:
    """Set the changed items; returns the rest."""
    count = len(out) - len(keys)
    for key, value in zip(keys, out[count:], strict=True):
        watch.put(key, value)
    return out[:count]


def for_(
    iterable: Any,
    body: Callable[..., Values],
    names: Names,
    current: Values,
    reached: Values = (),
    leave: Names = (),
) -> Values:
    """A `for` statement: a run-time loop over a range, an ordinary one over anything else.

    `body` takes the item, then the variables; the loop's own are among them and keep their last
    value, as in Python. The loop ends when a variable of `leave` is set. Other arguments as in
    `if_`.
    """
    flags = [names.index(n) for n in leave]

    def over(items: Iterable[Any]) -> Values:
        return _over_items(items, body, names, current, reached, flags)

    loop = iterable if isinstance(iterable, LoopRange) else dynamic_range(iterable)
    if loop is None:
        if isinstance(iterable, Tensor):
            raise LanguageError(
                "a tensor cannot be iterated", code="OC1110", found=str(iterable),
                hint="loop over range(cute.size(tensor))",
            )  # fmt: skip
        return over(iterable)
    if current_block() is None:
        return over(map(Int32, loop.concrete()))
    if leave:
        return _run_until(names, current, reached, loop, body, flags)
    return _Loop(names, current, reached).run_for(loop, body)


def _over_items(
    items: Iterable[Any],
    body: Callable[..., Values],
    names: Names,
    current: Values,
    reached: Values,
    flags: list[int],
) -> Values:
    """A loop that runs while tracing; turns after a run-time `break` are guarded."""
    for item in items:
        on = go_on(*(current[i] for i in flags))
        if on is False:
            break
        if on is True:
            current = body(item, *current)
        else:
            turn = functools.partial(body, item)
            current = if_(on, turn, lambda *v: v, names, current, reached)
    return current


def _run_until(
    names: Names,
    current: Values,
    reached: Values,
    loop: LoopRange,
    body: Callable[..., Values],
    flags: list[int],
) -> Values:
    """A run-time loop over a range that ends when a variable is set: an `scf.while`."""
    lower, upper, step, item = loop.bounds()
    counter: Any = Int64 if lower.type == I64 else Int32

    def cond(*variables: Any) -> tuple[Any, Values]:
        on = go_on(*(variables[i] for i in flags))
        more = variables[-1] < counter(upper)
        return (more if on is True else more & on), variables

    def turn(*variables: Any) -> Values:
        *row, at = variables
        return (*body(item(at.ir_value()), *row), at + counter(step))

    every = _Loop((*names, "the loop's counter"), (*current, counter(lower)), reached)
    return every.run_while(cond, turn, runs=loop.runs())[:-1]


class _Loop:
    """A run-time loop in the making: its body is traced until the variables' types settle."""

    def __init__(self, names: Names, current: Values, reached: Values) -> None:
        self.names = names
        self.before = current
        self.watch = Watch((*current, *reached))
        self.keys: list[Key] = []
        self.plans = _plans(names, [current], "cannot be carried through a loop", dynamic=True)

    def _with_items(self, row: Values, changes: dict[Key, Any]) -> Values:
        items = (changes.get(k, self.watch.old(k)) for k in self.keys)
        return (*row, *(_present(v, self.watch, k) for v, k in zip(items, self.keys, strict=True)))

    def _enter(self, args: Iterable[Value]) -> Values:
        """The variables at the start of a turn; changed items are set."""
        return _write_back(self.watch, self.keys, _rebuild(self.plans, args))

    def _admit(self, changes: dict[Key, Any]) -> bool:
        """Carry changed items from now on; whether there are new ones."""
        fresh = [k for k in changes if k not in self.keys]
        self.plans += [Static(_present(self.watch.old(k), self.watch, k)) for k in fresh]
        self.keys += fresh
        return bool(fresh)

    def _leave(self, row: Values) -> tuple[Values, bool]:
        """The variables at the end of a turn, and whether the plans have been found to fit."""
        changes = self.watch.changes()
        _check_size(self.watch, changes, "a run-time loop")
        self.watch.restore()
        fresh = self._admit(changes)
        names = (*self.names, *map(self.watch.describe, self.keys))
        after = self._with_items(row, changes)
        start = self._with_items(self.before, {})
        new = _plans(names, [start, after], "changes its kind in a loop", dynamic=True)
        # A variable that is unbound before the loop is not carried.
        new = [
            p if isinstance(p, Static) and isinstance(p.obj, Unbound) else q
            for p, q in zip(self.plans, new, strict=True)
        ]
        fits = not fresh and [p.facts() for p in self.plans] == [q.facts() for q in new]
        self.plans = new
        return after, fits

    def _start(self) -> list[Value]:
        return _flatten(self.plans, self._with_items(self.before, {}))

    def _finish(self, op: Op) -> Values:
        return _write_back(self.watch, self.keys, _rebuild(self.plans, op.results))

    def run_for(self, loop: LoopRange, body: Callable[..., Values]) -> Values:
        """Build an `scf.for`."""
        lower, upper, step, item = loop.bounds()
        smem = mark()
        for _ in range(_TURNS):
            rewind(smem)
            region, block = new_block([lower.type, *_types(self.plans)])
            with insert_at(block):
                out = at_run_time(body, item(block.args[0]), *self._enter(block.args[1:]))
                after, fits = self._leave(out)
                if fits:
                    scf.yield_(_flatten(self.plans, after))
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
            if not isinstance(old, Unbound) or isinstance(new, Unbound):
                continue
            if not (runs or self.names[i] == _RESULT):
                continue
            try:
                plan = plan_for(new, dynamic=True)
            except NoJoin:
                continue
            zeros = _zeros(plan.types())
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
        smem = mark()
        for _ in range(_TURNS):
            rewind(smem)
            types = _types(self.plans)
            before, before_block = new_block(types)
            with insert_at(before_block):
                test, start = cond(*self._enter(before_block.args))
                test = _truth(test)
                changes = self.watch.changes()
                self.watch.restore()
                if self._admit(changes):
                    continue
                if test is True or test is False:
                    rewind(smem)
                    return test
                row = self._with_items(start, changes)
                scf.condition(test.ir_value(), _flatten(self.plans, row))
            if self._bind(start, True):  # what the condition binds, the body can read
                continue
            after, after_block = new_block(types)
            with insert_at(after_block):
                out = at_run_time(body, *self._enter(after_block.args))
                after_row, fits = self._leave(out)
                if fits:
                    scf.yield_(_flatten(self.plans, after_row))
            if fits and not self._bind(out, runs):
                return self._finish(scf.while_(self._start(), types, before, after))
        raise _unsettled()


def _unsettled() -> TypeMismatchError:
    return TypeMismatchError(
        "the types of a loop's variables do not settle", code="OC1251",
        hint="give each variable one type before the loop, such as cutlass.Float32(0)",
    )  # fmt: skip


def _have_zeros(types: list[Type]) -> bool:
    return all(isinstance(element_type(t), IntegerType | FloatType | PtrType) for t in types)


def _zero(type: Type) -> Value:
    if isinstance(type, PtrType):
        return cute.int_to_ptr(arith.constant(0, I64), type)
    return arith.constant(0.0 if isinstance(element_type(type), FloatType) else 0, type)


def _zeros(types: list[Type]) -> list[Value] | None:
    """Constants for types that have any; None if one has none."""
    if not _have_zeros(types):
        return None
    return [_zero(t) for t in types]


def while_(
    cond: Callable[..., tuple[Any, Values]],
    body: Callable[..., Values],
    names: Names,
    current: Values,
    reached: Values = (),
) -> Values:
    """A `while` statement. `cond` returns its value and the variables that it assigns itself; other
    arguments as in `if_`."""
    if current_block() is None:
        return _python_while(cond, body, current)
    out = _Loop(names, current, reached).run_while(cond, body)
    if isinstance(out, bool):
        return _static_while(cond, body, names, current, reached)
    return out


def _python_while(cond: Any, body: Any, current: Values) -> Values:
    test, current = cond(*current)
    while _truth(test):
        current = body(*current)
        test, current = cond(*current)
    return current


def _static_while(cond: Any, body: Any, names: Names, current: Values, reached: Values) -> Values:
    """A loop whose condition is known at compile time runs while tracing."""
    for _ in range(1 << 16):
        test, after = cond(*current)
        test = _truth(test)
        if test is False:
            return after
        if test is not True:
            return while_(cond, body, names, current, reached)
        current = body(*after)
    raise LanguageError(
        "a 'while' whose condition is a compile-time value does not end", code="OC1111",
        hint="make the condition depend on a run-time value",
    )  # fmt: skip
