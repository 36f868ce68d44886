# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`ptx`: operations on mbarriers."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opencute.dialects.hopper.mbarrier import MBarrierArriveTokenOp
from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op
from opencute.ir.types import I32
from opencute.sim.hopper.mbarriers import MBarriers, mbarriers_of
from opencute.sim.hopper.places import Places
from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.registry import Function, semantics
from opencute.sim.sync.fences import OWN, reach

__all__: list[str] = []


def _word(op: Op, key: str) -> str:
    found = op.attributes[key]
    assert isinstance(found, StringAttr)
    return found.value


def _sinks(op: Op) -> list[tuple[int, str]]:
    return [(i, "an mbarrier") for i in range(len(op.operands))]


def _acquired(op: Op) -> int:
    """How far a wait acquires; -1: not at all."""
    return -1 if _word(op, "sem") == "relaxed" else reach(_word(op, "scope"), OWN)


def _selected(lanes: Lanes, pred: Any, values: Sequence[Any], do: Callable[..., Any]) -> None:
    """Run `do(lanes, *values)` for the lanes where `pred` holds."""
    if type(pred) is not np.ndarray:
        if pred:
            do(lanes, *values)
        return
    if pred.all():
        do(lanes, *values)
    elif pred.any():
        part, pick, _ = lanes.sub(pred)
        do(part, *map(pick, values))


def _bars(lanes: Lanes) -> MBarriers:
    return mbarriers_of(lanes.run.group)


@semantics("ptx.mbarrier_init", lanes=True, sinks=_sinks)
def init(op: Op) -> Function:
    """Make a barrier."""
    places = Places(op)

    def do(lanes: Lanes, ptr: SimPointer, count: Any) -> None:
        _bars(lanes).init(op, lanes, places(lanes, ptr), count)

    return lambda lanes, ptr, count, pred=True: _selected(lanes, pred, (ptr, count), do)


@semantics("ptx.mbarrier_inval", lanes=True, sinks=_sinks)
def inval(op: Op) -> Function:
    """End a barrier."""
    places = Places(op)
    return lambda lanes, ptr: _bars(lanes).inval(op, lanes, places(lanes, ptr))


@semantics("ptx.fence_mbarrier_init", lanes=True)
def fence(op: Op) -> Function:
    """Order the initialisation of barriers; only the checker cares."""

    def run(lanes: Lanes) -> None:
        if lanes.run.checker is not None:
            lanes.run.checker.mbarriers.fence(lanes)

    return run


@semantics("ptx.mbarrier_arrive", "ptx.mbarrier_arrive_token", lanes=True, sinks=_sinks)
def arrive(op: Op) -> Function:
    """Arrive, and let the phase expect bytes before."""
    places, kind = Places(op), _word(op, "kind")
    order = _word(op, "sem"), _word(op, "scope")
    drop, expects = "drop" in kind, kind.endswith("expect_tx")

    def do(lanes: Lanes, ptr: SimPointer, value: Any) -> Any:
        how = {"tx": value} if expects else {"count": value}
        where = places(lanes, ptr)
        return _bars(lanes).arrive(op, lanes, where, **how, drop=drop, order=order)

    if isinstance(op, MBarrierArriveTokenOp):
        return do
    return lambda lanes, ptr, value, pred=True: _selected(lanes, pred, (ptr, value), do)


@semantics("ptx.mbarrier_pending_count", lanes=True)
def pending_count(op: Op) -> Function:
    """What a token says."""

    def run(lanes: Lanes, token: Any) -> Any:
        count = _bars(lanes).pending_count(token)
        return count.astype(np.int32) if type(count) is np.ndarray else int(count)

    return run


@semantics("ptx.mbarrier_tx", lanes=True, sinks=_sinks)
def tx(op: Op) -> Function:
    """Bytes are expected, or have come."""
    places, expects = Places(op), _word(op, "kind") == "expect_tx"

    def do(lanes: Lanes, ptr: SimPointer, count: Any) -> None:
        bars, where = _bars(lanes), places(lanes, ptr)
        if expects:
            bars.expect_tx(op, lanes, where, count)
            return
        counts = lanes.full(np.atleast_2d(np.asarray(count)))
        bars.complete(op, lanes, where, counts, ("relaxed", ""))

    return lambda lanes, ptr, count, pred=True: _selected(lanes, pred, (ptr, count), do)


@semantics("ptx.mbarrier_test_wait", "ptx.mbarrier_try_wait", lanes=True, sinks=_sinks)
def test_wait(op: Op) -> Function:
    """Whether a phase is complete; loops that wait for it let others run."""
    places, acquired = Places(op), _acquired(op)
    parity = op.operands[1].type == I32

    def run(lanes: Lanes, ptr: SimPointer, phase: Any, time: Any = None) -> Any:
        where = places(lanes, ptr)
        return _bars(lanes).test(op, lanes, where, phase, parity=parity, acquired=acquired)

    return run


@semantics("ptx.mbarrier_wait", lanes=True, blocking=True, sinks=_sinks)
def wait(op: Op) -> Function:
    """Wait until a phase is complete."""
    places, acquired = Places(op), _acquired(op)
    parity = op.operands[1].type == I32

    def run(lanes: Lanes, ptr: SimPointer, phase: Any) -> Any:
        where = places(lanes, ptr)
        return _bars(lanes).wait(op, lanes, where, phase, parity=parity, acquired=acquired)

    return run
