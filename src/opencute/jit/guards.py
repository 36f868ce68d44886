# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Whether what a trace read is still the same, so that its code may be used again.

A trace reads more than its arguments: globals, closure cells, defaults, attributes of modules,
classes and objects, the bodies of functions. `guard_for` finds these by looking at the byte code of
every function that may have run in the trace, and makes checks that compare them with what they
were; native code does them at each call. What cannot be followed (an object of unknown behaviour
that is called, say) gives no guard but a reason, and the function is then traced again on each
call. Of OpenCuTe itself the names of its public modules are watched (``cute.arch.sync_threads``
replaced by a function of the user's); what lies behind them is taken to be as it is.

    guard = guard_for([fn])
    if isinstance(guard, str):      # the reason why there is none
        ...
    elif guard.holds():             # True while nothing has changed
        ...
"""

from __future__ import annotations

import abc
import builtins
import dataclasses
import dis
import enum
import functools
import gc
import types
from collections.abc import Iterable
from typing import Any

from opencute.jit.functions import Bound, JitFunction, KernelFunction
from opencute.jit.places import (
    MISSING,
    Attribute,
    Cell,
    Class,
    Fixed,
    Item,
    Part,
    PatchCheck,
    Place,
    PlaceCheck,
    Untracked,
)

__all__ = ["Guard", "guard_for"]

_OURS = ("opencute", "cutlass")
# Nobody changes these while a program runs.
_STABLE = frozenset(
    {
        "math", "operator", "functools", "itertools", "typing", "enum", "builtins", "dataclasses",
        "numpy", "torch", "jax", "ml_dtypes", "cuda", "collections", "abc",
    }
)  # fmt: skip
_PLAIN_METACLASSES = (type, enum.EnumMeta, abc.ABCMeta)
# Reading attributes by names that the code does not show.
_BY_NAME = frozenset({"getattr", "vars", "__dict__", "hasattr", "fields", "asdict", "astuple"})
_UNUSED = frozenset({"__repr__", "__str__", "__del__", "__reduce__", "__getstate__"})


class Guard:
    """Checks of all that a trace read."""

    def __init__(self, checks: list[PlaceCheck | PatchCheck]) -> None:
        self.checks = tuple(checks)
        self.words: Any = None  # for native code, as they were when it was last asked for

    def holds(self) -> bool:
        """Whether nothing has changed."""
        return all(check.holds() for check in self.checks)

    __call__ = holds

    def changed(self) -> str:
        """What has changed, in words; empty if nothing has."""
        return next((c.where or "something" for c in self.checks if not c.holds()), "")

    def native(self) -> tuple[tuple[int, ...], list[Any]] | None:
        """The checks as words for native code, and what they point to; call it while they hold.

        Returns:
            None if native code cannot do them all.
        """
        words: list[int] = []
        keep: list[Any] = []
        done = all([check.native(words, keep) for check in self.checks])
        return (tuple(words), keep) if done else None


def _package(name: str | None) -> str:
    return (name or "").split(".", 1)[0]


def _is_stable(value: Any) -> bool:
    """Whether a value is code that never changes: ours, or of a stable standard module."""
    if isinstance(value, types.ModuleType):
        name = _package(value.__name__)
    else:
        name = _package(getattr(value, "__module__", None))
    return name in _OURS or name in _STABLE


class _Collector:
    """Checks, in the order in which they were found; each reads a place and compares."""

    def __init__(self) -> None:
        self.checks: list[PlaceCheck] = []
        self.seen: dict[int, Any] = {}  # by identity; values are kept, so that it stays theirs
        self.names: set[str] = set()  # attributes that the code mentions
        self.objects: list[tuple[Any, str]] = []
        self.classes: list[tuple[type, str]] = []

    def _first_time(self, value: Any) -> bool:
        known = id(value) in self.seen
        self.seen[id(value)] = value
        return not known

    def same(self, place: Place, where: str) -> None:
        """Guard the identity of what a place holds."""
        self.checks.append(PlaceCheck(place, where=where))

    # ---- places
    def place(self, place: Place, chain: tuple[str, ...], where: str) -> None:
        """Follow attributes from a place, and guard what is found."""
        value = place.read()
        while chain and value is not MISSING and self._has_attributes(value):
            self.same(place, where)
            name, chain = chain[0], chain[1:]
            place, holder = Attribute(value, name), value
            value, where = place.read(), f"{where}.{name}"
            if isinstance(value, Bound | types.MethodType):
                self.method(holder, value, name, where)
                return
        if value is MISSING:
            self.same(place, where)
        else:
            self.value(place, value, where)

    @staticmethod
    def _has_attributes(value: Any) -> bool:
        if isinstance(value, types.ModuleType):
            return not _is_stable(value)
        if isinstance(value, type):
            return not _is_stable(value) and value.__module__ != "builtins"
        if isinstance(value, JitFunction | KernelFunction | types.FunctionType):
            return False
        return not _is_stable(type(value)) and type(value).__module__ != "builtins"

    def value(self, place: Place, value: Any, where: str) -> None:
        """Guard a value that tracing may have used in any way."""
        if isinstance(value, JitFunction | KernelFunction):
            self.same(place, where)
            self.decorated(value)
        elif isinstance(value, types.FunctionType):
            self.same(place, where)
            if not _is_stable(value):
                self.function(value)
        elif isinstance(value, types.BuiltinFunctionType):
            self.same(place, where)
        elif isinstance(value, functools.partial | functools.partialmethod):
            self.same(place, where)
            self.partial(value, where)
        elif isinstance(value, Bound | types.MethodType):
            raise Untracked(f"{where}, a method that is bound outside of the function")
        elif isinstance(value, types.ModuleType):
            if not _is_stable(value):
                raise Untracked(f"{where}, a module that is used as a value")
            self.same(place, where)
        elif isinstance(value, type):
            self.same(place, where)
            self.klass(value, where)
        elif isinstance(value, enum.Enum) or (
            _is_stable(value) and type(value).__module__ != "builtins"
        ):
            self.same(place, where)
            self._fields(value, where)
        else:
            self._data(place, value, where)

    def _fields(self, value: Any, where: str) -> None:
        """Guard functions of the user that an object of ours holds, such as a plan."""
        if isinstance(value, tuple):
            parts: Any = value
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            if not self._first_time(value):
                return
            parts = [getattr(value, f.name) for f in dataclasses.fields(value)]
        else:
            code = (types.FunctionType, functools.partial, JitFunction, KernelFunction)
            if isinstance(value, code) and not _is_stable(value):
                self.value(Fixed(value), value, where)
            return
        for part in parts:
            self._fields(part, where)

    def _data(self, place: Place, value: Any, where: str) -> None:
        try:
            self.checks.append(PlaceCheck(place, data=True, where=where))
        except Untracked as e:
            if type(value).__module__ == "builtins" or not hasattr(value, "__dict__"):
                raise Untracked(f"{where}, which holds an object of type {e}") from None
            self.same(place, where)
            self.object(value, where)

    # ---- functions
    def partial(self, value: Any, where: str) -> None:
        """Guard what a function with some arguments is made of; it always has the same parts."""
        if isinstance(value.func, types.FunctionType):
            self.function(value.func)
        elif isinstance(value.func, type):
            self.klass(value.func, where)
        else:
            self.value(Fixed(value.func), value.func, where)
        for part in (*value.args, *value.keywords.values()):
            if not isinstance(part, int | float | str | None):
                self.value(Fixed(part), part, where)

    def decorated(self, fn: JitFunction | KernelFunction) -> None:
        """Guard a decorated function: its name and its body."""
        self.same(Item(vars(fn), "prefix"), f"the name of {fn.fn.__name__}")
        self.function(fn.fn)

    def function(self, fn: types.FunctionType) -> None:
        """Guard a function's body, defaults, cells and globals, and all that it calls by name."""
        if not self._first_time(fn):
            return
        code = fn.__code__
        self.same(Part(fn, "__code__"), f"the body of {fn.__name__}")
        for holder in ("__defaults__", "__kwdefaults__"):
            where = f"the defaults of {fn.__name__}"
            self.value(Part(fn, holder), getattr(fn, holder), where)
        cells = dict(zip(code.co_freevars, fn.__closure__ or (), strict=True))
        _mentioned(code, self.names)
        for name, chain in _reads(code):
            if name in cells:
                self.place(Cell(cells[name]), chain, name)
            elif name in fn.__globals__ or not hasattr(builtins, name):
                self.place(Item(fn.__globals__, name), chain, name)
            else:  # a builtin, as long as no global hides it
                self.same(Item(fn.__globals__, name), name)

    def method(self, holder: Any, method: Any, name: str, where: str) -> None:
        """Guard a method that the code calls on an object which it reads."""
        decorated = isinstance(method, Bound)
        owner: Any = method.obj if decorated else method.__self__
        if owner is not holder or name in getattr(holder, "__dict__", ()):
            raise Untracked(f"{where}, a method of another object")
        if isinstance(owner, type):  # a class method
            self.klass(owner, where)
        else:
            self.object(owner, where)

    # ---- objects and classes of the user
    def object(self, value: Any, where: str) -> None:
        """Guard an object: its class, and the attributes that the code mentions."""
        cls: Any = type(value)
        for base in cls.__mro__:
            odd = {"__getattr__", "__getattribute__", "__slots__"} & set(vars(base))
            if base is not object and not _is_stable(base) and odd:
                raise Untracked(f"{where}, which holds an object of type {cls.__name__}")
        if not hasattr(value, "__dict__"):
            raise Untracked(f"{where}, which holds an object of type {cls.__name__}")
        if self._first_time(value):
            self.same(Class(value), f"the class of {where}")
            self.objects.append((value, where))
            self.klass(cls, f"the class of {where}")

    def klass(self, cls: type, where: str) -> None:
        """Guard a class: the functions and values that the code mentions."""
        if _is_stable(cls) or cls.__module__ == "builtins" or not self._first_time(cls):
            return
        if type(cls) not in _PLAIN_METACLASSES and not _is_stable(type(cls)):
            raise Untracked(f"{where}, a class with a metaclass")
        self.classes.append((cls, where))
        for base in cls.__bases__:
            self.klass(base, where)

    def finish(self) -> None:
        """Follow objects and classes: code found there may mention further attributes."""
        done: set[tuple[int, str]] = set()
        while True:
            work = [
                (holder, name, where)
                for holder, where in (*self.objects, *self.classes)
                for name in list(vars(holder))
                if (id(holder), name) not in done and self._mentions(holder, name)
            ]
            if not work:
                break
            for holder, name, where in work:
                done.add((id(holder), name))
                self._member(holder, name, where)
        for value, where in self.objects:  # a new attribute may hide one of the class
            self._new_attributes(value, where)

    def _mentions(self, holder: Any, name: str) -> bool:
        if name in self.names or (self.names & _BY_NAME and not name.startswith("__")):
            return True
        special = name.startswith("__") and name.endswith("__") and name not in _UNUSED
        return special and isinstance(holder, type) and callable(vars(holder)[name])

    def _member(self, holder: Any, name: str, where: str) -> None:
        value = vars(holder)[name]
        where = f"{where}.{name}"
        place = Item(_namespace(holder) if isinstance(holder, type) else vars(holder), name)
        if not isinstance(holder, type):
            self.value(place, value, where)
            return
        if isinstance(value, staticmethod | classmethod | property | functools.cached_property):
            found: Any = [getattr(value, p, None) for p in ("__func__", "fget", "func")]
            value = next((f for f in found if f is not None), None)
            self.same(place, where)
            if isinstance(value, types.FunctionType):
                self.function(value)
            elif isinstance(value, JitFunction | KernelFunction):
                self.decorated(value)
            return
        if isinstance(value, type(None) | types.GetSetDescriptorType | types.MemberDescriptorType):
            return
        self.value(place, value, where)

    def _new_attributes(self, value: Any, where: str) -> None:
        for cls in type(value).__mro__:
            for name in vars(cls):
                if name in self.names and name not in vars(value):
                    self.same(Item(vars(value), name), f"{where}.{name}")


def _namespace(cls: type) -> dict[str, Any]:
    """The dict behind a class's read-only `__dict__`."""
    found = gc.get_referents(vars(cls))[0]
    assert isinstance(found, dict)
    return found


def _mentioned(code: types.CodeType, names: set[str]) -> None:
    names.update(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            _mentioned(inner, names)
        elif isinstance(inner, str):  # getattr(x, "name")
            names.add(inner)


_Reads = tuple[tuple[str, tuple[str, ...]], ...]
# By the identity of code, which is kept alive: to hash code is to hash everything in it.
_known_reads: dict[int, tuple[types.CodeType, _Reads]] = {}
_REMEMBERED = 1 << 14  # code made in a loop is not to fill memory


def _reads(code: types.CodeType) -> _Reads:
    """Names that code reads from outside, each with the attributes that are read from it."""
    known = _known_reads.get(id(code))
    if known is None:
        found: dict[tuple[str, tuple[str, ...]], None] = {}
        _collect(code, frozenset(code.co_freevars), found)
        if len(_known_reads) > _REMEMBERED:
            _known_reads.clear()
        known = _known_reads[id(code)] = (code, tuple(found))
    return known[1]


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
    """What tells whether all that a trace read is unchanged.

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
            collector.value(Fixed(value), value, "a compile-time argument")
        collector.finish()
    except Untracked as e:
        return f"it reads {e}"
    return Guard([*collector.checks, PatchCheck()])
