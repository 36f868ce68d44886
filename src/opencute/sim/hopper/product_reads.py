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

from opencute.ir.core import Op
from opencute.sim.hopper.flights import check_read, known_words
from opencute.sim.lanes import Lanes
from opencute.sim.sync.clocks import AGENT, AGENTS, Times, distinct, key
from opencute.sim.sync.group import WARP
from opencute.sim.sync.shadow import READING, Column, Read
from opencute.sim.values import Array

__all__ = ["CORE", "ProductRead", "know_products", "take_off"]

_PARTY = 128  # threads of a warpgroup
CORE = 16  # bytes of a row of a core matrix
_GROUPS = 4  # of one warp that are told apart while they are under way
_NAME = "a product of a warpgroup"


class ProductRead:
    """What one warp reads for a product that is under way.

    Args:
        op: the product.
        column: the words of its reads.
        reads: what it reads, in the log of the column.
        party: the number of the whole product.
    """

    def __init__(self, op: Op, column: Column, reads: list[Read], party: int) -> None:
        self.op, self.column, self.reads = op, column, reads
        self.party = party
        self.time = 0
        """When it ended, 0 while it is under way."""

    def land(self, lanes: Lanes, now: int) -> int:
        """It has ended, if it had not before; returns when."""
        if not self.time:
            self.time, column = now, self.column
            column.ended(self.reads, now)
            trailing = lanes.run.checker.trailing
            trailing.reads[column.block, column.who] = (now, self.op, lanes.run)
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
        The reads of each warp.

    Raises:
        RaceError: something is not ordered, or not fenced.
    """
    checker, run = lanes.run.checker, lanes.run
    clocks, whole = checker.clocks, run.group.arena.whole
    threads, shadow, number = clocks.threads, checker.shadow(whole), checker.number(op)
    words: dict[Any, list[int] | None] = {}
    out: list[ProductRead] = []
    firsts, groups = slots[:, 0].tolist(), groups.tolist()
    for w, first in enumerate(firsts):
        group = groups[w] % _GROUPS
        agent = checker.agent(("product", first, group), _NAME)
        party = checker.agent(("whole product", first - first % threads % _PARTY, group), _NAME)
        checker.parties[agent] = party
        parts = [each[w] for each in cores]
        four = tuple(p for each in cores for p in each[w - w % 4 : w - w % 4 + 4])
        name = tuple(map(id, four))  # those of a warpgroup, as a rule, read what one unit wrote
        if name not in words:
            words[name] = shadow.few_writers(name, four, CORE)
        found = words[name]
        if found is None or not known_words(clocks, first, found):
            for part in parts:
                check_read(checker, op, run, first, whole, part, CORE, agent)
        column = shadow.column(agent, first // threads, clocks.blocks)
        reads = [column.reads(part, CORE, READING, number) for part in parts]
        column.flying += 1
        out.append(ProductRead(op, column, reads, party))
    return out


def know_products(lanes: Lanes, reads: Sequence[tuple[int, ProductRead]]) -> None:
    """Lanes have waited for products.

    Args:
        lanes: who.
        reads: what warps have read for them: the slot of each warp's first thread, and its reads.
    """
    clocks = lanes.run.checker.clocks
    slots, threads = lanes.slot.ravel(), clocks.threads
    now = clocks.tick()
    own: dict[int, Times] = {}
    whole: dict[int, Times] = {}
    for slot, read in reads:
        time = read.land(lanes, now)
        mine = own.setdefault(slot, {})
        k = key(AGENT, read.column.who - AGENTS)
        mine[k] = max(mine.get(k, 0), time)
        all_ = whole.setdefault(slot - slot % threads % _PARTY, {})
        k = key(AGENT, read.party - AGENTS)
        all_[k] = max(all_.get(k, 0), time)
    inner = slots % threads
    warps = slots - inner % WARP
    for warp in distinct(warps):
        party = warp - warp % threads % _PARTY
        news = [known for known in (own.get(warp), whole.get(party)) if known]
        clocks.learn(slots[warps == warp], news)
