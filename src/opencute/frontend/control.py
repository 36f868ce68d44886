# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What rewritten code calls: the run-time half of the rewrites, as module `__oc__`.

Each function takes the parts of a Python construct as functions and the variables that they assign.
If the condition is known while tracing it does what Python does; otherwise it builds an `scf` op.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterable
from typing import Any

from opencute.base.errors import LanguageError, TypeMismatchError
from opencute.dialects import scf
from opencute.frontend.carried import NoJoin, Plan, Static, Unbound, plan_for
from opencute.frontend.ranges import LoopRange, dynamic_range
from opencute.ir.builder import current_block, insert_at, new_block
from opencute.ir.core import Block, Op, Region, Value
from opencute.lang.numbers import Boolean, Int32, Numeric, as_numeric
from opencute.lang.tensors import Tensor
from opencute.lang.vectors import TensorSSA, where

__all__ = [
    "and_",
    "builtin",
    "chain",
    "for_",
    "if_",
    "ifexp",
    "not_",
    "or_",
    "values",
    "while_",
]

Names = tuple[str, ...]
Values = tuple[Any, ...]


def values(names: Names, scope: dict[str, Any]) -> Values:
    """The variables of `names` in a function's locals, unbound ones as `Unbound`."""
    return tuple(scope[n] if n in scope else Unbound(n) for n in names)


def _truth(cond: Any) -> Any:
    """A Python bool, or a dynamic Boolean."""
    if isinstance(cond, Numeric):
        return cond.to(Boolean) if cond.is_dynamic else bool(cond)
    if isinstance(cond, TensorSSA):
        return bool(cond)  # raises with the hint
    return bool(cond)


def _region(fill: Callable[[Block], None], arg_types: Any = ()) -> Region:
    region, block = new_block(arg_types)
    with insert_at(block):
        fill(block)
    return region


def _join_error(error: NoJoin, name: str, where_: str) -> TypeMismatchError:
    message = f"variable {name!r} {where_}"
    return TypeMismatchError(
        message, code="OC1250", expected=error.expected, found=error.found, hint=error.hint
    )


def _plans(names: Names, rows: list[Values], what: str, *, dynamic: bool = False) -> list[Plan]:
    plans: list[Plan] = []
    for i, name in enumerate(names):
        try:
            plans.append(plan_for(*[row[i] for row in rows], dynamic=dynamic))
        except NoJoin as e:
            raise _join_error(e, name, what) from None
    return plans


def _flatten(plans: list[Plan], row: Values) -> list[Value]:
    return [v for p, x in zip(plans, row, strict=True) for v in p.values(x)]


def _rebuild(plans: list[Plan], values_: Iterable[Value]) -> Values:
    it = iter(values_)
    return tuple(p.rebuild(it) for p in plans)


def if_(
    cond: Any,
    then: Callable[..., Values],
    orelse: Callable[..., Values],
    names: Names,
    current: Values,
) -> Values:
    """An `if` statement; returns the variables that the branches assign."""
    cond = _truth(cond)
    if cond is True or cond is False:
        return (then if cond else orelse)(*current)
    rows: list[Values] = []
    regions: list[Region] = []
    for branch in (then, orelse):
        regions.append(_region(lambda _, b=branch: rows.append(b(*current))))
    plans = _plans(names, rows, "has different kinds of values in the branches of a dynamic 'if'")
    for region, row in zip(regions, rows, strict=True):
        with insert_at(region.block):
            scf.yield_(_flatten(plans, row))
    types = [t for p in plans for t in p.types()]
    op = scf.if_(cond.ir_value(), types, *regions)
    return _rebuild(plans, op.results)


def for_(iterable: Any, body: Callable[..., Values], names: Names, current: Values) -> Values:
    """A `for` statement: a run-time loop over a range, an ordinary one over anything else.

    `body` takes the item, then the variables; the loop's own are among them and keep their last
    value, as in Python.
    """
    loop = iterable if isinstance(iterable, LoopRange) else dynamic_range(iterable)
    if loop is None:
        if isinstance(iterable, Tensor):
            raise LanguageError(
                "a tensor cannot be iterated", code="OC1110", found=str(iterable),
                hint="loop over range(cute.size(tensor))",
            )  # fmt: skip
        for item in iterable:
            current = body(item, *current)
        return current
    if current_block() is None:
        for item in loop.concrete():
            current = body(Int32(item), *current)
        return current
    return _dynamic_for(loop, body, names, current)


