# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Control flow that is written out: ``if_generate``, ``while_generate``, ``yield_out``.

What a rewritten ``if`` or ``while`` says in Python is said with functions here::

    spin = while_generate([flag], lambda f: f == 0)
    with spin as (f,):
        yield_out([load_flag()])
    (last,) = spin.results
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from types import TracebackType
from typing import Any

from opencute.base.errors import LanguageError
from opencute.dialects import scf
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Block, Op, Value
from opencute.ir.types import I32
from opencute.lang.mlir.values import as_number, as_value
from opencute.lang.numbers import Boolean, Int32, Numeric

__all__ = [
    "WhileGenerator",
    "and_",
    "for_generate",
    "if_generate",
    "not_",
    "or_",
    "while_generate",
    "yield_out",
]


def _boolean(value: Any) -> Any:
    return (
        value
        if isinstance(value, Boolean)
        else Boolean(as_number(value) if isinstance(value, Value) else value)
    )


def not_(lhs: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """Whether a condition does not hold.

    Args:
        lhs: the condition.
    """
    return not lhs if isinstance(lhs, bool) else ~_boolean(lhs)


def and_(*conditions: Any, loc: Any = None, ip: Any = None) -> Any:
    """Whether all conditions hold.

    Args:
        conditions: Booleans, or numbers, which hold unless they are zero.
    """
    out = _boolean(conditions[0])
    for c in conditions[1:]:
        out = out & _boolean(c)
    return out


def or_(*conditions: Any, loc: Any = None, ip: Any = None) -> Any:
    """Whether any condition holds.

    Args:
        conditions: Booleans, or numbers, which hold unless they are zero.
    """
    out = _boolean(conditions[0])
    for c in conditions[1:]:
        out = out | _boolean(c)
    return out


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, tuple | list) else [value]


def _results(op: Op, classes: Sequence[Any]) -> Any:
    out = [_typed(r, c) for r, c in zip(op.results, classes, strict=True)]
    return None if not out else out[0] if len(out) == 1 else tuple(out)


def _typed(value: Value, cls: Any) -> Any:
    return cls(value) if isinstance(cls, type) and issubclass(cls, Numeric) else as_number(value)


