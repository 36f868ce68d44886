# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What functions lead to is found once, and again when a name stands for another object."""

from __future__ import annotations

import types
from typing import Any

import pytest

from opencute.frontend.state import leads
from opencute.frontend.state.leads import Lead, begin, forget, lead_of
from opencute.frontend.state.watch import Watch

pytestmark = pytest.mark.t0


class Settings:
    scale = 1

    def set(self, value: Any) -> None:
        self.scale = value


def _function(space: dict[str, Any], source: str) -> types.FunctionType:
    """A function of the user's with these globals."""
    space["__name__"] = "a_users_module"
    exec(source, space)
    return space["f"]


def test_globals_are_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And again when one of them is another object; equal is not enough."""
    asked: list[Any] = []
    has_state = leads._has_state  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(leads, "_has_state", lambda x: asked.append(x) or has_state(x))
    space: dict[str, Any] = {"items": [1]}
    lead = lead_of(_function(space, "def f(): return items, absent"))
    for _ in range(3):
        assert lead.parts(begin()) == [[1]]
    assert len(asked) == 1
    space["items"] = [1]
    assert lead.parts(begin())[0] is space["items"] and len(asked) == 2
    space["absent"] = {}
    assert lead.parts(begin()) == [[1], {}] and len(asked) == 4
    del space["items"]
    assert lead.parts(begin()) == [{}]
    forget()
    assert lead_of(space["f"]) is not lead


def test_what_may_be_assigned_is_found_again_in_classes_too() -> None:
    space: dict[str, Any] = {"Settings": Settings}
    lead = lead_of(_function(space, "def f(): Settings.inner.scale = 3"))
    assert lead.stored == {"scale"} and lead.used(begin()) == [Settings]
    try:
        inner: Any = Settings()
        Settings.inner = inner  # type: ignore[attr-defined]
        assert lead.used(begin()) == [Settings, inner]
        assert lead.used(begin()) is lead.used(begin())
    finally:
        del Settings.inner  # type: ignore[attr-defined]
    assert lead.used(begin()) == [Settings]


def test_another_default_or_code_is_another_lead() -> None:
    fn = _function({}, "def f(x=[1]): return x")
    lead = lead_of(fn)
    assert lead.parts(begin()) == [[1]] and lead_of(fn) is lead
    fn.__defaults__ = ([2],)
    assert lead_of(fn).parts(begin()) == [[2]]
    fn.__code__ = _function({}, "def f(x): x.y = 1").__code__
    assert lead_of(fn).stored == {"y"}


def test_attributes_of_functions_are_watched() -> None:
    """Though most have none."""
    fn: Any = _function({}, "def f(): pass")
    watch = Watch([fn])
    assert watch.objects == [] and id(vars(fn)) in watch.known
    fn.count = 1
    assert watch.changes() == {(0, "count"): 1}
    assert watch.describe((0, "count")) == "dict['count']"
    watch.restore()
    assert not vars(fn) and watch.changes() == {}
    fn.count = 2
    again = Watch([fn])
    assert again.objects == [vars(fn)] and again.changes() == {}


def test_each_function_is_looked_at_once_in_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    init = Lead.__init__

    def counted(self: Lead, fn: types.FunctionType) -> None:
        made.append(fn)
        init(self, fn)

    monkeypatch.setattr(Lead, "__init__", counted)
    forget()
    for _ in range(5):
        assert len(Watch([Settings()]).functions) == 1
    assert made == [Settings.set]
