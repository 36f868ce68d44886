# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What threads tell each other through memory: releases, acquires and fences.

A release (or a fence, then a relaxed access) leaves at the place that is written what the thread
knows; an acquire (or a relaxed access, then a fence) of that place takes it up, if the scopes of
both have both threads. Changing a value in place passes on what was left there before.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.sim.lanes import Lanes
from opencute.sim.sync.clocks import Clocks, Times
from opencute.sim.sync.fences import CLUSTER, EVERYBODY, OWN, Fences, merge, reach
from opencute.sim.sync.group import Group

__all__ = ["Messages"]

Message = dict[int, list[Times]]
"""By the block that it comes from: what is for the block, its cluster and everybody."""
_RELEASES = ("release", "acq_rel")
_ACQUIRES = ("acquire", "acq_rel")


class Messages:
    """Messages at places of memory.

    Args:
        clocks: what the threads know.
        fences: what they have fenced.
    """

    def __init__(self, clocks: Clocks, fences: Fences) -> None:
        self.clocks, self.fences = clocks, fences
        self.left: dict[tuple[int, int], Message] = {}

    def start(self, group: Group) -> None:
        """Other blocks run from now on."""
        self.group = group

    def access(self, lanes: Lanes, access: Any, verb: str, buffer: Any, offsets: Any) -> int:
        """An access with a memory order; returns its strength: 1 in the block, 2 beyond, 0 weak."""
        sem, scope = access.order
        if sem == "weak":
            return 0
        slots = lanes.slot.ravel()
        writes = verb in ("write", "update")
        releases = writes and (sem in _RELEASES or self.fences.any[OWN])
        owner = id(buffer.arena if buffer.space == "smem" else buffer)
        far = OWN if buffer.space == "smem" and not scope else reach(scope)
        if releases or self.left:
            places = lanes.full(offsets if offsets.ndim == 2 else offsets[..., 0]).ravel()
            turns = lanes.run.turns
            if verb == "update" and turns is not None:
                slots, places = slots[turns], places[turns]
            for slot, place in zip(slots.tolist(), places.tolist(), strict=True):
                self._one(slot, (owner, place), (sem, far), verb, lanes.run)
        if releases:
            self.clocks.tick()
        return 1 if far == OWN else 2

    def _one(
        self, slot: int, place: tuple[int, int], order: tuple[str, int], verb: str, run: Any
    ) -> None:
        found, (sem, far) = self.left.get(place), order
        block = slot // self.clocks.threads
        if found is not None and verb != "write":
            acquired = far if sem in _ACQUIRES else -1
            for other, parts in found.items():
                away = distance(run, block, other - self.clocks.first_block)
                self.fences.take(np.array([slot]), parts[away], away, acquired)
        if verb == "read":
            return
        mine: Message = {}
        if verb == "update" and found is not None:
            mine = {b: [dict(part) for part in parts] for b, parts in found.items()}
        own = self._published(slot, sem, far)
        if any(own):
            name = block + self.clocks.first_block
            for into, part in zip(mine.setdefault(name, [{}, {}, {}]), own, strict=True):
                merge(into, part)
        if mine:
            self.left[place] = mine
        else:
            self.left.pop(place, None)

    def _published(self, slot: int, sem: str, far: int) -> list[Times]:
        """What a thread leaves, for those at each distance."""
        now = self.clocks.message(slot, self.clocks.now, True) if sem in _RELEASES else {}
        who = np.array([slot])
        return [now if sem in _RELEASES and r <= far else self.fences.before(who, r)
                for r in range(3)]  # fmt: skip


def distance(run: Any, block: int, other: int) -> int:
    """How far away blocks are from each other: the same, of one cluster, or not even that."""
    if block == other:
        return OWN
    cx, cy, cz = run.cluster
    if cx * cy * cz == 1:
        return EVERYBODY
    gx, gy, _ = run.grid

    def cluster(index: int) -> tuple[int, int, int]:
        index += run.first_block
        return index % gx // cx, index // gx % gy // cy, index // gx // gy // cz

    return CLUSTER if cluster(block) == cluster(other) else EVERYBODY
