# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where a bulk copy to shared memory goes, and how it tells that it is done."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.ir.declare import declaration_of
from opencute.sim.access import Access, mark
from opencute.sim.hopper.dsmem import block_of_rank, peer_pointer
from opencute.sim.hopper.mbarriers import mbarriers_of
from opencute.sim.hopper.places import Places
from opencute.sim.hopper.tma.traffic import Traffic, known_of
from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.taint import Taint
from opencute.sim.values import Array

__all__ = ["Target", "segments", "targets_of"]


@dataclass(eq=False)
class Target:
    """The shared memory of one block for each lane.

    Args:
        op: the copy.
        lanes: who sends something there.
        pick: picks their values.
        place: where it goes.
        bars: places of the barriers, (P, Q).
        flights: what is under way there, for each lane (checking mode).
    """

    op: Op
    lanes: Lanes
    pick: Callable[[Any], Any]
    place: SimPointer
    bars: Array
    flights: list[Any] = field(default_factory=list)

    def begin(self, access: Access, traffic: Traffic) -> None:
        """What is there is unknown from now on."""
        mbarriers_of(self.lanes.run.group).named(self.op, self.lanes, self.bars)
        places = access.places(self.lanes, self.place)
        arena = self.lanes.run.group.arena
        mark(arena.written, places, access.width, False)
        arena.spoilt += 1
        keys = self.bars.ravel().tolist()
        self.flights = traffic.start("write", self.lanes, arena.whole, places, access.width, keys)

    def write(self, access: Access, value: Array, taint: Taint | None) -> None:
        """The data comes."""
        access.write(self.lanes, self.pick(value), self.place)
        access.leave(self.lanes, self.place, None if taint is None else self.pick(taint))

    def complete(self, size: int, sources: Sequence[Any] = ()) -> None:
        """The bytes have come: count them on the barriers."""
        bars = mbarriers_of(self.lanes.run.group)
        for i, place in enumerate(self.bars.ravel().tolist()):
            flights = [*sources, *self.flights[i : i + 1]]
            bars.complete_tx(place, size, by=self.op, known=known_of(flights))


def segments(op: Op, values: Sequence[Any]) -> list[Sequence[Any]]:
    """Operand values by the slots of the operation's declaration."""
    out: list[Sequence[Any]] = []
    at = 0
    for n in declaration_of(op).sizes(op):
        out.append(values[at : at + n])
        at += n
    return out


def targets_of(
    op: Op, places: Places, lanes: Lanes, dst: SimPointer, bar: SimPointer, mask: Any
) -> list[Target]:
    """Where a copy goes: the own block, or those of the cluster that a mask names.

    Raises:
        SimulationError: the mask names no block, or one that the cluster does not have.
    """
    if mask is None:
        return [Target(op, lanes, lambda v: v, dst, places(lanes, bar))]
    masks = lanes.full(np.atleast_2d(np.asarray(mask, np.int64))) & 0xFFFF
    if not masks.all():
        raise SimulationError(
            f"{op.name}: the mask names no block, {lanes.name((0, 0))}", code="OC3064", loc=op.loc
        )
    targets: list[Target] = []
    for rank in range(16):
        chosen: Array = (masks >> rank & 1).astype(np.bool_)
        if not chosen.any():
            continue
        part: Lanes = lanes
        pick: Callable[[Any], Any] = _same
        if not chosen.all():
            part, pick, _ = lanes.sub(chosen)
        block = block_of_rank(op, part, rank) - part.run.first_block
        there = peer_pointer(op, part, pick(dst), block)
        bars = places(part, peer_pointer(op, part, pick(bar), block))
        targets.append(Target(op, part, pick, there, bars))
    return targets


def _same(value: Any) -> Any:
    return value
