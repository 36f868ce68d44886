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
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from opencute.base.errors import LanguageError
from opencute.dialects import scf
from opencute.frontend.carried import Session
from opencute.frontend.leaving import at_run_time, go_on
from opencute.frontend.ranges import Guarded, LoopRange, dynamic_range
from opencute.frontend.state.joins import (
    RESULT,
    Names,
    Values,
    check_shapes,
    flatten,
    item_values,
    join,
    keys_of,
    link_all,
    rebuild,
    shapes_of,
    states_of,
    types_of,
    write_back,
)
from opencute.frontend.state.kept import own_cells
from opencute.frontend.state.links import check, cut, mark
from opencute.frontend.state.turns import Loop, truth
from opencute.frontend.state.watch import Key, Watch, refuse_outside
from opencute.frontend.unbound import Later, Partial, Unbound
from opencute.ir.builder import current_block, insert_at, new_block
from opencute.ir.core import Block, Region
from opencute.ir.types import I64
from opencute.lang.block.smem_plan import branches
from opencute.lang.numbers import Int32, Int64
from opencute.lang.tensors import Tensor

__all__ = ["for_", "if_", "later", "next_turn", "reach", "static_while", "values", "while_"]

_MOST = 1 << 16  # turns of a loop that runs while tracing


def values(names: Names, scope: dict[str, Any]) -> Values:
    """The variables of `names` in a function's locals, unbound ones as `Unbound`."""
    return tuple(
        scope[n] if n in scope else Unbound("the return value" if n == RESULT else n) for n in names
    )


def later(names: Names) -> Values:
    """What variables hold at first that are bound wherever code reads them."""
    return tuple(map(Later, names))


