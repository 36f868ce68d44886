# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`ptx`: clusters of blocks and their shared memory, and what came with them."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.base.errors import RaceError, SimulationError
from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op
from opencute.ir.types import Type, VectorType, element_type
from opencute.sim.access import Access
from opencute.sim.hopper.agents import agents_of
from opencute.sim.hopper.clusters import cluster_barriers_of
from opencute.sim.hopper.dsmem import block_of_rank, peer_pointer
from opencute.sim.hopper.mbarriers import mbarriers_of
from opencute.sim.hopper.order import gathered
from opencute.sim.hopper.places import Places
from opencute.sim.hopper.tma.traffic import by_unit, known_of
from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.registry import Function, semantics
from opencute.sim.semantics.ptx_memory import Atomic
from opencute.sim.sync.async_copies import copies_of

__all__: list[str] = []


@semantics("ptx.mapa", lanes=True, sinks=((0, "an address"), (1, "a block of the cluster")))
def mapa(op: Op) -> Function:
    """The same place in another block's shared memory."""

    def run(lanes: Lanes, ptr: SimPointer, rank: Any) -> SimPointer:
        block = block_of_rank(op, lanes, rank) - lanes.run.first_block
        return peer_pointer(op, lanes, ptr, block)

    return run


def _word(op: Op, key: str) -> str:
    found = op.attributes[key]
    assert isinstance(found, StringAttr)
    return found.value


# ---------------------------------------------------------------------- barriers of clusters
@semantics("ptx.cluster_arrive", lanes=True)
def cluster_arrive(op: Op) -> Function:
    """Arrive, and go on."""
    release = _word(op, "sem") == "release"
    return lambda lanes: cluster_barriers_of(lanes).arrive(op, lanes, release=release)


@semantics("ptx.cluster_wait", lanes=True, blocking=True)
def cluster_wait(op: Op) -> Function:
    """Wait for the other threads of the cluster."""
    return lambda lanes: cluster_barriers_of(lanes).wait(op, lanes)


# ---------------------------------------------------------------------- launches, registers
@semantics("ptx.griddepcontrol", lanes=True)
def griddepcontrol(op: Op) -> Function:
    """Kernels of a stream run one after the other here; only the checker cares."""
    waits = _word(op, "action") == "wait"

    def run(lanes: Lanes) -> None:
        checker = lanes.run.checker
        if checker is None:
            return
        if not waits:
            checker.lets_start = True
        elif checker.earlier is not None:
            checker.earlier.waited(checker, lanes)

    return run


@semantics("ptx.setmaxnreg", lanes=True)
def setmaxnreg(op: Op) -> Function:
    """Registers have no limit here; all threads of a warp have to come."""

    def run(lanes: Lanes) -> None:
        group = lanes.run.group
        counts = np.bincount(group.warp_of(lanes), minlength=group.alive.size)
        apart = (counts > 0) & (counts < group.alive.ravel())
        if apart.any():
            raise SimulationError(
                f"ptx.setmaxnreg in a part of a warp, {lanes.name((0, 0))}", code="OC3017",
                loc=op.loc, hint="all threads of the warpgroup execute it together",
            )  # fmt: skip

    return run


# ---------------------------------------------------------------------- copies that arrive
@semantics("ptx.cp_async_mbarrier_arrive", lanes=True, sinks=((0, "an mbarrier"),))
def cp_async_mbarrier_arrive(op: Op) -> Function:
    """When the copies that were started before are complete, arrive."""
    places, noinc = Places(op), "noinc" in op.attributes

    def run(lanes: Lanes, ptr: SimPointer) -> None:
        group = lanes.run.group
        bars, copies, where = mbarriers_of(group), copies_of(group), places(lanes, ptr)
        if not noinc:
            bars.expect_arrivals(op, lanes, where)
        before = copies.started

        def perform() -> None:
            copies.finish(lanes, before)
            bars.arrive(op, lanes, where)

        agents_of(group).post(op, lanes, perform, name="cp.async")

    return run


# ---------------------------------------------------------------------- remote writes that count
def _bytes(type: Type) -> int:
    width: int = getattr(element_type(type), "width")  # noqa: B009 - every element type has it
    return width // 8 * (type.length if isinstance(type, VectorType) else 1)


