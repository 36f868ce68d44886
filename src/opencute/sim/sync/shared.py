# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Shared memory: one arena for the blocks that run together, and the allocations in it.

A pointer into shared memory holds the bytes from the start of its allocation, which are the same in
all blocks; `SharedBuffer.places` turns them into places of the arena, where each block has a part
of its own. Bytes that nothing wrote are known, as are bytes that a copy in flight will write.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.sim.values import Array

__all__ = ["SHARED_BASE", "WINDOW", "Arena", "SharedBuffer"]

WINDOW = 0x6000_0000_0000_0000
"""Where generic addresses of shared memory begin; the low 24 bits are the shared address."""
SHARED_BASE = 1024
"""The shared address of a block's first byte; what lies below belongs to the system."""
_POISON = 0x7F


class Arena:
    """Shared memory of the blocks that run together.

    Args:
        blocks: how many.
        size: bytes that each has.
    """

    def __init__(self, blocks: int, size: int) -> None:
        self.blocks = blocks
        self.size = size
        self.stride = -(-size // 1024) * 1024
        self.raw: Array = np.full(blocks * self.stride, _POISON, np.uint8)
        self.written: Array = np.zeros(blocks * self.stride, np.bool_)
        self.views: dict[Any, Array] = {}
        self.allocations: dict[tuple[int, int, str], SharedBuffer] = {}
        self.whole = SharedBuffer(self, 0, size, "shared memory")
        self.spoilt = 0
        """Goes up whenever bytes become unknown again."""
        self.spoilers: Any = None
        """Where garbage comes from that was written here (`taint.Spoilers`)."""

    def allocation(self, start: int, size: int, name: str) -> SharedBuffer:
        """The buffer of the allocation at `start`."""
        key = start, size, name
        buffer = self.allocations.get(key)
        if buffer is None:
            buffer = self.allocations[key] = SharedBuffer(self, start, size, name)
        return buffer

    def name_of(self, place: int) -> tuple[str, int]:
        """The smallest allocation that a place of the arena is in, and the byte in it: a member
        of a struct rather than the struct."""
        byte = place % self.stride if self.stride else 0
        inside = [b for b in self.allocations.values() if b.start <= byte < b.start + b.size]
        # Of two that are as large, the later one, which is a member of the other.
        buffer = min(reversed(inside), key=lambda b: b.size, default=self.whole)
        return buffer.name, byte - buffer.start


class SharedBuffer:
    """One allocation, the same in all blocks.

    Args:
        arena: where it lies.
        start: its first byte in each block's part.
        size: its bytes.
        name: what messages call it.
    """

    __slots__ = ("_clean", "_reads", "arena", "base", "grain", "name", "size", "start", "written")
    space = "smem"
    part = every = None
    read_only = False
    reached = None

    def __init__(self, arena: Arena, start: int, size: int, name: str) -> None:
        self.arena = arena
        self.start = start
        self.grain = start | arena.stride
        """Its lowest bit divides what lies between a block's offsets and their places."""
        self.size = size
        self.name = name
        self.base = WINDOW + SHARED_BASE + start
        self.written = arena.written
        self._clean = -1
        self._reads = 0

    def clean(self, asked: bool) -> bool:
        """Whether all bytes are known to be written; from time to time that is found out anew.

        Args:
            asked: whether some bytes have just been found to be written.
        """
        arena = self.arena
        if self._clean == arena.spoilt:
            return True
        if asked:
            self._reads += 1
            if self._reads & (self._reads - 1) == 0 and arena.stride:
                part = self.written.reshape(arena.blocks, arena.stride)
                if part[:, self.start : self.start + self.size].all():
                    self._clean, self._reads = arena.spoilt, 0
        return False

    @property
    def raw(self) -> Array:
        """The bytes of the whole arena."""
        return self.arena.raw

    def items(self, dtype: Any) -> Array:
        """The arena as a list of items."""
        view = self.arena.views.get(dtype)
        if view is None:
            view = self.arena.views[dtype] = self.arena.raw.view(dtype)
        return view

    def rows(self, width: int) -> Array:
        """The arena as rows of `width` bytes."""
        view = self.arena.views.get(width)
        if view is None:
            raw = self.arena.raw
            view = raw[: raw.size // width * width].reshape(-1, width)
            self.arena.views[width] = view
        return view

    def origin(self, lanes: Any) -> Any:
        """Where the buffer begins in the arena, for each lane."""
        if self.arena.blocks == 1:
            return self.start
        own = lanes.cache.get("arena")
        if own is None:
            own = (lanes.bid - lanes.run.first_block) * self.arena.stride
            lanes.cache["arena"] = own
        return own + self.start

    def places(self, lanes: Any, offsets: Array) -> Array:
        """Places of the arena for byte offsets in the buffer."""
        origin = self.origin(lanes)
        if type(origin) is np.ndarray and offsets.ndim == 3:
            origin = origin[..., None]
        return offsets + origin

    def __repr__(self) -> str:
        return f"<{self.name}: {self.size} shared bytes at {self.start}>"
