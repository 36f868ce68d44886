# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The asynchronous half of what threads know: which writes units of the hardware may see.

TMA and wgmma read shared memory through a proxy of their own. An ordinary write reaches them only
if a fence (`fence.proxy.async`) lies on the way from the writer to whoever starts the unit: by the
writer after it wrote, by the issuing thread after it came to know of the write, or by anybody in
between.

A fence keeps what its thread knew then. Only the last few are kept; where older ones may have been
the ones that count, nothing is reported.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from opencute.sim.lanes import Lanes
from opencute.sim.sync.clocks import AGENTS, Clocks, Row
from opencute.sim.sync.group import WARP, Group
from opencute.sim.values import Array

__all__ = ["AgentNumbers", "Proxies"]

_KEPT = 8


class AgentNumbers:
    """Numbers of hardware units, in place of threads'."""

    def __init__(self) -> None:
        self.known: dict[Hashable, int] = {}
        self.names: list[str] = []

    def number(self, key: Hashable, name: str) -> int:
        """The number of the unit with a key, which messages call `name`."""
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = AGENTS + len(self.names)
            self.names.append(name)
        return found

    def name(self, number: int) -> str:
        """What messages call a unit."""
        return self.names[number - AGENTS]


@dataclass(eq=False)
class _Fence:
    """Fences of several threads at one time: what each knew."""

    time: int
    slots: Array
    floor: Array
    near: Array
    rows: list[Row]
    row: Array


class Proxies:
    """The proxy fences of the threads that run together.

    Args:
        clocks: what the threads know.
    """

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks

    def start(self, group: Group) -> None:
        """Other blocks run from now on."""
        self.size = group.blocks * group.threads
        self.times = np.zeros((0, _KEPT), np.int64)  # as many as there are threads, once one fences
        self.count = np.zeros(0, np.int64)
        self.fences: list[_Fence] = []

    def _begin(self) -> None:
        if self.count.size < self.size:
            self.times = np.zeros((self.size, _KEPT), np.int64)
            self.count = np.zeros(self.size, np.int64)

    def fence(self, lanes: Lanes) -> None:
        """Threads fence: what they know, and what they did, units may see from now on."""
        clocks, slots = self.clocks, lanes.slot.ravel()
        now = clocks.tick()
        self._begin()
        self.times[slots, self.count[slots] % _KEPT] = now
        self.count[slots] += 1
        ids, row = np.unique(clocks.row[slots], return_inverse=True)
        rows = [clocks.rows[i] for i in ids.tolist()]
        fence = _Fence(now, slots, clocks.floor[slots], clocks.near[slots], rows, row.reshape(-1))
        self.fences.append(fence)
        if len(self.fences) > 256:
            del self.fences[:128]

    def unseen(self, issuer: int, writers: Array, times: Array, kind: int) -> int | None:
        """The index of a write that a unit started by `issuer` may not see, None if there is none.

        Args:
            issuer: slot of the thread that starts the unit, which knows of all these writes.
            writers: threads, by number in the launch.
            times: when they wrote.
            kind: the weakest knowledge of fences that is enough.
        """
        first = self.clocks.first_block * self.clocks.threads
        words = np.unique(times << 32 | writers)  # times have 30 bits
        pairs = np.stack([words & 0xFFFFFFFF, words >> 32])
        self._begin()
        slots = pairs[0] - first
        pairs = pairs[:, (slots >= 0) & (slots < self.count.size)]
        if not pairs.size:
            return None
        pairs = pairs[:, ~self._by_writers(issuer, pairs[0] - first, pairs[1], kind)]
        for writer, time in pairs.T.tolist():
            if not self._by_others(issuer, writer, time, kind):
                return int(np.flatnonzero((writers == writer) & (times == time))[0])
        return None

    def _by_writers(self, issuer: int, slots: Array, times: Array, kind: int) -> Array:
        """Which of the writers have fenced, as the issuer knows."""
        fenced = self.times[slots]
        later = fenced >= times[:, None]
        out = (self.count[slots] > _KEPT) & (fenced.min(axis=1) >= times)  # older: forgotten
        out |= (slots == issuer) & later.any(axis=1)
        ask = np.flatnonzero(~out & later.any(axis=1))
        if ask.size:
            # Who knows of a later fence knows of the first one.
            least = np.where(later[ask], fenced[ask], np.iinfo(np.int64).max).min(axis=1)
            threads = slots[ask] + self.clocks.first_block * self.clocks.threads
            out[ask] = self.clocks.knows(np.full(ask.size, issuer), threads, least, kind)
        return out

    def _by_others(self, issuer: int, writer: int, time: int, kind: int) -> bool:
        """Whether anybody fenced who knew of the write, and the issuer knows that."""
        clocks = self.clocks
        first = clocks.first_block * clocks.threads
        for fence in reversed(self.fences):
            if fence.time < time:
                break
            knew = self._knew(fence, writer, time)
            if not knew.any():
                continue
            slots = fence.slots[knew]
            if (slots == issuer).any():
                return True
            at = np.full(slots.size, fence.time)
            if clocks.knows(np.full(slots.size, issuer), slots + first, at, kind).any():
                return True
        return len(self.fences) >= 128 and self.fences[0].time > time

    def _knew(self, fence: _Fence, writer: int, time: int) -> Array:
        """Which of the fencing threads knew of a write."""
        clocks = self.clocks
        other = writer - clocks.first_block * clocks.threads
        threads = clocks.threads
        block = fence.slots // threads == other // threads
        warp = block & (fence.slots % threads // WARP == other % threads // WARP)
        out = (block & (time <= fence.floor)) | (warp & (time <= fence.near))
        for i, row in enumerate(fence.rows):
            if row.knows(clocks, writer) >= time:
                out |= fence.row == i
        return out
