# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What each thread knows of what the others have done: vector clocks, kept small.

One clock counts the points of synchronisation of a launch. An access is stamped with the time; a
thread that synchronises with another one from then on *knows* all that the other did up to a time.
Most of that is the same for many threads, so it is kept as

- `floor`: everything in the thread's own block up to this time (barriers of the block),
- `near`: everything in its own warp up to this time (barriers of the warp),
- `row`: the rest, a `Row` that many threads share: times for blocks, warps and single threads.

Scopes make knowledge of other blocks better or worse, which is kept apart by its *kind*:

- `SEEN`: what they did is over, and may be read (release and acquire, of a scope that has both),
- `OVER`: what they did is over; reading it asks for an acquire of that scope,
- `FREED`: what they did to their own memory, and what they have waited for, is over as far as units
  that write there are concerned: an arrival of the block's scope at another block's mbarrier. PTX
  promises nothing then; published kernels let each other refill tiles that way.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from opencute.sim.sync.group import WARP, Group
from opencute.sim.values import Array

__all__ = [
    "AGENT", "AGENTS", "BLOCK", "ELECTIONS", "FREED", "OVER", "SEEN", "STARTS", "THREAD", "WARPS",
    "Clocks", "Row", "Times", "as_kind", "distinct", "key",
]  # fmt: skip

Times = dict[int, int]
BLOCK, WARPS, THREAD, AGENT = 0, 1, 2, 3
SEEN, OVER, FREED = 0, 1, 2
_KIND = 2  # where the kind begins in a key
_NUMBER = 4
_MANY_ROWS = 4096
_SMALL = 256  # numbers that Python sorts faster
_WHO = (1 << 32) - 1
AGENTS = 1 << 28
"""Hardware units that act on their own have numbers from here on, where threads have theirs."""
ELECTIONS = 1 << 27
"""Elections have numbers as agents have, from here on: by the first thread of their warp."""
STARTS = 1 << 40
"""That a block has begun has a number as agents have, from here on: known once, known for good."""


def key(level: int, number: int, kind: int = SEEN) -> int:
    """The name of a block, a warp, a thread of the launch or an agent in a row."""
    return number << _NUMBER | kind << _KIND | level


def as_kind(times: Times, kind: int) -> Times:
    """What is known, made as weak as a kind of knowledge."""
    if kind == SEEN:
        return times
    out: Times = {}
    for k, t in times.items():
        if k >> _KIND & 3 < kind:
            k = k & ~(3 << _KIND) | kind << _KIND
        if t > out.get(k, 0):
            out[k] = t
    return out


class Row:
    """Times up to which blocks, warps and threads are known.

    Args:
        times: by `key`.
    """

    def __init__(self, times: Times, kinds: int = SEEN) -> None:
        self.times = times
        self.kinds = kinds
        """The weakest kind of knowledge here."""
        self.sure: set[tuple[int, ...]] = set()
        """Words of writers that are known, after the kind of knowledge."""
        self._dense: dict[int, tuple[Any, Array]] = {}

    def merged(self, others: Iterable[Times]) -> Row:
        """A row that knows what this one and others know."""
        get, kinds = self.times.get, self.kinds
        out: Times | None = None
        for other in others:
            if other is self.times:
                continue
            for k, t in other.items():
                if t > get(k, 0):
                    kind = k >> _KIND & 3
                    if kind:  # of no use where it is known better
                        strong = k & ~(3 << _KIND)
                        if get(strong, 0) >= t or (kind == FREED and (
                            get(strong | OVER << _KIND, 0) >= t
                        )):  # fmt: skip
                            continue
                        kinds = max(kinds, kind)
                    if out is None:
                        out = dict(self.times)
                        get = out.get
                    out[k] = t
        return self if out is None else Row(out, kinds)

    def weakest(self, kind: int) -> int:
        """The weakest kind of knowledge here that is as good as `kind`, or a better one."""
        return min(self.kinds, kind)

    def dense(self, clocks: Clocks, kind: int = SEEN) -> Array:
        """For each thread that runs now, the time up to which it is known."""
        kind = self.weakest(kind)
        found = self._dense.get(kind)
        if found is None or found[0] is not clocks.group:
            found = self._dense[kind] = (clocks.group, self._spread(clocks, kind))
        return found[1]

    def _spread(self, clocks: Clocks, kind: int) -> Array:
        out = np.zeros(clocks.floor.size, np.int64)
        threads, warps, first = clocks.threads, clocks.warps, clocks.first_block
        for k, t in self.times.items():
            level, number = k & 3, k >> _NUMBER
            if level == AGENT or k >> _KIND & 3 > kind:
                continue
            if level == THREAD:
                part = slice(number - first * threads, number - first * threads + 1)
            elif level == WARPS:
                block, warp = divmod(number, warps)
                start = (block - first) * threads + warp * WARP
                end = (block - first) * threads + min((warp + 1) * WARP, threads)
                part = slice(start, end)
            else:
                part = slice((number - first) * threads, (number - first + 1) * threads)
            if part.start >= 0:
                out[part] = np.maximum(out[part], t)
        return out

    def knows(self, clocks: Clocks, thread: int, kind: int = SEEN) -> int:
        """The time up to which any thread of the launch, or an agent, is known."""
        if thread >= AGENTS:
            name = (thread - AGENTS) << _NUMBER | AGENT
            if kind == SEEN or self.kinds == SEEN:
                return self.times.get(name, 0)
            names = (name,)
        else:
            block, inner = divmod(thread, clocks.threads)
            warp = block * clocks.warps + inner // WARP
            names = key(BLOCK, block), key(WARPS, warp), key(THREAD, thread)
        get, known = self.times.get, 0
        for weak in range(self.weakest(kind) + 1):
            for name in names:
                known = max(known, get(name | weak << _KIND, 0))
        return known


