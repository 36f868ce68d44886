# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""``cutlass._mlir.dialects.nvvm``: single instructions that kernels call by MLIR's names."""

# What users pass may be anything, whatever the annotations say.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.dialects import arith, interop, ptx, ptx_warp, scf
from opencute.dialects.cute import PtrType
from opencute.dialects.hopper import mbarrier, tma
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Value
from opencute.ir.types import I8, I16, I32, I64
from opencute.lang.mlir.values import as_number, as_value

__all__ = [
    "CpAsyncBulkTensorGlobalToSharedClusterOp",
    "TMALoadMode",
    "barrier0",
    "elect_sync",
    "mbarrier_try_wait_parity_timelimit",
    "nanosleep",
]


class TMALoadMode(enum.Enum):
    """How a copy by a tensor map takes its coordinates."""

    TILE = "tile"
    IM2COL = "im2col"


def _place(ptr: Any, space: str, element: Any, align: int) -> Value:
    """A pointer of MLIR's bindings as one of the language."""
    return interop.from_llvm(as_value(ptr), PtrType(element, space, align))


def mbarrier_try_wait_parity_timelimit(
    addr: Any, phase_parity: Any, time_limit: Any, *, loc: Any = None, ip: Any = None
) -> Any:
    """Whether the phase of a barrier is complete, after a rest of so many nanoseconds at most."""
    place = _place(addr, "smem", I64, 8)
    parity, limit = as_value(phase_parity, I32), as_value(time_limit, I32)
    return as_number(mbarrier.mbarrier_try_wait(place, parity, limit))


def CpAsyncBulkTensorGlobalToSharedClusterOp(
    dstMem: Any,
    tmaDescriptor: Any,
    coordinates: Sequence[Any],
    mbar: Any,
    im2colOffsets: Sequence[Any] = (),
    *,
    multicastMask: Any = None,
    l2CacheHint: Any = None,
    mode: TMALoadMode = TMALoadMode.TILE,
    predicate: Any = None,
    loc: Any = None,
    ip: Any = None,
) -> None:
    """Start copying a tile to shared memory, where a condition holds.

    Args:
        dstMem: where to, in shared memory.
        tmaDescriptor: the tensor map.
        coordinates: of the tile, the contiguous mode first.
        mbar: the barrier that counts the bytes.
        im2colOffsets: for that mode.
        multicastMask: the blocks of the cluster that get the tile.
        l2CacheHint: a cache policy.
        mode: how the coordinates are meant.
        predicate: the condition.

    Raises:
        ArgumentError: no such mode.
    """
    if not isinstance(mode, TMALoadMode):
        raise ArgumentError(
            "no such mode of a tensor map", code="OC2227", found=repr(mode),
            expected=", ".join(f"TMALoadMode.{m.name}" for m in TMALoadMode),
        )  # fmt: skip
    operands = (
        _place(dstMem, "smem", I8, 128), _place(tmaDescriptor, "generic", I8, 128),
        _place(mbar, "smem", I64, 8), [as_value(c, I32) for c in coordinates],
    )  # fmt: skip
    options: dict[str, Any] = {
        "offsets": [as_value(o, I16) for o in im2colOffsets],
        "mask": None if multicastMask is None else as_value(multicastMask, I16),
        "cache": None if l2CacheHint is None else as_value(l2CacheHint, I64),
        "mode": mode.value,
    }
    if predicate is None:
        tma.tma_load(*operands, **options)
        return
    then, inside = new_block()
    with insert_at(inside):
        tma.tma_load(*operands, **options)
        scf.yield_()
    orelse, outside = new_block()
    with insert_at(outside):
        scf.yield_()
    scf.if_(as_value(predicate), (), then, orelse)


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
