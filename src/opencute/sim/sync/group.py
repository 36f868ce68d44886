# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The blocks that run together: who is still there, their shared memory, barriers and warps."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opencute.sim.sync.shared import Arena
from opencute.sim.values import Array

__all__ = ["WARP", "Group"]

WARP = 32


class Group:
    """State of the blocks that run together.

    Threads have a *slot*, their number among all of them, block by block; warps likewise.

    Args:
        blocks: how many.
        threads: threads that each has.
        smem: bytes of shared memory that each has.
    """

    def __init__(self, blocks: int, threads: int, smem: int = 0) -> None:
        self.blocks = blocks
        self.threads = threads
        self.warps = -(-threads // WARP)
        self.smem = smem
        self.arena = Arena(blocks, smem)
        self.version = 0
        """Goes up whenever something happens that a thread may be waiting for."""
        self.clock_read = False
        self.ended: Array = np.zeros(blocks * threads, np.bool_)
        full = np.full(self.warps, WARP)
        full[-1] = threads - (self.warps - 1) * WARP
        self.alive: Array = np.tile(full, (blocks, 1))
        """Threads of each warp that have not ended."""
        self.rest: dict[str, Any] = {}
        """State of the operations, by their names."""
        self.on_end: list[Callable[[], None]] = []

    def state(self, key: str, make: Callable[[Group], Any]) -> Any:
        """The state of one kind of operation, made when it is first needed."""
        found = self.rest.get(key)
        if found is None:
            found = self.rest[key] = make(self)
        return found

    def warp_of(self, lanes: Any) -> Array:
        """The warp of each lane, flat."""
        warp = lanes.cache.get("warp")
        if warp is None:
            slot = lanes.slot.ravel()
            block, thread = np.divmod(slot, self.threads)
            warp = lanes.cache["warp"] = block * self.warps + thread // WARP
        return warp

    def changed(self) -> None:
        """Something happened that a thread may be waiting for."""
        self.version += 1

    def end(self, lanes: Any) -> None:
        """These lanes have ended; those who waited for them may go on."""
        if lanes.n == self.ended.size:
            self.ended[:] = True
            self.alive[:] = 0
        else:
            self.ended[lanes.slot.ravel()] = True
            counts = np.bincount(self.warp_of(lanes), minlength=self.alive.size)
            self.alive -= counts.reshape(self.alive.shape)
        self.version += 1
        for settle in self.on_end:
            settle()
