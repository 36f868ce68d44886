# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`ptx`: special registers and barriers."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import time
from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.registry import Function, semantics
from opencute.sim.values import Array, dtype_of, wrap
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
    if "." not in name:
        return _plain(lanes, name)
    kind, axis = name.split(".")
    k = _AXES[axis]
    if kind == "ntid":
        return run.block[k]
    if kind == "nctaid":
        return run.grid[k]
    if kind == "tid":
        return _coordinate(lanes.tid, run.block, k)
    if kind == "cluster_nctaid":
        return run.cluster[k]
    if kind == "nclusterid":
        return run.grid[k] // run.cluster[k]
    block = _coordinate(lanes.bid, run.grid, k)
    if kind == "clusterid":
        return block // run.cluster[k]
    return block % run.cluster[k] if kind == "cluster_ctaid" else block


def _plain(lanes: Lanes, name: str) -> Any:
    """A register without axes."""
    run = lanes.run
    x, y, z = run.cluster
    if name == "cluster_nctarank":
        return x * y * z
    if name == "cluster_ctarank":
        at = [_value(lanes, f"cluster_ctaid.{axis}") for axis in "xyz"]
        return at[0] + x * (at[1] + y * at[2])
    if name.startswith("lanemask_"):
        bit = 1 << (np.asarray(lanes.tid, np.int64) % 32)
        below = bit - 1
        mask = {"eq": bit, "lt": below, "le": below | bit, "ge": ~below, "gt": ~(below | bit)}
        out = (mask[name[-2:]] & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
        return out if out.ndim else int(out)
    return {
        "nwarpid": -(-run.threads // 32), "smid": 0, "nsmid": 1, "gridid": run.report.launches,
        "dynamic_smem_size": run.smem, "total_smem_size": run.smem,
    }[name]  # fmt: skip


_CLOCKS = ("clock", "clock64", "globaltimer")


@semantics("ptx.sreg", lanes=True)
def sreg(op: Op) -> Function:
    """A special register."""
    reg = op.attributes["reg"]
    assert isinstance(reg, StringAttr)
    name = reg.value
    dtype = dtype_of(op.results[0].type, op.loc)
    if name in _CLOCKS:
        bits = dtype.itemsize * 8
        return lambda lanes: wrap(time.perf_counter_ns(), bits)

    def read(lanes: Lanes) -> Any:
        value = lanes.cache.get(name)
        if value is None:
            value = _value(lanes, name)
            value = value.astype(dtype) if type(value) is np.ndarray else wrap(int(value), 32)
            lanes.cache[name] = value
        return value

    return read


def _bar_sinks(op: Op) -> list[tuple[int, str]]:
    return [(i, "a barrier's number") for i in range(len(op.operands))]


class _Barrier:
    """Threads that have arrived at a named barrier, and how often it has opened, by block."""

    def __init__(self, blocks: int) -> None:
        self.arrived = np.zeros(blocks, np.int64)
        self.generation = np.zeros(blocks, np.int64)


class _Arrival:
    """Lanes that have arrived at one barrier together.

    Args:
        op: the barrier's operation.
        lanes: the cohort they belong to.
        who: which lanes of the cohort.
        name: the barrier's number.
        count: threads that the barrier waits for.
    """

    def __init__(self, op: Op, lanes: Lanes, who: Array, name: int, count: int) -> None:
        run = lanes.run
        barrier = run.barriers.get(name)
        if barrier is None:
            barrier = run.barriers[name] = _Barrier(run.blocks)
        self.barrier, self.who, self.name, self.count = barrier, who, name, count
        self.blocks = lanes.full(lanes.bid - run.first_block)[who].astype(np.int64)
        self.before = barrier.generation.copy()
        barrier.arrived += np.bincount(self.blocks, minlength=run.blocks)
        if (barrier.arrived > count).any():
            raise SimulationError(
                f"more than {count} threads arrive at barrier {name}: "
                f"{lanes.name(tuple(np.argwhere(who)[0]))}",
                code="OC3009",
                loc=op.loc,
            )
        full = barrier.arrived == count
        barrier.arrived[full] = 0
        barrier.generation[full] += 1

    def passed(self) -> Array:
        """Which of the lanes may go on."""
        return (self.barrier.generation != self.before)[self.blocks]

    def text(self) -> str:
        """What is missing."""
        waiting = self.blocks[~self.passed()]
        arrived = int(self.barrier.arrived[waiting[0]]) if waiting.size else self.count
        return f"barrier {self.name}: {arrived} of {self.count} threads arrived"


@semantics("ptx.bar_sync", lanes=True, blocking=True, sinks=_bar_sinks)
def bar_sync(op: Op) -> Function:
    """Wait until all threads of the block, or `count` of them, have arrived."""

    def arrive(lanes: Lanes, name: Any, count: Any = None) -> Wait | None:
        if count is None:
            count = lanes.run.threads
        if type(name) is not np.ndarray and type(count) is not np.ndarray:
            everyone = np.ones((lanes.P, lanes.Q), np.bool_)
            arrivals = [_Arrival(op, lanes, everyone, name, count)]
        else:
            names, counts = lanes.full(np.atleast_2d(name)), lanes.full(np.atleast_2d(count))
            arrivals = [
                _Arrival(op, lanes, (names == n) & (counts == c), int(n), int(c))
                for n, c in sorted(set(zip(names.flat, counts.flat, strict=True)))
            ]

        def ready() -> Any:
            out = np.empty((lanes.P, lanes.Q), np.bool_)
            for a in arrivals:
                out[a.who] = a.passed()
            return True if out.all() else out

        if ready() is True:
            return None
        return Wait(
            op,
            ready,
            lambda: ", ".join(a.text() for a in arrivals if not a.passed().all()),
        )

    return arrive


@semantics("cute.smem_size", lanes=True)
def smem_size(op: Op) -> Function:
    """Dynamic shared memory of the launch."""
    return lambda lanes: lanes.run.smem
