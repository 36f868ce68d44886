# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Whether what a trace read is still the same, so that its code may be used again.

A trace reads more than its arguments: globals, closure cells, defaults, attributes of modules,
classes and objects, the bodies of functions. `guard_for` finds these by looking at the byte code of
every function that may have run in the trace, and makes one function that compares them with what
they were. What cannot be followed (an object of unknown behaviour that is called, say) gives no
guard but a reason, and the function is then traced again on each call.

    guard = guard_for([fn])
    if isinstance(guard, str):      # the reason why there is none
        ...
    elif guard():                   # True while nothing has changed
        ...
"""

from __future__ import annotations

import builtins
import dis
import enum
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from opencute.jit.functions import Bound, JitFunction, KernelFunction

__all__ = ["Guard", "guard_for"]

Guard = Callable[[], bool]

_PLAIN = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), range, slice)
_OURS = ("opencute", "cutlass")
# Nobody changes these while a program runs.
_STABLE = frozenset(
    {
        "math", "operator", "functools", "itertools", "typing", "enum", "builtins", "dataclasses",
        "numpy", "torch", "jax", "ml_dtypes", "cuda",
    }
)  # fmt: skip
_MISSING = object()


class _Unknown(Exception):
    """Something that cannot be followed; the text says what and what to do."""


def _package(name: str | None) -> str:
    return (name or "").split(".", 1)[0]


def _is_stable(value: Any) -> bool:
    """Whether a value is code that never changes: ours, or of a stable standard module."""
    if isinstance(value, types.ModuleType):
        name = _package(value.__name__)
    else:
        name = _package(getattr(value, "__module__", None))
    return name in _OURS or name in _STABLE


def _snapshot(value: Any, depth: int = 0) -> Any:
    """A copy of plain data that later changes do not reach; raises _Unknown for anything else."""
    if isinstance(value, (*_PLAIN, enum.Enum)):
        return value
    if depth < 6:
        if isinstance(value, tuple | list):
            items: Any = value
            parts = [_snapshot(x, depth + 1) for x in items]
            return parts if isinstance(value, list) else tuple(parts)
        if isinstance(value, dict):
            mapping: Any = value
            return {_snapshot(k, depth + 1): _snapshot(v, depth + 1) for k, v in mapping.items()}
        if isinstance(value, set | frozenset):
            return type(value)(_snapshot(x, depth + 1) for x in value)
    if isinstance(value, type) and (_is_stable(value) or value.__module__ == "builtins"):
        return value
    raise _Unknown(type(value).__name__)


def _equal(a: Any, b: Any) -> bool:
    """Equality that tells 1 from True and 1.0, also inside of containers."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(v, b[k]) for k, v in a.items())
    return bool(a == b)


