# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Places that a trace read, and checks that what they hold is unchanged.

In: a place such as ``Item(globals(), "SCALE")``. Out: a `PlaceCheck`: `holds` asks in Python, and
`native` gives words for native code (`opencute.jit.entry.words.Check`), which compares identities::

    check = PlaceCheck(Item(namespace, "SCALE"))
    check.holds()                  # True until SCALE is another value
"""

from __future__ import annotations

import abc
import ctypes
import enum
import gc
import math
import types
from typing import Any, Protocol

from opencute.base.lazy import PATCHES
from opencute.jit.entry.words import Check

__all__ = [
    "MISSING", "AbstractCheck", "Attribute", "CacheCheck", "Cell", "Class", "Fixed", "Item", "Part",
    "PatchCheck", "Place", "PlaceCheck", "SizeCheck", "Untracked", "equal", "snapshot", "vars_of",
]  # fmt: skip

MISSING = object()
PLAIN = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), range, slice)


_PARTS = {
    "__code__": Check.CODE, "__defaults__": Check.DEFAULTS,
    "__kwdefaults__": Check.KEYWORD_DEFAULTS,
}  # fmt: skip


class Untracked(Exception):
    """Something that cannot be followed; the text says what."""


class Place(Protocol):
    """Where a value is."""

    def read(self) -> Any:
        """The value now, `MISSING` if there is none."""
        ...

    def words(self) -> tuple[int, int, int] | None:
        """The kind of native check and its first two words; None: nothing has to be read."""
        ...


class Item:
    """A key of a dict."""

    def __init__(self, space: dict[Any, Any], key: Any) -> None:
        self.space, self.key = space, key

    def read(self) -> Any:
        return self.space.get(self.key, MISSING)

    def words(self) -> tuple[int, int, int] | None:
        return (Check.DICT, id(self.space), id(self.key))


class Cell:
    """A closure cell."""

    def __init__(self, cell: types.CellType) -> None:
        self.cell = cell

    def read(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return MISSING

    def words(self) -> tuple[int, int, int] | None:
        return (Check.CELL, id(self.cell), 0)


class Attribute:
    """An attribute of a module, a class or an object."""

    def __init__(self, holder: Any, name: str) -> None:
        self.holder, self.name = holder, name

    def read(self) -> Any:
        return getattr(self.holder, self.name, MISSING)

    def words(self) -> tuple[int, int, int] | None:
        return (Check.ATTRIBUTE, id(self.holder), id(self.name))


class Class:
    """The class of an object: what its header says, as no attribute lookup is needed for that."""

    def __init__(self, holder: Any) -> None:
        self.holder = holder

    def read(self) -> Any:
        return type(self.holder)

    def words(self) -> tuple[int, int, int] | None:
        return (Check.TYPE, id(self.holder), 0)


class Part:
    """The code or the defaults of a function."""

    def __init__(self, fn: types.FunctionType, part: str) -> None:
        self.fn, self.part = fn, part

    def read(self) -> Any:
        return getattr(self.fn, self.part)

    def words(self) -> tuple[int, int, int] | None:
        return (_PARTS[self.part], id(self.fn), 0)


class Fixed:
    """A value that is always the same object, whose contents may change."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def read(self) -> Any:
        return self.value

    def words(self) -> tuple[int, int, int] | None:
        return None


def snapshot(value: Any, depth: int = 0) -> Any:
    """A copy of plain data that later changes do not reach.

    Raises:
        Untracked: anything else.
    """
    if isinstance(value, (*PLAIN, enum.Enum)) and not vars_of(value):
        return value
    if depth < 6:
        if isinstance(value, tuple) or type(value) is list:
            items: Any = value
            parts = [snapshot(x, depth + 1) for x in items]
            return parts if isinstance(value, list) else tuple(parts)
        if type(value) is dict:
            mapping: Any = value
            return {snapshot(k, depth + 1): snapshot(v, depth + 1) for k, v in mapping.items()}
        if type(value) in (set, frozenset):
            members: Any = value
            return type(members)(snapshot(x, depth + 1) for x in members)
    raise Untracked(type(value).__name__)


def vars_of(value: Any) -> bool:
    """Whether a number or text has attributes of its own, as those of a user's class have."""
    return bool(getattr(value, "__dict__", None)) and not isinstance(value, enum.Enum)


def equal(a: Any, b: Any) -> bool:
    """Equality that tells 1 from True and 1.0, and 0.0 from -0.0, also inside of containers."""
    if type(a) is not type(b) and not (isinstance(a, tuple) and isinstance(b, tuple)):
        return False
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return len(a) == len(b) and all(map(equal, a.items(), b.items()))  # in the same order
    if isinstance(a, float) and isinstance(b, float) and a == b:
        return math.copysign(1.0, a) == math.copysign(1.0, b)
    return a is b or bool(a == b)