def _dynamic_for(
    loop: LoopRange, body: Callable[..., Values], names: Names, current: Values
) -> Values:
    lower, upper, step, item = loop.bounds()
    plans = _plans(names, [current], "cannot be carried through a loop", dynamic=True)
    for _ in range(4):
        region, block = new_block([lower.type, *(t for p in plans for t in p.types())])
        with insert_at(block):
            start = _rebuild(plans, block.args[1:])
            out = body(item(block.args[0]), *start)
            new = _carried(plans, names, current, out)
            fits = _fit(plans, new)
            if fits:
                scf.yield_(_flatten(plans, out))
        if fits:
            op = scf.for_(lower, upper, step, _flatten(plans, current), region)
            loop.annotate(op)
            return _finish(plans, op, names)
        plans = new
    raise TypeMismatchError("the types of a loop's variables do not settle", code="OC1251")


def _carried(plans: list[Plan], names: Names, before: Values, after: Values) -> list[Plan]:
    """Plans that fit a loop's variables at the start and at the end of a turn; a variable that is
    unbound before the loop is not carried."""
    new = _plans(names, [before, after], "changes its kind in a loop", dynamic=True)
    return [
        p if isinstance(p, Static) and isinstance(p.obj, Unbound) else q
        for p, q in zip(plans, new, strict=True)
    ]


def _fit(plans: list[Plan], new: list[Plan]) -> bool:
    return [p.facts() for p in plans] == [q.facts() for q in new]


def _finish(plans: list[Plan], op: Op, names: Names) -> Values:
    out = _rebuild(plans, op.results)
    return tuple(
        Unbound(n) if isinstance(x, Unbound) else x for n, x in zip(names, out, strict=True)
    )


def while_(
    cond: Callable[..., tuple[Any, Values]],
    body: Callable[..., Values],
    names: Names,
    current: Values,
) -> Values:
    """A `while` statement. `cond` returns its value and the variables that it assigns itself."""
    if current_block() is None:
        return _python_while(cond, body, current)
    plans = _plans(names, [current], "cannot be carried through a loop", dynamic=True)
    for _ in range(4):
        types = [t for p in plans for t in p.types()]
        before, before_block = new_block(types)
        with insert_at(before_block):
            start = _rebuild(plans, before_block.args)
            test, start = cond(*start)
            test = _truth(test)
            if test is False:
                return current
            if test is True:
                return _static_while(cond, body, current)
            scf.condition(test.ir_value(), _flatten(plans, start))
        after, after_block = new_block(types)
        with insert_at(after_block):
            out = body(*_rebuild(plans, after_block.args))
            new = _carried(plans, names, current, out)
            fits = _fit(plans, new)
            if fits:
                scf.yield_(_flatten(plans, out))
        if fits:
            op = scf.while_(_flatten(plans, current), types, before, after)
            return _finish(plans, op, names)
        plans = new
    raise TypeMismatchError("the types of a loop's variables do not settle", code="OC1251")


def _python_while(cond: Any, body: Any, current: Values) -> Values:
    test, current = cond(*current)
    while _truth(test):
        current = body(*current)
        test, current = cond(*current)
    return current


def _static_while(cond: Any, body: Any, current: Values) -> Values:
    """A loop whose condition is known at compile time runs while tracing."""
    for _ in range(1 << 16):
        test, current = cond(*current)
        test = _truth(test)
        if test is False:
            return current
        if test is not True:
            return while_(cond, body, tuple(f"v{i}" for i in range(len(current))), current)
        current = body(*current)
    raise LanguageError(
        "a 'while' whose condition is a compile-time value does not end", code="OC1111",
        hint="make the condition depend on a run-time value",
    )  # fmt: skip


