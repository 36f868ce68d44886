# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Watchers see every access to memory that threads share: one counts transactions.

A watcher is called after bounds and alignment are checked and before memory is touched, with the
byte offsets of all runs (lanes x runs) and, for a predicated access, which of them happen.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from opencute.sim.lanes import Lanes
from opencute.sim.values import Array

__all__ = ["Transactions", "Watcher"]

_SECTOR = 32  # bytes of global memory that are moved together
_BANKS = 128  # bytes that the banks of shared memory give at once


class Watcher(Protocol):
    """What is told about each access."""

    def __call__(
        self, lanes: Lanes, access: Any, verb: str, buffer: Any, offsets: Array, mask: Any
    ) -> None:
        """Lanes are about to `verb` (read or write) runs of `access.width` bytes."""
        ...


def _spread(lanes: Lanes, offsets: Array, mask: Any) -> tuple[Array, Array, Array]:
    """Runs that happen: the thread, the number of the run, and the byte offset of each."""
    offsets = offsets if offsets.ndim == 3 else offsets[..., None]
    shape = (lanes.P, lanes.Q, offsets.shape[2])
    threads = lanes.run.threads
    thread = np.asarray(lanes.bid * threads + lanes.tid, np.int64)
    thread = thread.reshape(1, 1) if thread.ndim == 0 else thread
    who = np.broadcast_to(thread[..., None], shape)
    which = np.broadcast_to(np.arange(shape[2]), shape)
    where = np.broadcast_to(offsets, shape)
    if mask is not None:
        return who[mask], which[mask], where[mask]
    return who.ravel(), which.ravel(), where.ravel()


def _joined(access: Any, offsets: Array) -> dict[int, list[int]] | None:
    """The accesses that machine code makes of the runs of a tile: by their width, the runs that
    they begin with. It joins what lies side by side, whatever the order of the tile's modes, as far
    as the pointer's promised alignment goes. None where runs stay as they are."""
    width = access.width
    if access.joined <= width or offsets.ndim != 3 or offsets.shape[2] < 2 or width & (width - 1):
        return None
    first = offsets[:1, :1]
    places = (first - first[..., :1])[0, 0]
    if ((offsets - offsets[..., :1]) != places).any():
        return None
    order = np.argsort(places, kind="stable")
    found: dict[int, list[int]] = {}
    at = 0
    while at < order.size:
        begin, many = int(places[order[at]]), access.joined // width
        while many > 1 and not (
            begin % (many * width) == 0
            and at + many <= order.size
            and (places[order[at : at + many]] == begin + width * np.arange(many)).all()
        ):
            many //= 2
        found.setdefault(many * width, []).append(int(order[at]))
        at += many
    return found if max(found) > width else None


