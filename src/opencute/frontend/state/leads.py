# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What functions lead to: their cells and defaults, and what they name in modules and classes.

Each branch and loop asks that of each function which it can reach, mostly the same ones; so it is
found once in a trace, and again only where a name has come to stand for another object.

In: a function. Out: its `Lead`::

    turn = begin()                      # a branch or loop begins; nothing is known to be the same
    lead = lead_of(f)
    lead.parts(turn)                    # objects with state: those captured, defaults, globals
    lead.used(turn)                     # modules, classes and objects whose attributes f may assign
    forget()                            # the trace has ended
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects are of any type; annotations cannot say more.

from __future__ import annotations

import functools
import itertools
import operator
import sys
import types
from collections.abc import Sequence
from typing import Any

from opencute.frontend.state.objects import (
    is_decorated,
    is_mutable,
    is_mutable_kind,
    is_users,
)
from opencute.frontend.state.stores import facts_of, is_odd

__all__ = ["Lead", "Space", "begin", "forget", "lead_of"]

_turns = itertools.count(1)
_turn = 0


def begin() -> int:
    """The number of a walk, in which each name is looked up once; that of the walk before if since
    then no name has come to stand for another object."""
    global _turn
    changed = [s for s in [*_spaces.values()] if s.changed()]
    if changed:
        _turn = next(_turns)
        for space in changed:
            space.version(_turn)
    return _turn


class Space:
    """The names that functions mention in one module or class.

    Args:
        owner: the module or class, or the globals of a function.
        inside: its dictionary.
    """

    __slots__ = ("_absent", "_found", "_get", "_keys", "_owner", "_there", "_turn", "_values",
                 "_version")  # fmt: skip

    def __init__(self, owner: Any, inside: Any) -> None:
        self._owner = owner  # which keeps its identity its own
        self._get, self._keys = inside.get, inside.keys()
        self._found: dict[str, Any] = {}
        # Of the names that functions mention, most are not in a given module or class.
        self._there: list[str] = []
        self._values: list[Any] = []
        self._absent: set[str] = set()
        self._turn, self._version = -1, 0

    def changed(self) -> bool:
        """Whether a name stands for another object than when it was last looked up."""
        return not (
            self._keys.isdisjoint(self._absent)
            and all(map(operator.is_, map(self._get, self._there), self._values))
        )

    def version(self, turn: int) -> int:
        """A number that is another one once a name stands for another object."""
        if self._turn != turn:
            if self.changed():
                names = [*self._found]
                self._found, self._there, self._values, self._absent = {}, [], [], set()
                self.values(names)
                self._version += 1
            self._turn = turn
        return self._version

    def values(self, names: Sequence[str]) -> list[Any]:
        """What some names stand for, None for those that stand for nothing; from now on `version`
        tells whether they have changed."""
        found = self._found
        for name in names:
            if name not in found:
                value = found[name] = self._get(name)
                if name in self._keys:
                    self._there.append(name)
                    self._values.append(value)
                else:
                    self._absent.add(name)
        return [found[n] for n in names]


_spaces: dict[int, Space] = {}


def _space(owner: Any) -> Space:
    found = _spaces.get(id(owner))
    if found is None:
        inside = owner if type(owner) is dict else vars(owner)
        found = _spaces[id(owner)] = Space(owner, inside)
    return found


class Lead:
    """What a function leads to.

    Args:
        fn: the function.
    """

    def __init__(self, fn: types.FunctionType) -> None:
        facts, cells = facts_of(fn.__code__), fn.__closure__
        self.fn, self.code, self.defaults = fn, fn.__code__, fn.__defaults__
        self.is_users = is_users(fn)
        self.stored = facts.stored
        """The attributes that it may assign on something else than its own object."""
        self.sets_globals = bool(facts.globals_set)
        self._facts = facts
        shared = itertools.compress(cells, facts.shared) if cells else ()
        self._own: list[Any] = [*shared, *(fn.__defaults__ or ())]
        self._globals = _space(fn.__globals__)
        self._parts: list[Any] = []
        self._parts_at = self._parts_turn = self._used_turn = -1
        self._used: list[Any] = []
        self._used_at: list[tuple[Space, int]] | None = None

    def own(self) -> list[Any]:
        """Its cells, but those of variables that are carried by name, and its defaults."""
        return self._own

    def stateful(self, turn: int) -> list[Any]:
        """The objects with state that its globals are."""
        return self.parts(turn)[len(self._own) :]

    def parts(self, turn: int) -> list[Any]:
        """`own`, then `stateful`. The list is not to be changed."""
        if turn == self._parts_turn:
            return self._parts
        version = self._globals.version(turn)
        self._parts_turn = turn
        if version != self._parts_at:
            named = self._globals.values(self._facts.names)
            self._parts = [*self._own, *(x for x in named if x is not None and _has_state(x))]
            self._parts_at = version
        return self._parts

    def used(self, turn: int) -> list[Any]:
        """What it may assign attributes on: objects by global name, and what it names of modules
        and classes. The list is not to be changed."""
        if turn == self._used_turn:
            return self._used
        known, self._used_turn = self._used_at, turn
        if known is None or not all(s.version(turn) == v for s, v in known):
            self._find_used(turn)
        return self._used

    def _find_used(self, turn: int) -> None:
        names = self._facts.mentioned
        version = self._globals.version(turn)
        at, values = [(self._globals, version)], self._globals.values(names)
        if "globals" in names:
            values.append(sys.modules.get(self.fn.__globals__.get("__name__", "")))
        out = [x for x in values if x is not None and (isinstance(x, type) or is_odd(x))]
        for holder in [x for x in out if isinstance(x, type | types.ModuleType)]:
            space = _space(holder)
            at.append((space, space.version(turn)))
            inside = [x for x in space.values(names) if x is not None]
            out += [x for x in inside if isinstance(x, type) or is_odd(x) or is_mutable(x)]
        self._used, self._used_at = out, at


def _has_state(obj: Any) -> bool:
    """Whether a global variable stands for something that may change."""
    kind = type(obj)
    return is_users(obj) if kind is types.FunctionType else _kind_has_state(kind)


@functools.lru_cache(maxsize=4096)
def _kind_has_state(kind: type) -> bool:
    return is_mutable_kind(kind) or is_decorated(kind)


_leads: dict[int, Lead] = {}


def lead_of(fn: types.FunctionType) -> Lead:
    """What a function leads to."""
    found = _leads.get(id(fn))
    if found is None or found.code is not fn.__code__ or found.defaults is not fn.__defaults__:
        found = _leads[id(fn)] = Lead(fn)
    return found


def forget() -> None:
    """The trace has ended: let go of functions, and of what they have in globals."""
    _leads.clear()
    _spaces.clear()
