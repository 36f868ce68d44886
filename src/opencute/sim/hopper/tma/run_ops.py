# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`ptx`: copies of runs of bytes by a unit of their own, and their groups."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.dialects.cute import PtrType
from opencute.dialects.hopper.bulk import BulkCopyOp, BulkReduceOp, BulkWaitOp
from opencute.ir.core import Op
from opencute.ir.types import I8
from opencute.sim.access import Access
from opencute.sim.hopper.agents import agents_of
from opencute.sim.hopper.places import Places
from opencute.sim.hopper.tma.completion import segments, targets_of
from opencute.sim.hopper.tma.groups import bulk_groups_of
from opencute.sim.hopper.tma.reductions import Reduction, map_reduction
from opencute.sim.hopper.tma.traffic import Traffic, by_unit, owned
from opencute.sim.lanes import Lanes
from opencute.sim.memory import RAW, SimPointer
from opencute.sim.registry import Function, semantics
from opencute.sim.taint import Taint, report
from opencute.sim.values import Array

__all__: list[str] = []

_ALIGN = 16


def _sinks(op: Op) -> list[tuple[int, str]]:
    return [(i, "a bulk copy") for i in range(len(op.operands))]


@dataclass(frozen=True)
class _Run:
    """One run of bytes from the start of a pointer; see `boxes.Runs`."""

    width: int
    starts: Array
    inside: Array | None = None


