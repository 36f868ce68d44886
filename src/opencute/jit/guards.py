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
import contextlib
import dataclasses
import enum
import functools
import gc
import importlib.util
import itertools
import operator
import sys
import types
from collections.abc import Iterable
from typing import Any

from opencute.jit.decorated import Bound, Decorated
from opencute.jit.places import (
    MISSING,
    AbstractCheck,
    Attribute,
    CacheCheck,
    Cell,
    Class,
    Fixed,
    Item,
    Part,
    PatchCheck,
    Place,
    PlaceCheck,
    SizeCheck,
    Untracked,
)
from opencute.jit.reads import imports, mentioned, reads

__all__ = ["Guard", "guard_for"]

_OURS = ("opencute", "cutlass")
# Nobody changes these while a program runs.
_STABLE = frozenset(
    {
        "math", "operator", "functools", "itertools", "typing", "enum", "builtins", "dataclasses",
        "numpy", "torch", "jax", "ml_dtypes", "cuda", "collections", "abc",
    }
)  # fmt: skip
# Of those, whose objects hold values that change, or read what the code does not name.
_HOLDERS = frozenset({"collections", "functools", "itertools", "operator"})
_FIXED = (operator.itemgetter, enum.Enum)
_KEEPING = type(functools.cache(len))  # functions that keep their results
_WRAPPERS = (
    staticmethod, classmethod, property, functools.cached_property, functools.singledispatchmethod,
)  # fmt: skip
# Where the objects of torch.nn.Module keep what their attributes are.
_BEHIND = ("_parameters", "_buffers", "_modules")
# What reads whatever it is told to, or another thing each time.
_READERS: frozenset[Any] = frozenset(
    {eval, exec, globals, __import__, open, input} | {sys._getframe}  # pyright: ignore[reportPrivateUsage] - others call it too
)
_PLAIN_METACLASSES = (type, enum.EnumMeta, abc.ABCMeta)
# Reading attributes by names that the code does not show.
_BY_NAME = frozenset({"getattr", "vars", "__dict__", "hasattr", "fields", "asdict", "astuple"})
_ANY_NAME = frozenset({"getattr", "vars", "__dict__"})
# Asking whether there are attributes.
_ASKING = _BY_NAME | {"AttributeError"}
_UNUSED = frozenset({"__repr__", "__str__", "__del__", "__reduce__", "__getstate__"})


_Check = PlaceCheck | PatchCheck | SizeCheck | CacheCheck | AbstractCheck


