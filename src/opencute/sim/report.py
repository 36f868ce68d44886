# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a run did, in numbers; the errors that ended kernels; what of arrays kernels wrote."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np

from opencute.base.errors import SimulationError
from opencute.base.knobs import KNOBS
from opencute.base.location import Location
from opencute.base.log import warn
from opencute.base.words import singular
from opencute.ir.core import Op
from opencute.sim.memory import Buffer
from opencute.sim.values import Array

__all__ = [
    "Gap", "LineReport", "Reach", "Reached", "RunReport", "collecting", "doubt", "doubts", "note",
    "reaching", "watch_reach",
]  # fmt: skip

_reaches: list[Reach] = []
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


@dataclass(eq=False)
class Reached:
    """What kernels did with one array.

    Args:
        buffer: the array, as it first came.
        fresh: whether nothing had been written to it by then, as to `torch.empty`'s tensors.
        written: the bytes that kernels wrote.
        read: whether a kernel read any.
    """

    buffer: Buffer
    fresh: bool
    written: Array
    read: bool = False


@dataclass(frozen=True)
class Gap:
    """Elements that no kernel wrote, of an array of which kernels wrote others.

    Args:
        count: how many.
        total: of so many.
        first: the coordinate of the first.
        fresh: whether they hold nothing at all.
        read: whether a kernel read the array.
    """

    count: int
    total: int
    first: tuple[int, ...]
    fresh: bool
    read: bool

    def text(self, name: str) -> str:
        """A sentence about the array of this name."""
        what = "hold nothing" if self.fresh else "hold what the array held before"
        return singular(
            f"{self.count} of {self.total} elements of {name} were written by no kernel, and "
            f"{what}; the first is {list(self.first)}"
        )


class Reach:
    """What kernels do with the arrays that they get, over several launches.

    Example:
        >>> with reaching() as reach:
        ...     run()
        ... reach.gap(x.ctypes.data, x.shape, x.strides, x.itemsize)
    """

    def __init__(self) -> None:
        self.known: dict[tuple[int, int], Reached] = {}

    def watch(self, buffer: Buffer) -> None:
        """Note what is done with an array from here on."""
        key = buffer.base, buffer.size
        if key not in self.known:
            fresh = buffer.written is not None and not buffer.written.any()
            self.known[key] = Reached(buffer, fresh, np.zeros(buffer.size, np.bool_))
        buffer.reached = self.known[key]

    def gap(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], width: int
    ) -> Gap | None:
        """What no kernel wrote of an array; None if they wrote nothing of it, or all.

        Args:
            address: of its first element.
            shape: its extents.
            strides: in bytes.
            width: of an element, in bytes.
        """
        if 0 in shape:
            return None
        reach = [d * (n - 1) for n, d in zip(shape, strides, strict=True)]
        low = address + sum(min(r, 0) for r in reach)
        high = address + sum(max(r, 0) for r in reach) + width
        written = np.zeros(high - low, np.bool_)
        read, fresh = False, True
        for (base, size), each in self.known.items():
            begin, end = max(base, low), min(base + size, high)
            if begin < end:
                written[begin - low : end - low] |= each.written[begin - base : end - base]
                read, fresh = read or each.read, fresh and each.fresh
        if not written.any():
            return None
        bytes_ = np.lib.stride_tricks.as_strided(
            written[address - low :], (*shape, width), (*strides, 1), writeable=False
        )
        missing = ~bytes_.all(axis=-1)
        count = int(missing.sum())
        if count in (0, missing.size):
            return None
        first = np.unravel_index(int(missing.reshape(-1).argmax()), shape)
        return Gap(count, missing.size, tuple(int(i) for i in first), fresh, read)

    def gaps(self) -> list[str]:
        """Sentences about the arrays that look like results with a part forgotten: no kernel read
        them, and kernels wrote a part, of arrays that held something before the larger one."""
        out: list[str] = []
        for each in self.known.values():
            modes, buffer = each.buffer.tensor, each.buffer
            if modes is None or modes.bits % 8:
                continue
            width = modes.bits // 8
            strides = tuple(width * d for d in modes.strides)
            gap = self.gap(buffer.base + modes.begin, modes.shape, strides, width)
            if gap is None or gap.read or not (gap.fresh or 2 * gap.count <= gap.total):
                continue
            out.append(gap.text(buffer.name))
        return list(dict.fromkeys(out))


@contextlib.contextmanager
def reaching() -> Generator[Reach]:
    """Note what simulated kernels do with arrays, from here on."""
    mine = Reach()
    _reaches.append(mine)
    try:
        yield mine
    finally:
        _reaches.remove(mine)


def watch_reach(buffer: Buffer) -> None:
    """A kernel gets this array: it is watched if somebody asked for that, the last who did."""
    if _reaches:
        _reaches[-1].watch(buffer)


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
        needed: how few would hold the bytes, each counted once, that an instruction asks for.
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
    needed: int = 0
    passes: int = 0
    conflicts: int = 0

    @property
    def waste(self) -> float:
        """How many times more sectors or passes than needed; at least 1."""
        if self.passes:
            return self.passes / max(self.passes - self.conflicts, 1)
        return self.sectors / max(self.needed, 1)


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
            for name in ("instructions", "bytes", "sectors", "needed", "passes", "conflicts"):
                setattr(mine, name, getattr(mine, name) + getattr(theirs, name))
