# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""One object for all that are equal."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import pytest

from opencute.base.interned import interned, is_interned

pytestmark = pytest.mark.t0


@dataclass(frozen=True)
class Plan:
    n: int
    name: str = ""


@dataclass(frozen=True)
class Other:
    n: int
    name: str = ""


@dataclass
class Changing:
    n: int

    def __hash__(self) -> int:
        return 0


def test_equal_ones_are_one() -> None:
    first, second = Plan(3, "a"), Plan(3, "a")
    assert interned(first) is first and interned(second) is first
    assert is_interned(first) and not is_interned(second)
    assert interned(Other(3, "a")) is not first
    assert interned(Plan(4, "a")) is not first


def test_what_may_change_stays_what_it_is() -> None:
    for make in (lambda: Changing(1), lambda: (1, 2)):
        first, second = make(), make()
        interned(first)
        assert interned(second) is second and not is_interned(second)
    assert not is_interned([1])


def test_of_very_many_the_last_ones_stay() -> None:
    first = interned(Plan(-1))
    for i in range(5000):
        interned(Plan(i, "many"))
    assert not is_interned(first) and is_interned(interned(Plan(4999, "many")))
    again = interned(Plan(-1))
    assert again is not first and interned(Plan(-1)) is again and is_interned(again)


def test_several_threads_have_the_same_one() -> None:
    found: list[list[Plan]] = []
    start = threading.Barrier(4)

    def run() -> None:
        start.wait()
        found.append([interned(Plan(i, "shared")) for i in range(500)])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for plans in zip(*found, strict=True):
        assert all(p is plans[0] for p in plans) and len(plans) == 4
