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

import collections
import contextlib
import operator
import threading
import types
from collections.abc import Generator, Iterable
from typing import Any

from opencute.base.errors import LanguageError
from opencute.frontend.state.classes import class_of
from opencute.frontend.state.kept import (
    is_inert,
    is_iterator,
    keep,
    kept_parts,
    kept_state,
    snapshot,
)
from opencute.frontend.state.leads import Lead, begin, lead_of
from opencute.frontend.state.stores import attributes, is_odd

__all__ = ["MISSING", "Key", "Watch", "advance", "refuse_outside"]

MISSING: Any = types.SimpleNamespace(name="missing")
"""The state of an item that is not there."""

Key = tuple[int, Any]
"""Which object of a Watch, and its index, key or attribute."""

_LIMIT = 4096
_LISTS = (list, collections.deque)
_SIMPLE = (int, float, str, bytes, type(None))


class _Iterators(threading.local):
    """The iterators from before each run-time branch and loop that is being traced."""

    def __init__(self) -> None:
        self.stack: list[dict[int, Any]] = []


_ITERATORS = _Iterators()


def refuse_outside(items: Any) -> None:
    """Refuse to advance an iterator in a run-time branch or loop that it is not made in.

    Raises:
        LanguageError: OC1142.
    """
    if any(id(items) in known for known in _ITERATORS.stack):
        raise _unjoined(items)


def advance(items: Any, *default: Any) -> Any:
    """Python's `next`."""
    refuse_outside(items)
    return next(items, *default)


def _unjoined(obj: Any) -> LanguageError:
    what = "advanced" if is_iterator(obj) else "changed"
    return LanguageError(
        f"an object is {what} under a run-time condition or in a run-time loop, which cannot be "
        "compiled", code="OC1142", found=_kind(obj),
        hint="make it inside of the branch or loop, decide with const_expr(), loop over "
        "range_constexpr(), or use a list or a register tensor",
    )  # fmt: skip


def _kind(obj: Any) -> str:
    if isinstance(obj, types.FunctionType):
        return f"a global variable that {obj.__name__}() assigns"
    if isinstance(obj, types.ModuleType):
        return f"an attribute of module {obj.__name__}"
    if isinstance(obj, type):
        return f"an attribute of class {obj.__name__}"
    return f"a {type(obj).__name__} from outside of it"


class Watch:
    """A record of the state of mutable objects.

    Args:
        roots: where to start; objects inside of them are watched too.
        own: identities of cells that are carried as variables.
        parts: the functions that the branches or the body were made into.
    """

    def __init__(
        self, roots: Iterable[Any], own: Iterable[int] = (), parts: Iterable[Any] = ()
    ) -> None:
        self.objects: list[Any] = []
        self.before: list[dict[Any, Any]] = []
        self.fixed: list[tuple[Any, Any]] = []
        self.odd: list[tuple[Any, Any]] = []
        self.functions: list[types.FunctionType] = []
        """The user's functions that can be reached."""
        self.touched: list[int] | None = None
        self.unset: list[dict[str, Any]] = []
        """The attributes of functions that have none; they are objects once they have some."""
        walk = _Walk(self, set(own), list(roots))
        for part in parts:
            if isinstance(part, types.FunctionType):
                walk.assigns(lead_of(part))
        odd = walk.run()
        if walk.stored:
            names = frozenset(walk.stored)
            self.odd = [(obj, attributes(obj, names)) for obj in odd]
            self.names = names
        self.known = {*map(id, self.objects), *map(id, self.unset)}

    def changes(self) -> dict[Key, Any]:
        """The items that are not what they were, with their present values.

        Raises:
            LanguageError: OC1142: an object changes that cannot be joined.
        """
        out: dict[Key, Any] = {}
        for obj, shot in self.fixed:
            if snapshot(obj) != shot:
                raise _unjoined(obj)
        for obj, shot in self.odd:
            if attributes(obj, self.names) != shot:
                raise _unjoined(obj)
        if any(self.unset):
            found = [x for x in self.unset if x]
            self.unset = [x for x in self.unset if not x]
            self.objects += found
            self.before += [{} for _ in found]
        self.touched, touched = None, list[int]()
        for i, (obj, old) in enumerate(zip(self.objects, self.before, strict=True)):
            new = obj if type(obj) is dict else _state_now(obj)
            if new is old:
                continue
            if (
                len(new) == len(old)
                and all(map(operator.is_, new.values(), old.values()))
                and [*new] == [*old]
            ):
                continue
            touched.append(i)
            for key in (*old, *(k for k in new if k not in old)):
                value = new.get(key, MISSING)
                if value is not old.get(key, MISSING) and not _equal_sets(value, old.get(key)):
                    out[i, key] = value
        self.touched = touched
        return out

    @contextlib.contextmanager
    def inside(self) -> Generator[None]:
        """While the branches or the body are traced; see `refuse_outside`."""
        _ITERATORS.stack.append({id(x): x for x, _ in self.fixed if is_iterator(x)})
        try:
            yield
        finally:
            _ITERATORS.stack.pop()

    def old(self, key: Key) -> Any:
        """What an item was."""
        return self.before[key[0]].get(key[1], MISSING)

    def place(self, key: Key) -> tuple[int, int]:
        """Where an item stands among all: what `changes` goes by."""
        names = list(self.before[key[0]])
        return key[0], names.index(key[1]) if key[1] in names else len(names)

    def shape(self, index: int) -> tuple[Any, ...] | None:
        """The structure of a list (its length) or dict (its keys in order); None for others, whose
        items may be missing on some paths."""
        obj = self.objects[index]
        if isinstance(obj, dict):
            return tuple(obj)
        return tuple(range(len(obj))) if isinstance(obj, _LISTS) else None

    def old_shape(self, index: int) -> tuple[Any, ...]:
        """The structure before."""
        return tuple(self.before[index])

    def restore(self) -> None:
        """Put every object back to what it was; after `changes`, those that it has found."""
        touched = range(len(self.objects)) if self.touched is None else self.touched
        for i in touched:
            keep(self.objects[i], self.before[i])
        self.touched = None

    def put(self, items: dict[Key, Any], shapes: dict[int, tuple[Any, ...]]) -> None:
        """Set items, and give lists and dicts the items of `shapes` in their order."""
        states = {i: kept_state(self.objects[i]) or {} for i in shapes}
        for (i, key), value in items.items():
            if i not in states:
                states[i] = kept_state(self.objects[i]) or {}
            states[i][key] = value
        for i, state in states.items():
            keep(self.objects[i], {k: state[k] for k in shapes.get(i, state)})

    def describe(self, key: Key) -> str:
        """An item as it is written in messages."""
        obj, name = self.objects[key[0]], key[1]
        if isinstance(obj, types.CellType):
            return "a variable of a function that is called here"
        if isinstance(obj, type):
            return f"{obj.__name__}.{name}"
        if isinstance(obj, (dict, set, *_LISTS)):
            return f"{type(obj).__name__}[{name!r}]"
        return f"{type(obj).__name__}.{name}"


