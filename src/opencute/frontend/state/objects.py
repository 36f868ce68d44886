# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a mutable object consists of: items by key, which can be read, set and put into a new one.

In: any object. Out: its items, or None for what cannot change or is not ours to look into::

    state_of([4, 5])                # {0: 4, 1: 5}
    state_of(Counter(n=3))          # {"n": 3}
    state_of((4, 5))                # None
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import functools
import threading
import types
import weakref
from collections.abc import Iterable
from typing import Any

from opencute.lang.tiled.atoms import MmaAtom
from opencute.layout.ints import is_tuple

__all__ = [
    "fill", "is_decorated", "is_holder", "is_mutable", "is_mutable_kind", "is_users", "parts_of",
    "shell", "state_of",
]  # fmt: skip

_FOREIGN = frozenset({
    "builtins", "collections", "contextlib", "cuda", "functools", "inspect", "itertools", "jax",
    "ml_dtypes", "numpy", "opencute", "pathlib", "re", "threading", "torch", "typing",
})  # fmt: skip
# Written in the language, as users' classes are; or with attributes that kernels set.
_OURS = ("opencute.lib.", "opencute.kernels.", "opencute.lang.hopper.fields")
_LISTS = (list, collections.deque)
_DICTS = (dict, collections.Counter, collections.OrderedDict, collections.defaultdict)
_PROXIES = (weakref.ProxyType, weakref.CallableProxyType)
_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
_HOLDERS = frozenset({
    *_PROXIES, *_VIEWS, frozenset, types.MappingProxyType, memoryview, functools.cached_property,
    functools._lru_cache_wrapper, super,  # pyright: ignore[reportPrivateUsage]
    types.BuiltinMethodType, types.MethodWrapperType,
})  # fmt: skip


@functools.lru_cache(maxsize=4096)
def _slots(kind: type) -> tuple[str, ...]:
    names: list[str] = []
    for cls in kind.__mro__:
        own = cls.__dict__.get("__slots__", ())
        for name in (own,) if isinstance(own, str) else own:
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{cls.__name__.lstrip('_')}{name}"
            if name not in ("__dict__", "__weakref__"):
                names.append(name)
    return tuple(names)


def is_users(obj: Any) -> bool:
    """Whether a class or function is the user's, or written as one."""
    return _is_users_module(obj.__module__ or "")


@functools.lru_cache(maxsize=4096)
def _is_users_module(module: str) -> bool:
    return module.split(".")[0] not in _FOREIGN or module.startswith(_OURS)


@functools.lru_cache(maxsize=4096)
def _has_attributes(kind: type) -> bool:
    """Whether objects of a class are the user's, with attributes that can be assigned."""
    if kind is types.SimpleNamespace or issubclass(kind, threading.local):
        return True
    if not is_users(kind):
        return False
    if issubclass(kind, type | types.ModuleType | enum.Enum | BaseException | tuple | str):
        return False
    if issubclass(kind, (*_LISTS, *_DICTS, set, frozenset, int, float, bytes)):
        return False
    if kind.__setattr__ is not object.__setattr__ and not _has_values(kind):
        params = getattr(kind, "__dataclass_params__", None)
        if params is not None and params.frozen:
            return False
    return kind.__dictoffset__ != 0 or bool(_slots(kind))


def _has_values(kind: type) -> bool:
    return hasattr(kind, "__native_fields__")


def is_mutable(obj: Any) -> bool:
    """Whether an object has items that code can change."""
    return is_mutable_kind(type(obj))


@functools.lru_cache(maxsize=4096)
def is_mutable_kind(kind: type) -> bool:
    """Whether objects of a class have items that code can change."""
    return kind in _LISTS or kind in _DICTS or kind is set or _has_attributes(kind)


@functools.lru_cache(maxsize=4096)
def is_decorated(kind: type) -> bool:
    """Whether objects of a class are decorated functions, or such with their object."""
    return any("__opencute_decorated__" in vars(cls) for cls in kind.__mro__)


def is_holder(kind: type) -> bool:
    """Whether objects of a class, one of Python's own, give access to others."""
    return kind in _HOLDERS


