# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.smem_*`: allocations of shared memory."""

from __future__ import annotations

from typing import Any

from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.sim.faults import smem_name
from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.registry import Function, semantics
from opencute.sim.tiles import int_attr

__all__: list[str] = []


@semantics("cute.smem_alloc", lanes=True)
def smem_alloc(op: Op) -> Function:
    """A pointer to an allocation, which is at the same place in every block."""
    start, size = int_attr(op, "offset"), int_attr(op, "bytes")
    name = smem_name(op)

    def run(lanes: Lanes) -> SimPointer:
        arena = lanes.run.group.arena
        if start + size > arena.size:
            raise SimulationError(
                f"an allocation of {size} bytes at {start} of shared memory does not fit",
                code="OC3021", loc=op.loc, expected=f"at most {arena.size} bytes for the launch",
                found=start + size, hint="ask for more with smem=... at the launch",
            )  # fmt: skip
        return SimPointer(arena.allocation(start, size, name), 0)

    return run


@semantics("cute.smem_size", lanes=True)
def smem_size(op: Op) -> Function:
    """Shared memory of the launch."""

    def run(lanes: Lanes) -> Any:
        return lanes.run.smem

    return run


@semantics("ptx.smem_base", lanes=True)
def smem_base(op: Op) -> Function:
    """The first byte of the block's shared memory."""
    return lambda lanes: SimPointer(lanes.run.group.arena.whole, 0)
