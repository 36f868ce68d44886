# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a run did, in numbers; and the errors that ended kernels."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field

from opencute.base.errors import SimulationError
from opencute.base.knobs import KNOBS
from opencute.base.location import Location
from opencute.base.log import warn
from opencute.ir.core import Op

__all__ = ["LineReport", "RunReport", "collecting", "doubt", "doubts", "note"]

_found: list[list[SimulationError]] = []
_doubts: list[str] = []


@contextlib.contextmanager
def collecting() -> Generator[list[SimulationError]]:
    """Everything that simulated kernels report from here on, also what the program catches."""
    mine: list[SimulationError] = []
    _found.append(mine)
    try:
        yield mine
    finally:
        _found.remove(mine)


def note(error: Exception) -> None:
    """A kernel ends with this error: it goes to those who collect such errors."""
    if isinstance(error, SimulationError):
        for each in _found:
            each.append(error)


def doubt(error: SimulationError) -> None:
    """What no manual promises, and yet works, published kernels do too: a warning, or, where
    OPENCUTE_SIM_STRICT asks for that, the error."""
    if KNOBS.sim_strict:
        raise error
    _doubts.append(error.code)
    warn(f"[{error.code}] {error.message}: {error.hint}", RuntimeWarning, error.loc)


def doubts() -> list[str]:
    """The codes of the warnings that checks have given in this process."""
    return _doubts[:]


@dataclass
class LineReport:
    """What one kind of access of one source line asked of memory.

    Args:
        loc: the line.
        verb: read, write or update.
        space: gmem, smem, or maps: tensor maps, wherever they are.
        width: bytes that an instruction moves for each thread; of a unit's copy, all of it.
        instructions: instructions of warps, or copies of units.
        bytes: bytes moved.
        sectors: 32-byte sectors of global memory.
        passes: passes over the banks of shared memory.
        conflicts: those of them that conflicts of banks cost.
    """

    loc: Location | None
    verb: str
    space: str
    width: int
    instructions: int = 0
    bytes: int = 0
    sectors: int = 0
    passes: int = 0
    conflicts: int = 0

    @property
    def waste(self) -> float:
        """How many times more sectors or passes than needed."""
        if self.passes:
            return self.passes / max(self.passes - self.conflicts, 1)
        return self.sectors * 32 / max(self.bytes, 1)


@dataclass
class RunReport:
    """Counts over everything that one `Simulator` ran.

    Args:
        launches: kernels launched.
        threads: threads that ran.
        lane_ops: operations times the lanes that executed them.
        splits: how often lanes that ran together parted.
        waits: how often lanes that ran together came to a barrier or wait that was not over yet.
        read_bytes: bytes read, by memory space; those of tensor maps by the space maps.
        written_bytes: bytes written, likewise.
        accesses: single reads and writes by (verb, space, bytes of the widest instruction).
        sectors: 32-byte sectors touched by warps, by (verb, space); only when asked for.
        lines: 128-byte lines touched by warps, likewise.
        passes: passes over the banks of shared memory, by verb, likewise.
        conflicts: those of them that conflicts of banks cost.
        by_line: the same for each source line, likewise.
        atomics: atomic operations of threads, by space.
        waits_by_line: the waits, by the line of the operation.
        max_lanes: the most lanes that ran together.
    """

    launches: int = 0
    threads: int = 0
    lane_ops: int = 0
    splits: int = 0
    waits: int = 0
    max_lanes: int = 0
    read_bytes: Counter[str] = field(default_factory=Counter[str])
    written_bytes: Counter[str] = field(default_factory=Counter[str])
    accesses: Counter[tuple[str, str, int]] = field(default_factory=Counter[tuple[str, str, int]])
    sectors: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    lines: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    passes: Counter[str] = field(default_factory=Counter[str])
    conflicts: Counter[str] = field(default_factory=Counter[str])
    atomics: Counter[str] = field(default_factory=Counter[str])
    waits_by_line: Counter[str] = field(default_factory=Counter[str])
    by_line: dict[tuple[str, str, str, int], LineReport] = field(
        default_factory=dict[tuple[str, str, str, int], LineReport]
    )

    def line(self, op: Op, verb: str, space: str, width: int) -> LineReport:
        """The counts of one kind of access of one line."""
        key = (str(op.loc), verb, space, width)
        found = self.by_line.get(key)
        if found is None:
            found = self.by_line[key] = LineReport(op.loc, verb, space, width)
        return found

    def add(self, other: RunReport) -> None:
        """Add the counts of another run."""
        for name in ("launches", "threads", "lane_ops", "splits", "waits"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.max_lanes = max(self.max_lanes, other.max_lanes)
        for name in (
            "read_bytes", "written_bytes", "accesses", "sectors", "lines", "passes", "conflicts",
            "atomics", "waits_by_line",
        ):  # fmt: skip
            getattr(self, name).update(getattr(other, name))
        for key, theirs in other.by_line.items():
            mine = self.by_line.setdefault(
                key, LineReport(theirs.loc, theirs.verb, theirs.space, theirs.width)
            )
            for name in ("instructions", "bytes", "sectors", "passes", "conflicts"):
                setattr(mine, name, getattr(mine, name) + getattr(theirs, name))
