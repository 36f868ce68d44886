# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What classes consist of is found once in a trace, and again when it has changed."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from opencute.frontend.state import classes
from opencute.frontend.state.classes import class_of, forget
from opencute.frontend.state.leads import begin, lead_of
from opencute.frontend.state.watch import Watch

pytestmark = pytest.mark.t0


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    forget()
    yield
    forget()


def _kind() -> Any:
    class Base:
        items: ClassVar[Any] = [1]

    class State(Base):
        count = 3

        @property
        def first(self) -> Any:
            return self.items[0]

        @staticmethod
        def made() -> int:
            return 4

    return State


def test_a_class_is_looked_into_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    kept: Callable[[Any], Any] = classes.kept_state
    monkeypatch.setattr(classes, "kept_state", lambda x: asked.append(x) or kept(x))
    kind = _kind()
    first = class_of(kind)
    assert first is not None and class_of(kind) is first and len(asked) == 1
    assert [*first.state] == ["count", "first", "made"]
    # Methods behind descriptors, and the base; numbers lead nowhere.
    inside = vars(kind)
    for part in (inside["first"].fget, inside["made"].__func__, kind.__mro__[1]):
        assert any(part is x for x in first.parts)
    assert 3 not in first.parts
    kind.count = 4
    second = class_of(kind)
    assert second is not None and second is not first and second.state["count"] == 4
    assert len(asked) == 2


def test_equal_is_not_enough_and_order_counts() -> None:
    kind = _kind()
    kind.items = [1]
    first = class_of(kind)
    kind.items = [1]
    second = class_of(kind)
    assert first is not second and second is not None
    items = kind.items
    del kind.items
    assert "items" not in (class_of(kind) or second).state
    kind.items = items
    assert (class_of(kind) or second).state["items"] is items
    kind.__bases__ = (type("Other", kind.__bases__, {}),)
    third = class_of(kind)
    assert third is not None and any(x is kind.__mro__[1] for x in third.parts)


def test_others_are_not_joined() -> None:
    class Colour(enum.Enum):
        RED = 1

    assert class_of(int) is None and class_of(Colour) is None


def test_a_watch_notices_and_restores() -> None:
    """Also where another one has looked at the class while it was changed."""
    kind = _kind()
    watch = Watch([kind])
    kind.count = 7
    inner = Watch([kind])
    assert inner.changes() == {} and watch.changes() == {(0, "count"): 7}
    kind.count = 8
    assert inner.changes() == {(0, "count"): 8}
    inner.restore()
    assert kind.count == 7
    watch.changes()
    watch.restore()
    assert kind.count == 3 and Watch([kind]).changes() == {}


def test_keywords_that_are_given_objects_are_watched() -> None:
    def build(given: Any) -> Any:
        def f(*, loc: Any = None, into: Any = given) -> Any:
            return loc, into

        f.__module__ = "a_users_module"
        return f

    box: list[int] = []
    watch = Watch([build(box)])
    box.append(1)
    assert [*watch.changes().values()] == [1]
    assert Watch([build(None)]).objects == []


def test_walks_share_a_number_until_a_name_changes() -> None:
    space: dict[str, Any] = {"__name__": "a_users_module", "items": []}
    exec("def f(): return items, absent", space)
    lead = lead_of(space["f"])
    first = begin()
    assert lead.parts(first) == [[]] and begin() == first
    space["absent"] = {}
    second = begin()
    assert second != first and lead.parts(second) == [[], {}] and begin() == second
    space["items"] = 5
    assert lead.parts(begin()) == [{}]