def _flights(op: Op, lanes: Lanes, arena: Any, into: Any, size: int, where: Any) -> list[Any]:
    """For each lane the flight of what it sends; lanes of a warp that know the same and send to one
    barrier share one.

    It needs no proxy fence: the PTX ISA says of "st.async" and "red.async" that both are performed
    in the generic proxy.
    """
    checker = lanes.run.checker
    if checker is None:
        return []
    clocks, slots = checker.clocks, lanes.slot.ravel()
    rows = lanes.full(into).reshape(lanes.n, -1)
    warps = lanes.run.group.warp_of(lanes)
    same = (warps, where, clocks.row[slots], clocks.floor[slots], clocks.near[slots])
    which = np.unique(np.stack(same), axis=1, return_inverse=True)[1].reshape(-1)
    out: list[Any] = [None] * lanes.n
    for i in range(int(which.max()) + 1):
        mine = (which == i).nonzero()[0]
        agent = checker.agent(("st.async", int(where[mine[0]])), "st.async")
        checker.ordinary.add(agent)

        def start(part: Any, agent: int = agent) -> None:
            flight = checker.async_write(
                op, lanes.run, slots[part[:1]], arena, rows[part].ravel(), size, agent
            )
            for lane in part.tolist():
                out[lane] = flight

        try:
            start(mine)
        except RaceError:  # what only one of them knows is looked at one by one
            for lane in mine:
                start(np.array([lane]))
    return out


@semantics(
    "ptx.st_async", lanes=True, taint="memory", sinks=((0, "an address"), (2, "an mbarrier"))
)
def st_async(op: Op) -> Function:
    """Write later, then count the bytes. A unit does that: whoever waits knows what the thread had
    done when it sent them, and no more."""
    type = op.operands[1].type
    run = type.length if isinstance(type, VectorType) else 1
    vector = isinstance(type, VectorType)
    access = Access(op, element_type(type), vector=vector, run=run, align=256)
    places, size = Places(op), _bytes(type)

    def start(
        lanes: Lanes, ptr: SimPointer, value: Any, mbar: SimPointer, taints: Any = (None,) * 3
    ) -> None:
        group = lanes.run.group
        bars, where = mbarriers_of(group), lanes.full(places(lanes, mbar)).ravel()
        bars.named(op, lanes, where)
        into, slots = access.places(lanes, ptr, "write"), lanes.slot.ravel()
        flights = _flights(op, lanes, group.arena.whole, into, size, where)
        clocks = None if lanes.run.checker is None else lanes.run.checker.clocks
        sent = {
            int(bar): None if clocks is None else gathered(clocks, slots[where == bar])
            for bar in np.unique(where)
        }

        def perform() -> None:
            with by_unit(lanes.run):
                access.write(lanes, value, ptr)
                access.leave(lanes, ptr, taints[1])
            for bar in sent:
                mine = (where == bar).nonzero()[0]
                # All at once, unless a phase is over in between.
                parts = [mine] if bars.holds(op, bar, size * mine.size) else mine[:, None]
                for part in parts:
                    known = sent[bar]
                    if known is not None:
                        landed = dict.fromkeys(flights[i] for i in part.tolist())
                        known = known | (known_of(list(landed)) or {})
                    bars.complete_tx(bar, size * part.size, by=op, known=known)

        agents_of(group).post(op, lanes, perform, name=op.name)

    return start


_SENT = ((0, "an address"), (1, "a reduction"), (2, "an mbarrier"))


@semantics("ptx.red_async", lanes=True, sinks=_SENT)
def red_async(op: Op) -> Function:
    """Combine later, then count the bytes."""
    change = Atomic(op, _word(op, "op"), order=("relaxed", "cluster"))
    places, size = Places(op), _bytes(op.operands[1].type)

    def run(
        lanes: Lanes, ptr: SimPointer, value: Any, mbar: SimPointer, taints: Any = (None,) * 3
    ) -> None:
        group = lanes.run.group
        bars, where = mbarriers_of(group), places(lanes, mbar)
        change.access.places(lanes, ptr)  # what is wrong with the address is wrong now

        def perform() -> None:
            change(lanes, ptr, value)
            bars.complete(op, lanes, where, size)

        agents_of(group).post(op, lanes, perform, name=op.name)

    return run
