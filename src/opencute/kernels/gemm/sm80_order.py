# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""In which order a warp does what the main loop of `sm80` consists of.

In: how many products, fragments and copies a tile along k has. Out: a list of events, which the
kernel's loop goes through::

    for event in Order(m=6, n=8, steps=4, copies=14, ahead=6, gap=4, together=2).trip():
        ...     # Event("A", m=1, later=True): read the second rows of the next tile's first step

A fragment is read some products before the first one that needs it, and no two are read at once
where `gap` keeps them apart: few registers hold fragments then. Copies of a later tile are started
a few at a time all over the loop: at once, they would keep shared memory from answering what is
read, and the registers of their addresses would be waited for. Before the first fragment of the
next tile is read, that tile has to have arrived, and all fragments of this one have been read.

With `ahead` 0, all fragments of a step are read when the one before begins, and all copies are
started after those of the first step; ptxas orders the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Event", "Order"]


class Event(NamedTuple):
    """Something that the loop does.

    Args:
        what: "mma", rows `m` times columns `n`; "A" or "B", a fragment of rows `m`, or of columns
            that start with `n`, is read; "copy", number `m` is started; "wait", all copies have
            been started and the next tile has arrived.
        m, n: which instruction.
        step: which step of k.
        later: whether of the next tile.
    """

    what: str
    m: int = 0
    n: int = 0
    step: int = 0
    later: bool = False


@dataclass(frozen=True)
class Order:
    """A warp's part of a tile.

    Args:
        m, n: instructions along rows and along columns.
        steps: instructions along k.
        copies: how many copies a tile takes.
        ahead: products between a read and the first one that needs it, at least; at most those of
            half a step. With 0, a whole step.
        gap: products between two reads, at least; as many as there are in a step at most.
        turning: whether every other row of products goes backwards, so that it starts with what
            the one before ended with. Without that, registers of B are free earlier.
        together: copies that are started at once.
        pair: instructions along columns that one read of B feeds.
    """

    m: int
    n: int
    steps: int
    copies: int
    ahead: int = 0
    gap: int = 0
    turning: bool = True
    together: int = 1
    pair: int = 2

    def products(self) -> list[Event]:
        """The products of a tile, row by row."""
        found: list[Event] = []
        for step in range(self.steps):
            for m in range(self.m):
                back = self.turning and m % 2 == 1
                columns = list(range(self.n))[:: -1 if back else 1]
                found += [Event("mma", m, n, step) for n in columns]
        return found

    def reads(self) -> list[tuple[int, Event]]:
        """What is read, and before which product; numbers below 0 are those of the tile before."""
        per_step = self.m * self.n
        first: dict[Event, int] = {}
        for number, product in enumerate(self.products()[:per_step]):
            first.setdefault(Event("A", product.m), number)
            first.setdefault(Event("B", 0, product.n - product.n % self.pair), number)
        wanted = sorted(first.items(), key=lambda item: item[1])
        when: dict[Event, int] = {read: -per_step for read, _ in wanted}
        if self.ahead:
            ahead, gap = min(self.ahead, per_step // 2), min(self.gap, per_step // len(wanted))
            # From the last one back: what is read after it is the same, a step later.
            after = 2 * per_step
            for _ in range(2):
                for read, need in reversed(wanted):
                    when[read] = after = min(need - ahead, after - gap)
                after += per_step
        return [
            (when[read] + step * per_step, read._replace(step=step))
            for step in range(self.steps) for read, _ in wanted
        ]  # fmt: skip

    def new_needs(self, product: Event) -> list[Event]:
        """Registers that a product is the first one of its step to need: "A", and "B" of one n."""
        back = self.turning and product.m % 2 == 1
        rows = [Event("A", product.m, 0, product.step)]
        columns = [Event("B", 0, product.n, product.step)]
        start = self.n - 1 if back else 0
        return (rows if product.n == start else []) + (columns if product.m == 0 else [])

    def before(self) -> list[Event]:
        """What is read of the first tile before the loop."""
        return [read for number, read in self.reads() if number < 0]

    def trip(self) -> list[Event]:
        """The events of one trip of the loop."""
        products, reads = self.products(), self.reads()
        count = len(products)
        wait = min(count, count + reads[0][0])  # before the next tile is first read
        due: dict[int, list[Event]] = {}
        for number, read in reads:
            due.setdefault(number % count, []).append(read._replace(later=number < 0))
        found: list[Event] = []
        started = 0
        for number, product in enumerate(products):
            now = due.get(number, [])
            found += [read for read in now if not read.later]
            if number == wait:
                found.append(Event("wait"))
            found += [read for read in now if read.later]
            share = self._started(number, wait) if self.ahead else self.copies
            copies = [Event("copy", i) for i in range(started, share)]
            found += [product, *copies] if self.ahead else [*copies, product]
            started = share
        return found if wait < count else [*found, Event("wait")]

    def _started(self, number: int, wait: int) -> int:
        """Copies that are started when a product is done."""
        if number >= wait - 1:
            return self.copies
        return self.copies * (number + 1) // wait // self.together * self.together