def distinct(numbers: Array) -> list[int]:
    """Small numbers, none below zero, each once, in order."""
    if numbers.size <= _SMALL:
        return sorted(set(numbers.ravel().tolist()))
    first = numbers[0]
    if (numbers == first).all():
        return [int(first)]
    return np.flatnonzero(np.bincount(numbers)).tolist()


NOTHING = Row({})


class Clocks:
    """The knowledge of all threads that run together; time goes on through a whole launch."""

    def __init__(self) -> None:
        self.now = 1

    def start(self, group: Group, first_block: int) -> None:
        """Other blocks run from now on."""
        n = group.blocks * group.threads
        self.group, self.first_block = group, first_block
        self.threads, self.warps, self.blocks = group.threads, group.warps, group.blocks
        self.floor = np.zeros(n, np.int64)
        self._kept = False
        self.near = np.zeros(n, np.int64)
        self.row = np.zeros(n, np.int32)
        self.rows: list[Row] = [NOTHING]
        self.version = 0
        self._least = (0, 0)
        self.tick()

    def tick(self) -> int:
        """The time up to now; what follows is later."""
        now = self.now
        self.now += 1
        self.version += 1
        return now

    def keep_floor(self) -> Array:
        """The floors as they are now; who raises them takes a copy first."""
        self._kept = True
        return self.floor

    def raise_floor(self, slots: Any, times: Any) -> None:
        """Threads know their blocks up to these times."""
        if self._kept:
            self.floor, self._kept = self.floor.copy(), False
        self.floor[slots] = times

    def least_floor(self) -> int:
        """The time up to which all threads know their blocks."""
        if self._least[0] != self.version:
            self._least = (self.version, int(self.floor.min()))
        return self._least[1]

    # ------------------------------------------------------------------ rows
    def add_row(self, row: Row) -> int:
        """The number of a row."""
        self.rows.append(row)
        return len(self.rows) - 1

    def _tidy(self) -> None:
        """Forget rows that no thread has any more, once there are many; their numbers change."""
        if len(self.rows) < _MANY_ROWS:
            return
        used, inverse = np.unique(np.append(self.row, 0), return_inverse=True)
        self.row[...] = inverse.reshape(-1)[:-1]
        self.rows = [self.rows[i] for i in used.tolist()]  # the first one is NOTHING

    def learn(self, slots: Array, news: list[Times]) -> None:
        """Threads come to know more."""
        self._tidy()
        ids = self.row[slots]
        self.version += 1
        different = distinct(ids)
        if len(different) == 1:
            before = self.rows[different[0]]
            row = before.merged(news)
            if row is not before:
                self.row[slots] = self.add_row(row)
            return
        # Whoever's own knowledge is among the news knows just what all of them together say.
        told, joint = {id(times) for times in news}, -1
        for i in different:
            before = self.rows[i]
            mine = slots[ids == i]
            if id(before.times) not in told:
                row = before.merged(news)
                if row is not before:
                    self.row[mine] = self.add_row(row)
                continue
            if joint < 0:
                row = before.merged(news)
                joint = i if row is before else self.add_row(row)
            self.row[mine] = joint

    def rows_of(self, slots: Array) -> list[Times]:
        """What threads know beyond their floors; not to be written to."""
        return [self.rows[i].times for i in distinct(self.row[slots]) if i]

    # ------------------------------------------------------------------ meeting
    def meet_blocks(self, blocks: Array) -> None:
        """All threads of some blocks (a mask) have met."""
        now = self.tick()
        if blocks.all():
            self.raise_floor(slice(None), now)
            if self.row.any():
                for b in range(self.blocks):
                    self._join_block(b)
            return
        for b in np.flatnonzero(blocks).tolist():
            part = slice(b * self.threads, (b + 1) * self.threads)
            self.raise_floor(part, now)
            if self.row[part].any():
                self._join_block(b)

    def _join_block(self, block: int) -> None:
        """All threads of a block know what any of them knew of others."""
        slots = np.arange(block * self.threads, (block + 1) * self.threads)
        own = self.first_block + block
        row = NOTHING.merged(
            {k: t for k, t in times.items() if not self._inside(k, own)}
            for times in self.rows_of(slots)
        )
        self.row[slots] = self.add_row(row) if row.times else 0

    def _inside(self, k: int, block: int) -> bool:
        level, number = k & 3, k >> _NUMBER
        if level == AGENT:
            return False
        if level == BLOCK:
            return number == block
        return number // (self.warps if level == WARPS else self.threads) == block

    def meet(self, slots: Array, whole: bool) -> None:
        """Some threads of one warp have met; `whole`: all of it that are still there."""
        now = self.tick()
        news = self.rows_of(slots)
        self.raise_floor(slots, self.floor[slots].max())
        if whole:
            self.near[slots] = now
        else:
            self.near[slots] = self.near[slots].max()
            first = self.first_block * self.threads
            news.append({key(THREAD, first + s): now for s in slots.tolist()})
        if news:
            self.learn(slots, news)

    # ------------------------------------------------------------------ messages
    def message(self, slot: int, since: int, settled: bool) -> Times:
        """What a thread publishes that has made visible what it did up to `since`.

        Args:
            slot: the thread.
            since: the time of its fence, or now.
            settled: whether all that it knows of its block is published too.
        """
        block, inner = divmod(slot, self.threads)
        block += self.first_block
        out = dict(self.rows[self.row[slot]].times)
        own = {key(THREAD, block * self.threads + inner): since}
        if settled:
            own[key(BLOCK, block)] = int(self.floor[slot])
            own[key(WARPS, block * self.warps + inner // WARP)] = int(self.near[slot])
        for k, t in own.items():
            out[k] = max(out.get(k, 0), t)
        return out

    # ------------------------------------------------------------------ asking
    def knows_of(self, slot: int, block: int) -> bool:
        """Whether a thread knows of anything that a block (of those that run) has done, even that
        it has begun only."""
        times, number = self.rows[self.row[slot]].times, self.first_block + block
        if any(key(AGENT, STARTS + number, kind) in times for kind in (SEEN, OVER, FREED)):
            return True
        return any(self._inside(k, number) for k in times)

    def knows(self, slots: Array, threads: Array, times: Array, kind: int = SEEN) -> Array:
        """Whether each thread (by slot) knows what others (by number in the launch) did then.

        Args:
            slots: who.
            threads: whom.
            times: when.
            kind: the weakest knowledge that is enough.
        """
        first = self.first_block * self.threads
        other = threads - first
        inside = (other >= 0) & (other < self.floor.size)
        same = inside & (other // self.threads == slots // self.threads)
        out = same & (times <= self.floor[slots])
        warp = same & (other % self.threads // WARP == slots % self.threads // WARP)
        out |= warp & (times <= self.near[slots])
        rest = np.flatnonzero(~out)
        if rest.size == 0:
            return out
        rows, within = self.row[slots[rest]], inside[rest]
        near = within.any()
        if near:
            self._know_threads(out, rest[within], rows[within], other, times, kind)
        if not near or not within.all():
            at, rows = (rest, rows) if not near else (rest[~within], rows[~within])
            out[at] = times[at] <= self._known_far(rows, threads[at], kind)
        return out

    def _know_threads(
        self, out: Array, at: Array, rows: Array, other: Array, times: Array, kind: int
    ) -> None:
        """As `knows`, of threads that run now, by rows only."""
        ids = distinct(rows)
        for i in ids:
            if i:
                mine = at if len(ids) == 1 else at[rows == i]
                out[mine] = times[mine] <= self.rows[i].dense(self, kind)[other[mine]]

    def _known_far(self, rows: Array, threads: Array, kind: int) -> Array:
        """The times up to which rows know units, and threads that ran before."""
        first = threads[0]
        if (threads == first).all():
            ids = distinct(rows)
            known = [self.rows[i].knows(self, int(first), kind) for i in ids]
            if len(ids) == 1:
                return np.full(rows.size, known[0], np.int64)
            table = np.zeros(ids[-1] + 1, np.int64)
            table[ids] = known
            return table[rows]
        pairs, inverse = np.unique(rows.astype(np.int64) << 32 | threads, return_inverse=True)
        known = [self.rows[p >> 32].knows(self, p & _WHO, kind) for p in pairs.tolist()]
        return np.array(known, np.int64)[inverse]

    def all_know(self, slots: Array, units: Sequence[int], time: int, kind: int) -> bool:
        """Whether threads all know what units did up to a time."""
        rows = [self.rows[i] for i in distinct(self.row[slots])]
        return all(row.knows(self, unit, kind) >= time for row in rows for unit in units)

    def knows_block(self, slot: int, block: int, time: int, kind: int = SEEN) -> bool:
        """Whether a thread knows what all threads of a block did up to a time."""
        inside = block - self.first_block
        if slot // self.threads == inside and time <= self.floor[slot]:
            return True
        row = self.rows[self.row[slot]]
        names = (key(BLOCK, block, k) for k in range(kind + 1))
        if any(row.times.get(name, 0) >= time for name in names):
            return True
        if 0 <= inside < self.blocks:
            dense = row.dense(self, kind)[inside * self.threads : (inside + 1) * self.threads]
            return bool((dense >= time).all())
        first = block * self.threads
        return all(row.knows(self, first + t, kind) >= time for t in range(self.threads))
