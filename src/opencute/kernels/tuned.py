# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Operators that use what `opencute tune` has found.

In: an operator, and which of its parameters a good configuration depends on. Out: the operator;
where its caller gives no ``config=``, a kept one is tried first::

    @tuned("softmax", "x")
    @checked(arrays="x", optional="out")
    def softmax(x, *, out=None, config=None): ...

A configuration is kept for a bucket of extents. One that does not fit the call after all gives
way to the operator's own choice. OPENCUTE_TUNE_USE=0 leaves kept ones alone.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from opencute.base.errors import OpenCuTeError
from opencute.kernels.arrays import element_name, strides
from opencute.kernels.repeat.front import fronted, plain
from opencute.tune.kept import anything_kept, recall

__all__ = ["config_types", "problem_of", "tuned"]

_RESULTS = {"int8": "int32", "float8_e4m3fn": "float32", "float8_e5m2": "float32"}
"""Types of results where they are not those of the operands."""
F = TypeVar("F", bound=Callable[..., Any])


def tuned(name: str, parameters: str) -> Callable[[F], F]:
    """Decorate an operator.

    Args:
        name: under which its configurations are kept.
        parameters: names of those that they depend on; of "out", only a type of its own counts.
    """

    def decorate(operator: F) -> F:
        fn, front = plain(operator)

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("config") is None and anything_kept():
                found = _found(call, args, kwargs)
                if found is not None:
                    try:
                        return fn(*args, **{**kwargs, "config": found})
                    except OpenCuTeError:
                        pass  # a bucket's configuration need not fit all of its problems
            __tracebackhide__ = True  # it only passes errors on
            return fn(*args, **kwargs)

        marked: Any = call
        marked.tuned_name, marked.tuned_parameters = name, tuple(parameters.split())
        return marked if front is None else fronted(marked, front)

    return decorate


@functools.cache
def _signature(fn: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(fn)


@functools.cache
def config_types(fn: Callable[..., Any]) -> tuple[type, ...]:
    """The types that an operator's configuration may have."""
    hint = typing.get_type_hints(inspect.unwrap(fn)).get("config", typing.Any)
    several: tuple[Any, ...] = typing.get_args(hint) or (hint,)
    return tuple(t for t in several if isinstance(t, type) and t is not type(None))


def _found(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        problem = problem_of(fn, args, kwargs)
    except (TypeError, AttributeError, ValueError):
        return None  # wrong arguments: the operator itself says what is wrong
    return recall(fn.tuned_name, problem, config_types(fn))


def problem_of(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """What a configuration of a call depends on."""
    given = _signature(fn).bind(*args, **kwargs).arguments
    first: Any = None
    out: list[Any] = []
    for name in fn.tuned_parameters:
        value = given.get(name)
        if name == "out":
            kinds = [element_name(t) for t in (value, first) if t is not None]
            if len(kinds) == 2 and kinds[0] != _RESULTS.get(kinds[1], kinds[1]):
                out.append((name, kinds[0]))
            continue
        if hasattr(value, "shape"):
            first = value if first is None else first
            out.append((name, *_facts(value)))
        elif value is not None and value is not False:
            out.append((name, value))
    return tuple(out)


def _facts(array: Any) -> tuple[Any, ...]:
    """Type and extents, and where neighbours are if that is not along the last axis."""
    shape = tuple(int(n) for n in array.shape)
    steps = strides(array)
    axis = max((i for i, s in enumerate(steps) if s == 1 and shape[i] > 1), default=len(shape) - 1)
    kind = element_name(array)
    return (kind, shape) if axis == len(shape) - 1 else (kind, shape, f"axis {axis}")
