# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Thread and block indices, and other things that stand for one instruction."""

from __future__ import annotations

from typing import Any

from opencute.dialects import ptx
from opencute.lang.numbers import Int32

__all__ = [
    "FULL_MASK",
    "WARP_SIZE",
    "block_dim",
    "block_idx",
    "grid_dim",
    "index_in",
    "lane_idx",
    "thread_idx",
    "triple_in",
    "warp_idx",
]

WARP_SIZE = 32
FULL_MASK = 0xFFFFFFFF


def index_in(reg: str) -> Any:
    """A special register with an index or a count, as Int32."""
    out = Int32(ptx.sreg(reg))
    out.nonneg = out.is_index = True
    return out


def triple_in(name: str) -> tuple[Any, Any, Any]:
    """Special registers for x, y and z."""
    return index_in(f"{name}.x"), index_in(f"{name}.y"), index_in(f"{name}.z")


def thread_idx(*, loc: Any = None, ip: Any = None) -> tuple[Any, Any, Any]:
    """Index of the thread in its block: (x, y, z) as Int32."""
    return triple_in("tid")


def block_idx(*, loc: Any = None, ip: Any = None) -> tuple[Any, Any, Any]:
    """Index of the block in the grid: (x, y, z) as Int32."""
    return triple_in("ctaid")


def block_dim(*, loc: Any = None, ip: Any = None) -> tuple[Any, Any, Any]:
    """Threads per block: (x, y, z) as Int32."""
    return triple_in("ntid")


def grid_dim(*, loc: Any = None, ip: Any = None) -> tuple[Any, Any, Any]:
    """Blocks in the grid: (x, y, z) as Int32."""
    return triple_in("nctaid")


def lane_idx(*, loc: Any = None, ip: Any = None) -> Any:
    """Index of the thread in its warp, 0 to 31."""
    return index_in("laneid")


def warp_idx(*, loc: Any = None, ip: Any = None) -> Any:
    """Index of the warp in its block, counted over the linear thread index."""
    x, y, z = thread_idx()
    bx, by, _ = block_dim()
    return (x + bx * (y + by * z)) // WARP_SIZE