class _Collector:
    """Checks, in the order in which they were found; each reads a place and compares."""

    def __init__(self) -> None:
        self.checks: list[Guard] = []
        self.seen: set[int] = set()

    # ---- places
    def place(self, read: Callable[[], Any], chain: tuple[str, ...], where: str) -> None:
        """Follow attributes from what `read` gives, and guard what is found."""
        value = read()
        if value is _MISSING:
            self.checks.append(lambda: read() is _MISSING)
            return
        while chain and self._has_attributes(value):
            name, rest = chain[0], chain[1:]
            found = getattr(value, name, _MISSING)
            self.checks.append(lambda read=read, value=value: read() is value)
            holder = value
            read = lambda holder=holder, name=name: getattr(holder, name, _MISSING)  # noqa: E731
            value, chain, where = found, rest, f"{where}.{name}"
            if value is _MISSING:
                self.checks.append(lambda read=read: read() is _MISSING)
                return
        self.value(read, value, where)

    @staticmethod
    def _has_attributes(value: Any) -> bool:
        if isinstance(value, types.ModuleType):
            return not _is_stable(value)
        if isinstance(value, type):
            return not _is_stable(value) and value.__module__ != "builtins"
        return not _is_stable(type(value)) and type(value).__module__ != "builtins"

    def value(self, read: Callable[[], Any], value: Any, where: str) -> None:
        """Guard a value that tracing may have used in any way."""
        if isinstance(value, JitFunction | KernelFunction):
            self.checks.append(lambda: read() is value)
            self.decorated(value)
        elif isinstance(value, Bound):
            raise _Unknown(f"{where}, a method that is bound outside of the function")
        elif isinstance(value, types.FunctionType):
            self.checks.append(lambda: read() is value)
            if not _is_stable(value):
                self.function(value)
        elif isinstance(value, types.ModuleType | type) or _is_stable(value):
            self._identity(read, value, where)
        elif isinstance(value, types.BuiltinFunctionType):
            self.checks.append(lambda: read() is value)
        else:
            try:
                kept = _snapshot(value)
            except _Unknown as e:
                raise _Unknown(f"{where}, which holds an object of type {e}") from None
            self.checks.append(lambda: _equal(read(), kept))

    def _identity(self, read: Callable[[], Any], value: Any, where: str) -> None:
        if isinstance(value, type) and not _is_stable(value) and value.__module__ != "builtins":
            raise _Unknown(f"{where}, a class whose code may run while tracing")
        if isinstance(value, types.ModuleType) and not _is_stable(value):
            raise _Unknown(f"{where}, a module that is used as a value")
        self.checks.append(lambda: read() is value)

    # ---- functions
    def decorated(self, fn: JitFunction | KernelFunction) -> None:
        """Guard a decorated function: its name and its body."""
        prefix = fn.prefix
        self.checks.append(lambda: fn.prefix == prefix)
        self.function(fn.fn)

    def function(self, fn: types.FunctionType) -> None:
        """Guard a function's body, defaults, cells and globals, and all that it calls by name."""
        if id(fn) in self.seen:
            return
        self.seen.add(id(fn))
        code = fn.__code__
        self.checks.append(lambda: fn.__code__ is code)
        for holder in ("__defaults__", "__kwdefaults__"):
            self.value(
                lambda holder=holder: getattr(fn, holder), getattr(fn, holder),
                f"the defaults of {fn.__name__}",
            )  # fmt: skip
        cells = dict(zip(code.co_freevars, fn.__closure__ or (), strict=True))
        for name, chain in _reads(code):
            if name in cells:
                self.place(lambda c=cells[name]: _cell(c), chain, name)
            elif name in fn.__globals__ or not hasattr(builtins, name):
                space = fn.__globals__
                self.place(lambda s=space, n=name: s.get(n, _MISSING), chain, name)
            else:  # a builtin, as long as no global hides it
                self.checks.append(lambda s=fn.__globals__, n=name: n not in s)


def _cell(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def _reads(code: types.CodeType) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names that code reads from outside, each with the attributes that are read from it."""
    found: dict[tuple[str, tuple[str, ...]], None] = {}
    _collect(code, frozenset(code.co_freevars), found)
    yield from found


def _collect(
    code: types.CodeType, outer: frozenset[str], found: dict[tuple[str, tuple[str, ...]], None]
) -> None:
    name: str | None = None
    chain: tuple[str, ...] = ()
    for step in dis.get_instructions(code):
        if name is not None:
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                chain += (str(step.argval),)
                continue
            if step.opname not in ("PRECALL", "CACHE", "PUSH_NULL"):
                found.setdefault((name, chain))
                name, chain = None, ()
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") or (
            step.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE")
            and step.argval in outer
        ):
            name, chain = str(step.argval), ()
    if name is not None:
        found.setdefault((name, chain))
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            _collect(inner, outer & frozenset(inner.co_freevars), found)


def guard_for(functions: Iterable[Any], values: Iterable[Any] = ()) -> Guard | str:
    """A function that tells whether what a trace read is unchanged.

    Args:
        functions: the decorated functions that ran in the trace.
        values: static arguments; the bodies of functions among them are guarded too.

    Returns:
        The guard, or the reason why there is none.
    """
    collector = _Collector()
    try:
        for fn in functions:
            collector.decorated(fn)
        for value in values:
            collector.value(lambda value=value: value, value, "a compile-time argument")
    except _Unknown as e:
        return f"it reads {e}"
    checks = tuple(collector.checks)

    return lambda: all(check() for check in checks)
