# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Guards of dicts that are passed over while nothing changes in them."""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from opencute.jit.entry import code
from opencute.jit.entry.spaces import grouped, tags_tell
from opencute.jit.entry.words import Check

pytestmark = pytest.mark.t1
NAMES = ["a", "b", "c", "d"]


def checks(space: dict[str, Any], names: list[str]) -> tuple[int, ...]:
    words: list[int] = []
    for name in names:
        words += [Check.DICT, id(space), id(name), id(space[name]) if name in space else 0]
    return tuple(words)


def holder(words: tuple[int, ...]) -> Callable[[], bool]:
    """Asks native code, in words that it may write to."""
    memory = (ctypes.c_int64 * len(words))(*words)
    holds = code.load()._holds  # pyright: ignore[reportPrivateUsage]
    return lambda: bool(holds(ctypes.addressof(memory), len(words) // 4))


def test_tags_of_this_python() -> None:
    """CPython before 3.14 has them; without them all items are looked at."""
    assert tags_tell() == (sys.version_info < (3, 14) and sys.implementation.name == "cpython")


@pytest.mark.skipif(not tags_tell(), reason="no tags in this Python")
def test_checks_of_a_dict_are_behind_its_tag() -> None:
    first: dict[str, Any] = {n: object() for n in NAMES[:3]}
    other: dict[str, Any] = {"a": object()}
    kind = (Check.TYPE, id(first), 0, id(dict))
    got = grouped((*checks(first, NAMES[:1]), *kind, *checks(other, ["a"]),
                   *checks(first, NAMES[1:])))  # fmt: skip
    assert got == (
        Check.SPACE,
        id(first),
        4,
        0,
        *checks(first, NAMES),
        *checks(other, ["a"]),
        *kind,
    )
    assert grouped(()) == ()


CHANGES: dict[str, tuple[Callable[[types.ModuleType], Any], bool]] = {
    "nothing": (lambda m: vars(m).get("a"), True),
    "another name": (lambda m: setattr(m, "other", 1), True),
    "another value": (lambda m: setattr(m, "b", object()), False),
    "a name that was missing": (lambda m: setattr(m, "d", 1), False),
    "a name that goes": (lambda m: delattr(m, "a"), False),
    "all go": (lambda m: vars(m).clear(), False),
    "there and back": (lambda m: (setattr(m, "d", 1), delattr(m, "d")), True),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_is_seen(name: str) -> None:
    change, same = CHANGES[name]
    module = types.ModuleType("m")
    for n in NAMES[:3]:
        setattr(module, n, object())
    kept = [*vars(module).values()]  # so that no other object is at their places
    holds = holder(grouped(checks(vars(module), NAMES)))
    assert holds() and holds()
    for _ in range(3):
        change(module) if name != "a name that goes" or hasattr(module, "a") else None
        assert holds() == same and holds() == same
    assert len(kept) > 3


def test_a_dict_that_is_right_again_holds_again() -> None:
    module = types.ModuleType("m")
    module.a, module.b, module.c = value, *_ = (object(), object(), object())  # type: ignore[attr-defined]
    holds = holder(grouped(checks(vars(module), NAMES)))
    assert holds()
    module.a = None  # type: ignore[attr-defined]
    assert not holds() and not holds()
    module.a = value  # type: ignore[attr-defined]
    assert holds() and holds()
