# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Watchers see every access to global memory: one counts transactions, one finds races.

A watcher is called after bounds and alignment are checked and before memory is touched, with the
byte offsets of all runs (lanes x runs) and, for a predicated access, which of them happen.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from opencute.base.errors import RaceError
from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.values import Array

__all__ = ["Races", "Transactions", "Watcher"]


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


class Transactions:
    """Counts the 32-byte sectors and 128-byte lines that each instruction of a warp touches."""

    def __init__(self, report: Any) -> None:
        self.report = report

    def __call__(
        self, lanes: Lanes, access: Any, verb: str, buffer: Any, offsets: Array, mask: Any
    ) -> None:
        """Count one access."""
        who, which, where = _spread(lanes, offsets, mask)
        threads = lanes.run.threads
        warps = -(-threads // 32)
        warp = who // threads * warps + who % threads // 32
        wide = min(access.width, access.need)
        pieces = access.width // wide
        for piece in range(pieces):
            address = buffer.base + where + piece * wide
            instruction = warp * int(which.max(initial=0) + 1) + which
            for size, counter in ((32, self.report.sectors), (128, self.report.lines)):
                keys = np.stack([instruction, address // size])
                counter[verb, buffer.space] += np.unique(keys, axis=1).shape[1]


class Races:
    """Finds two threads of a launch of which one writes what the other one touches.

    Only for kernels in which nothing waits: there no two accesses of different threads are ordered.
    One word for each byte says who wrote it last, and one who read it, with the operation.
    """

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.known: dict[int, int] = {}
        self.shadows: dict[int, tuple[Any, Array, Array]] = {}

    def _number(self, op: Op) -> int:
        n = self.known.get(id(op))
        if n is None:
            n = self.known[id(op)] = len(self.ops)
            self.ops.append(op)
        return n

    def __call__(
        self, lanes: Lanes, access: Any, verb: str, buffer: Any, offsets: Array, mask: Any
    ) -> None:
        """Compare one access with those before, and remember it."""
        known = self.shadows.get(id(buffer))
        if known is None:
            known = (buffer, np.zeros(buffer.size, np.int64), np.zeros(buffer.size, np.int64))
            self.shadows[id(buffer)] = known
        _, writers, readers = known
        who, _, where = _spread(lanes, offsets, mask)
        index = where[:, None] + np.arange(access.width)
        me = np.broadcast_to((who + 1)[:, None], index.shape)
        mine = me | (self._number(access.op) << 40)
        self._compare(lanes, access, verb, buffer, me, index, writers[index], "wrote")
        if verb == "write":
            self._compare(lanes, access, verb, buffer, me, index, readers[index], "read")
            writers[index] = mine
            self._compare(lanes, access, verb, buffer, me, index, writers[index], "wrote")
        else:
            # Of several readers one is enough: whoever writes next is another than one of them.
            before = readers[index]
            others = (before != 0) & ((before & _THREAD) != me)
            readers[index] = np.where(others, before | _SEVERAL, mine)

    def _compare(
        self, lanes: Lanes, access: Any, verb: str, buffer: Any, me: Array, index: Array,
        before: Array, did: str,
    ) -> None:  # fmt: skip
        other = before & _THREAD
        bad = (before != 0) & ((other != me) | (before & _SEVERAL != 0))
        if not bad.any():
            return
        at = tuple(np.argwhere(bad)[0])
        threads = lanes.run.threads
        describe = lanes.run.describe
        first, second = int(other[at]) - 1, int(me[at]) - 1
        if first == second:
            text = "other threads"
        else:
            text = describe(first // threads, first % threads)
        op = self.ops[(int(before[at]) >> 40) & 0xFFFFF]
        raise RaceError(
            f"{describe(second // threads, second % threads)} {verb}s byte {int(index[at])} of "
            f"{buffer.name!r}, which {text} {did} at {op.loc} with no order between them",
            code="OC3401",
            loc=access.op.loc,
        )


_THREAD = (1 << 40) - 1
_SEVERAL = 1 << 62
