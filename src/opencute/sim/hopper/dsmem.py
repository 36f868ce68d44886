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
from opencute.sim.memory import RAW, SimPointer
from opencute.sim.sync.group import Group
from opencute.sim.sync.shared import SHARED_BASE, Arena
from opencute.sim.values import Array

__all__ = [
    "CLUSTER_WINDOW",
    "ClusterBuffer",
    "block_of_rank",
    "cluster_buffer",
    "far_address",
    "to_far_pointer",
]

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
    reached = None

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


# ---------------------------------------------------------------------- addresses
_RANK = 24
"""Where the rank of a block, plus one, begins in an address; 0 is the block itself."""


def far_address(lanes: Lanes, ptr: SimPointer) -> Any:
    """The address in the window of the cluster's shared memory, as PTX has it: 32 bits."""
    if ptr.buffer is RAW:
        return ptr.offset & 0xFFFFFFFF
    run = lanes.run
    stride = max(run.group.arena.stride, 1)
    (cx, cy, cz), (gx, gy, _) = run.cluster, run.grid
    block, byte = run.first_block + ptr.offset // stride, ptr.offset % stride
    x, y, z = block % gx % cx, block // gx % gy % cy, block // gx // gy % cz
    rank = x + cx * (y + cy * z)
    return ((rank + 1) << _RANK) + byte + SHARED_BASE


def to_far_pointer(op: Op, lanes: Lanes, value: Any) -> SimPointer:
    """A pointer for an address in that window, or in that of the block's own shared memory."""
    arena = lanes.run.group.arena
    value = value.astype(np.int64) if type(value) is np.ndarray else int(value)
    rank, byte = value >> _RANK, (value & ((1 << _RANK) - 1)) - SHARED_BASE
    own = rank == 0
    away = np.where(own, 0, rank - 1) if type(rank) is np.ndarray else max(rank - 1, 0)
    block = np.where(own, lanes.bid, block_of_rank(op, lanes, away)) - lanes.run.first_block
    place = np.asarray(block * arena.stride + byte, np.int64)
    where: Any = int(place) if place.ndim == 0 else place
    return SimPointer(cluster_buffer(lanes.run.group), where)
