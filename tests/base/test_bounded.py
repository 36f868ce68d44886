# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A dict that forgets what was not used for longest."""

from __future__ import annotations

import threading

import pytest

from opencute.base.bounded import Recent

pytestmark = pytest.mark.t0


def test_what_was_used_last_stays() -> None:
    recent: Recent[str, int] = Recent(2)
    recent["a"], recent["b"] = 1, 2
    assert recent.get("a") == 1
    recent["c"] = 3
    assert list(recent) == ["a", "c"] and recent.get("b") is None and recent.get("b", 7) == 7
    recent["a"] = 5
    assert list(recent.items()) == [("c", 3), ("a", 5)]
    recent.clear()
    assert not recent


def test_the_first_of_several_stays() -> None:
    recent: Recent[str, list[int]] = Recent(2)
    first = recent.setdefault("a", [1])
    assert recent.setdefault("a", [2]) is first == [1]
    recent.setdefault("b", [3])
    assert recent.setdefault("a", [4]) is first
    recent.setdefault("c", [5])
    assert list(recent) == ["a", "c"]


def test_while_there_is_room_reading_changes_nothing() -> None:
    recent: Recent[int, int] = Recent(8)
    for i in range(4):
        recent[i] = i
    assert recent.get(0) == 0 and list(recent) == [0, 1, 2, 3]
    recent[4] = 4
    assert recent.get(0) == 0 and list(recent) == [1, 2, 3, 4, 0]


def test_forgetting_waits_for_what_another_thread_does_to_an_item() -> None:
    recent = Recent[int, int](8)
    recent[1] = 1
    with recent._guard:  # as within `setdefault`, between its look and its move
        other = threading.Thread(target=recent.clear)
        other.start()
        other.join(0.05)
        assert list(recent) == [1]
    other.join()
    assert not recent