class Transactions:
    """Counts what the instructions of a warp ask of memory, in all and for each source line.

    Of global memory: the 32-byte sectors and 128-byte lines that an instruction touches. Of shared
    memory: the *passes* that its 32 banks of 4 bytes need, and how few would do without conflicts.
    An instruction of 8 bytes a thread goes in two halves of the warp, one of 16 in four quarters.
    What units copy (TMA, bulk copies) is counted by whole copies: the sectors and lines that one
    touches, and a pass for each 128 bytes of shared memory, as these choose the order of banks.
    Tensor maps are counted apart from what their copies move.
    """

    def __init__(self, report: Any) -> None:
        self.report = report

    def __call__(
        self, lanes: Lanes, access: Any, verb: str, buffer: Any, offsets: Array, mask: Any
    ) -> None:
        """Count one access."""
        if verb == "begin" or lanes.run.host:
            return
        if access.unit:
            self._copy(lanes, access, verb, buffer, offsets, mask)
            return
        joined = _joined(access, offsets) if mask is None else None
        if joined is None:
            self._count(lanes, access, verb, buffer, offsets, mask, access.width, access.need)
            return
        for width, runs in joined.items():
            self._count(lanes, access, verb, buffer, offsets[..., runs], None, width, width)

    def _count(
        self, lanes: Lanes, access: Any, verb: str, buffer: Any, offsets: Array, mask: Any,
        width: int, need: int,
    ) -> None:  # fmt: skip
        who, which, where = _spread(lanes, offsets, mask)
        if who.size == 0:
            return
        threads = lanes.run.threads
        lane = who % threads % 32
        warp = who // threads * -(-threads // 32) + who % threads // 32
        wide = min(width, need)
        instruction = warp * int(which.max(initial=0) + 1) + which
        line = self.report.line(access.op, verb, buffer.space, wide)
        for piece in range(width // wide):
            place = where + piece * wide
            line.instructions += np.unique(instruction).size
            line.bytes += place.size * wide
            if buffer.space == "smem":
                self._banks(line, verb, instruction, lane, place % buffer.arena.stride, wide)
            else:
                address = buffer.counted + place
                self._sectors(line, verb, buffer.space, instruction, address, wide)

    def _copy(
        self, lanes: Lanes, access: Any, verb: str, buffer: Any, offsets: Array, mask: Any
    ) -> None:
        who, _, where = _spread(lanes, offsets, mask)
        if who.size == 0:
            return
        width, runs = access.width, offsets.shape[2] if offsets.ndim == 3 else 1
        space = access.counted or buffer.space
        line = self.report.line(access.op, verb, space, runs * width)
        copies, counts = np.unique(who, return_counts=True)
        line.instructions += copies.size
        line.bytes += where.size * width
        if buffer.space == "smem":
            passes = int((-(-counts * width // _BANKS)).sum())
            self.report.passes[verb] += passes
            line.passes += passes
            return
        found: list[int] = []
        first = buffer.counted + where
        for size, counter in ((_SECTOR, self.report.sectors), (128, self.report.lines)):
            begin, end = first // size, (first + width - 1) // size
            steps = np.arange(int((end - begin).max()) + 1)
            there = begin[:, None] + steps
            keys = np.stack([np.broadcast_to(who[:, None], there.shape), there])
            found.append(np.unique(keys[:, there <= end[:, None]], axis=1).shape[1])
            counter[verb, space] += found[-1]
        line.sectors += found[0]
        line.needed += int((-(-counts * width // _SECTOR)).sum())

    def _sectors(
        self, line: Any, verb: str, space: str, instruction: Array, address: Array, wide: int
    ) -> None:
        # What several threads of a warp ask for is moved once.
        instruction, address = np.unique(np.stack([instruction, address]), axis=1)
        found: list[int] = []
        for size, counter in ((_SECTOR, self.report.sectors), (128, self.report.lines)):
            keys = np.stack([instruction, address // size])
            found.append(np.unique(keys, axis=1).shape[1])
            counter[verb, space] += found[-1]
        line.sectors += found[0]
        _, distinct = np.unique(instruction, return_counts=True)
        line.needed += int((-(-distinct * wide // _SECTOR)).sum())

    def _banks(
        self, line: Any, verb: str, instruction: Array, lane: Array, place: Array, wide: int
    ) -> None:
        words = max(wide // 4, 1)
        phase = instruction * words + lane // (32 // words)
        word = place[:, None] // 4 + np.arange(words)
        # One word is read once in a phase, however many lanes ask for it.
        span = int(word.max()) + 1
        asked = np.unique(phase[:, None] * span + word)
        _, most = _largest(asked // span * 32 + asked % span % 32)
        passes, ideal = int(most.sum()), int(most.size)
        self.report.passes[verb] += passes
        self.report.conflicts[verb] += passes - ideal
        line.passes += passes
        line.conflicts += passes - ideal


def _largest(key: Array) -> tuple[Array, Array]:
    """For keys ``group * 32 + bank``: the groups, and the most keys that are equal in each."""
    keys, counts = np.unique(key, return_counts=True)
    groups, start = np.unique(keys // 32, return_index=True)
    return groups, np.maximum.reduceat(counts, start)
