# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`gpu`: launching kernels from a host function."""

from __future__ import annotations

from typing import Any

from opencute.dialects.gpu import LaunchFuncOp
from opencute.ir.attributes import SymbolAttr
from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.registry import Function, semantics

__all__: list[str] = []


def _sinks(op: Op) -> list[tuple[int, str]]:
    return [(i, "a kernel's launch") for i in range(len(op.operands))]


@semantics("gpu.launch_func", lanes=True, sinks=_sinks)
def launch_func(op: Op) -> Function:
    """Hand the launch to the run, which simulates it or passes it to a device."""
    assert isinstance(op, LaunchFuncOp)
    kernel = op.kernel
    assert isinstance(kernel, SymbolAttr)
    values = {v: i for i, v in reversed(list(enumerate(op.operands)))}
    where = {
        "grid": [values[v] for v in (op.grid_x, op.grid_y, op.grid_z)],
        "block": [values[v] for v in (op.block_x, op.block_y, op.block_z)],
        "cluster": [values[v] for v in (op.cluster_x, op.cluster_y, op.cluster_z) if v is not None],
        "args": [values[v] for v in op.args],
    }
    smem = None if op.smem is None else values[op.smem]
    stream = None if op.async_object is None else values[op.async_object]
    attributes = {k: v for k, v in op.attributes.items() if k not in _OWN}

    def launch(lanes: Lanes, *operands: Any) -> None:
        lanes.run.launch(
            op,
            kernel.path[-1],
            tuple(operands[i] for i in where["grid"]),
            tuple(operands[i] for i in where["block"]),
            tuple(operands[i] for i in where["cluster"]) or None,
            0 if smem is None else operands[smem],
            None if stream is None else operands[stream],
            [operands[i] for i in where["args"]],
            attributes,
        )

    return launch


_OWN = ("kernel", "operandSegmentSizes")


@semantics("cute.launch_event", lanes=True)
def launch_event(op: Op) -> Function:
    """Kernels run at once here: whoever waits for an event finds it fired."""
    return lambda lanes, event: None