def if_generate(
    cond: Any,
    then_body: Callable[..., Any],
    else_body: Callable[..., Any] | None = None,
    input_args: Sequence[Any] | None = None,
    return_types: Sequence[Any] | None = None,
    *,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """Run one of two functions.

    Args:
        cond: decides at run time.
        then_body: called with the inputs; returns a value for each return type.
        else_body: the same, where the condition does not hold.
        input_args: what both are called with.
        return_types: numeric classes of the results.

    Returns:
        The result, a tuple of several, or None.

    Raises:
        LanguageError: OC1195, a branch returns another number of values, or types, than the other.
    """
    classes, inputs = list(return_types or ()), list(input_args or ())
    regions: list[Any] = []
    types: list[Any] = []
    for body in (then_body, else_body):
        region, block = new_block()
        with insert_at(block):
            values = [
                _converted(v, c)
                for v, c in _pairs(_listed(body(*inputs) if body else None), classes)
            ]
            scf.yield_(values)
        regions.append(region)
        types.append([v.type for v in values])
    if types[0] != types[1]:
        raise LanguageError(
            "the branches of if_generate differ", code="OC1195", expected=types[0], found=types[1]
        )
    op = scf.if_(_boolean(cond).ir_value(), types[0], regions[0], regions[1])
    return _results(op, classes)


def _pairs(values: list[Any], classes: list[Any]) -> list[tuple[Any, Any]]:
    if not classes:
        return []
    if len(values) != len(classes):
        raise LanguageError(
            "a branch of if_generate returns another number of values", code="OC1195",
            expected=len(classes), found=len(values),
        )  # fmt: skip
    return list(zip(values, classes, strict=True))


def _converted(value: Any, cls: Any) -> Value:
    if isinstance(cls, type) and issubclass(cls, Numeric):
        return cls(as_number(value) if isinstance(value, Value) else value).ir_value()
    return as_value(value)


class WhileGenerator:
    """A loop whose body is a ``with`` block; see `while_generate`.

    Attributes:
        results: the carried values after the loop, once the block has ended.
    """

    def __init__(self, inputs: Sequence[Any], cond: Callable[..., Any]) -> None:
        self.results: list[Any] = []
        self._inputs = list(inputs)
        self._cond = cond
        self._classes = [type(v) if isinstance(v, Numeric) else None for v in self._inputs]
        self._yielded: list[Any] | None = None
        self._insert: Any = None

    def _arguments(self, block: Block) -> tuple[Any, ...]:
        return tuple(_typed(a, c) for a, c in zip(block.args, self._classes, strict=True))

    def __enter__(self) -> tuple[Any, ...]:
        self._inits = [as_value(v) for v in self._inputs]
        types = [v.type for v in self._inits]
        self._before, test = new_block(types)
        with insert_at(test):
            held = _boolean(self._cond(*self._arguments(test)))
            scf.condition(held.ir_value(), test.args)
        self._after, self._body = new_block(types)
        self._insert = insert_at(self._body)
        self._insert.__enter__()
        _OPEN.append(self)
        return self._arguments(self._body)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _OPEN.pop()
        try:
            if kind is None:
                self._close()
        finally:
            self._insert.__exit__(kind, value, trace)
        if kind is None:
            types = [v.type for v in self._inits]
            op = scf.while_(self._inits, types, self._before, self._after)
            self.results = list(_listed(_results(op, self._classes)))

    def _close(self) -> None:
        given = self._yielded
        if given is None or len(given) != len(self._inits):
            raise LanguageError(
                "the body of while_generate ends with yield_out of every carried value",
                code="OC1196", expected=len(self._inits), found=0 if given is None else len(given),
            )  # fmt: skip
        values = [
            as_value(v) if cls is None else _converted(v, cls)
            for v, cls in zip(given, self._classes, strict=True)
        ]
        scf.yield_(values)

    def take(self, values: Sequence[Any]) -> None:
        """What the next turn starts with."""
        self._yielded = list(values)


_OPEN: list[WhileGenerator | _Turn] = []


def while_generate(
    inputs: Sequence[Any], cond: Callable[..., Any], *, loc: Any = None, ip: Any = None
) -> WhileGenerator:
    """A loop that carries values: a context manager whose block is the body.

    Args:
        inputs: what is carried.
        cond: called with the carried values; whether another turn follows.
    """
    return WhileGenerator(inputs, cond)


def yield_out(args: Sequence[Any] = (), *, loc: Any = None, ip: Any = None) -> None:
    """End the body of a `while_generate` block with the values of the next turn.

    Args:
        args: the values, as many as the loop carries.

    Raises:
        LanguageError: OC1196, outside of such a block.
    """
    if not _OPEN:
        raise LanguageError("yield_out stands in a block of while_generate", code="OC1196")
    _OPEN[-1].take(args)


class _Turn:
    """What the body of a `for_generate` hands to the next turn."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def take(self, values: Sequence[Any]) -> None:
        """What the next turn starts with."""
        self.values = list(values)


def for_generate(
    start: Any,
    stop: Any = None,
    step: Any = None,
    iter_args: Sequence[Any] | None = None,
    *,
    loc: Any = None,
    ip: Any = None,
) -> Generator[Any]:
    """A run-time loop over a range whose body is that of a Python ``for``, which runs once.

    Args:
        start, stop, step: as of `range`.
        iter_args: values that the loop carries.

    Yields:
        The index; with carried values also these and, for use after the loop, its results.

    Raises:
        LanguageError: OC1141, the body does not end with yield_out of every carried value.
    """
    lower, upper = (0, start) if stop is None else (start, stop)
    bounds = [Int32(b).ir_value() for b in (lower, upper, 1 if step is None else step)]
    carried = list(iter_args or ())
    classes = [type(v) if isinstance(v, Numeric) else None for v in carried]
    inits = [as_value(v) for v in carried]
    region, block = new_block([I32, *[v.type for v in inits]])
    op = scf.for_(bounds[0], bounds[1], bounds[2], inits, region)
    turn = _Turn()
    _OPEN.append(turn)
    try:
        with insert_at(block):
            index, *args = block.args
            inside = [_typed(a, c) for a, c in zip(args, classes, strict=True)]
            results = [_typed(r, c) for r, c in zip(op.results, classes, strict=True)]
            if not carried:
                yield Int32(index)
            elif len(carried) == 1:
                yield Int32(index), inside[0], results[0]
            else:
                yield Int32(index), tuple(inside), tuple(results)
            if len(turn.values) != len(inits):
                raise LanguageError(
                    "the body of for_generate ends with yield_out of every carried value",
                    code="OC1141", expected=len(inits), found=len(turn.values),
                )  # fmt: skip
            scf.yield_(
                [
                    as_value(v) if c is None else _converted(v, c)
                    for v, c in zip(turn.values, classes, strict=True)
                ]
            )
    finally:
        _OPEN.remove(turn)
