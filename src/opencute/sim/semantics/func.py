# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`func`: calls."""

from __future__ import annotations

from typing import Any

from opencute.ir.attributes import SymbolAttr
from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.registry import Function, semantics

__all__: list[str] = []


@semantics("func.call", lanes=True, taint="memory")
def call(op: Op) -> Function:
    """Run a function on the same lanes."""
    callee = op.attributes["callee"]
    assert isinstance(callee, SymbolAttr)
    name = callee.path[-1]

    def run(lanes: Lanes, *args: Any, taints: Any = (), track: bool = False) -> Any:
        out = lanes.run.call(lanes, op, name, args, taints)
        if track:
            return tuple(x for pair in out for x in pair)
        values = tuple(v for v, _ in out)
        return values[0] if len(values) == 1 else values

    return run
