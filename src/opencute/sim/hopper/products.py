# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of warpgroups that are under way: they take place when a wait says that they are done.

A product is one operation of four warps: it can be done only when all of them have started it, and
when it is done, it is so for all of them, whichever waited; the checking mode lets each warp know
of its own part. In: `start`, `commit` and `wait` by
lanes. Out: the products' effects. Products on one accumulator that are due together are carried out
together.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opencute.ir.core import Op
from opencute.sim.hopper.product_reads import know_products
from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.sync.group import Group
from opencute.sim.values import Array
from opencute.sim.wait import Wait

__all__ = ["Operands", "Products", "products_of"]


PARTY = 128  # threads of a warpgroup


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
        meta: the metadata of each tile of a sparse A.
    """

    d: SimPointer
    a: Any
    b: Any
    accumulate: Any
    meta: tuple[Any, ...] = ()

    def picked(self, pick: Callable[[Any], Any]) -> Operands:
        """Those of a part of the lanes."""
        meta = tuple(map(pick, self.meta))
        return Operands(pick(self.d), pick(self.a), pick(self.b), pick(self.accumulate), meta)

    def continues(self, first: Operands) -> bool:
        """Whether it does nothing but add to the accumulator of another product."""
        d, e = self.d, first.d
        same = d.buffer is e.buffer and type(d.offset) is int and d.offset == e.offset
        return same and bool(np.asarray(self.accumulate).all())


@dataclass(eq=False)
class _Started:
    """A product that some lanes have started.

    Args:
        product: what to do.
        lanes: who.
        groups: for each lane, the number of the group that it belongs to.
        numbers: for each lane, which of its products it is.
        operands: with what.
        done: whether it has taken place.
    """

    product: Any
    lanes: Lanes
    groups: Array
    numbers: Array
    operands: Operands
    done: bool = False

    def part(self, cond: Array) -> _Started:
        """That of some of the lanes."""
        part, pick, _ = self.lanes.sub(cond)
        groups, numbers = (x[cond].reshape(part.P, part.Q) for x in (self.groups, self.numbers))
        operands = self.operands.picked(pick)
        return _Started(self.product, part, groups, numbers, operands, self.done)


class Products:
    """The products under way.

    Args:
        group: the blocks.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self.commits: Array = np.zeros(group.blocks * group.threads, np.int64)
        self.started: Array = np.zeros(group.blocks * group.threads, np.int64)
        self.flying: list[_Started] = []
        self.parties = -(-group.threads // PARTY)
        self.reads: dict[tuple[int, int], list[Any]] = {}
        """What the checking mode knows of a product, by warpgroup and number: what its warps
        read."""

    def party(self, lanes: Lanes) -> Array:
        """The warpgroup of each lane, counted over the blocks that run together."""
        block, thread = np.divmod(lanes.slot, self.group.threads)
        return block * self.parties + thread // PARTY

    def start(self, product: Any, lanes: Lanes, operands: Operands) -> Array:
        """Lanes start a product, which ``product.perform(lanes, [operands, ...])`` carries out, and
        ``product.leave(lanes, operands)`` when they have waited; returns its numbers."""
        slot = lanes.slot
        self.started[slot] += 1
        numbers = self.started[slot]
        self.flying.append(_Started(product, lanes, self.commits[slot], numbers, operands))
        self.group.changed()
        return numbers

    def commit(self, lanes: Lanes) -> None:
        """Lanes close their group."""
        self.commits[lanes.slot] += 1

    def wait(self, op: Op, lanes: Lanes, groups: int) -> Wait | None:
        """Lanes wait until at most `groups` of their groups are under way, and for the other warps
        to start what they wait for."""
        if not self.flying:
            return None
        limit = np.zeros(self.commits.size, np.int64)
        limit[lanes.slot] = self.commits[lanes.slot] - groups
        needed = self._needed(limit)
        if not needed.any():
            return None

        def ready() -> Array:
            started = np.full(needed.size, np.iinfo(np.int64).max)
            slots = np.arange(self.started.size)
            block, thread = np.divmod(slots, self.group.threads)
            np.minimum.at(started, block * self.parties + thread // PARTY, self.started)
            return (started >= needed)[self.party(lanes)]

        def finish() -> tuple[Any, ...]:
            over = ready()
            self._finish(np.where(np.isin(self._all_parties(), self.party(lanes)[over]), limit, 0),
                         needed)  # fmt: skip
            return ()

        if ready().all():
            finish()
            return None
        return Wait(
            op, ready, lambda: "the other warps of the warpgroup, to start the product", finish
        )

    def _all_parties(self) -> Array:
        block, thread = np.divmod(np.arange(self.commits.size), self.group.threads)
        return block * self.parties + thread // PARTY

    def _needed(self, limit: Array) -> Array:
        """For each warpgroup, up to which number products have to be done."""
        out = np.zeros(self.group.blocks * self.parties, np.int64)
        for one in self.flying:
            due = one.groups < limit[one.lanes.slot]
            if due.any():
                np.maximum.at(out, self.party(one.lanes)[due], one.numbers[due])
        return out

    def _finish(self, limit: Array, needed: Array) -> None:
        """Carry out what is needed; lanes leave what they have waited for."""
        self._split(lambda one: one.numbers <= needed[self.party(one.lanes)])
        todo = [
            one
            for one in self.flying
            if not one.done and (one.numbers <= needed[self.party(one.lanes)]).all()
        ]
        _perform(todo)
        self._split(lambda one: one.groups < limit[one.lanes.slot])
        left: list[_Started] = []
        known: dict[int, tuple[Lanes, list[Any]]] = {}
        for one in self.flying:
            if (one.groups < limit[one.lanes.slot]).all():
                one.product.leave(one.lanes, one.operands)
                known.setdefault(id(one.lanes), (one.lanes, []))[1].extend(self._reads_of(one))
            else:
                left.append(one)
        self.flying = left
        for lanes, reads in known.values():
            if reads:
                know_products(lanes, reads)
        if not left:
            self.reads.clear()

    def _reads_of(self, one: _Started) -> list[Any]:
        """What the warpgroups of its lanes, of one or more blocks, have read for it."""
        if not self.reads:
            return []
        words = self.party(one.lanes).ravel() << 32 | one.numbers.ravel()
        words = words[np.append(True, words[1:] != words[:-1])]  # threads come in order
        names = [(word >> 32, word & 0xFFFFFFFF) for word in sorted(set(words.tolist()))]
        return [f for name in names for f in self.reads.get(name, ())]

    def _split(self, chosen: Callable[[_Started], Array]) -> None:
        """Cut what is chosen for some of its lanes only."""
        out: list[_Started] = []
        for one in self.flying:
            cond = chosen(one)
            if cond.all() or not cond.any():
                out.append(one)
            else:
                out += [one.part(cond), one.part(~cond)]
        self.flying = out


def _perform(due: Sequence[_Started]) -> None:
    at = 0
    while at < len(due):
        first, end = due[at], at + 1
        while end < len(due) and _goes_on(first, due[end]):
            end += 1
        first.product.perform(first.lanes, [one.operands for one in due[at:end]])
        for one in due[at:end]:
            one.done = True
        at = end


def _goes_on(first: _Started, other: _Started) -> bool:
    return (
        other.lanes is first.lanes
        and other.product.like(first.product)
        and other.operands.continues(first.operands)
    )
