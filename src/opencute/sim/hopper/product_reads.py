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
from dataclasses import dataclass
from typing import Any

import numpy as np

from opencute.ir.core import Op
from opencute.sim.hopper.flights import check_read, known_words
from opencute.sim.lanes import Lanes
from opencute.sim.sync.clocks import AGENT, AGENTS, Times, distinct, key
from opencute.sim.sync.columns import READING, Parts, ProductColumn, Read
from opencute.sim.sync.group import WARP
from opencute.sim.sync.shadow import GRAIN, RunsOfEach
from opencute.sim.values import Array

__all__ = [
    "CORE", "ProductRead", "Reading", "Together", "know_products", "read_together", "take_off",
]  # fmt: skip

_PARTY = 128  # threads of a warpgroup
CORE = GRAIN  # bytes of a row of a core matrix
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


@dataclass(eq=False)
class Together:
    """What warps of one warpgroup read for a product.

    Args:
        party: the slot of the warpgroup's first thread.
        firsts: those of the warps' first threads.
        cores: for each of them, what it reads of each operand.
        operands: the same, by operand: what is read, by which of the warpgroup's warps.
    """

    party: int
    firsts: list[int]
    cores: list[list[Array]]
    operands: list[Parts]

    def __post_init__(self) -> None:
        self.warps = [(first - self.party) // WARP for first in self.firsts]
        self.parts = [part for operand in self.operands for part, _ in operand]
        self.reaches = [
            (min(int(p[0]) for p, _ in parts), max(int(p[-1]) for p, _ in parts) + CORE)
            for parts in self.operands
        ]


class Reading:
    """What warpgroups read for a product.

    Args:
        parties: each of them, in the order of their warps.
    """

    def __init__(self, parties: list[Together]) -> None:
        self.parties = parties
        self.runs = RunsOfEach([one.parts for one in parties])


def read_together(slots: Array, threads: int, cores: list[list[Array]]) -> Reading:
    """Who reads what for a product.

    Args:
        slots: the threads of each warp, (warps, 32).
        threads: of a block.
        cores: for each operand and warp, what it reads: runs of 16 bytes by where they begin in
            the arena, sorted; the same array stands for the same places.

    Returns:
        What each warpgroup reads, in the order of their warps.
    """
    firsts = slots[:, 0].tolist()
    parties = [first - first % threads % _PARTY for first in firsts]
    out: list[Together] = []
    start = 0
    for end in range(1, len(firsts) + 1):
        if end < len(firsts) and parties[end] == parties[start]:
            continue
        operands: list[Parts] = []
        for each in cores:
            parts: dict[int, tuple[Array, list[int]]] = {}
            for first, part in zip(firsts[start:end], each[start:end], strict=True):
                warp = (first - parties[start]) // WARP
                parts.setdefault(id(part), (part, []))[1].append(warp)
            operands.append([(part, tuple(warps)) for part, warps in parts.values()])
        mine = [list(parts) for parts in zip(*(each[start:end] for each in cores), strict=True)]
        out.append(Together(parties[start], firsts[start:end], mine, operands))
        start = end
    return Reading(out)


def take_off(op: Op, lanes: Lanes, reads: Reading, groups: Array) -> list[ProductRead]:
    """Warps start to read.

    Args:
        op: the product.
        lanes: who starts it.
        reads: what warpgroups read.
        groups: for each thread, by its slot, the number of the group that the product belongs to.

    Returns:
        The reads of each warpgroup.

    Raises:
        RaceError: something is not ordered, or not fenced.
    """
    checker, run = lanes.run.checker, lanes.run
    clocks, whole = checker.clocks, run.group.arena.whole
    number, shadow = checker.number(op), checker.shadow(whole)
    # As a rule, all that a warpgroup reads was written by one unit.
    words = shadow.writers_of_each(reads.runs)
    out: list[ProductRead] = []
    for one, found in zip(reads.parties, words, strict=True):
        column = _column(checker, shadow, one.party, int(groups[one.firsts[0]]) % _GROUPS)
        units = [column.units[w] for w in one.warps]
        for first, unit, parts in zip(one.firsts, units, one.cores, strict=True):
            if found is None or not known_words(clocks, first, found):
                for part in parts:
                    check_read(checker, op, run, first, whole, part, CORE, unit)
        column.flying += 1
        started = [
            column.reads(parts, CORE, READING, number, reach)
            for parts, reach in zip(one.operands, one.reaches, strict=True)
        ]
        out.append(ProductRead(op, column, started, dict(zip(one.firsts, units, strict=True))))
    return out


def _column(checker: Any, shadow: Any, party: int, group: int) -> ProductColumn:
    """The words of a warpgroup's products of a group, by the slot of its first thread."""
    whole = checker.agent(("whole product", party, group), _NAME)
    found = shadow.extra.get(whole)
    if found is None:
        clocks, warps = checker.clocks, range(party, party + _PARTY, WARP)
        units = tuple(checker.agent(("product", first, group), _NAME) for first in warps)
        checker.parties.update(dict.fromkeys(units, whole))
        found = shadow.products(whole, units, party // clocks.threads, clocks.blocks)
    return found


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
    told: set[tuple[int, ...]] = set()
    for read in reads:
        time, units = read.land(lanes, now), read.units
        first = next(iter(units))
        word = read.column.who, time, *units
        if word in told:  # as another product of its group
            continue
        told.add(word)
        for slot, unit in units.items():
            _add(own.setdefault(slot, {}), unit, time)
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
