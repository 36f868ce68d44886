# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of warpgroups that are under way: they take place when a wait says that they are done.

In: `start`, `commit` and `wait` by lanes. Out: the products' effects, when they are due. Products
on one accumulator that are due together are carried out together.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.sync.group import Group
from opencute.sim.values import Array

__all__ = ["Operands", "Products", "products_of"]


def products_of(group: Group) -> Products:
    """The products of the blocks that run together."""
    return group.state("products", Products)


@dataclass(eq=False)
class Operands:
    """What some lanes have started a product with.

    Args:
        d: the accumulator.
        a: A: registers, or the lower half of a descriptor.
        b: the lower half of the descriptor of B.
        accumulate: whether to add to the accumulator.
        flights: what the checking mode knows of what it reads.
    """

    d: SimPointer
    a: Any
    b: Any
    accumulate: Any
    flights: Any = None

    def picked(self, pick: Callable[[Any], Any]) -> Operands:
        """Those of a part of the lanes."""
        return Operands(*map(pick, (self.d, self.a, self.b, self.accumulate)), self.flights)

    def continues(self, first: Operands) -> bool:
        """Whether it does nothing but add to the accumulator of another product."""
        d, e = self.d, first.d
        same = d.buffer is e.buffer and type(d.offset) is int and d.offset == e.offset
        return same and bool(np.asarray(self.accumulate).all())


@dataclass(eq=False)
class _Started:
    product: Any
    lanes: Lanes
    groups: Array
    operands: Operands


class Products:
    """The products under way.

    Args:
        group: the blocks.
    """

    def __init__(self, group: Group) -> None:
        self.commits: Array = np.zeros(group.blocks * group.threads, np.int64)
        self.flying: list[_Started] = []

    def start(self, product: Any, lanes: Lanes, operands: Operands) -> None:
        """Lanes start a product, which ``product.perform(lanes, [operands, ...])`` carries out."""
        self.flying.append(_Started(product, lanes, self.commits[lanes.slot], operands))

    def commit(self, lanes: Lanes) -> None:
        """Lanes close their group."""
        self.commits[lanes.slot] += 1

    def wait(self, lanes: Lanes, groups: int) -> None:
        """Lanes wait until at most `groups` of their groups are under way."""
        if not self.flying:
            return
        limit = np.zeros(self.commits.size, np.int64)
        limit[lanes.slot] = self.commits[lanes.slot] - groups
        due: list[_Started] = []
        flying, self.flying = self.flying, []
        for one in flying:
            done = one.groups < limit[one.lanes.slot]
            if done.all():
                due.append(one)
            elif done.any():
                due.append(_part(one, done))
                self.flying.append(_part(one, ~done))
            else:
                self.flying.append(one)
        _perform(due)


def _part(one: _Started, cond: Array) -> _Started:
    part, pick, _ = one.lanes.sub(cond)
    groups = one.groups[cond].reshape(part.P, part.Q)
    return _Started(one.product, part, groups, one.operands.picked(pick))


def _perform(due: Sequence[_Started]) -> None:
    at = 0
    while at < len(due):
        first, end = due[at], at + 1
        while end < len(due) and _goes_on(first, due[end]):
            end += 1
        first.product.perform(first.lanes, [one.operands for one in due[at:end]])
        at = end


def _goes_on(first: _Started, other: _Started) -> bool:
    return (
        other.lanes is first.lanes
        and other.product.like(first.product)
        and other.operands.continues(first.operands)
    )