class PlaceCheck:
    """That a place holds the same object, or equal plain data.

    Args:
        place: where.
        data: compare by value; the contents are copied now.
        where: for messages.

    Raises:
        Untracked: by value, and it is no plain data.
    """

    def __init__(self, place: Place, data: bool = False, where: str = "") -> None:
        self.place = place
        self.where = where
        self.data = data
        self.value = place.read()
        self.kept = snapshot(self.value) if data else self.value

    def holds(self) -> bool:
        """Whether nothing has changed."""
        now = self.place.read()
        return equal(now, self.kept) if self.data else now is self.kept

    def native(self, words: list[int], keep: list[Any]) -> bool:
        """Append this check for native code; what holds now is taken for what is right.

        Returns:
            Whether native code can do it.
        """
        now = self.place.read()
        head = self.place.words()
        keep += [self.place, now]
        if head is not None:
            # C has no object for what is not there; nor has it one for defaults that are not.
            nothing = now is MISSING or (now is None and isinstance(self.place, Part))
            words += [*head, 0 if nothing else id(now)]
        return not self.data or _contents(now, words, keep)


class PatchCheck:
    """That no name of a public module of ours has been given another value: one number stands for
    all of them, as a kernel uses dozens."""

    where = "a function of OpenCuTe's"

    def __init__(self) -> None:
        self.count = PATCHES[0]

    def holds(self) -> bool:
        """Whether nothing has changed."""
        return PATCHES[0] == self.count

    def native(self, words: list[int], keep: list[Any]) -> bool:
        """As `PlaceCheck.native`."""
        words += [Check.WORD, ctypes.addressof(PATCHES), 0, self.count]
        return True


class AbstractCheck:
    """That no class has been registered with an abstract one (``A.register(X)``), which changes
    what `isinstance` says. Python counts this for all of them together."""

    where = "the classes registered with an abstract one"

    def __init__(self) -> None:
        self.count = int(str(abc.get_cache_token()))

    def holds(self) -> bool:
        """Whether nothing has changed."""
        return abc.get_cache_token() == self.count

    def native(self, words: list[int], keep: list[Any]) -> bool:
        """As `PlaceCheck.native`."""
        words += [Check.NUMBER, id(abc.get_cache_token), 0, self.count]
        return True


class SizeCheck:
    """That a dict has as many items as it had: that nothing was added to it.

    Args:
        space: the dict.
        where: for messages.
    """

    def __init__(self, space: dict[Any, Any], where: str) -> None:
        self.space, self.where, self.size = space, where, len(space)

    def holds(self) -> bool:
        """Whether nothing has changed."""
        return len(self.space) == self.size

    def native(self, words: list[int], keep: list[Any]) -> bool:
        """As `PlaceCheck.native`."""
        keep.append(self.space)
        words += [Check.LENGTH, id(self.space), 0, self.size]
        return True


class CacheCheck:
    """That a function which keeps its results (``functools.cache``) keeps the very same ones: none
    more, and none made again after it was cleared.

    Args:
        fn: the function.
        where: for messages.

    Raises:
        Untracked: this Python does not show what it keeps.
    """

    def __init__(self, fn: Any, where: str) -> None:
        own = vars(fn)
        found = [d for d in gc.get_referents(fn) if type(d) is dict and d is not own]
        if len(found) != 1:
            raise Untracked(f"{where}, which keeps its results")
        self.space: dict[Any, Any] = found[0]
        self.where = where
        self.kept = dict(
            self.space
        )  # results, or what holds one: alive, so no other is at its place

    def results(self) -> list[Any]:
        """Containers among the results, whose contents may change; those of a cache of bounded size
        are hidden from Python."""
        return [v for v in self.kept.values() if isinstance(v, list | dict | set | tuple)]

    def holds(self) -> bool:
        """Whether nothing has changed."""
        now = self.space
        same = len(now) == len(self.kept)
        return same and all(now.get(k, MISSING) is v for k, v in self.kept.items())

    def native(self, words: list[int], keep: list[Any]) -> bool:
        """As `PlaceCheck.native`."""
        keep += [self.space, self.kept]
        words += [Check.LENGTH, id(self.space), 0, len(self.kept)]
        for k, v in self.kept.items():
            words += [Check.DICT, id(self.space), id(k), id(v)]
        return True


def _contents(value: Any, words: list[int], keep: list[Any]) -> bool:
    """Checks of what containers hold, which their identity does not tell."""
    keep.append(value)
    if isinstance(value, tuple):
        items: Any = value
        return all([_contents(x, words, keep) for x in items])
    if type(value) is list:
        words += [Check.LENGTH, id(value), 0, len(value)]
        for i, x in enumerate(value):
            words += [Check.ITEM, id(value), i, id(x)]
        return all([_contents(x, words, keep) for x in value])
    if type(value) is dict:
        words += [Check.LENGTH, id(value), 0, len(value)]
        if len(value) > 1:  # a loop over it sees them in this order
            order = tuple(value)
            keep.append(order)
            words += [Check.KEYS, id(value), id(order), 0]
        for k, x in value.items():
            words += [Check.DICT, id(value), id(k), id(x)]
        keep += list(value)
        return all([_contents(x, words, keep) for x in value.values()])
    return isinstance(value, (*PLAIN, enum.Enum))
