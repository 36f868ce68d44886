# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`ptx`: special registers and barriers."""

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.registry import Function, semantics
from opencute.sim.values import dtype_of, wrap
from opencute.sim.wait import Wait

__all__: list[str] = []

_AXES = {"x": 0, "y": 1, "z": 2}


def _coordinate(linear: Any, extent: tuple[int, int, int], axis: int) -> Any:
    """One coordinate of a linear index, first axis fastest."""
    if extent[axis] == 1:
        return 0
    before = 1
    for e in extent[:axis]:
        before *= e
    out = linear // before if before > 1 else linear
    last = all(e == 1 for e in extent[axis + 1 :])
    return out if last else out % extent[axis]


def _value(lanes: Lanes, name: str) -> Any:
    run = lanes.run
    if name == "laneid":
        return lanes.tid % 32
    if name == "warpid":
        return lanes.tid // 32
    kind, axis = name.split(".")
    k = _AXES[axis]
    if kind == "ntid":
        return run.block[k]
    if kind == "nctaid":
        return run.grid[k]
    if kind == "tid":
        return _coordinate(lanes.tid, run.block, k)
    return _coordinate(lanes.bid, run.grid, k)


@semantics("ptx.sreg", lanes=True)
def sreg(op: Op) -> Function:
    """A special register."""
    reg = op.attributes["reg"]
    assert isinstance(reg, StringAttr)
    name = reg.value
    dtype = dtype_of(op.results[0].type, op.loc)

    def read(lanes: Lanes) -> Any:
        value = lanes.cache.get(name)
        if value is None:
            value = _value(lanes, name)
            value = value.astype(dtype) if type(value) is np.ndarray else wrap(int(value), 32)
            lanes.cache[name] = value
        return value

    return read


class _Barrier:
    """Threads that have arrived at a named barrier, and how often it has opened, by block."""

    def __init__(self, blocks: int) -> None:
        self.arrived = np.zeros(blocks, np.int64)
        self.generation = np.zeros(blocks, np.int64)


@semantics("ptx.bar_sync", lanes=True, blocking=True, sinks=((0, "a barrier's number"),))
def bar_sync(op: Op) -> Function:
    """Wait until all threads of the block, or `count` of them, have arrived."""
    has_count = len(op.operands) > 1

    def arrive(lanes: Lanes, name: Any, count: Any = None) -> Wait | None:
        run = lanes.run
        if type(name) is np.ndarray or type(count) is np.ndarray:
            name, count = (_one(op, lanes, v) for v in (name, count))
        expected = count if has_count else run.threads
        barrier = run.barriers.get(name)
        if barrier is None:
            barrier = run.barriers[name] = _Barrier(run.blocks)
        block = lanes.full(lanes.bid - run.first_block).astype(np.int64)
        barrier.arrived += np.bincount(block.ravel(), minlength=run.blocks)
        before = barrier.generation.copy()
        if (barrier.arrived > expected).any():
            raise SimulationError(
                f"more than {expected} threads arrive at barrier {name}: {lanes.name((0, 0))}",
                code="OC3009",
                loc=op.loc,
            )
        full = barrier.arrived == expected
        barrier.arrived[full] = 0
        barrier.generation[full] += 1

        def ready() -> Any:
            passed = (barrier.generation != before)[block]
            return True if passed.all() else passed

        if ready() is True:
            return None
        first = int(block.flat[0])
        return Wait(
            op,
            ready,
            lambda: f"barrier {name}: {int(barrier.arrived[first])} of {expected} threads arrived",
        )

    return arrive


def _one(op: Op, lanes: Lanes, value: Any) -> Any:
    if type(value) is not np.ndarray:
        return value
    if (value != value.flat[0]).any():
        raise SimulationError(
            f"{op.name}: threads that arrive together name different barriers or counts",
            code="OC3009",
            loc=op.loc,
        )
    return int(value.flat[0])
