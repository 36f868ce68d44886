# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Operators that say which of their arguments is no array.

In: an operator, and what its parameters are. Out: the operator; where it fails on an argument of
another kind, the error names that::

    @checked(arrays="x", optional="out")
    def softmax(x, *, out=None): ...

    softmax([1.0, 2.0])         # ArgumentTypeError: softmax: x is no array

Arguments are only looked at after a failure, so that calls which work pay nothing; but for
`config`, which has a type that its annotation names (another might be taken for none at all), text
where a number or a flag belongs (``float("1e-5")`` is a number, and any text is true), and NumPy's
arrays: those that run backwards through memory are copied, as kernels cannot read them, and a
result that is read-only is refused.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
import typing
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from opencute.base.errors import ArgumentError, ArgumentTypeError, OpenCuTeError
from opencute.base.tracebacks import cut, hidden
from opencute.kernels.arrays import apart, forwards, share_memory
from opencute.kernels.mapped import inside_of, over_batches
from opencute.kernels.repeat.front import fronted, plain

__all__ = ["checked", "separate", "typed_fields"]

F = TypeVar("F", bound=Callable[..., Any])
_MOST = 1 << 31
_FAILURES = (AttributeError, TypeError, ValueError, RuntimeError, OverflowError)


def checked(
    *,
    arrays: str = "",
    optional: str = "",
    integers: str = "",
    numbers: str = "",
    rows: str = "",
) -> Callable[[F], F]:
    """Decorate an operator.

    Args:
        arrays: names of parameters that are arrays.
        optional: names of those that are arrays or None.
        integers: of those that are whole numbers, or None where that is the default.
        numbers: of those that are real numbers, or None where that is the default.
        rows: of the arrays whose axes but the last are rows, as those of the results: inside of
            `torch.vmap` the others serve all rows.
    """
    whole = " ".join(n for n in f"{arrays} {optional}".split() if n not in rows.split())

    def decorate(operator: F) -> F:
        import numpy as np

        fn, front = plain(operator)
        parameters = inspect.signature(fn).parameters
        names = [*parameters]
        kinds = _kinds(arrays, optional, integers, numbers)
        flags = {n: "flag" for n, p in parameters.items() if isinstance(p.default, bool)}
        textless = {n: k for n, k in (kinds | flags).items() if not k.startswith("array")}
        # A result is named `out`, but where an operator reads what another one has made.
        result = "out" in optional.split()
        inputs = [n for n in (*arrays.split(), *optional.split()) if not (result and n == "out")]
        read = [i for i, name in enumerate(names) if name in inputs]
        at = names.index("out") if result else len(names)

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            for i in read:
                if i < len(args) and isinstance(args[i], np.ndarray):
                    args = (*args[:i], forwards(names[i], args[i]), *args[i + 1 :])
            for name, value in kwargs.items():
                if isinstance(value, np.ndarray) and name in inputs:
                    kwargs[name] = forwards(name, value)
            if result:
                _writable(fn, args[at] if at < len(args) else kwargs.get("out"), np.ndarray)
            if (config := kwargs.get("config")) is not None:
                _config(fn, config)
            _no_text(fn, names, args, kwargs, textless)
            try:
                return fn(*args, **kwargs)
            except OpenCuTeError as e:
                __tracebackhide__ = hidden()
                if rows and (mapped := over_batches(fn, args, kwargs, rows, whole)) is not None:
                    return mapped
                _dense(fn, {**dict(zip(names, args, strict=False)), **kwargs})
                raise cut(e)  # noqa: B904 - the same error
            except _FAILURES as e:
                __tracebackhide__ = hidden()
                if rows and (mapped := over_batches(fn, args, kwargs, rows, whole)) is not None:
                    return mapped
                _explain(fn, args, kwargs, kinds, e)

        return call if front is None else fronted(call, front)  # pyright: ignore[reportReturnType]

    return decorate


def separate(*, inplace: str = "") -> Callable[[F], F]:
    """Decorate an operator whose `out` shares no memory with what it reads.

    It stands below `repeated`: calls that are made again overlap as those before.

    Args:
        inplace: names of the arrays that `out` may be.
    """

    def decorate(fn: F) -> F:
        names, same = [*inspect.signature(fn).parameters], inplace.split()

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            out = given.pop("out", None)
            if out is not None:
                _result(out, {n: a for n, a in given.items() if hasattr(a, "shape")}, same)
            return fn(*args, **kwargs)

        return call  # pyright: ignore[reportReturnType]

    return decorate


def _result(out: Any, inputs: dict[str, Any], same: list[str]) -> None:
    """Refuse a result whose elements share memory with each other, or with what is read.

    Raises:
        ArgumentError: they do.
    """
    try:
        apart("out", out)
        shared = {
            n: share_memory(out, a)
            for n, a in inputs.items()
            # One of another shape is wrong for that.
            if hasattr(a, "dtype") and (n not in same or tuple(a.shape) == tuple(out.shape))
        }
    except OpenCuTeError:
        raise
    except _FAILURES:
        return  # these are no arrays: the operator says so
    for name, answer in shared.items():
        if answer or (answer is None and name not in same):
            raise ArgumentError(
                f"out shares memory with {name}, which is read while out is written",
                code="OC2542", expected=f"other memory, or all of {' or '.join(same)}" if same
                else "other memory",
            )  # fmt: skip


