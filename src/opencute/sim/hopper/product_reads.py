# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What products read of shared memory, for the checking mode: from their start to the wait.

In: the places that each warp reads. Out: flights, which end when a warp of the warpgroup has
waited: until then nobody may write there, and what is read must have passed a proxy fence.

The manual lets each warp wait for the groups that its own threads have committed. On GPUs the whole
product has ended then, and kernels in C++ let one thread of a warpgroup say that a tile is free; so
that is warned of, and no error, where only other warps of a warpgroup have waited.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.sync.clocks import AGENT, AGENTS, Times, key
from opencute.sim.sync.group import WARP
from opencute.sim.values import Array

__all__ = ["CORE", "know_products", "take_off"]

_PARTY = 128  # threads of a warpgroup
CORE = 16  # bytes of a row of a core matrix
_GROUPS = 4  # of one warp that are told apart while they are under way


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
    threads, out = checker.clocks.threads, []
    for w, own in enumerate(slots):
        first, name = int(own[0]), "a product of a warpgroup"
        group = int(groups[w]) % _GROUPS
        agent = checker.agent(("product", first, group), name)
        party = first - first % threads % _PARTY
        checker.parties[agent] = checker.agent(("whole product", party, group), name)
        whole, unique = run.group.arena.whole, _joined([each[w] for each in cores])
        out.append(checker.async_read(op, run, own[:1], whole, unique, CORE, agent))
    return out


def know_products(lanes: Lanes, reads: Sequence[tuple[int, Any]]) -> None:
    """Lanes have waited for products.

    Args:
        lanes: who.
        reads: what warps have read for them: the slot of each warp's first thread, and its flight.
    """
    clocks = lanes.run.checker.clocks
    slots = lanes.slot.ravel()
    warps = slots - slots % clocks.threads % WARP
    times = [(slot, flight.land()) for slot, flight in reads]
    parties = lanes.run.checker.parties
    whole: Times = {}
    for _, flight in reads:
        name = key(AGENT, parties[flight.agent] - AGENTS)
        whole[name] = max(whole.get(name, 0), *flight.land().values())
    for warp in np.unique(warps).tolist():
        own = [known for slot, known in times if slot == warp]
        clocks.learn(slots[warps == warp], [*own, whole])


def _joined(parts: list[Array]) -> Array:
    """Sorted places of several operands as one such list."""
    parts = sorted(parts, key=lambda p: int(p[0]))
    every = np.concatenate(parts)
    apart = all(a[-1] < b[0] for a, b in pairwise(parts))
    return every if apart else np.unique(every)
