# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""State that stands in no variable of its own: cells of closures, defaults and attributes of
functions, attributes of classes, subclasses of lists and dicts; and state that cannot be joined.

In: any object. Out: its items as in `objects`, and what else is to be watched with it::

    kept_state(cell)                # {"cell_contents": 4}
    kept_parts(f, turn)             # its cells, its defaults, its __dict__
    snapshot(bytearray(b"a"))       # b"a": can be compared, not joined
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects are of any type; annotations cannot say more.

from __future__ import annotations

import array
import collections
import contextvars
import dataclasses
import enum
import functools
import itertools
import operator
import types
import weakref
import zlib
from collections.abc import Iterable
from typing import Any

from opencute.frontend.state.leads import lead_of
from opencute.frontend.state.objects import (
    fill,
    is_decorated,
    is_holder,
    is_mutable_kind,
    is_users,
    parts_of,
    state_of,
)
from opencute.frontend.state.stores import facts_of, is_odd_kind
from opencute.lang.tiled.atoms import MmaAtom

__all__ = ["is_inert", "is_iterator", "keep", "kept_parts", "kept_state", "own_cells", "snapshot"]

_LARGE = 1 << 12
_CONTENTS = "cell_contents"
_DEQUES = (list, collections.deque)
_WRAPPERS = (staticmethod, classmethod)
_ADAPTERS = (zip, map, filter, enumerate)  # say which iterators they advance
_WITH_DATA = (collections.UserDict, collections.UserList, collections.ChainMap)


def _is_class(obj: Any) -> bool:
    return isinstance(obj, type) and _plain_class(obj)


@functools.lru_cache(maxsize=4096)
def _plain_class(kind: type) -> bool:
    return is_users(kind) and not issubclass(kind, enum.Enum | BaseException)


def _is_container(obj: Any) -> bool:
    """Whether an object is of a user's subclass of a container."""
    kind = type(obj)
    return issubclass(kind, (*_DEQUES, dict)) and is_users(kind)


def _base(obj: Any) -> Any:
    """The container class that a user's one is made from."""
    bases = (list, collections.deque, collections.OrderedDict, dict)
    return next(b for b in bases if isinstance(obj, b))


def kept_state(obj: Any) -> dict[Any, Any] | None:
    """As `state_of`, of more kinds of objects."""
    state = state_of(obj)
    if state is not None:
        return state
    if isinstance(obj, types.CellType):
        try:
            return {_CONTENTS: obj.cell_contents}
        except ValueError:  # not bound yet
            return {}
    if _is_class(obj):
        return {k: v for k, v in vars(obj).items() if not (k[:2] == "__" and k[-2:] == "__")}
    if _is_container(obj):
        if isinstance(obj, dict):
            return dict(_base(obj).items(obj))
        return dict(enumerate(_base(obj).__iter__(obj)))
    return None


def keep(obj: Any, state: dict[Any, Any]) -> None:
    """As `fill`, for what `kept_state` gives."""
    if isinstance(obj, types.CellType):
        if _CONTENTS in state:
            obj.cell_contents = state[_CONTENTS]
        else:
            del obj.cell_contents
    elif isinstance(obj, type):
        now = kept_state(obj) or {}
        for name in now.keys() - state.keys():
            type.__delattr__(obj, name)
        for name, value in state.items():
            if name not in now or now[name] is not value:
                type.__setattr__(obj, name, value)
    elif state_of(obj) is not None:
        fill(obj, state)
    else:
        base = _base(obj)
        base.clear(obj)
        if isinstance(obj, dict):
            base.update(obj, state)
        else:
            base.extend(obj, state.values())


@functools.lru_cache(maxsize=4096)
def _is_special(kind: type) -> bool:
    return issubclass(kind, (*_WRAPPERS, *_ADAPTERS, *_WITH_DATA, property))


def kept_parts(obj: Any, turn: int) -> Iterable[Any]:
    """What else an object refers to that code which has it can change.

    Args:
        obj: any object.
        turn: of a walk, as of `leads.begin`.
    """
    if isinstance(obj, types.FunctionType):
        lead = lead_of(obj)
        if not lead.is_users:
            return parts_of(obj)
        named = (obj.__kwdefaults__ or {}).values()
        return [*lead.own(), *named, obj.__dict__, *lead.stateful(turn)]
    if _is_special(type(obj)):
        if isinstance(obj, _WRAPPERS):
            return (obj.__func__,)
        if isinstance(obj, _ADAPTERS):
            made: Any = obj.__reduce__()
            return made[1]
        if isinstance(obj, _WITH_DATA):
            return (vars(obj),)
        return (obj.fget, obj.fset)
    if isinstance(obj, type):
        return _of_class(obj) if _is_class(obj) else ()
    parts = () if kept_state(obj) is not None else parts_of(obj)
    if _is_container(obj):
        return (type(obj), *([obj.__dict__] if hasattr(obj, "__dict__") else ()))
    return (*parts, type(obj)) if _is_class(type(obj)) else parts


