# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What bulk copies read and write, as the checking mode sees it; without it, nothing.

A copy of some lanes is one flight for each lane and side. Flights start when the copy is issued and
land when it takes place; while it does, ordinary checks look away::

    traffic = Traffic(op, lanes, "a load of a tile")
    flights = traffic.start("write", lanes, arena, places, 16, keys)
    with by_unit(lanes.run):
        access.write(...)
    known_of(flights)                # what those who wait for it know then
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from opencute.ir.core import Op
from opencute.sim import faults
from opencute.sim.hopper.flights import read_at_once
from opencute.sim.lanes import Lanes
from opencute.sim.memory import RAW, SimPointer
from opencute.sim.values import Array

__all__ = ["Traffic", "by_unit", "known_of", "owned"]


class Traffic:
    """The flights of one copy.

    Args:
        op: the copy.
        lanes: who issues it.
        name: what messages call the unit.
    """

    def __init__(self, op: Op, lanes: Lanes, name: str) -> None:
        self.op, self.name = op, name
        self.checker: Any = lanes.run.checker

    def start(
        self, verb: str, lanes: Lanes, buffer: Any, places: Array, width: int, keys: Sequence[Any],
        inside: Array | None = None, sources: Array | None = None,
    ) -> list[Any]:  # fmt: skip
        """One flight for each lane, none without checks.

        Args:
            verb: read or write.
            lanes: who.
            buffer: the memory.
            places: of the runs, (P, Q) or (P, Q, runs).
            width: bytes of a run.
            keys: for each lane, what it is waited for by.
            inside: which runs are touched, None: all.
            sources: for each lane, what it writes comes from; the same may be written twice.
        """
        if self.checker is None:
            return []
        if verb == "read" and buffer.space == "gmem" and len(set(keys)) == 1:
            agent = self.checker.agent((self.name, keys[0]), self.name)
            mask = None if inside is None else lanes.full(inside)
            flight = read_at_once(
                self.checker, self.op, lanes, buffer, lanes.full(places), mask, width, agent
            )
            if flight is not None:
                return [flight]
        rows = lanes.full(places).reshape(lanes.n, -1)
        masks = None if inside is None else lanes.full(inside).reshape(lanes.n, -1)
        flights: list[Any] = []
        for i, (slot, key) in enumerate(zip(lanes.slot.ravel().tolist(), keys, strict=True)):
            where = rows[i] if masks is None else rows[i][masks[i]]
            if where.size == 0:
                continue
            agent = self.checker.agent((self.name, key), self.name)
            if sources is not None:
                name = self.op, int(sources[i]), int(where[0]), id(buffer)
                self.checker.sources[agent] = name
            flights.append(getattr(self.checker, f"async_{verb}")(
                self.op, lanes.run, np.array([slot]), buffer, where, width, agent
            ))  # fmt: skip
        return flights


def known_of(flights: Sequence[Any]) -> dict[int, int] | None:
    """Flights land; what those who wait for them come to know, None without checks."""
    if not flights:
        return None
    known: dict[int, int] = {}
    for flight in flights:
        for k, t in flight.land().items():
            known[k] = max(known.get(k, 0), t)
    return known


@contextmanager
def by_unit(run: Any) -> Generator[None, None, None]:
    """What is accessed in this block is not by threads: flights stand for it."""
    before = run.watchers
    run.watchers = [w for w in before if w is not run.checker]
    try:
        yield
    finally:
        run.watchers = before


def owned(lanes: Lanes, op: Op, ptr: SimPointer) -> SimPointer:
    """A pointer into the array that it points to."""
    if ptr.buffer is not RAW or type(ptr.offset) is np.ndarray:
        return ptr
    return faults.located(lanes, op, lanes.run.table, ptr.offset)
