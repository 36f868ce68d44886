# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""One object for all that are equal."""

from __future__ import annotations

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
