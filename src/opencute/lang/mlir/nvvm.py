# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""``cutlass._mlir.dialects.nvvm``: single instructions that kernels call by MLIR's names."""

from __future__ import annotations

from typing import Any

from opencute.dialects import arith, ptx, ptx_warp
from opencute.ir.types import I32
from opencute.lang.mlir.values import as_number, as_value

__all__ = ["barrier0", "elect_sync", "nanosleep"]


def elect_sync(
    *, membermask: Any = 0xFFFFFFFF, results: Any = None, loc: Any = None, ip: Any = None
) -> Any:
    """Whether this thread is the one that is elected among those of a mask."""
    _, elected = ptx_warp.elect_sync(as_value(membermask, I32))
    return as_number(elected)


def barrier0(*, loc: Any = None, ip: Any = None) -> None:
    """Wait for all threads of the block."""
    ptx.bar_sync(arith.constant(0, I32))


def nanosleep(duration: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Rest for about some nanoseconds."""
    ptx.nanosleep(as_value(duration, I32))
