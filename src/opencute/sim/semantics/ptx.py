# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`ptx`: special registers, barriers, fences and rests."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any, cast

import numpy as np

from opencute.base.errors import SimulationError
from opencute.dialects.ptx import BarRedOp
from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op
from opencute.sim.hopper.tma.map_fences import map_fences_of
from opencute.sim.lanes import Lanes
from opencute.sim.registry import Function, semantics
from opencute.sim.sync.barriers import BARRIERS, Arrival, barriers_of
from opencute.sim.sync.group import WARP
from opencute.sim.sync.shared import SHARED_BASE
from opencute.sim.values import dtype_of, wrap, wrap_array
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
    if "." in name:
        kind, axis = name.split(".")
        return _axis(lanes, kind, _AXES[axis])
    if name in _CLOCKS:
        run.group.clock_read = True
        run.clock += 1
        return run.clock * (1 if name != "globaltimer" else 32)
    if name.startswith("lanemask_"):
        return _lane_mask(lanes.tid % WARP, name[-2:])
    if name == "laneid":
        return lanes.tid % WARP
    if name == "warpid":
        return lanes.tid // WARP
    if name == "nwarpid":
        return -(-run.threads // WARP)
    if name == "cluster_ctarank":
        return _cluster_rank(lanes)
    if name == "cluster_nctarank":
        return run.cluster[0] * run.cluster[1] * run.cluster[2]
    if name == "smid":
        return lanes.bid % _PROCESSORS
    if name == "nsmid":
        return _PROCESSORS
    if name == "gridid":
        return run.report.launches
    return run.smem + (SHARED_BASE if name == "total_smem_size" else 0)


_CLOCKS = ("clock", "clock64", "globaltimer")
_PROCESSORS = 132


def _axis(lanes: Lanes, kind: str, k: int) -> Any:
    run = lanes.run
    if kind == "tid":
        return _coordinate(lanes.tid, run.block, k)
    if kind == "ntid":
        return run.block[k]
    if kind == "nctaid":
        return run.grid[k]
    if kind == "cluster_nctaid":
        return run.cluster[k]
    if kind == "nclusterid":
        return run.grid[k] // run.cluster[k]
    block = _coordinate(lanes.bid, run.grid, k)
    if kind == "clusterid":
        return block // run.cluster[k]
    return block % run.cluster[k] if kind == "cluster_ctaid" else block


def _cluster_rank(lanes: Lanes) -> Any:
    x, y, z = (_axis(lanes, "cluster_ctaid", k) for k in range(3))
    cx, cy, _ = lanes.run.cluster
    return x + cx * (y + cy * z)


def _lane_mask(lane: Any, which: str) -> Any:
    """Lanes equal to, before or after a lane, as bits of a signed 32-bit integer."""
    lane = lane.astype(np.int64) if type(lane) is np.ndarray else lane
    one = np.left_shift(1, lane) if type(lane) is np.ndarray else 1 << lane
    full = (1 << WARP) - 1
    bits = {"eq": one, "lt": one - 1, "le": 2 * one - 1}.get(which)
    if bits is None:
        bits = full - (2 * one - 1) if which == "gt" else full - (one - 1)
    return (
        wrap_array(bits.astype(np.uint32).view(np.int32), 32) if type(bits) is np.ndarray else bits
    )


@semantics("ptx.sreg", lanes=True)
def sreg(op: Op) -> Function:
    """A special register."""
    reg = op.attributes["reg"]
    assert isinstance(reg, StringAttr)
    name = reg.value
    dtype = dtype_of(op.results[0].type, op.loc)
    bits = dtype.itemsize * 8
    changes = name in _CLOCKS

    def read(lanes: Lanes) -> Any:
        value = None if changes else lanes.cache.get(name)
        if value is None:
            value = _value(lanes, name)
            value = value.astype(dtype) if type(value) is np.ndarray else wrap(int(value), bits)
            lanes.cache[name] = value
        return value

    return read


# ---------------------------------------------------------------------- barriers
def _bar_sinks(op: Op) -> list[tuple[int, str]]:
    return [(i, "a barrier") for i in range(len(op.operands))]


def _checked_name(op: Op, lanes: Lanes, name: Any, count: Any) -> None:
    if not 0 <= name < BARRIERS:
        raise SimulationError(
            f"there is no barrier {name}, {lanes.name((0, 0))}", code="OC3019", loc=op.loc,
            expected=f"0 to {BARRIERS - 1}", found=name,
        )  # fmt: skip
    if count is not None and (count <= 0 or count % WARP):
        raise SimulationError(
            f"barrier {name} cannot wait for {count} threads, {lanes.name((0, 0))}",
            code="OC3026", loc=op.loc, expected=f"a positive multiple of {WARP}", found=count,
        )  # fmt: skip


def _arrivals(
    op: Op, lanes: Lanes, name: Any, count: Any, *, wait: bool = True, pred: Any = None
) -> list[Arrival] | None:
    """Arrive, at one barrier or several; None if everybody is there."""
    barriers = barriers_of(lanes.run.group)
    if type(name) is not np.ndarray and type(count) is not np.ndarray:
        name, count = cast("tuple[int, int | None]", (name, count))
        _checked_name(op, lanes, name, count)
        if pred is None and barriers.meet(op, lanes, name, count):
            return None
        everyone = np.ones((lanes.P, lanes.Q), np.bool_)
        return [barriers.arrive(op, lanes, everyone, name, count, wait=wait, pred=pred)]
    names = lanes.full(np.atleast_2d(name))
    counts = lanes.full(np.atleast_2d(-1 if count is None else count))
    out: list[Arrival] = []
    for n, c in sorted(set(zip(names.ravel().tolist(), counts.ravel().tolist(), strict=True))):
        what = None if count is None else c
        _checked_name(op, lanes, n, what)
        who = (names == n) & (counts == c)
        out.append(barriers.arrive(op, lanes, who, n, what, wait=wait, pred=pred))
    return out


def _wait(op: Op, lanes: Lanes, arrivals: list[Arrival], results: Any = None) -> Any:
    """The results if all lanes may go on, else what they wait for."""

    def ready() -> Any:
        out = np.empty((lanes.P, lanes.Q), np.bool_)
        for a in arrivals:
            out[a.who] = a.passed()
        return True if out.all() else out

    def waiting() -> list[Arrival]:
        return [a for a in arrivals if not a.passed().all()]

    def missing() -> Any:
        return np.logical_or.reduce([a.missing() for a in waiting()])

    if ready() is True:
        return None if results is None else results()
    return Wait(op, ready, lambda: ", ".join(a.text() for a in waiting()), results, missing)


@semantics("ptx.bar_sync", lanes=True, blocking=True, sinks=_bar_sinks)
def bar_sync(op: Op) -> Function:
    """Wait until all threads of the block, or `count` of them, have arrived."""

    def run(lanes: Lanes, name: Any, count: Any = None) -> Wait | None:
        arrivals = _arrivals(op, lanes, name, count)
        return None if arrivals is None else _wait(op, lanes, arrivals)

    return run


@semantics("ptx.bar_arrive", lanes=True, sinks=_bar_sinks)
def bar_arrive(op: Op) -> Function:
    """Arrive, and go on."""

    def run(lanes: Lanes, name: Any, count: Any) -> None:
        _arrivals(op, lanes, name, count, wait=False)

    return run


@semantics("ptx.bar_red", lanes=True, blocking=True, sinks=_bar_sinks)
def bar_red(op: Op) -> Function:
    """Wait at a barrier, and combine a predicate of all threads that meet."""
    assert isinstance(op, BarRedOp)
    kind = op.op.value
    has_count = op.count is not None

    def run(lanes: Lanes, name: Any, *rest: Any) -> Any:
        count, pred = rest if has_count else (None, rest[0])
        arrivals = _arrivals(op, lanes, name, count, pred=np.atleast_2d(np.asarray(pred)))
        assert arrivals is not None

        def results() -> tuple[Any, ...]:
            out = np.empty((lanes.P, lanes.Q), np.int32 if kind == "popc" else np.bool_)
            for a in arrivals:
                held, asked = a.reduction()
                out[a.who] = {"popc": held, "or": held > 0, "and": held == asked}[kind]
            return (out,)

        return _wait(op, lanes, arrivals, results)

    return run


# ---------------------------------------------------------------------- order and time
@semantics("ptx.fence", lanes=True)
def fence(op: Op) -> Function:
    """Order this thread's accesses; in lock step they already are, so only the checker cares."""
    scope, sem = op.attributes["scope"], op.attributes["sem"]
    assert isinstance(scope, StringAttr) and isinstance(sem, StringAttr)

    def run(lanes: Lanes) -> None:
        if lanes.run.checker is not None:
            lanes.run.checker.fence(lanes, scope.value, sem.value)

    return run


@semantics("ptx.fence_proxy", lanes=True)
def fence_proxy(op: Op) -> Function:
    """Order accesses through different proxies; only the checker cares."""
    kind = op.attributes["kind"]
    assert isinstance(kind, StringAttr)
    to_async = kind.value.startswith("async")

    def run(lanes: Lanes, *ptr: Any) -> None:
        if lanes.run.checker is None:
            return
        if to_async:
            lanes.run.checker.proxy_fence(lanes)
        elif kind.value.startswith("tensormap"):
            map_fences_of(lanes.run.group).fence(lanes, kind.value, ptr[0] if ptr else None)

    return run


@semantics("ptx.nanosleep", lanes=True, sinks=((0, "a time"),))
def nanosleep(op: Op) -> Function:
    """Time passes; loops that wait for others let them run anyway."""

    def run(lanes: Lanes, time: Any) -> None:
        lanes.run.clock += int(time.max()) if type(time) is np.ndarray else time

    return run
