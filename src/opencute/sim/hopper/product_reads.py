# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What products read of shared memory, for the checking mode: from their start to the wait.

In: the places that each warp reads. Out: flights, which end when a warp of the warpgroup has
waited: until then nobody may write there, and what is read must have passed a proxy fence.
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

__all__ = ["take_off"]

_CORE = 16  # bytes of a row of a core matrix
_GROUPS = 8  # that wait_group tells apart


def take_off(
    op: Op, lanes: Lanes, slots: Array, places: list[Array], groups: Array
) -> list[Any]:  # fmt: skip
    """Warps start to read.

    Args:
        op: the product.
        lanes: who starts it.
        slots: the threads of each warp, (warps, 32).
        places: for each operand, places of its bytes in the arena, (warps, ...).
        groups: for each warp, the number of the group that the product belongs to.

    Returns:
        The flight of each warp.

    Raises:
        RaceError: something is not ordered, or not fenced.
    """
    checker, run = lanes.run.checker, lanes.run
    out: list[Any] = []
    for w, own in enumerate(slots):
        every = np.concatenate([p[w].reshape(-1) // _CORE for p in places])
        agent = checker.agent(
            ("product", int(own[0]), int(groups[w]) % _GROUPS), "a product of a warpgroup"
        )
        unique = np.unique(every) * _CORE
        whole = run.group.arena.whole
        out.append(checker.async_read(op, run, own[:1], whole, unique, _CORE, agent))
    return out
