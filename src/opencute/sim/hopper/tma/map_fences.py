# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensor maps that kernels change: a release and an acquire stand between change and use.

Copies read maps through a proxy of their own. A map in global memory that somebody has written in
this launch may be used once the writer has released it (`fence.proxy.tensormap`, or the copy that
releases) and the block that uses it has acquired it, both after the write.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import numpy as np

from opencute.arch.tma import DESCRIPTOR_BYTES
from opencute.base.errors import RaceError
from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.sync.group import Group
from opencute.sim.sync.shadow import TIME

__all__ = ["MapFences", "map_fences_of"]


def map_fences_of(group: Group) -> MapFences:
    """The fences on tensor maps of the blocks that run together."""
    return group.state("map fences", MapFences)


class MapFences:
    """When maps were released and acquired (checking mode).

    Args:
        group: the blocks.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self.released = 0
        self.acquired: dict[tuple[int, int], int] = {}

    def fence(self, lanes: Lanes, kind: str, ptr: SimPointer | None) -> None:
        """Lanes execute a fence: `kind` is that of ``ptx.fence_proxy``."""
        checker = lanes.run.checker
        if checker is None:
            return
        now = checker.clocks.tick()
        if ".release." in kind or ptr is None:
            self.released = now
            return
        addresses = lanes.full(np.atleast_2d(np.asarray(ptr.address()))).ravel()
        blocks = lanes.slot.ravel() // self.group.threads
        for block, address in zip(blocks.tolist(), addresses.tolist(), strict=True):
            self.acquired[block, address] = now

    def check(self, op: Op, lanes: Lanes, ptr: SimPointer) -> None:
        """Lanes use maps.

        Raises:
            RaceError: one was changed, and not released or acquired since.
        """
        checker = lanes.run.checker
        if checker is None:
            return
        addresses = lanes.full(np.atleast_2d(np.asarray(ptr.address()))).ravel()
        blocks = lanes.slot.ravel() // self.group.threads
        for block, address in zip(blocks.tolist(), addresses.tolist(), strict=True):
            buffer = lanes.run.table.find(address)
            if buffer is None or buffer.space != "gmem" or buffer.read_only:
                continue
            shadow = checker.shadow(buffer)
            places = np.array([address - buffer.base])
            pieces = shadow.pieces(places, DESCRIPTOR_BYTES).ravel()
            words = shadow.writer[pieces] >> TIME
            written = int(words.max())
            if written == 0:
                continue
            missing = None
            if self.released < written:
                missing = "released"
            elif self.acquired.get((block, address), 0) < written:
                missing = "acquired"
            if missing is not None:
                writer = checker.ops[shadow.write_op[pieces[int(words.argmax())]]]
                raise RaceError(
                    f"{op.name}: the tensor map was changed at {writer.loc} and has not been "
                    f"{missing} since, {lanes.name((0, 0))}",
                    code="OC3408", loc=op.loc,
                    hint="cpasync.fence_tma_desc_release() after the change, "
                    "cpasync.fence_tma_desc_acquire(ptr) before the copy",
                )  # fmt: skip
