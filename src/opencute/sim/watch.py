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
