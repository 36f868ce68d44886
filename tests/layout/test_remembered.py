# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Results of known integers are kept; nothing else is, and nothing is taken for something else."""

from __future__ import annotations

from typing import Any

import pytest

from opencute.layout import Layout, composition, logical_divide
from opencute.layout.basis import ScaledBasis
from opencute.layout.remembered import remembered

pytestmark = pytest.mark.t0


class Number(int):
    """Equals an int, and is none."""


def test_static_results_are_made_once() -> None:
    a, b = Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))
    assert composition(a, b) is composition(Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1)))
    assert str(composition(a, b)) == "((2,2),3):((24,2),8)"
    assert logical_divide(a, (3, None)) is logical_divide(a, (3, None))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, Number(1)),
        ((1, 2), (1, Number(2))),
        (Layout(4, 1), (4, 1)),
        (Layout(4, 1), (Layout, 4, 1)),
        (ScaledBasis(1, 0), ScaledBasis(1, 1)),
        (ScaledBasis(1, 0), ScaledBasis(1, (0, 0))),
        (Layout((2, 2)), Layout((2, 2), (2, 1))),
        (None, 0),
        ((1, (2, 3)), (1, 2, 3)),
    ],
)
def test_what_differs_is_told_apart(one: Any, other: Any) -> None:
    seen: list[Any] = []

    @remembered
    def kept(x: Any) -> int:
        seen.append(x)
        return len(seen)

    assert kept(one) != kept(other)
    assert len(seen) == 2


@pytest.mark.parametrize("x", [Number(3), (1, Number(3)), [1, 2], 1.5])
def test_what_is_not_known_to_be_static_is_worked_out_each_time(x: Any) -> None:
    calls: list[Any] = []

    @remembered
    def kept(x: Any) -> None:
        calls.append(x)

    kept(x)
    kept(x)
    assert len(calls) == 2


def test_errors_are_raised_each_time() -> None:
    for _ in range(2):
        with pytest.raises(Exception, match="does not fit"):
            composition(Layout((4, 6), (1, 10)), Layout(5, 3))
