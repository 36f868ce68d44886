# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Scopes of synchronisation, and what the fences of threads publish.

A release, or a fence before it, is for the threads of its scope. What a fence publishes is what its
thread knew then, and it is that thread's own operations after it that publish it (PTX ISA, "Release
and Acquire Patterns"): where a thread arrives for others that it has met, it fences after they
met, not before. Fences with the word "sc" are in one order with all others of that kind; those of
threads that a thread has met since count for what it does then (`__threadfence(); __syncthreads();`
and a relaxed atomic of one thread).

In: fences of lanes. Out: for a thread and a reach (0: its block, 1: its cluster, 2: everybody), the
times that a relaxed operation after the fence publishes.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import numpy as np

from opencute.sim.lanes import Lanes
from opencute.sim.sync.clocks import (
    BLOCK,
    OVER,
    THREAD,
    WARPS,
    Clocks,
    Times,
    as_kind,
    distinct,
    key,
)
from opencute.sim.sync.group import WARP, Group
from opencute.sim.values import Array

__all__ = ["CLUSTER", "EVERYBODY", "OWN", "Fences", "merge", "reach"]

OWN, CLUSTER, EVERYBODY = 0, 1, 2
_STRONG = 3  # rows of strong fences begin here
_REACH = {"cta": OWN, "cluster": CLUSTER}


def reach(scope: str, default: int = EVERYBODY) -> int:
    """How far a scope goes; `default` where none is named."""
    return _REACH.get(scope, EVERYBODY) if scope else default


def merge(into: Times, times: Times) -> None:
    """Add what is known to something known."""
    if not into:
        into.update(times)
        return
    for k, t in times.items():
        if t > into.get(k, 0):
            into[k] = t


class Fences:
    """The fences of the threads that run together.

    Args:
        clocks: what the threads know.
    """

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks

    def start(self, group: Group) -> None:
        """Other blocks run from now on."""
        self.size = group.blocks * group.threads
        self.any = [False] * 3
        """Whether anybody has fenced, by reach."""
        self.times = np.zeros((0, 0), np.int64)
        self.seen: dict[int, list[Times]] = {}

    # ------------------------------------------------------------------ fencing
    def fence(self, lanes: Lanes, far: int, strong: bool = False) -> None:
        """Threads fence, for as far as `far`; `strong`: in one order with all such fences."""
        clocks, slots = self.clocks, lanes.slot.ravel()
        if not self.times.size:
            self.times, self.floor, self.near = np.zeros((3, 2 * _STRONG, self.size), np.int64)
            self.rows = np.full((2 * _STRONG, self.size), None, object)
        now = clocks.tick()
        ids = clocks.row[slots]
        rows = np.array([None], object).repeat(slots.size)
        for i in np.unique(ids).tolist():
            rows[ids == i] = clocks.rows[i]
        for r in range(far + 1):
            self.any[r] = True
            for at in (r, r + _STRONG) if strong else (r,):
                self.times[at, slots] = now
                self.floor[at, slots] = clocks.floor[slots]
                self.near[at, slots] = clocks.near[slots]
                self.rows[at, slots] = rows
        for slot in slots.tolist() if self.seen else ():
            self._promote(slot, far)

    def before(self, slots: Array, far: int) -> Times:
        """What operations of threads publish by the fences that came before them."""
        out: Times = {}
        if not self.any[far]:
            return out
        for block in distinct(slots // self.clocks.threads):
            mine = slots[slots // self.clocks.threads == block]
            inner = np.arange(self.clocks.threads)
            own = np.isin(inner, mine - block * self.clocks.threads)
            self._publish(out, block, own, far)
            if self.times[far + _STRONG].any():
                self._publish(out, block, own | self._met(block, mine, far), far + _STRONG)
        return out

    def _met(self, block: int, slots: Array, far: int) -> Array:
        """The threads of a block of whose strong fences these know, as they have met since."""
        clocks, threads = self.clocks, self.clocks.threads
        times = self.times[far + _STRONG, block * threads : (block + 1) * threads]
        known = times <= clocks.floor[slots].max()
        for warp in distinct(slots % threads // WARP):
            near = clocks.near[slots[slots % threads // WARP == warp]].max()
            known |= (np.arange(threads) // WARP == warp) & (times <= near)
        return known

    def _publish(self, out: Times, block: int, who: Array, far: int) -> None:
        """Add what the fences of some threads of a block publish."""
        clocks, threads, warps = self.clocks, self.clocks.threads, self.clocks.warps
        start, inner = block * threads, np.arange(threads)
        times = np.where(who, self.times[far, start : start + threads], 0)
        if not times.any():
            return
        number = clocks.first_block + block
        for warp in distinct(inner[times > 0] // WARP):
            each = times[warp * WARP : (warp + 1) * WARP]
            if each.min():
                merge(out, {key(WARPS, number * warps + warp): int(each.min())})
            first = number * threads + warp * WARP
            more = np.flatnonzero(each > each.min()).tolist()
            merge(out, {key(THREAD, first + i): int(each[i]) for i in more})
        at = start + np.flatnonzero(times)
        merge(out, {key(BLOCK, number): int(self.floor[far, at].max())})
        for slot in at.tolist():
            warp = number * warps + (slot - start) // WARP
            merge(out, {key(WARPS, warp): int(self.near[far, slot])})
        for row in {id(r): r for r in self.rows[far, at]}.values():
            merge(out, row.times)

    # ------------------------------------------------------------------ taking up
    def take(self, slots: Array, news: Times, far: int, acquired: int) -> None:
        """Threads take up what was released at a distance.

        Args:
            slots: who.
            news: what was released for them.
            far: how far away.
            acquired: how far their acquire reaches, -1: none. A fence may follow.
        """
        if not news:
            return
        if acquired >= far:
            self.clocks.learn(slots, [news])
            return
        if acquired >= 0:
            self.clocks.learn(slots, [as_kind(news, OVER)])
        for slot in slots.tolist():
            later = self.seen.setdefault(slot, [{}, {}, {}])
            merge(later[far], news)

    def _promote(self, slot: int, far: int) -> None:
        later = self.seen.get(slot)
        if later is None:
            return
        news = [times for times in later[: far + 1] if times]
        if news:
            self.clocks.learn(np.array([slot]), news)
            later[: far + 1] = ({} for _ in range(far + 1))
