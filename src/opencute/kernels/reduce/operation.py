# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a reduction combines: a value, or a value and where it was found.

MAX.combine((a,), (b,))              # the greater one; NaN if one is
ARGMAX.combine((a, i), (b, j))       # the greater one and its index; the first of equal ones
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute

__all__ = ["ARGMAX", "ARGMIN", "MAX", "MIN", "SUM", "Operation", "State"]

State = tuple[Any, ...]
_NOWHERE = 2**31 - 1


@dataclass(frozen=True)
class Operation:
    """How two partial results become one; in any order.

    Args:
        name: for messages.
        start: the value of nothing.
        combine: takes two states: a Float32 each, and an Int32 if `indexed`.
        indexed: whether a state says where its value was found.
    """

    name: str
    start: float
    combine: Callable[[State, State], State]
    indexed: bool = False

    @property
    def parts(self) -> tuple[tuple[Any, Any], ...]:
        """Type and first value of each part of a state."""
        value = (cutlass.Float32, self.start)
        return (value, (cutlass.Int32, _NOWHERE)) if self.indexed else (value,)


def _add(a: State, b: State) -> State:
    return (a[0] + b[0],)


def _pick(wins: Callable[[Any, Any], Any]) -> Callable[[State, State], State]:
    def pick(a: State, b: State) -> State:
        x, y = a[0], b[0]
        return (cute.where(wins(x, y) | (x != x), x, y),)

    return pick


def _pick_indexed(wins: Callable[[Any, Any], Any]) -> Callable[[State, State], State]:
    def pick(a: State, b: State) -> State:  # no branches: this is what a thread does most
        x, y = a[0], b[0]
        x_nan = x != x
        level = (x == y) | (x_nan & (y != y))
        first = wins(x, y) | (x_nan & (y == y)) | (level & (a[1] < b[1]))
        return cute.where(first, x, y), cute.where(first, a[1], b[1])

    return pick


SUM = Operation("sum", 0.0, _add)
MAX = Operation("max", float("-inf"), _pick(lambda x, y: x > y))
MIN = Operation("min", float("inf"), _pick(lambda x, y: x < y))
ARGMAX = Operation("argmax", float("-inf"), _pick_indexed(lambda x, y: x > y), indexed=True)
ARGMIN = Operation("argmin", float("inf"), _pick_indexed(lambda x, y: x < y), indexed=True)
