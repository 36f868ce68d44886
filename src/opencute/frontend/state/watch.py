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

import types
from collections.abc import Iterable
from typing import Any

from opencute.frontend.state.objects import fill, parts_of, state_of

__all__ = ["MISSING", "Key", "Watch"]

MISSING: Any = types.SimpleNamespace(name="missing")
"""The state of an item that is not there."""

Key = tuple[int, Any]
"""Which object of a Watch, and its index, key or attribute."""

_LIMIT = 4096


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
            state = state_of(obj)
            if state is not None:
                self.objects.append(obj)
                self.before.append(state)
                queue += state.values()
            else:
                queue += parts_of(obj)
        self.known = {id(obj) for obj in self.objects}

    def changes(self) -> dict[Key, Any]:
        """The items that are not what they were, with their present values."""
        out: dict[Key, Any] = {}
        for i, (obj, old) in enumerate(zip(self.objects, self.before, strict=True)):
            new = state_of(obj) or {}
            for key in (*old, *(k for k in new if k not in old)):
                value = new.get(key, MISSING)
                if value is not old.get(key, MISSING) and not _equal_sets(value, old.get(key)):
                    out[i, key] = value
        return out

    def old(self, key: Key) -> Any:
        """What an item was."""
        return self.before[key[0]].get(key[1], MISSING)

    def shape(self, index: int) -> tuple[Any, ...] | None:
        """The structure of a list (its length) or dict (its keys in order); None for others, whose
        items may be missing on some paths."""
        obj = self.objects[index]
        if isinstance(obj, dict):
            return tuple(obj)
        return tuple(range(len(obj))) if hasattr(obj, "extend") else None

    def old_shape(self, index: int) -> tuple[Any, ...]:
        """The structure before."""
        return tuple(self.before[index])

    def restore(self) -> None:
        """Put every object back to what it was."""
        for obj, old in zip(self.objects, self.before, strict=True):
            fill(obj, old)

    def put(self, items: dict[Key, Any], shapes: dict[int, tuple[Any, ...]]) -> None:
        """Set items, and give lists and dicts the items of `shapes` in their order."""
        states = {i: state_of(self.objects[i]) or {} for i in shapes}
        for (i, key), value in items.items():
            if i not in states:
                states[i] = state_of(self.objects[i]) or {}
            states[i][key] = value
        for i, state in states.items():
            fill(self.objects[i], {k: state[k] for k in shapes.get(i, state)})

    def describe(self, key: Key) -> str:
        """An item as it is written in messages."""
        obj, name = self.objects[key[0]], key[1]
        if isinstance(obj, dict) or hasattr(obj, "extend") or isinstance(obj, set):
            return f"{type(obj).__name__}[{name!r}]"
        return f"{type(obj).__name__}.{name}"


def _equal_sets(a: Any, b: Any) -> bool:
    return isinstance(a, frozenset) and isinstance(b, frozenset) and a == b