class _Walk:
    """The walk through what code can reach, which a `Watch` begins with.

    Args:
        watch: gets the objects, and what they are.
        seen: the identities of what is not to be looked at.
        queue: where to start.
    """

    def __init__(self, watch: Watch, seen: set[int], queue: list[Any]) -> None:
        self.watch, self.seen, self.queue = watch, seen, queue
        self.stored: set[str] = set()
        """The attributes that functions assign."""
        self._odd: list[Any] = []
        self._quiet: list[Lead] = []
        self._turn = begin()

    def assigns(self, lead: Lead) -> None:
        """A function of the user's is reached."""
        # Who assigns may have the object from another function: `state().scale = 3`.
        stored, quiet = self.stored, self._quiet
        if lead.stored:
            stored.update(lead.stored)
        quiet.append(lead)
        self.watch.functions.append(lead.fn)
        if stored:
            for each in quiet:
                self.queue.extend(each.used(self._turn))
            quiet.clear()

    def run(self) -> list[Any]:
        """Look at everything; returns what has no state of its own, but attributes."""
        queue, seen, watch, turn = self.queue, self.seen, self.watch, self._turn
        objects, before = watch.objects, watch.before
        while queue and len(objects) < _LIMIT:
            obj = queue.pop()
            known = id(obj)
            if known in seen:
                continue
            seen.add(known)
            kind = type(obj)
            if kind is types.FunctionType:
                self._function(obj)
                continue
            if is_inert(kind):
                continue
            if kind is tuple:
                queue += obj
                continue
            if kind is dict or kind is list:  # as below, for most objects
                state = dict(obj) if kind is dict else dict(enumerate(obj))
                objects.append(obj)
                before.append(state)
                queue += state.values()
                queue += state if kind is dict else ()
                continue
            inner = class_of(obj) if issubclass(kind, type) else None
            if inner is not None:
                objects.append(obj)
                before.append(inner.state)
                queue += inner.parts
                continue
            state = kept_state(obj)
            if state is None and is_odd(obj):
                self._odd.append(obj)
            if isinstance(obj, (*_SIMPLE, types.ModuleType)):
                continue
            if state is not None:
                objects.append(obj)
                before.append(state)
                queue += state.values()
                queue += state if isinstance(obj, dict) else ()
            elif (shot := snapshot(obj)) is not None:
                watch.fixed.append((obj, shot))
            queue += kept_parts(obj, turn)
        return self._odd

    def _function(self, obj: types.FunctionType) -> None:
        lead = lead_of(obj)
        if lead.is_users:
            watch = self.watch
            self.assigns(lead)
            if lead.sets_globals and (shot := snapshot(obj)) is not None:
                watch.fixed.append((obj, shot))
            inside, named = obj.__dict__, obj.__kwdefaults__
            if not inside and not (named and any(map(_is_given, named.values()))):
                if id(inside) not in self.seen:
                    self.seen.add(id(inside))
                    watch.unset.append(inside)
                self.queue += lead.parts(self._turn)
                return
        self.queue += kept_parts(obj, self._turn)


def _state_now(obj: Any) -> dict[Any, Any]:
    """What an object consists of; of a class that is what it was, the same dictionary."""
    if isinstance(obj, type):
        inner = class_of(obj)
        return inner.state if inner is not None else {}
    return kept_state(obj) or {}


def _is_given(default: Any) -> bool:
    """Whether a default of a keyword is an object: `loc=None` is all that most functions have."""
    return default is not None


def _equal_sets(a: Any, b: Any) -> bool:
    return isinstance(a, frozenset) and isinstance(b, frozenset) and a == b