def state_of(obj: Any) -> dict[Any, Any] | None:
    """The items of a mutable object by index, key or attribute; None for anything else."""
    kind = type(obj)
    if kind in _LISTS:
        return dict(enumerate(obj))
    if kind in _DICTS:
        return dict(obj)
    if kind is set:
        return {"items": frozenset(obj)}
    if not _has_attributes(kind):
        return None
    state = {n: getattr(obj, n) for n in _slots(kind) if hasattr(obj, n)}
    state.update(getattr(obj, "__dict__", ()))
    return state


def shell(obj: Any) -> Any:
    """An empty object of the kind of another."""
    kind = type(obj)
    if kind is collections.defaultdict:
        return kind(obj.default_factory)
    if kind is collections.deque:
        return kind((), obj.maxlen)
    if kind in (*_LISTS, *_DICTS, set, types.SimpleNamespace):
        return kind()
    return object.__new__(kind)


def fill(obj: Any, state: dict[Any, Any]) -> None:
    """Make an object consist of the given items, and no others."""
    kind = type(obj)
    if kind in _LISTS:
        obj.clear()
        obj.extend(state.values())
    elif kind in _DICTS:
        obj.clear()
        # A Counter's own update adds.
        (dict.update if kind is collections.Counter else kind.update)(obj, state)
    elif kind is set:
        obj.clear()
        obj.update(state["items"])
    else:
        slots = _slots(kind)
        for name in slots:
            if name in state:
                object.__setattr__(obj, name, state[name])
            elif hasattr(obj, name):
                object.__delattr__(obj, name)
        if kind.__dictoffset__ or issubclass(kind, threading.local):
            inside = obj.__dict__
            inside.clear()
            inside.update((k, v) for k, v in state.items() if k not in slots)


def parts_of(obj: Any) -> Iterable[Any]:
    """The objects that an object refers to, where code that has it can get at them."""
    if is_tuple(obj):
        return obj
    if isinstance(obj, types.FunctionType):
        return _captured(obj)
    if isinstance(obj, types.MethodType):
        return (obj.__self__, obj.__func__)
    if isinstance(obj, functools.partial):
        return (obj.func, *obj.args, *obj.keywords.values())
    if type(obj) in _HOLDERS:
        return _held(obj)
    if isinstance(obj, weakref.ref):
        return (obj(),)
    state = state_of(obj)
    if state is not None:
        return (*state, *state.values()) if type(obj) in _DICTS else state.values()
    if isinstance(obj, MmaAtom):
        return obj.parts()
    if dataclasses.is_dataclass(obj) and not isinstance(obj, type):
        return [getattr(obj, f.name) for f in dataclasses.fields(obj) if hasattr(obj, f.name)]
    kind = type(obj)
    if is_decorated(kind):
        inside = (getattr(obj, n, None) for n in ("fn", "decorated", "obj"))
        return [x for x in inside if x is not None]
    return ()


def _held(obj: Any) -> Iterable[Any]:
    """What an object of Python's own gives its code access to: `items.append` has the list."""
    if type(obj) in _PROXIES:
        with contextlib.suppress(ReferenceError):  # it is gone
            return (obj.__repr__.__self__,)
        return ()
    if isinstance(obj, frozenset):
        return obj
    if isinstance(obj, types.MappingProxyType):
        return (*obj, *obj.values())
    if isinstance(obj, _VIEWS):
        return (obj.mapping,)
    if isinstance(obj, memoryview):
        return (obj.obj,)
    if isinstance(obj, functools.cached_property):
        return (obj.func,)
    if isinstance(obj, functools._lru_cache_wrapper):  # pyright: ignore[reportPrivateUsage]
        return (obj.__wrapped__,)
    owner = obj.__self__
    return () if isinstance(owner, types.ModuleType) else (owner,)


def _captured(fn: types.FunctionType) -> Iterable[Any]:
    for cell in fn.__closure__ or ():
        with contextlib.suppress(ValueError):  # not bound yet
            yield cell.cell_contents
