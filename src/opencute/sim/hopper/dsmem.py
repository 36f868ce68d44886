# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Shared memory of other blocks of a cluster.

A pointer into it holds a place of the arena of all blocks that run together, so that it means the
same for whoever has it. It keeps the array that it was made of, so that an access beyond that is
found as it is at home.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.sim import faults
from opencute.sim.lanes import Lanes
from opencute.sim.memory import RAW, SimPointer
from opencute.sim.sync.group import Group
from opencute.sim.sync.shared import SHARED_BASE, Arena, SharedBuffer
from opencute.sim.values import Array

__all__ = [
    "CLUSTER_WINDOW",
    "ClusterBuffer",
    "block_of_rank",
    "cluster_buffer",
    "far_address",
    "peer_pointer",
    "to_far_pointer",
]

CLUSTER_WINDOW = 0x6800_0000_0000_0000
"""Where generic addresses of the shared memory of all blocks begin."""


class ClusterBuffer:
    """The shared memory of all blocks that run together.

    Args:
        arena: where it lies.
        part: the allocation that pointers are into, of whichever block; None: any place.
        every: the same memory without such a bound.
    """

    __slots__ = ("arena", "base", "every", "name", "part", "size", "written")
    space = "smem"
    read_only = False
    reached = None

    def __init__(
        self, arena: Arena, part: SharedBuffer | None = None, every: ClusterBuffer | None = None
    ) -> None:
        self.arena, self.part = arena, part
        self.every = self if every is None else every
        self.base = CLUSTER_WINDOW
        self.size = arena.raw.size
        self.name = "shared memory of the cluster" if part is None else part.name
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

    def beyond(self, places: Array, width: int) -> Array:
        """Which runs of bytes leave the allocation, of those that are in the arena."""
        part = self.part
        if part is None or not self.arena.stride:
            return np.zeros(np.shape(places), np.bool_)
        inside = places % self.arena.stride - part.start
        return (inside < 0) | (inside > part.size - width)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.size} bytes>"


def cluster_buffer(group: Group) -> ClusterBuffer:
    """The buffer that pointers to the memory of other blocks are into."""
    return group.state("cluster memory", lambda g: ClusterBuffer(g.arena))


def peer_pointer(op: Op, lanes: Lanes, ptr: SimPointer, block: Any) -> SimPointer:
    """The same place as a pointer into the own shared memory, in another block.

    Args:
        op: the operation, for messages.
        lanes: who has the pointer.
        ptr: the pointer.
        block: the block, of those that run together.

    Raises:
        OutOfBoundsError: not a pointer to shared memory.
    """
    buffer, offset = ptr.buffer, ptr.offset
    if buffer is RAW:
        whole = lanes.run.group.arena.whole
        buffer, offset = whole, ptr.offset - whole.base
    if type(buffer) is not SharedBuffer:
        faults.not_shared(lanes, op)
    place = np.asarray(block * buffer.arena.stride + buffer.start + offset, np.int64)
    where: Any = int(place) if place.ndim == 0 else place
    return SimPointer(_bounded(lanes.run.group, buffer), where)


def _bounded(group: Group, part: SharedBuffer) -> ClusterBuffer:
    """The buffer of pointers to an allocation of other blocks."""
    every = cluster_buffer(group)
    if part is every.arena.whole:
        return every
    known: dict[int, ClusterBuffer] = group.state("cluster allocations", lambda _: {})
    found = known.get(id(part))
    if found is None:
        found = known[id(part)] = ClusterBuffer(every.arena, part, every)
    return found


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
