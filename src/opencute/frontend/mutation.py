# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Python objects that change inside of a run-time branch or loop.

Tracing runs both branches of a dynamic ``if``, so a list or an object that one of them changes has
to be put back before the other runs, and its changed items have to be joined like variables.

In: the objects that code can reach. Out: which of their items changed::

    watch = Watch([state])
    then()                       # state.count += 1
    after = watch.changes()      # {(0, "count"): Int32(?)}
    watch.restore()
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

import contextlib
import dataclasses
import enum
import types
from collections.abc import Iterable
from typing import Any

from opencute.layout.ints import is_tuple

__all__ = ["MISSING", "Key", "Watch"]

MISSING: Any = types.SimpleNamespace(name="missing")
"""The state of an item that is not there."""

Key = tuple[int, Any]
"""Which object of a Watch, and its index, key or attribute."""

_FOREIGN = frozenset({
    "builtins", "collections", "cuda", "functools", "inspect", "jax", "ml_dtypes", "numpy",
    "opencute", "pathlib", "re", "torch", "typing",
})  # fmt: skip
_OURS = ("opencute.lib.", "opencute.kernels.")  # written in the language, as users' classes are
_LIMIT = 512


def _state(obj: Any) -> dict[Any, Any] | None:
    """The items of a mutable object by key; None for anything that cannot change or is not ours to
    look into."""
    kind = type(obj)
    if kind is list:
        return dict(enumerate(obj))
    if kind is dict:
        return dict(obj)
    if kind is types.SimpleNamespace:
        return dict(vars(obj))
    if isinstance(obj, type | types.ModuleType | types.FunctionType | enum.Enum):
        return None
    if kind.__module__.split(".")[0] in _FOREIGN and not kind.__module__.startswith(_OURS):
        return None
    if not hasattr(obj, "__dict__"):
        return None
    params = getattr(kind, "__dataclass_params__", None)
    if dataclasses.is_dataclass(obj) and params is not None and params.frozen:
        return None
    return dict(vars(obj))


def _parts(obj: Any) -> Iterable[Any]:
    if is_tuple(obj):
        return obj  # pyright: ignore[reportUnknownVariableType]
    if isinstance(obj, types.FunctionType):
        return _captured(obj)
    state = _state(obj)
    return state.values() if state is not None else ()


def _captured(fn: types.FunctionType) -> Iterable[Any]:
    for cell in fn.__closure__ or ():
        with contextlib.suppress(ValueError):  # not bound yet
            yield cell.cell_contents


class Watch:
    """A record of the state of mutable objects.

    Args:
        roots: where to start; objects inside of them are watched too.
    """

    def __init__(self, roots: Iterable[Any]) -> None:
        self.objects: list[Any] = []
        self.before: list[dict[Any, Any]] = []
        seen: set[int] = set()
        queue = list(roots)
        while queue and len(self.objects) < _LIMIT:
            obj = queue.pop()
            if id(obj) in seen:
                continue
            seen.add(id(obj))
            state = _state(obj)
            if state is not None:
                self.objects.append(obj)
                self.before.append(state)
            queue += _parts(obj)

    def changes(self) -> dict[Key, Any]:
        """The items that are not what they were, with their present values."""
        out: dict[Key, Any] = {}
        for i, (obj, old) in enumerate(zip(self.objects, self.before, strict=True)):
            new = _state(obj) or {}
            for key in (*old, *(k for k in new if k not in old)):
                value = new.get(key, MISSING)
                if value is not old.get(key, MISSING):
                    out[i, key] = value
        return out

    def old(self, key: Key) -> Any:
        """What an item was."""
        return self.before[key[0]].get(key[1], MISSING)

    def restore(self) -> None:
        """Put every object back to what it was."""
        for obj, old in zip(self.objects, self.before, strict=True):
            if isinstance(obj, list):
                obj[:] = old.values()
            else:
                target = obj if isinstance(obj, dict) else vars(obj)
                target.clear()
                target.update(old)

    def put(self, key: Key, value: Any) -> None:
        """Set an item."""
        obj, name = self.objects[key[0]], key[1]
        if isinstance(obj, list | dict):
            obj[name] = value
        else:
            vars(obj)[name] = value

    def resized(self, key: Key) -> bool:
        """Whether the object of an item is a list that has another length now."""
        obj = self.objects[key[0]]
        return isinstance(obj, list) and len(obj) != len(self.before[key[0]])

    def describe(self, key: Key) -> str:
        """An item as it is written in messages."""
        obj, name = self.objects[key[0]], key[1]
        if isinstance(obj, list | dict):
            return f"{type(obj).__name__}[{name!r}]"
        return f"{type(obj).__name__}.{name}"
