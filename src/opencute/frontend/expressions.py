# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Expressions of rewritten code whose parts Python would evaluate conditionally, and builtins.

In: the parts of an expression as functions. Out: its value, a Python object where all is known
while tracing, else a run-time value::

    and_(lambda: i < n, lambda: t[i] > 0)       # t[i] is read only where i < n
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

import builtins
import dataclasses
import functools
import operator
from collections.abc import Callable
from typing import Any

from opencute.base.errors import LanguageError
from opencute.frontend.control import if_
from opencute.frontend.ranges import LoopRange, enumerated, zipped
from opencute.frontend.state.turns import truth
from opencute.frontend.state.watch import advance
from opencute.frontend.unbound import Unbound
from opencute.lang.numbers import Boolean, Numeric, as_numeric, number_in
from opencute.lang.vectors import TensorSSA, where
from opencute.layout.ints import is_sequence

__all__ = [
    "and_",
    "builtin",
    "chain",
    "compare",
    "contains",
    "decides",
    "equal",
    "ifexp",
    "not_",
    "or_",
    "same",
    "truth",
]


Thunk = Callable[[], Any]
State = tuple[tuple[str, ...], Callable[[], tuple[Any, ...]], Callable[..., None]]
"""Variables that an expression may assign: their names, a function that gives their values, and one
that sets them."""

_NO_STATE: State = ((), lambda: (), lambda *_: None)


def ifexp(cond: Any, then: Thunk, orelse: Thunk, state: State = _NO_STATE) -> Any:
    """`a if cond else b`: one arm is evaluated."""
    if isinstance(cond, TensorSSA):
        return where(cond, then(), orelse())
    names, get, put = state

    def arm(value: Thunk) -> Callable[..., tuple[Any, ...]]:
        def run(_: Any, *variables: Any) -> tuple[Any, ...]:
            put(*variables)
            out = value()
            if isinstance(out, Unbound):
                bool(out)
            return out, *get()

        return run

    what = ("the conditional expression", *names)
    out, *variables = if_(
        cond, arm(then), arm(orelse), what, (None, *get()), (then, orelse), fill=True
    )
    put(*variables)
    return out


def _dynamic(x: Any) -> bool:
    return isinstance(x, Numeric) and x.is_dynamic


def and_(*parts: Thunk, state: State = _NO_STATE) -> Any:
    """`a and b`: a static prefix is folded, what follows a dynamic operand is evaluated only where
    that operand holds."""
    return _logic(parts, False, state)


def or_(*parts: Thunk, state: State = _NO_STATE) -> Any:
    """`a or b`, like `and_`."""
    return _logic(parts, True, state)


def _logic(parts: tuple[Thunk, ...], stop: bool, state: State) -> Any:
    value = parts[0]()
    if len(parts) == 1:
        return value
    value = number_in(value)
    if isinstance(value, TensorSSA):
        rest = _logic(parts[1:], stop, state)
        return value | rest if stop else value & rest
    holds = value if _dynamic(value) else truth(value)
    if isinstance(holds, bool):
        return value if holds == stop else _logic(parts[1:], stop, state)
    rest = lambda: _logic(parts[1:], stop, state)  # noqa: E731 - passed on as an arm
    then, orelse = (lambda: value, rest) if stop else (rest, lambda: value)
    return ifexp(holds.to(Boolean), then, orelse, state)


def decides(x: Any) -> Any:
    """An operand of `and` and `or` of whose result nothing but the truth counts: a number as it
    is, of other objects whether they are true."""
    x = number_in(x)
    return x if isinstance(x, Numeric | TensorSSA | bool | int | float) else truth(x)


def _flag(x: Any) -> Any:
    return as_numeric(x).to(Boolean)


def not_(x: Any) -> Any:
    """`not x`."""
    x = number_in(x)
    if _dynamic(x):
        return ~x.to(Boolean)
    if isinstance(x, TensorSSA):
        return x == 0
    on = truth(x)
    return not on if isinstance(on, bool) else ~on


def same(a: Any, b: Any) -> Any:
    """`a is b`, an error where one of them is a variable that not every path binds.

    A flag stands for True or False, so that it is one of them if it has its value, and two flags
    are one object if they have the same.
    """
    for x in (a, b):
        if isinstance(x, Unbound):
            bool(x)
    for flag, literal in ((a, b), (b, a)):
        if type(literal) is bool and isinstance(flag, Boolean):
            return truth(flag) if literal else not_(flag)
    if isinstance(a, Boolean) and isinstance(b, Boolean):
        return truth(a == b)
    return a is b


def _compared(x: Any) -> tuple[Any, ...] | None:
    """The fields of a record by which the `__eq__` that `dataclass` wrote compares it."""
    written = None if isinstance(x, type) else getattr(type(x).__eq__, "__code__", None)
    if written is None or written.co_filename != "<string>" or not dataclasses.is_dataclass(x):
        return None
    return tuple(getattr(x, f.name) for f in dataclasses.fields(x) if f.compare)


def equal(a: Any, b: Any) -> Any:
    """`a == b`; of tuples, lists and records with run-time numbers, one comparison for each
    pair."""
    if type(a) is type(b) and not isinstance(a, Numeric):
        fields, others = _compared(a), _compared(b)
        if fields is not None and others is not None:
            a, b = fields, others
    if is_sequence(a) and is_sequence(b) and _has_dynamic((a, b)):
        if len(a) != len(b) or isinstance(a, list) != isinstance(b, list):
            return False
        parts = [lambda x=x, y=y: equal(x, y) for x, y in zip(a, b, strict=True)]
        return and_(*parts) if parts else True
    return a == b


