# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Shared memory of other blocks of a cluster.

A pointer into it holds a place of the arena of all blocks that run together, so that it means the
same for whoever has it.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.sync.group import Group
from opencute.sim.sync.shared import Arena
from opencute.sim.values import Array

__all__ = ["CLUSTER_WINDOW", "ClusterBuffer", "block_of_rank", "cluster_buffer"]

CLUSTER_WINDOW = 0x6800_0000_0000_0000
"""Where generic addresses of the shared memory of all blocks begin."""


class ClusterBuffer:
    """The shared memory of all blocks that run together.

    Args:
        arena: where it lies.
    """

    __slots__ = ("arena", "base", "name", "size", "written")
    space = "smem"
    read_only = False

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.base = CLUSTER_WINDOW
        self.size = arena.raw.size
        self.name = "shared memory of the cluster"
        self.written = arena.written

    @property
    def raw(self) -> Array:
        """The bytes."""
        return self.arena.raw

    def items(self, dtype: Any) -> Array:
        """The arena as a list of items."""
        return self.arena.whole.items(dtype)

    def rows(self, width: int) -> Array:
        """The arena as rows of `width` bytes."""
        return self.arena.whole.rows(width)

    def places(self, lanes: Lanes, offsets: Array) -> Array:
        """Offsets are places already."""
        return offsets

    def __repr__(self) -> str:
        return f"<{self.name}: {self.size} bytes>"


def cluster_buffer(group: Group) -> ClusterBuffer:
    """The buffer that pointers to the memory of other blocks are into."""
    return group.state("cluster memory", lambda g: ClusterBuffer(g.arena))


def block_of_rank(op: Op, lanes: Lanes, rank: Any) -> Any:
    """For each lane, the linear index of block `rank` of its cluster.

    Raises:
        SimulationError: the cluster has no such block.
    """
    run = lanes.run
    cx, cy, cz = run.cluster
    bad = np.asarray((rank < 0) | (rank >= cx * cy * cz))
    if bad.any():
        where = tuple(np.argwhere(lanes.full(np.atleast_2d(bad)))[0])
        found = int(lanes.full(np.atleast_2d(np.asarray(rank)))[where])
        raise SimulationError(
            f"the cluster has no block {found}, {lanes.name(where)}", code="OC3036", loc=op.loc,
            expected=f"0 to {cx * cy * cz - 1}", found=found,
        )  # fmt: skip
    gx, gy, _ = run.grid
    x, y, z = lanes.bid % gx, lanes.bid // gx % gy, lanes.bid // gx // gy
    x = x - x % cx + rank % cx
    y = y - y % cy + rank // cx % cy
    z = z - z % cz + rank // cx // cy
    return x + gx * (y + gy * z)