# ---------------------------------------------------------------- expressions
def ifexp(cond: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """`a if cond else b`: one arm is evaluated."""
    if isinstance(cond, TensorSSA):
        return where(cond, then(), orelse())
    (out,) = if_(cond, lambda _: (then(),), lambda _: (orelse(),), ("value of the conditional "
                 "expression",), (None,))  # fmt: skip
    return out


def _dynamic(x: Any) -> bool:
    return isinstance(x, Numeric) and x.is_dynamic


def and_(*parts: Callable[[], Any]) -> Any:
    """`a and b`: a static prefix is folded, what follows a dynamic operand is evaluated only where
    that operand holds."""
    return _logic(parts, stop=False)


def or_(*parts: Callable[[], Any]) -> Any:
    """`a or b`, like `and_`."""
    return _logic(parts, stop=True)


def _logic(parts: tuple[Callable[[], Any], ...], *, stop: bool) -> Any:
    value = parts[0]()
    if len(parts) == 1:
        return value
    if isinstance(value, TensorSSA):
        rest = _logic(parts[1:], stop=stop)
        return value | rest if stop else value & rest
    if not _dynamic(value):
        return value if bool(value) == stop else _logic(parts[1:], stop=stop)
    flag = value.to(Boolean)
    rest = lambda: _logic(parts[1:], stop=stop)  # noqa: E731 - passed on as an arm
    if isinstance(value, Boolean):
        then, orelse = (lambda: flag, rest) if stop else (rest, lambda: flag)
        return _boolean(ifexp(flag, lambda: _flag(then()), lambda: _flag(orelse())))
    return ifexp(flag, *((lambda: value, rest) if stop else (rest, lambda: value)))


def _flag(x: Any) -> Any:
    return as_numeric(x).to(Boolean)


def _boolean(x: Any) -> Any:
    return x if isinstance(x, Boolean) else Boolean(x)


def not_(x: Any) -> Any:
    """`not x`."""
    if _dynamic(x):
        return ~x.to(Boolean)
    if isinstance(x, TensorSSA):
        return x == 0
    return not x


def chain(first: Any, *links: tuple[Callable[[Any, Any], Any], Callable[[], Any]]) -> Any:
    """`a < b < c`: each operand is evaluated once, and only as far as Python would."""
    compare, operand = links[0]
    right = operand()
    out = compare(first, right)
    if len(links) == 1:
        return out
    return and_(lambda: out, lambda: chain(right, *links[1:]))


def _reduce(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from opencute.lang import mathfns

    items = list(args[0]) if len(args) == 1 else list(args)
    if kwargs or not any(isinstance(x, Numeric | TensorSSA) for x in items):
        return getattr(builtins, name)(*args, **kwargs)
    fn = mathfns.min if name == "min" else mathfns.max
    return fn(*items) if len(items) > 1 else items[0]


def _any_all(name: str, iterable: Any) -> Any:
    items = list(iterable)
    if not any(map(_dynamic, items)):
        return getattr(builtins, name)(items)
    parts = [lambda x=x: x for x in items]
    return _flag(or_(*parts) if name == "any" else and_(*parts))


def builtin(function: Any) -> Any:
    """What a name stands for that Python's builtins define; dynamic operands get operations."""
    if function in (builtins.min, builtins.max):
        return lambda *a, **k: _reduce(function.__name__, a, k)
    if function in (builtins.any, builtins.all):
        return lambda it: _any_all(function.__name__, it)
    if function is builtins.range:
        return LoopRange.from_python
    if function in (builtins.int, builtins.float, builtins.bool):

        def convert(*a: Any, **k: Any) -> Any:
            if len(a) == 1 and _dynamic(a[0]):
                return a[0].to(function)
            return function(*a, **k)

        return convert
    return function


class compare:
    """The comparison operators by name, for `chain`."""

    lt, le, gt, ge, eq, ne = (
        operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
    )  # fmt: skip
    is_, is_not = operator.is_, operator.is_not

    @staticmethod
    def in_(a: Any, b: Any) -> bool:
        return a in b

    @staticmethod
    def not_in(a: Any, b: Any) -> bool:
        return a not in b
