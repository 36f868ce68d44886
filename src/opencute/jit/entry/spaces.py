# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of what dicts hold, passed over while a dict as a whole is as it was.

In: checks in words (`words.Check`). Out: the same, those of one dict behind each other, after a
word that CPython changes whenever anything in that dict does::

    grouped((Check.DICT, d, a, x, Check.TYPE, o, 0, t, Check.DICT, d, b, y))
    # SPACE d 2 tag, DICT d a x, DICT d b y, TYPE o 0 t

A trace reads some hundred globals of a dozen modules, and they are looked at before each launch.
CPython 3.10 to 3.13 have such a word (PEP 509); whether this Python does is tried, not assumed.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import types
from collections.abc import Sequence
from typing import Any

from opencute.jit.entry.words import Check

__all__ = ["TAG_AT", "grouped", "tags_tell"]

TAG_AT = 24
"""Where a dict's tag is: behind the header and the count of its items."""
_VALUES_AT = 40  # not null: its values are, or were, those of an object, which may change by itself
_WORDS = 4  # of a check
_SMALL = 3  # of fewer checks each is as cheap as the tag


def grouped(checks: Sequence[int]) -> tuple[int, ...]:
    """The checks, each word of a dict's first seen as out of date; all other ones as they are."""
    parts = [tuple(checks[i : i + _WORDS]) for i in range(0, len(checks), _WORDS)]
    spaces: dict[int, list[tuple[int, ...]]] = {}
    rest: list[int] = []
    for part in parts:
        if part[0] == Check.DICT and tags_tell() and not _word(part[1], _VALUES_AT):
            spaces.setdefault(part[1], []).append(part)
        else:
            rest += part
    out: list[int] = []
    for space, found in spaces.items():
        if len(found) >= _SMALL:
            out += (Check.SPACE, space, len(found), 0)
        for part in found:
            out += part
    return (*out, *rest)


def _word(at: int, offset: int) -> int:
    return ctypes.c_uint64.from_address(at + offset).value


@functools.cache
def tags_tell() -> bool:
    """Whether the word at `TAG_AT` of a dict changes with whatever changes in the dict."""
    module, holder = types.ModuleType("tagged"), type("Tagged", (), {})
    instance: Any = holder()
    instance.__dict__ = {"a": 1, "b": 2}  # not shared with the class, as no values of its own are
    spaces = (vars(module), gc.get_referents(vars(holder))[0], vars(instance))
    return all(map(_changes_tag, (module, holder, instance), spaces)) and _steady(spaces[0])


def _changes_tag(owner: Any, space: dict[Any, Any]) -> bool:
    """Whether each change of a dict changes its tag, by attributes and by items."""
    at, seen = id(space), [_word(id(space), TAG_AT)]

    def note() -> None:
        seen.append(_word(at, TAG_AT))

    for n in range(40):  # so often that CPython has the store done by code for this very dict
        owner.a = n
        note()
    del owner.a
    note()
    for change in (
        lambda: space.update(a=5), lambda: space.__setitem__("d", 1),
        lambda: space.__setitem__("d", 2), lambda: space.pop("a"),
        lambda: space.__delitem__("d"), lambda: space.setdefault("e", 1),
        lambda: space.__ior__({"a": 7}), lambda: space.popitem(),
    ):  # fmt: skip
        change()
        note()
    if isinstance(owner, types.ModuleType):
        space["note"] = note
        exec("for n in range(40):\n    a = n\n    note()\ndel a\nnote()", space)
        space.clear()
        note()
    return 0 not in seen and len(set(seen)) == len(seen)


def _steady(space: dict[Any, Any]) -> bool:
    """Whether a dict that is read only keeps its tag."""
    space["a"] = 1
    before = _word(id(space), TAG_AT)
    _ = space.get("a"), "a" in space, list(space), space.copy()
    return before == _word(id(space), TAG_AT)