class Guard:
    """Checks of all that a trace read."""

    def __init__(self, checks: list[_Check]) -> None:
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
        self.checks: list[_Check] = []
        self.seen: dict[int, Any] = {}  # by identity; values are kept, so that it stays theirs
        self.names: set[str] = set()  # attributes that the code mentions
        self.objects: list[tuple[Any, str]] = []
        self.classes: list[tuple[type, str]] = []
        self.spaces: list[tuple[Any, str]] = []  # functions with attributes, imported modules
        self.functions: list[tuple[Any, str]] = []
        self.abstract = False  # whether a class is read that others may be registered with

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
            if isinstance(value, types.FunctionType):
                self.value(place, value, where)
            name, chain = chain[0], chain[1:]
            place, holder = Attribute(value, name), value
            value, where = place.read(), f"{where}.{name}"
            if isinstance(value, Bound | types.MethodType):
                self.method(holder, value, name, where)
                return
        if value is MISSING:
            self.same(place, where)
            return
        if value is builtins and chain:  # it never changes, but some of it reads anything
            self.reader(getattr(value, chain[0], None), f"{where}.{chain[0]}")
        self.value(place, value, where)

    @staticmethod
    def reader(value: Any, where: str) -> None:
        """Refuse a function that reads what no code names."""
        if isinstance(value, types.BuiltinFunctionType) and value in _READERS:
            raise Untracked(f"what {where}() gives")

    @staticmethod
    def _has_attributes(value: Any) -> bool:
        if isinstance(value, types.ModuleType):
            return not _is_stable(value)
        if isinstance(value, type):
            return not _is_stable(value) and value.__module__ != "builtins"
        if isinstance(value, types.FunctionType):
            return not _is_stable(value)
        if isinstance(value, Decorated):
            return False
        return not _is_stable(type(value)) and type(value).__module__ != "builtins"

    def value(self, place: Place, value: Any, where: str) -> None:
        """Guard a value that tracing may have used in any way."""
        if isinstance(value, Decorated):
            self.same(place, where)
            self.decorated(value)
        elif isinstance(value, types.FunctionType):
            self.same(place, where)
            if not _is_stable(value):
                self.function(value)
        elif isinstance(value, types.BuiltinFunctionType):
            self.reader(value, where)
            self.same(place, where)
            owner: Any = value.__self__
            if not isinstance(owner, types.ModuleType | type | None):  # TABLE.get, say
                self._data(Fixed(owner), owner, where)
        elif isinstance(value, _KEEPING):
            self.same(place, where)
            check = CacheCheck(value, where)
            self.checks.append(check)
            for kept in check.results():
                self.value(Fixed(kept), kept, f"what {where} keeps")
            self.value(Fixed(value.__wrapped__), value.__wrapped__, where)
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
            self.abstract |= isinstance(value, abc.ABCMeta)
            self.klass(value, where)
        elif isinstance(value, enum.Enum) or (
            _is_stable(value) and type(value).__module__ != "builtins"
        ):
            self.same(place, where)
            if not _is_fixed(value):
                raise Untracked(f"{where}, which holds an object of type {type(value).__name__}")
            self._fields(value, where)
        else:
            self._data(place, value, where)

    def _fields(self, value: Any, where: str) -> None:
        """Guard what the user may call and an object of ours, such as a plan, holds."""
        if isinstance(value, tuple):
            parts: Any = value
        elif isinstance(value, types.MethodType) and not _is_stable(value):
            self.value(Fixed(value.__func__), value.__func__, where)
            self._data(Fixed(value.__self__), value.__self__, where)
            return
        elif isinstance(value, functools.partial) or (
            callable(value) and not isinstance(value, type) and not _is_stable(value)
        ):
            self.value(Fixed(value), value, where)
            return
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            if not self._first_time(value):
                return
            parts = [getattr(value, f.name) for f in dataclasses.fields(value)]
        else:
            return
        for part in parts:
            self._fields(part, where)

    def _data(self, place: Place, value: Any, where: str) -> None:
        try:
            self.checks.append(PlaceCheck(place, data=True, where=where))
        except Untracked as e:
            hidden = isinstance(value, list | tuple | dict | set | frozenset)
            if hidden or type(value).__module__ == "builtins" or not hasattr(value, "__dict__"):
                raise Untracked(f"{where}, which holds an object of type {e}") from None
            self.same(place, where)
            self.object(value, where)

    # ---- functions
    def partial(self, value: Any, where: str) -> None:
        """Guard what a function with some arguments is made of: always the same function and
        positional arguments, but keywords are those of a dict that anyone may change."""
        if isinstance(value.func, types.FunctionType):
            self.function(value.func)
        elif isinstance(value.func, type):
            self.klass(value.func, where)
        else:
            self.value(Fixed(value.func), value.func, where)
        if vars(value):
            self.spaces.append((value, where))
        for part in value.args:
            if not isinstance(part, int | float | str | None):
                self.value(Fixed(part), part, where)
        self.checks.append(SizeCheck(value.keywords, f"the keywords of {where}"))
        for name, part in value.keywords.items():
            self.value(Item(value.keywords, name), part, f"{name} of {where}")

    def decorated(self, fn: Decorated) -> None:
        """Guard a decorated function: its name and its body."""
        self.same(Item(vars(fn), "prefix"), f"the name of {fn.fn.__name__}")
        if self._first_time(fn):
            self.functions.append((fn, fn.fn.__name__))
        self.function(fn.fn)

    def function(self, fn: types.FunctionType) -> None:
        """Guard a function's body, defaults, cells and globals, and all that it calls by name."""
        if not self._first_time(fn):
            return
        code = fn.__code__
        self.functions.append((fn, fn.__name__))
        self.same(Part(fn, "__code__"), f"the body of {fn.__name__}")
        for holder in ("__defaults__", "__kwdefaults__"):
            where = f"the defaults of {fn.__name__}"
            self.value(Part(fn, holder), getattr(fn, holder), where)
        if fn.__globals__ is functools.__dict__ and hasattr(fn, "registry"):
            self.dispatched(fn)
        if vars(fn):
            self.spaces.append((fn, fn.__name__))
        for module, level, parts in imports(code):
            self.imported("." * level + module, fn.__globals__.get("__package__"), parts)
        cells = dict(zip(code.co_freevars, fn.__closure__ or (), strict=True))
        mentioned(code, self.names)
        for name, chain in reads(code):
            if name in cells:
                self.place(Cell(cells[name]), chain, name)
            elif name in fn.__globals__ or not hasattr(builtins, name):
                self.place(Item(fn.__globals__, name), chain, name)
            else:  # a builtin, as long as no global hides it
                self.reader(getattr(builtins, name), name)
                self.same(Item(fn.__globals__, name), name)

    def dispatched(self, fn: Any) -> None:
        """Guard what `functools.singledispatch` may call, and that nothing else is registered."""
        registry: dict[Any, Any] = _behind(fn.registry)
        where = f"the functions registered with {fn.__name__}"
        self.checks.append(SizeCheck(registry, where))
        for cls, chosen in registry.items():
            self.value(Item(registry, cls), chosen, where)

    def imported(self, name: str, package: str | None, parts: tuple[str, ...]) -> None:
        """Guard a module that the code imports when it runs, and what is taken from it."""
        name = importlib.util.resolve_name(name, package)
        if _package(name) in _OURS or _package(name) in _STABLE:
            return
        owners = [name] if parts else list(itertools.accumulate(name.split("."), "{}.{}".format))
        for owner in owners:
            self.same(Item(sys.modules, owner), f"the module {owner}")
            module = sys.modules.get(owner)
            if module is None:
                continue
            for part in parts:
                self.place(Item(vars(module), part), (), f"{owner}.{part}")
            if not parts and self._first_time(module):
                self.spaces.append((module, owner))

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
            behind = any(vars(value).get(x) for x in _BEHIND) if hasattr(value, "__dict__") else ()
            if base is not object and odd and (behind or not _is_stable(base)):
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
                for holder, where in (*self.objects, *self.classes, *self.spaces)
                for name in list(vars(holder))
                if (id(holder), name) not in done and self._mentions(holder, name)
            ]
            if not work:
                break
            for holder, name, where in work:
                done.add((id(holder), name))
                if isinstance(vars(holder)[name], types.ModuleType):
                    self._submodule(holder, name, where)
                    continue
                self._member(holder, name, where)
        for value, where in self.objects:  # a new attribute may hide one of the class
            self._new_attributes(value, where)
        if self.names & _ASKING:  # getattr(x, "name", None) finds what was not there
            for fn, _ in self.functions:
                _settle(fn)
            spaces = [(vars(value), where) for value, where in (*self.objects, *self.functions)]
            spaces += [(_namespace(cls), where) for cls, where in self.classes]
            self.checks += [SizeCheck(x, f"the attributes of {where}") for x, where in spaces]
        if self.abstract and self.names & {"isinstance", "issubclass"}:
            self.checks.append(AbstractCheck())

    def _submodule(self, holder: Any, name: str, where: str) -> None:
        module = vars(holder)[name]
        if holder not in [x for x, _ in self.spaces] or _is_stable(module):
            self._member(holder, name, where)
        elif self._first_time(module):
            self.same(Item(vars(holder), name), f"{where}.{name}")
            self.spaces.append((module, f"{where}.{name}"))

    def _mentions(self, holder: Any, name: str) -> bool:
        if isinstance(holder, types.FunctionType | types.ModuleType):
            known = _package(holder.__name__) in sys.stdlib_module_names
            if self.names & _ANY_NAME and isinstance(holder, types.ModuleType) and not known:
                raise Untracked(f"names of the module {holder.__name__} that the code makes")
            any_name = self.names & _BY_NAME and isinstance(holder, types.FunctionType)
            return name in self.names or bool(any_name)
        if name in self.names or (self.names & _BY_NAME and not name.startswith("__")):
            return True
        special = name.startswith("__") and name.endswith("__") and name not in _UNUSED
        return (
            special
            and isinstance(holder, type)
            and (callable(vars(holder)[name]) or isinstance(vars(holder)[name], _WRAPPERS))
        )

    def _member(self, holder: Any, name: str, where: str) -> None:
        value = vars(holder)[name]
        where = f"{where}.{name}"
        place = Item(_namespace(holder) if isinstance(holder, type) else vars(holder), name)
        if not isinstance(holder, type):
            self.value(place, value, where)
            return
        if isinstance(value, _WRAPPERS):
            self.same(place, where)
            for part in ("__func__", "fget", "fset", "fdel", "func", "dispatcher"):
                inner = getattr(value, part, None)
                if inner is not None:
                    self.value(Fixed(inner), inner, where)
            return
        if isinstance(value, type(None) | types.GetSetDescriptorType | types.MemberDescriptorType):
            return
        self.value(place, value, where)

    def _new_attributes(self, value: Any, where: str) -> None:
        for cls in type(value).__mro__:
            for name in vars(cls):
                if name in self.names and name not in vars(value):
                    self.same(Item(vars(value), name), f"{where}.{name}")


def _settle(fn: Any) -> None:
    """Let a decorated function compute now what it keeps among its attributes when it is asked."""
    for cls in type(fn).__mro__:
        for name, kept in vars(cls).items():
            if isinstance(kept, functools.cached_property):
                with contextlib.suppress(Exception):  # what fails says so when it counts
                    getattr(fn, name)


def _namespace(cls: type) -> dict[str, Any]:
    """The dict behind a class's read-only `__dict__`."""
    return _behind(vars(cls))


def _behind(proxy: Any) -> dict[Any, Any]:
    """The dict behind a mapping that may only be read."""
    found: Any = gc.get_referents(proxy)[0]
    assert isinstance(found, dict)
    return found


def _is_fixed(value: Any) -> bool:
    """Whether an object of a stable module's type never gives another answer."""
    package = _package(type(value).__module__)
    if package == "torch":
        return not hasattr(value, "data_ptr")
    return package not in _HOLDERS or isinstance(value, _FIXED)


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