def _has_dynamic(x: Any) -> bool:
    parts = x if is_sequence(x) else _compared(x)
    return _dynamic(x) if parts is None else any(map(_has_dynamic, parts))


def _ordered(op: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """A comparison of tuples or lists: that of the first pair that differs."""
    if not (is_sequence(a) and is_sequence(b) and _has_dynamic((a, b))):
        return op(a, b)
    if not a or not b:
        return op(len(a), len(b))
    rest = lambda: _ordered(op, a[1:], b[1:])  # noqa: E731 - passed on as an arm
    return ifexp(equal(a[0], b[0]), rest, lambda: _ordered(op, a[0], b[0]))


def contains(item: Any, container: Any) -> Any:
    """`item in container`: with run-time numbers in a list or tuple, one comparison for each."""
    if isinstance(container, LoopRange | range) and any(
        map(_dynamic, (item, container.start, container.stop, container.step))
    ):
        return _in_range(item, container)
    if isinstance(container, set | frozenset | dict) and _dynamic(item):
        container = tuple(container)  # pyright: ignore[reportUnknownVariableType]
    if is_sequence(container) and _has_dynamic((item, *container)):
        parts = [lambda x=x: equal(item, x) for x in container]
        return or_(*parts) if parts else False
    return item in container


def _in_range(item: Any, items: LoopRange | range) -> Any:
    start, step, stop = items.start, items.step, items.stop
    if _dynamic(step):
        raise LanguageError(
            "'in' of a range needs a step known at compile time", code="OC1113", found=repr(step),
            hint="compare with the bounds",
        )  # fmt: skip
    if int(step) < 0:
        start, item, stop, step = -start, -item, -stop, -step
    return and_(lambda: item >= start, lambda: item < stop, lambda: (item - start) % int(step) == 0)


def chain(
    first: Any, *links: tuple[Callable[[Any, Any], Any], Thunk], state: State = _NO_STATE
) -> Any:
    """`a < b < c`: each operand is evaluated once, and only as far as Python would."""
    compare, operand = links[0]
    right = operand()
    out = compare(first, right)
    if len(links) == 1:
        return out
    return and_(lambda: out, lambda: chain(right, *links[1:], state=state), state=state)


def _reduce(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from opencute.lang import mathfns

    items = list(args[0]) if len(args) == 1 else list(args)
    key = kwargs.get("key")
    marks = items if key is None else [key(x) for x in items]
    if not items or not any(isinstance(x, Numeric | TensorSSA) for x in marks):
        return getattr(builtins, name)(items, **kwargs)
    if key is not None:
        return _best(operator.lt if name == "min" else operator.gt, items, marks)
    fn = mathfns.min if name == "min" else mathfns.max
    return fn(*items) if len(items) > 1 else items[0]


def _best(better: Callable[[Any, Any], Any], items: list[Any], marks: list[Any]) -> Any:
    best, mark = items[0], marks[0]
    for x, m in zip(items[1:], marks[1:], strict=True):
        on = better(m, mark)
        best = ifexp(on, lambda x=x: x, lambda b=best: b)
        mark = ifexp(on, lambda m=m: m, lambda b=mark: b)
    return best


def _any_all(name: str, iterable: Any) -> Any:
    items = [decides(x) for x in iterable]
    if not items or not any(map(_dynamic, items)):
        return getattr(builtins, name)(items)
    parts = [lambda x=x: x for x in items]
    return _flag(or_(*parts) if name == "any" else and_(*parts))


def _min(*args: Any, **kwargs: Any) -> Any:
    return _reduce("min", args, kwargs)


def _max(*args: Any, **kwargs: Any) -> Any:
    return _reduce("max", args, kwargs)


def _any(iterable: Any, /) -> Any:
    return _any_all("any", iterable)


def _all(iterable: Any, /) -> Any:
    return _any_all("all", iterable)


_BY_IDENTITY: dict[int, Any] = {
    id(builtins.min): _min, id(builtins.max): _max, id(builtins.any): _any, id(builtins.all): _all,
}  # fmt: skip
"""One function for each, so that those that a kernel names are equal if they are the same."""


def builtin(function: Any) -> Any:
    """What a name stands for that Python's builtins define; dynamic operands get operations."""
    ours = _BY_IDENTITY.get(id(function))
    if ours is not None:
        return ours
    if function is builtins.next:
        return advance
    if function is builtins.range:
        return LoopRange.from_python
    if function is builtins.len:
        return lambda x: x.turns() if isinstance(x, LoopRange) else builtins.len(x)
    if function is builtins.enumerate:
        return enumerated
    if function is builtins.zip:
        return zipped
    if function in (builtins.int, builtins.float, builtins.bool):

        def convert(*a: Any, **k: Any) -> Any:
            if len(a) == 1 and _dynamic(a[0]):
                return a[0].to(function)
            if len(a) == 1 and not k and function is builtins.bool:
                return truth(a[0])
            return function(*a, **k)

        return convert
    return function


class compare:
    """The comparison operators by name, for `chain`."""

    lt, le, gt, ge = (
        functools.partial(_ordered, op)
        for op in (operator.lt, operator.le, operator.gt, operator.ge)
    )
    eq, is_ = equal, same

    @staticmethod
    def ne(a: Any, b: Any) -> Any:
        if (is_sequence(a) and is_sequence(b)) or _compared(a) is not None:
            return not_(equal(a, b))
        return a != b

    @staticmethod
    def is_not(a: Any, b: Any) -> Any:
        return not_(same(a, b))

    @staticmethod
    def in_(a: Any, b: Any) -> Any:
        return contains(a, b)

    @staticmethod
    def not_in(a: Any, b: Any) -> Any:
        return not_(contains(a, b))
