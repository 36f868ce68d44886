# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`ptx`: clusters of blocks and their shared memory."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.ir.core import Op
from opencute.sim import faults
from opencute.sim.hopper.dsmem import block_of_rank, cluster_buffer
from opencute.sim.lanes import Lanes
from opencute.sim.memory import RAW, SimPointer
from opencute.sim.registry import Function, semantics
from opencute.sim.sync.shared import SharedBuffer

__all__: list[str] = []


@semantics("ptx.mapa", lanes=True, sinks=((0, "an address"), (1, "a block of the cluster")))
def mapa(op: Op) -> Function:
    """The same place in another block's shared memory."""

    def run(lanes: Lanes, ptr: SimPointer, rank: Any) -> SimPointer:
        buffer, offset = ptr.buffer, ptr.offset
        if buffer is RAW:
            whole = lanes.run.group.arena.whole
            buffer, offset = whole, ptr.offset - whole.base
        if type(buffer) is not SharedBuffer:
            faults.not_shared(lanes, op)
        block = block_of_rank(op, lanes, rank) - lanes.run.first_block
        place = np.asarray(block * buffer.arena.stride + buffer.start + offset, np.int64)
        where: Any = int(place) if place.ndim == 0 else place
        return SimPointer(cluster_buffer(lanes.run.group), where)

    return run