@functools.lru_cache(maxsize=4096)
def is_inert(kind: type) -> bool:
    """Whether an object of a class has nothing that can change, and leads to nothing that has."""
    holders = (
        types.FunctionType, types.CellType, types.ModuleType, types.MethodType, type, tuple,
        functools.partial, weakref.ref, MmaAtom, dict, *_DEQUES,
    )  # fmt: skip
    return not (
        issubclass(kind, holders)
        or is_mutable_kind(kind) or is_odd_kind(kind) or is_holder(kind)
        or _is_special(kind) or _has_snapshot(kind)
        or dataclasses.is_dataclass(kind) or is_decorated(kind)
    )  # fmt: skip


def _of_class(kind: type) -> list[Any]:
    """Its bases, its metaclass, and the methods that Python calls, which `kept_state` leaves out:
    they may change what they have captured."""
    methods = (types.FunctionType, *_WRAPPERS)
    special = (v for k, v in vars(kind).items() if k[:2] == "__" and isinstance(v, methods))
    return [*(k for k in (*kind.__mro__[1:], type(kind)) if _is_class(k)), *special]


def own_cells(functions: Iterable[Any], names: Iterable[str]) -> set[int]:
    """The identities of the cells of the variables that a statement carries by name.

    Args:
        functions: the parts of the statement.
        names: the variables.
    """
    wanted = frozenset(names)
    queue = list(functions)
    out: set[int] = set()
    seen: set[int] = set()
    while queue:
        fn = queue.pop()
        if isinstance(fn, functools.partial):
            queue.append(fn.func)
            continue
        if not isinstance(fn, types.FunctionType) or id(fn) in seen:
            continue
        seen.add(id(fn))
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
            if name in wanted:
                out.add(id(cell))
            state = kept_state(cell) or {}
            inside = state.get(_CONTENTS)
            if isinstance(inside, functools.partial | types.FunctionType):
                if fn.__module__.startswith("opencute.frontend."):
                    queue.append(inside)
            elif type(inside) is tuple and fn.__module__.startswith("opencute.frontend."):
                queue += inside
    return out


def is_iterator(obj: Any) -> bool:
    """Whether an object is an iterator whose place only Python knows."""
    return hasattr(type(obj), "__next__") and state_of(obj) is None


@functools.lru_cache(maxsize=4096)
def _has_snapshot(kind: type) -> bool:
    kinds = (
        types.FunctionType, bytearray, set, array.array, types.GeneratorType,
        contextvars.ContextVar, itertools.count,
    )  # fmt: skip
    return (
        issubclass(kind, kinds) or hasattr(kind, "__array_interface__") or hasattr(kind, "__next__")
    )


def snapshot(obj: Any) -> Any:
    """What tells whether an object that cannot be joined has been changed; None for others."""
    if not _has_snapshot(type(obj)):
        return None
    if isinstance(obj, types.FunctionType):
        found = [obj.__globals__.get(n) for n in facts_of(obj.__code__).globals_set]
        return tuple((id(x), x) for x in found) if found and is_users(obj) else None
    if isinstance(obj, bytearray):
        return bytes(obj)
    if isinstance(obj, set):
        return frozenset(obj)
    if isinstance(obj, array.array) or hasattr(type(obj), "__array_interface__"):
        data: bytes = obj.tobytes()
        return data if len(data) < _LARGE else (zlib.crc32(data), zlib.adler32(data))
    if isinstance(obj, types.GeneratorType):
        return obj.gi_frame is None or obj.gi_frame.f_lasti
    if isinstance(obj, contextvars.ContextVar):
        now = obj.get(None)
        return (id(now), now)
    if isinstance(obj, itertools.count):
        return repr(obj)
    if is_iterator(obj):
        return operator.length_hint(obj, -1) if type(obj).__module__ == "builtins" else 0
    return None
