# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What the kernel before has touched, for one that may start before it has ended.

A kernel launched with `use_pdl` begins when all blocks of the one before have called
`griddepcontrol_launch_dependents`. Until `griddepcontrol_wait`, whatever that kernel writes may not
be there yet, and whatever it reads must not be changed. Kernels run one after the other here, so
the checking mode compares accesses with what the one before has touched::

    earlier = Earlier.of(checker, "first_kernel")       # when it has ended
    earlier.check(checker, lanes, access, "read", buffer, offsets, None)
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from opencute.base.errors import RaceError
from opencute.sim.lanes import Lanes
from opencute.sim.sync.clocks import AGENT, AGENTS, key
from opencute.sim.values import Array

__all__ = ["Earlier"]

_KEY = "the kernel before"


@dataclass(eq=False)
class _Touched:
    """What a kernel did to one array, by pieces of `1 << shift` bytes."""

    base: int
    size: int
    shift: int
    written: Array
    read: Array


@dataclass(eq=False)
class Earlier:
    """A kernel that may still run.

    Args:
        name: its symbol.
        arrays: what it touched.
    """

    name: str
    arrays: list[_Touched]

    @classmethod
    def of(cls, checker: Any, name: str) -> Earlier:
        """What a kernel that has ended touched in global memory."""
        arrays = [
            _Touched(b.base, b.size, s.shift, s.writer != 0, s.reader[0] != 0)
            for b, s in checker.shadows.values()
            if s.columns == 0
        ]
        return cls(name, arrays)

    def waited(self, checker: Any, lanes: Lanes) -> None:
        """Threads have waited for it to end."""
        agent = checker.agent(_KEY, _KEY)
        checker.clocks.learn(lanes.slot.ravel(), [{key(AGENT, agent - AGENTS): 1}])

    def check(
        self, checker: Any, lanes: Lanes, access: Any, verb: str, buffer: Any, offsets: Array,
        mask: Any,
    ) -> None:  # fmt: skip
        """Raise if lanes that have not waited use what it wrote, or change what it used.

        Raises:
            RaceError: they do.
        """
        low, high = buffer.base, buffer.base + buffer.size
        for array in self.arrays:
            if array.base < high and low < array.base + array.size:
                hit = self._hits(array, access, verb, buffer.base + offsets)
                if mask is not None:
                    hit = hit & mask
                if hit.any():
                    self._fail(checker, lanes, access, verb, buffer, hit)

    @staticmethod
    def _hits(array: _Touched, access: Any, verb: str, addresses: Array) -> Array:
        touched = array.written if verb == "read" else array.written | array.read
        out = np.zeros(addresses.shape, np.bool_)
        for address in (addresses, addresses + access.width - 1):
            place = address - array.base
            inside = (place >= 0) & (place < array.size)
            index = np.where(inside, place >> array.shift, 0)
            out |= inside & touched[np.minimum(index, touched.size - 1)]
        return out

    def _fail(
        self, checker: Any, lanes: Lanes, access: Any, verb: str, buffer: Any, hit: Array
    ) -> None:
        lane = hit if hit.ndim == 2 else hit.any(axis=2)
        slots = lanes.slot[np.broadcast_to(lane, (lanes.P, lanes.Q))]
        agent = np.full(slots.size, checker.agent(_KEY, _KEY))
        known = checker.clocks.knows(slots, agent, np.ones(slots.size, np.int64))
        if known.all():
            return
        threads = checker.clocks.threads
        slot = int(slots[~known][0])
        who = lanes.run.describe(checker.clocks.first_block + slot // threads, slot % threads)
        raise RaceError(
            f"{who} {verb}s {buffer.name!r}, which kernel {self.name!r} uses, without having "
            "waited until that has ended",
            code="OC3408", loc=access.op.loc,
            hint="the launch has use_pdl: cute.arch.griddepcontrol_wait() comes before the first "
            "use of what the kernel before writes",
        )  # fmt: skip
