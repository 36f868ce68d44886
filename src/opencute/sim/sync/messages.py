# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What threads tell each other through memory: releases, acquires and fences.

A release (or a fence, then a relaxed access) leaves at the place that is written what the thread
knows; an acquire (or a relaxed access, then a fence) of that place takes it up. Changing a value in
place passes on what was left there before.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.sim.lanes import Lanes
from opencute.sim.sync.clocks import Clocks
from opencute.sim.sync.group import Group
from opencute.sim.values import Array

__all__ = ["Messages"]

Message = dict[int, int]
_RELEASES = ("release", "acq_rel")
_ACQUIRES = ("acquire", "acq_rel")


class Messages:
    """Messages at places of memory.

    Args:
        clocks: what the threads know.
    """

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self.left: dict[tuple[int, int], Message] = {}

    def start(self, group: Group) -> None:
        """Other blocks run from now on."""
        self.fenced = np.zeros(group.blocks * group.threads, np.int64)
        self.seen: dict[int, list[Message]] = {}

    def fence(self, lanes: Lanes) -> None:
        """Threads have fenced."""
        slots = lanes.slot.ravel()
        self.fenced[slots] = self.clocks.tick()
        if self.seen:
            for slot in slots.tolist():
                seen = self.seen.pop(slot, None)
                if seen is not None:
                    self.clocks.learn(np.array([slot]), seen)

    def access(self, lanes: Lanes, access: Any, verb: str, buffer: Any, offsets: Array) -> int:
        """An access with a memory order; returns its strength: 1 in the block, 2 beyond, 0 weak."""
        sem, scope = access.order
        if sem == "weak":
            return 0
        slots = lanes.slot.ravel()
        writes = verb in ("write", "update")
        releases = writes and (sem in _RELEASES or bool(self.fenced[slots].any()))
        owner = id(buffer.arena if buffer.space == "smem" else buffer)
        if releases or self.left:
            places = lanes.full(offsets if offsets.ndim == 2 else offsets[..., 0]).ravel()
            turns = lanes.run.turns
            if verb == "update" and turns is not None:
                slots, places = slots[turns], places[turns]
            for slot, place in zip(slots.tolist(), places.tolist(), strict=True):
                self._one(slot, (owner, place), sem, verb, releases)
        if releases:
            self.clocks.tick()
        return 1 if scope == "cta" or (scope == "" and buffer.space == "smem") else 2

    def _one(self, slot: int, place: tuple[int, int], sem: str, verb: str, releases: bool) -> None:
        found = self.left.get(place)
        if found is not None and verb != "write":
            if sem in _ACQUIRES:
                self.clocks.learn(np.array([slot]), [found])
            else:
                self.seen.setdefault(slot, []).append(found)
        if verb == "read":
            return
        mine: Message = {}
        if releases:
            mine = self._message(slot, sem)
        if verb == "update" and found is not None:
            mine = {k: max(mine.get(k, 0), found.get(k, 0)) for k in {*mine, *found}}
        if mine:
            self.left[place] = mine
        else:
            self.left.pop(place, None)

    def _message(self, slot: int, sem: str) -> Message:
        clocks = self.clocks
        if sem in _RELEASES:
            return clocks.message(slot, clocks.now, True)
        fence = int(self.fenced[slot])
        if fence == 0:
            return {}
        settled = fence > int(clocks.floor[slot])
        message = clocks.message(slot, fence, settled)
        if not settled:
            # The fence was before the last barrier: what others fenced before it counts as well.
            threads = clocks.threads
            start = slot // threads * threads
            first = clocks.first_block * threads
            fences = self.fenced[start : start + threads]
            for i in np.flatnonzero(fences).tolist():
                message[(first + start + i) << 2 | 2] = int(fences[i])
        return message
