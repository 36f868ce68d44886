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

from itertools import pairwise
from typing import Any

import numpy as np

from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.values import Array

__all__ = ["CORE", "take_off"]

CORE = 16  # bytes of a row of a core matrix
_GROUPS = 8  # that wait_group tells apart


def take_off(
    op: Op, lanes: Lanes, slots: Array, cores: list[list[Array]], groups: Array
) -> list[Any]:  # fmt: skip
    """Warps start to read.

    Args:
        op: the product.
        lanes: who starts it.
        slots: the threads of each warp, (warps, 32).
        cores: for each operand and warp, what it reads: runs of 16 bytes by where they begin in
            the arena, sorted.
        groups: for each warp, the number of the group that the product belongs to.

    Returns:
        The flight of each warp.

    Raises:
        RaceError: something is not ordered, or not fenced.
    """
    checker, run = lanes.run.checker, lanes.run
    out: list[Any] = []
    for w, own in enumerate(slots):
        agent = checker.agent(
            ("product", int(own[0]), int(groups[w]) % _GROUPS), "a product of a warpgroup"
        )
        whole, unique = run.group.arena.whole, _joined([each[w] for each in cores])
        out.append(checker.async_read(op, run, own[:1], whole, unique, CORE, agent))
    return out


def _joined(parts: list[Array]) -> Array:
    """Sorted places of several operands as one such list."""
    parts = sorted(parts, key=lambda p: int(p[0]))
    every = np.concatenate(parts)
    apart = all(a[-1] < b[0] for a, b in pairwise(parts))
    return every if apart else np.unique(every)
