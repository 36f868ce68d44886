# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What products read of shared memory, for the checking mode: from their start to the wait.

In: the places that each warp reads. Out: flights, which end when the warp has waited: until then
nobody may write there, and what is read must have passed a proxy fence.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.values import Array

__all__ = ["Flights", "land", "take_off"]

Flights = dict[int, Any]
"""The flight of each warp, by the warp's first slot."""

_CORE = 16  # bytes of a row of a core matrix
_GROUPS = 8  # that wait_group tells apart


def take_off(op: Op, lanes: Lanes, slots: Array, places: list[Array], groups: Array) -> Flights:
    """Warps start to read.

    Args:
        op: the product.
        lanes: who starts it.
        slots: the threads of each warp, (warps, 32).
        places: for each operand, places of its bytes in the arena, (warps, ...).
        groups: for each warp, the number of the group that the product belongs to.

    Raises:
        RaceError: something is not ordered, or not fenced.
    """
    checker, run = lanes.run.checker, lanes.run
    out: Flights = {}
    for w, own in enumerate(slots):
        every = np.concatenate([p[w].reshape(-1) // _CORE for p in places])
        agent = checker.agent(
            ("product", int(own[0]), int(groups[w]) % _GROUPS), "a product of a warpgroup"
        )
        out[int(own[0])] = checker.async_read(
            op, run, own[:1], run.group.arena.whole, np.unique(every) * _CORE, _CORE, agent
        )
    return out


def land(lanes: Lanes, slots: Array, flights: Flights) -> None:
    """Warps have waited for what they started."""
    for own in slots:
        flight = flights.get(int(own[0]))
        if flight is not None:
            lanes.run.checker.waited_for(own, flight)
