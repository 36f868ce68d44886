# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where a bulk copy to shared memory goes, and how it tells that it is done."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.ir.declare import declaration_of
from opencute.sim import faults
from opencute.sim.hopper.dsmem import block_of_rank, cluster_buffer
from opencute.sim.hopper.mbarriers import mbarriers_of
from opencute.sim.hopper.places import Places
from opencute.sim.lanes import Lanes
from opencute.sim.memory import RAW, SimPointer
from opencute.sim.sync.clocks import THREAD, key
from opencute.sim.sync.shared import SharedBuffer
from opencute.sim.values import Array

__all__ = ["Completion", "Target", "blocks_of_mask", "segments"]

Target = tuple[Lanes, Callable[[Any], Any], SimPointer, SimPointer]
"""Lanes, what picks their values, and their pointers to the destination and to the barrier."""


class Completion:
    """Counts the bytes of a copy on the barriers of its lanes.

    Args:
        op: the copy.
    """

    def __init__(self, op: Op) -> None:
        self.op = op
        self.places = Places(op)

    def __call__(self, lanes: Lanes, bar: Any, size: Any) -> None:
        """The bytes have come: `bar` is a pointer, `size` their number, of all or of each lane."""
        group, checker = lanes.run.group, lanes.run.checker
        bars = mbarriers_of(group)
        now = 0 if checker is None else checker.clocks.tick()
        sizes = lanes.full(np.atleast_2d(np.asarray(size))).ravel().tolist()
        places = self.places(lanes, bar).ravel().tolist()
        for place, slot, n in zip(places, lanes.slot.ravel().tolist(), sizes, strict=True):
            known = None
            if checker is not None:
                first = checker.clocks.first_block * checker.clocks.threads
                known = {key(THREAD, first + slot): now}
            bars.complete_tx(place, n, by=self.op, known=known)


def segments(op: Op, values: Sequence[Any]) -> list[Sequence[Any]]:
    """Operand values by the slots of the operation's declaration."""
    out: list[Sequence[Any]] = []
    at = 0
    for n in declaration_of(op).sizes(op):
        out.append(values[at : at + n])
        at += n
    return out


def _same(value: Any) -> Any:
    return value


def blocks_of_mask(
    op: Op, lanes: Lanes, dst: SimPointer, bar: SimPointer, mask: Any
) -> list[Target]:
    """Where a copy goes: the own block, or those of the cluster that a mask names.

    Raises:
        SimulationError: the mask names no block, or one that the cluster does not have.
    """
    if mask is None:
        return [(lanes, _same, dst, bar)]
    masks = lanes.full(np.atleast_2d(np.asarray(mask, np.int64))) & 0xFFFF
    if not masks.all():
        raise SimulationError(
            f"{op.name}: the mask names no block, {lanes.name((0, 0))}", code="OC3044", loc=op.loc
        )
    targets: list[Target] = []
    for rank in range(16):
        chosen: Array = (masks >> rank & 1).astype(np.bool_)
        if not chosen.any():
            continue
        part, pick = lanes, _same
        if not chosen.all():
            part, pick, _ = lanes.sub(chosen)
        block = block_of_rank(op, part, rank) - part.run.first_block
        places = (_there(op, part, pick(p), block) for p in (dst, bar))
        targets.append((part, pick, *places))
    return targets


def _there(op: Op, lanes: Lanes, ptr: SimPointer, block: Any) -> SimPointer:
    """The same place in the shared memory of another block."""
    buffer, offset = ptr.buffer, ptr.offset
    if buffer is RAW:
        buffer = lanes.run.group.arena.whole
        offset = offset - buffer.base
    if type(buffer) is not SharedBuffer:
        faults.not_shared(lanes, op)
    place = np.asarray(block * buffer.arena.stride + buffer.start + np.asarray(offset))
    where: Any = int(place) if place.ndim == 0 else place
    return SimPointer(cluster_buffer(lanes.run.group), where)
