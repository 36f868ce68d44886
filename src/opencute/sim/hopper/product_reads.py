# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What products read of shared memory, for the checking mode: from their start to the wait.

In: the places that each warp reads. Out: flights, which end when a warp of the warpgroup has
waited: until then nobody may write there, and what is read must have passed a proxy fence.

The manual lets each warp wait for the groups that its own threads have committed. On GPUs the whole
product has ended then, and kernels in C++ let one thread of a warpgroup say that a tile is free; so
that is warned of, and no error, where only other warps of a warpgroup have waited.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opencute.ir.core import Op
from opencute.sim.hopper.flights import check_read, known_words
from opencute.sim.lanes import Lanes
from opencute.sim.sync.clocks import AGENT, AGENTS, Times, distinct, key
from opencute.sim.sync.columns import READING, ProductColumn, Read
from opencute.sim.sync.group import WARP
from opencute.sim.values import Array

__all__ = ["CORE", "ProductRead", "know_products", "take_off"]

_PARTY = 128  # threads of a warpgroup
CORE = 16  # bytes of a row of a core matrix
_GROUPS = 4  # of one warp that are told apart while they are under way
_NAME = "a product of a warpgroup"


class ProductRead:
    """What warps of a warpgroup read for a product that is under way.

    Args:
        op: the product.
        column: the words of its reads.
        reads: what they read, in the log of the column.
        units: for each warp, by the slot of its first thread, the number of its part.
    """

    def __init__(
        self, op: Op, column: ProductColumn, reads: list[Read], units: dict[int, int]
    ) -> None:
        self.op, self.column, self.reads, self.units = op, column, reads, units
        self.time = 0
        """When it ended, 0 while it is under way."""

    def land(self, lanes: Lanes, now: int) -> int:
        """It has ended, if it had not before; returns when."""
        if not self.time:
            self.time, column = now, self.column
            column.ended(self.reads, now)
            reads, what = lanes.run.checker.trailing.reads, (now, self.op, lanes.run)
            for unit in self.units.values():
                reads[column.block, unit] = what
        return self.time


def take_off(
    op: Op, lanes: Lanes, slots: Array, cores: list[list[Array]], groups: Array
) -> list[ProductRead]:  # fmt: skip
    """Warps start to read.

    Args:
        op: the product.
        lanes: who starts it.
        slots: the threads of each warp, (warps, 32).
        cores: for each operand and warp, what it reads: runs of 16 bytes by where they begin in
            the arena, sorted; the same array stands for the same places.
        groups: for each warp, the number of the group that the product belongs to.

    Returns:
        The reads of each warpgroup, in the order of their warps.

    Raises:
        RaceError: something is not ordered, or not fenced.
    """
    threads = lanes.run.checker.clocks.threads
    firsts = slots[:, 0].tolist()
    parties = [(f - f % threads % _PARTY, g) for f, g in zip(firsts, groups.tolist(), strict=True)]
    words: dict[Any, list[int] | None] = {}
    out: list[ProductRead] = []
    start = 0
    for end in range(1, len(firsts) + 1):
        if end == len(firsts) or parties[end] != parties[start]:
            parts = [each[start:end] for each in cores]
            column = _column(lanes, *parties[start])
            out.append(_together(op, lanes, column, firsts[start:end], parts, words))
            start = end
    return out


def _column(lanes: Lanes, party: int, group: int) -> ProductColumn:
    """The words of a warpgroup's products of a group, by the slot of its first thread."""
    checker = lanes.run.checker
    clocks, shadow = checker.clocks, checker.shadow(lanes.run.group.arena.whole)
    group %= _GROUPS
    whole = checker.agent(("whole product", party, group), _NAME)
    found = shadow.extra.get(whole)
    if found is None:
        warps = range(party, party + _PARTY, WARP)
        units = tuple(checker.agent(("product", first, group), _NAME) for first in warps)
        checker.parties.update(dict.fromkeys(units, whole))
        found = shadow.products(whole, units, party // clocks.threads, clocks.blocks)
    return found


def _together(
    op: Op, lanes: Lanes, column: ProductColumn, firsts: list[int], cores: list[list[Array]],
    words: dict[Any, list[int] | None],
) -> ProductRead:  # fmt: skip
    """Warps of one warpgroup start to read; `words` are those of who wrote, by what is read."""
    checker, run = lanes.run.checker, lanes.run
    clocks, whole = checker.clocks, run.group.arena.whole
    number = checker.number(op)
    units = {first: column.units[first % clocks.threads % _PARTY // WARP] for first in firsts}
    # Where a part is, and which warps read it.
    parts: dict[int, tuple[Array, list[int]]] = {}
    for each in cores:
        for first, part in zip(firsts, each, strict=True):
            parts.setdefault(id(part), (part, []))[1].append(first)
    name = tuple(parts)  # as a rule, all of it was written by one unit
    if name not in words:
        words[name] = column.shadow.few_writers(name, [p for p, _ in parts.values()], CORE)
    found = words[name]
    for w, first in enumerate(firsts):
        if found is None or not known_words(clocks, first, found):
            for each in cores:
                check_read(checker, op, run, first, whole, each[w], CORE, units[first])
    reads = [
        column.reads(part, CORE, READING, number, tuple(units[first] for first in readers))
        for part, readers in parts.values()
    ]
    column.flying += 1
    return ProductRead(op, column, reads, units)


def know_products(lanes: Lanes, reads: Sequence[ProductRead]) -> None:
    """Lanes have waited for products.

    Args:
        lanes: who.
        reads: what warps have read for them.
    """
    clocks = lanes.run.checker.clocks
    slots, threads = lanes.slot.ravel(), clocks.threads
    now = clocks.tick()
    own: dict[int, Times] = {}
    whole: dict[int, Times] = {}
    for read in reads:
        time = read.land(lanes, now)
        for slot, unit in read.units.items():
            _add(own.setdefault(slot, {}), unit, time)
        first = next(iter(read.units))
        _add(whole.setdefault(first - first % threads % _PARTY, {}), read.column.who, time)
    for warp, mine in _by_warp(slots, threads):
        party = warp - warp % threads % _PARTY
        clocks.learn(mine, [known for known in (own.get(warp), whole.get(party)) if known])


def _add(known: Times, unit: int, time: int) -> None:
    k = key(AGENT, unit - AGENTS)
    known[k] = max(known.get(k, 0), time)


def _by_warp(slots: Array, threads: int) -> list[tuple[int, Array]]:
    """The slot of each warp's first thread, and the threads of it that are there."""
    warps = slots - slots % threads % WARP
    if slots.size % WARP == 0:
        rows = warps.reshape(-1, WARP)
        firsts = rows[:, 0]
        if (rows == rows[:, :1]).all() and np.unique(firsts).size == firsts.size:
            return list(zip(firsts.tolist(), slots.reshape(-1, WARP), strict=True))
    return [(warp, slots[warps == warp]) for warp in distinct(warps)]