def _writable(fn: Callable[..., Any], out: Any, kind: type) -> None:
    """Refuse a result that NumPy says nobody may write to, before anything is computed."""
    for array in out if isinstance(out, list | tuple) else (out,):  # pyright: ignore
        if isinstance(array, kind) and not array.flags.writeable:  # pyright: ignore
            __tracebackhide__ = hidden()
            raise ArgumentError(
                f"{fn.__name__}: out is read-only", code="OC2545",
                expected="an array whose flags.writeable is True",
                hint="pass out.copy(), or an array of your own: views of files, of bytes and of "
                "broadcasts are read-only",
            )  # fmt: skip


def _no_text(
    fn: Callable[..., Any], names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any],
    kinds: dict[str, str],
) -> None:  # fmt: skip
    """Refuse text for numbers and flags."""
    for name, value in (*zip(names, args, strict=False), *kwargs.items()):
        if isinstance(value, str | bytes | bytearray) and name in kinds:
            __tracebackhide__ = hidden()
            raise ArgumentTypeError(
                f"{fn.__name__}: {name} is no {kinds[name]}", code="OC2531", found=repr(value)[:80],
                expected="True or False" if kinds[name] == "flag" else f"{kinds[name]}, not text",
            )  # fmt: skip


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


def typed_fields(config: Any, code: str) -> None:
    """Check that the fields of a configuration are what its class says: counts, numbers, truth
    values, text, or tuples of so many of them.

    Args:
        config: a configuration, a dataclass.
        code: of the error.

    Raises:
        ArgumentError: one of them is something else; it is named.
    """
    for name, kind in _fields(type(config)):
        value = getattr(config, name)
        if not _fits(value, kind):
            raise ArgumentError(
                f"{name} of {type(config).__name__} is wrong", code=code, found=repr(value)[:80],
                expected=_in_words(kind),
            )  # fmt: skip


@functools.cache
def _fields(cls: type) -> tuple[tuple[str, Any], ...]:
    hints = typing.get_type_hints(cls)
    return tuple((f.name, hints[f.name]) for f in dataclasses.fields(cls))


_WORDS = {
    int: "a whole number, not negative",
    float: "a number",
    bool: "True or False",
    str: "a text",
}


def _in_words(kind: Any) -> str:
    parts = typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        return f"a tuple of {len(parts)}: " + ", ".join(_in_words(p) for p in parts)
    if parts:
        return " or ".join(_in_words(p) for p in parts if p is not type(None)) + " or None"
    return _WORDS.get(kind, getattr(kind, "__name__", str(kind)))


def _fits(value: Any, kind: Any) -> bool:
    parts = typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        same = isinstance(value, tuple) and len(value) == len(parts)
        return same and all(_fits(v, p) for v, p in zip(value, parts, strict=True))
    if parts:
        return any(_fits(value, p) for p in parts)
    if kind is int:
        whole = not isinstance(value, bool) and hasattr(value, "__index__")
        return whole and not getattr(value, "shape", ()) and 0 <= value < _MOST
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and value == value
    return isinstance(value, kind)


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
    import numpy as np

    if kind := _sparse(value):
        raise ArgumentTypeError(
            f"{fn}: {name} is no dense array", code="OC2532", found=kind,
            hint="pass x.to_padded_tensor(0.0)" if kind == "nested" else "pass x.to_dense()",
        ) from None  # fmt: skip
    if isinstance(value, np.generic) or not (hasattr(value, "shape") and hasattr(value, "dtype")):
        raise ArgumentTypeError(
            f"{fn}: {name} is no array", code="OC2530",
            expected="a torch tensor or a NumPy array", found=type(value).__name__,
        ) from None  # fmt: skip
    try:
        _ = value.data_ptr() if hasattr(value, "data_ptr") else None
    except RuntimeError:
        found, hint = inside_of(value)
        raise ArgumentTypeError(
            f"{fn}: {name} has no memory of its own", code="OC2532", found=found,
            expected="a tensor with memory", hint=hint,
        ) from None  # fmt: skip


def _sparse(value: Any) -> str:
    """What a tensor of torch is if it is no dense one; empty for others."""
    layout = str(getattr(value, "layout", ""))
    if not layout.startswith("torch."):
        return ""
    if value.is_nested:
        return "nested"
    return layout if layout != "torch.strided" else ""


def _dense(fn: Callable[..., Any], given: dict[str, Any]) -> None:
    """Raise what is wrong with a sparse array: its strides, which an error may name, are none."""
    for name, value in given.items():
        if _sparse(value):
            _array(fn.__name__, name, value)