class _Sized:
    """Accesses to runs of as many bytes as an operand says."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.known: dict[int, Access] = {}

    def access(self, size: int) -> Access:
        """The access to a run."""
        found = self.known.get(size)
        if found is None:
            found = self.known[size] = Access(
                self.op, I8, vector=True, run=size, align=_ALIGN, unit=True
            )
        return found

    def by_size(self, lanes: Lanes, size: Any) -> Iterator[tuple[int, Lanes, Callable[[Any], Any]]]:
        """The sizes, with the lanes that have them.

        Raises:
            SimulationError: a size that is no multiple of 16.
        """
        if type(size) is not np.ndarray:
            self._check(lanes, int(size))
            yield int(size), lanes, lambda v: v
            return
        sizes = lanes.full(size)
        for n in np.unique(sizes).tolist():
            part, pick, _ = lanes.sub(sizes == n)
            self._check(part, n)
            yield n, part, pick

    def _check(self, lanes: Lanes, size: int) -> None:
        if size < 0 or size % _ALIGN:
            raise SimulationError(
                f"{self.op.name} of {size} bytes, {lanes.name((0, 0))}", code="OC3066",
                loc=self.op.loc, expected="a multiple of 16", found=size,
            )  # fmt: skip


class _ToShared(_Sized):
    """A copy to shared memory, which a barrier counts."""

    def __init__(self, op: BulkCopyOp | BulkReduceOp) -> None:
        super().__init__(op)
        self.places = Places(op)
        self.change: Reduction | None = None
        if isinstance(op, BulkReduceOp):
            self.change = Reduction(op, *map_reduction(op, op.op.value, op.type.value))

    def __call__(self, lanes: Lanes, *values: Any) -> None:
        groups = segments(self.op, values)
        (dst,), (src,), (size,), (bar,) = groups[:4]
        mask = groups[4] if isinstance(self.op, BulkCopyOp) else ()
        for n, part, pick in self.by_size(lanes, size):
            self._start(
                part, n, pick(dst), pick(src), pick(bar), pick(mask[0]) if mask else None
            )  # fmt: skip

    def _start(
        self, lanes: Lanes, size: int, dst: SimPointer, src: SimPointer, bar: SimPointer, mask: Any
    ) -> None:
        access = self.access(size)
        src = owned(lanes, self.op, src)
        targets = targets_of(self.op, self.places, lanes, dst, bar, mask)
        traffic = Traffic(self.op, lanes, "a bulk copy")
        if self.change is None:
            for target in targets:
                target.begin(access, traffic)
        keys = np.broadcast_to(targets[0].bars.reshape(-1)[:1], lanes.n).tolist()
        sources = _flights("read", lanes, access, src, traffic, keys)

        def perform() -> None:
            with by_unit(lanes.run):
                value, taint = access.read(lanes, src), access.garbage(lanes, src)
                for target in targets:
                    if self.change is None:
                        target.write(access, value, taint)
            for target in targets:
                if self.change is not None:
                    part = target.lanes
                    self.change(part, target.place, _whole(size), part.full(target.pick(value)))
                target.complete(size, sources)

        agents_of(lanes.run.group).post(self.op, lanes, perform, name="a bulk copy")


def _flights(
    verb: str, lanes: Lanes, access: Access, ptr: SimPointer, traffic: Traffic, keys: list[Any]
) -> list[Any]:
    """What is read or written at a pointer."""
    if traffic.checker is None or ptr.buffer is RAW:
        return []
    if ptr.buffer.space == "smem":
        arena = lanes.run.group.arena.whole
        places = access.places(lanes, ptr)
        return traffic.start(verb, lanes, arena, places, access.width, keys)
    access.within(lanes, ptr, verb)  # what is wrong with the address is wrong now
    places = np.atleast_2d(np.asarray(ptr.offset))
    return traffic.start(verb, lanes, ptr.buffer, places, access.width, keys)


def _whole(size: int) -> _Run:
    return _Run(_ALIGN, np.arange(0, size, _ALIGN)[None, None])


class _ToGlobal(_Sized):
    """A copy to global memory, which belongs to a group of its thread."""

    def __init__(self, op: BulkCopyOp | BulkReduceOp) -> None:
        super().__init__(op)
        self.change: Reduction | None = None
        if isinstance(op, BulkReduceOp):
            self.change = Reduction(op, *map_reduction(op, op.op.value, op.type.value))

    def __call__(self, lanes: Lanes, *values: Any) -> None:
        (dst,), (src,), (size,) = segments(self.op, values)[:3]
        for n, part, pick in self.by_size(lanes, size):
            self._start(part, n, pick(dst), pick(src))

    def _start(self, lanes: Lanes, size: int, dst: SimPointer, src: SimPointer) -> None:
        access = self.access(size)
        dst = owned(lanes, self.op, dst)
        held: list[tuple[Array, Taint | None]] = []

        def read() -> None:
            with by_unit(lanes.run):
                held.append((access.read(lanes, src), access.garbage(lanes, src)))

        def write() -> None:
            value, taint = held.pop()
            if taint is not None:
                report(lanes, taint, self.op, "a store to memory")
            if self.change is not None:
                self.change(lanes, dst, _whole(size), lanes.full(value))
                return
            with by_unit(lanes.run):
                access.write(lanes, value, dst)

        traffic = Traffic(self.op, lanes, "a bulk copy to global memory")
        groups = bulk_groups_of(lanes.run.group)
        copy = groups.start(self.op, lanes, read, write, "a bulk copy")
        keys = lanes.slot.ravel().tolist()
        copy.reads = _flights("read", lanes, access, src, traffic, keys)
        if self.change is None:
            copy.writes = _flights("write", lanes, access, dst, traffic, keys)


@semantics("ptx.bulk_copy", "ptx.bulk_reduce", lanes=True, sinks=_sinks)
def bulk_copy(op: Op) -> Function:
    """Start copying a run of bytes."""
    assert isinstance(op, BulkCopyOp | BulkReduceOp)
    type = op.dst.type
    to_global = isinstance(type, PtrType) and type.space == "gmem"
    return _ToGlobal(op) if to_global else _ToShared(op)


@semantics("ptx.bulk_prefetch", lanes=True, sinks=_sinks)
def bulk_prefetch(op: Op) -> Function:
    """Nothing to do."""
    return lambda lanes, *values: None


@semantics("ptx.bulk_commit", lanes=True)
def bulk_commit(op: Op) -> Function:
    """Close a group of copies."""
    return lambda lanes: bulk_groups_of(lanes.run.group).commit(lanes)


@semantics("ptx.bulk_wait", lanes=True)
def bulk_wait(op: Op) -> Function:
    """Let the copies take place that have to."""
    assert isinstance(op, BulkWaitOp)
    groups, read = op.groups.value, bool(op.read.value)
    return lambda lanes: bulk_groups_of(lanes.run.group).wait(lanes, groups, read)
