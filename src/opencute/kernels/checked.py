# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Operators that say which of their arguments is no array.

In: an operator, and what its parameters are. Out: the operator; where it fails on an argument of
another kind, the error names that::

    @checked(arrays="x", optional="out")
    def softmax(x, *, out=None): ...

    softmax([1.0, 2.0])         # ArgumentTypeError: softmax: x is no array

Arguments are only looked at after a failure, so that calls which work pay nothing; but for
`config`, which has a type that its annotation names: another might be taken for none at all.
"""

from __future__ import annotations

import functools
import inspect
import operator
import typing
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from opencute.base.errors import ArgumentError, ArgumentTypeError, OpenCuTeError
from opencute.base.tracebacks import cut, hidden

__all__ = ["checked", "whole_numbers"]

F = TypeVar("F", bound=Callable[..., Any])
_FAILURES = (AttributeError, TypeError, ValueError, RuntimeError)


def checked(
    *, arrays: str = "", optional: str = "", integers: str = "", numbers: str = ""
) -> Callable[[F], F]:
    """Decorate an operator.

    Args:
        arrays: names of parameters that are arrays.
        optional: names of those that are arrays or None.
        integers: of those that are whole numbers, or None where that is the default.
        numbers: of those that are real numbers, or None where that is the default.
    """

    def decorate(fn: F) -> F:
        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            if (config := kwargs.get("config")) is not None:
                _config(fn, config)
            try:
                return fn(*args, **kwargs)
            except OpenCuTeError as e:
                __tracebackhide__ = hidden()
                raise cut(e)  # noqa: B904 - the same error
            except _FAILURES as e:
                _explain(fn, args, kwargs, _kinds(arrays, optional, integers, numbers), e)

        return call  # pyright: ignore[reportReturnType]

    return decorate


@functools.cache
def _configs(fn: Callable[..., Any]) -> tuple[type, ...]:
    """The types that an operator's configuration may have."""
    hint = typing.get_type_hints(fn).get("config", typing.Any)
    return tuple(t for t in typing.get_args(hint) if t is not type(None))


def _config(fn: Callable[..., Any], config: Any) -> None:
    types = _configs(fn)
    if types and not isinstance(config, types):
        raise ArgumentTypeError(
            f"{fn.__name__}: config is no configuration of this operator", code="OC2531",
            expected=" or ".join(t.__name__ for t in types), found=repr(config)[:80],
            hint="leave it out for a good choice",
        )  # fmt: skip


def whole_numbers(config: Any, code: str, **extents: int) -> None:
    """Check that fields of a configuration are whole numbers, or so many of them.

    Args:
        config: a configuration.
        code: of the error.
        extents: by the names of fields, how many numbers they have; 0 for a single one.

    Raises:
        ArgumentError: one of them is something else; it is named.
    """
    for name, count in extents.items():
        value = getattr(config, name)
        items = value if isinstance(value, tuple) else (value,)
        fits = isinstance(value, tuple) == (count > 0) and len(items) == max(count, 1)
        if not fits or not all(type(x) is not bool and hasattr(x, "__index__") for x in items):
            raise ArgumentError(
                f"{name} of {type(config).__name__} is wrong", code=code, found=repr(value)[:80],
                expected=f"a tuple of {count} whole numbers" if count else "a whole number",
            )  # fmt: skip


def _kinds(arrays: str, optional: str, integers: str, numbers: str) -> dict[str, str]:
    kinds = (("array", arrays), ("array or None", optional), ("integer", integers),
             ("number", numbers))  # fmt: skip
    return {name: kind for kind, names in kinds for name in names.split()}


def _explain(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], kinds: dict[str, str],
    error: Exception,
) -> NoReturn:  # fmt: skip
    """Raise what is to say about the arguments, or the error as it is."""
    signature = inspect.signature(fn)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        raise error from None
    for name, kind in kinds.items():
        value = bound.arguments.get(name, signature.parameters[name].default)
        if value is None and (
            kind == "array or None" or signature.parameters[name].default is None
        ):
            continue
        if kind.startswith("array"):
            _array(fn.__name__, name, value)
        elif not _converts(value, kind):
            raise ArgumentTypeError(
                f"{fn.__name__}: {name} is no {kind}", code="OC2531", found=repr(value)[:80]
            ) from None
    raise error


def _converts(value: Any, kind: str) -> bool:
    """Whether a value is a number of this kind; an array of several is not."""
    try:
        if kind == "integer":
            operator.index(value)
        elif not hasattr(value, "__float__"):
            return False  # a string, which float() would read
        else:
            float(value)
    except _FAILURES:
        return False
    return True


def _array(fn: str, name: str, value: Any) -> None:
    if not (hasattr(value, "shape") and hasattr(value, "dtype")):
        raise ArgumentTypeError(
            f"{fn}: {name} is no array", code="OC2530",
            expected="a torch tensor or a NumPy array", found=type(value).__name__,
        ) from None  # fmt: skip
    layout = str(getattr(value, "layout", "torch.strided"))
    if layout != "torch.strided":
        raise ArgumentTypeError(
            f"{fn}: {name} is no dense array", code="OC2532", found=layout,
            hint="pass x.to_dense()",
        ) from None  # fmt: skip