def reach(names: Names, scope: dict[str, Any]) -> Values:
    """What the variables of `names` hold that are bound in a function's locals, and the
    objects that its globals of these names are."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - no other way to the caller
    inside = [scope[n] for n in names if n in scope]
    outside = (frame.f_globals[n] for n in names if n not in scope and n in frame.f_globals)
    return (*inside, *outside)


def _region(fill: Callable[[Block], None], arg_types: Any = ()) -> Region:
    region, block = new_block(arg_types)
    with insert_at(block):
        fill(block)
    return region


def if_(
    cond: Any,
    then: Callable[..., Values],
    orelse: Callable[..., Values],
    names: Names,
    current: Values,
    reached: Values = (),
    *,
    fill: bool = False,
    guard: Names = (),
) -> Values:
    """An `if` statement; returns the variables that the branches assign.

    Args:
        cond: the condition.
        then, orelse: the branches; from the variables before to the variables after.
        names: the variables.
        current: their values before.
        reached: other objects that the branches can change.
        fill: give variables that one branch does not bind some value there.
        guard: the flags that are not set where the condition holds.

    Raises:
        TypeMismatchError: a variable has values that cannot be joined.
        LanguageError: a list changes its length in a dynamic branch.
    """
    cond = truth(cond)
    if cond is True:
        return then(*(Partial.under(x, guard) for x in current))
    if cond is False:
        return orelse(*current)
    check()
    links = mark()
    parts = (then, orelse)
    own = own_cells(parts, names)
    if guard:
        # The branch that goes on has what paths that left do not bind.
        on = tuple(Partial.under(x, guard) for x in current)
        went = then
        then = lambda *_: went(*on)  # noqa: E731
    watch = Watch((*current, *reached), own, parts)
    rows: list[Values] = []
    regions: list[Region] = []
    changes: list[dict[Key, Any]] = []
    shapes: list[dict[int, tuple[Any, ...]]] = []
    states: list[dict[int, dict[Any, Any]]] = []
    with watch.inside(), branches() as begin:
        for branch in (then, orelse):
            begin()
            regions.append(_region(lambda _, b=branch: rows.append(at_run_time(b, *current))))
            cut(links)
            changes.append(watch.changes())
            shapes.append(shapes_of(watch, changes[-1]))
            states.append(states_of(watch, changes[-1]))
            watch.restore()
    check_shapes(watch, shapes, "a dynamic 'if'")
    keys = keys_of(watch, changes, shapes[0])
    rows = [(*row, *item_values(watch, keys, c)) for row, c in zip(rows, changes, strict=True)]
    names = (*names, *map(watch.describe, keys))
    session = Session(watch.known)
    session.states = states
    plans = join(names, rows, "has different kinds of values in the branches of a dynamic 'if'",
                 session, fill=fill)  # fmt: skip
    for session.path, (region, row) in enumerate(zip(regions, rows, strict=True)):
        with insert_at(region.block):
            scf.yield_(flatten(plans, row))
    op = scf.if_(cond.ir_value(), types_of(plans), *regions)
    out = write_back(watch, keys, rebuild(plans, op.results), shapes[0])
    link_all(session, names, plans)
    return out


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
        return _over_items(items, body, names, current, reached, leave)

    loop = iterable if isinstance(iterable, LoopRange) else dynamic_range(iterable)
    if loop is None:
        if isinstance(iterable, Tensor):
            raise LanguageError(
                "a tensor cannot be iterated", code="OC1110", found=str(iterable),
                hint="loop over range(cute.size(tensor))",
            )  # fmt: skip
        return over(iterable)
    if current_block() is None:
        return over(loop.items())
    if loop.beside:
        return over(loop.guarded())
    if leave:
        return _run_until(names, current, reached, loop, body, flags)
    return Loop(names, current, reached, (body,)).run_for(loop, body)


def _over_items(
    items: Iterable[Any],
    body: Callable[..., Values],
    names: Names,
    current: Values,
    reached: Values,
    leave: Names,
) -> Values:
    """A loop that runs while tracing; turns after a run-time `break` are guarded."""
    flags = [names.index(n) for n in leave]
    refuse_outside(items)
    for item in items:
        on = go_on(*(current[i] for i in flags))
        if isinstance(item, Guarded):
            on, item = go_on(*(current[i] for i in flags), ~item.when), item.item
        if on is False:
            break
        if on is True:
            current = body(item, *current)
        else:
            turn = functools.partial(body, item)
            current = if_(on, turn, lambda *v: v, names, current, reached, guard=leave)
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

    every = Loop((*names, "the loop's counter"), (*current, counter(lower)), reached, (body,))
    return every.run_while(cond, turn, runs=loop.runs())[:-1]


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
    out = Loop(names, current, reached, (cond, body)).run_while(cond, body)
    if isinstance(out, bool):
        return _static_while(cond, body, names, current, reached)
    return out


class _Turn:
    """A turn of a `static_while`, the block that it began in, and whether it ran the ones that
    follow."""

    def __init__(self) -> None:
        self.block = current_block()
        self.ran_on = False


class _Turns(threading.local):
    def __init__(self) -> None:
        self.stack: list[_Turn] = []


_TURNS = _Turns()


def static_while(
    cond: Callable[..., tuple[Any, Values]],
    body: Callable[..., Values],
    names: Names,
    current: Values,
    reached: Values,
    leave: Names,
) -> Values:
    """A `while` that runs while tracing. It ends when a variable of `leave` is set; where only a
    run-time value knows that, the turns that follow stand in a branch, so that what is static
    stays so in them. Arguments as in `for_`."""
    flags = [names.index(n) for n in leave]

    def turns(*variables: Any) -> Values:
        for _ in range(_MOST):
            test, variables = cond(*variables)
            if not truth(test):
                return variables
            turn = _Turn()
            _TURNS.stack.append(turn)
            try:
                variables = body(*variables)
            finally:
                _TURNS.stack.pop()
            on = go_on(*(variables[i] for i in flags))
            if turn.ran_on or on is False:
                return variables
            if on is not True:
                return if_(on, turns, lambda *v: v, names, variables, reached, guard=leave)
        raise _endless()

    return turns(*current)


def next_turn(
    cond: Callable[..., tuple[Any, Values]],
    body: Callable[..., Values],
    names: Names,
    current: Values,
    leave: Names,
) -> Values:
    """The end of a turn of a `static_while` where it goes on: run the following turns here, unless
    this is where the turn began. Arguments as in `static_while`."""
    turn = _TURNS.stack[-1]
    if current_block() is turn.block:
        return current
    turn.ran_on = True
    return static_while(cond, body, names, current, (), leave)


def _python_while(cond: Any, body: Any, current: Values) -> Values:
    test, current = cond(*current)
    while truth(test):
        current = body(*current)
        test, current = cond(*current)
    return current


def _static_while(cond: Any, body: Any, names: Names, current: Values, reached: Values) -> Values:
    """A loop whose condition is known at compile time runs while tracing."""
    for _ in range(_MOST):
        test, after = cond(*current)
        test = truth(test)
        if test is False:
            return after
        if test is not True:
            return while_(cond, body, names, current, reached)
        current = body(*after)
    raise _endless()


def _endless() -> LanguageError:
    return LanguageError(
        "a 'while' whose condition is a compile-time value does not end", code="OC1111",
        hint="make the condition depend on a run-time value",
    )  # fmt: skip
