# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The warps of a warpgroup have to start the same products, in the same order.

They need not come together, so that what each has done is kept as a number, and compared when they
have started equally many, and when all threads have ended.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.sync.group import Group
from opencute.sim.values import Array

__all__ = ["Parties", "parties_of"]

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def parties_of(group: Group) -> Parties:
    """The warpgroups of the blocks that run together."""
    return group.state("warpgroups", Parties)


class Parties:
    """What the warps have started.

    Args:
        group: the blocks.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self.groups = -(-group.warps // 4)
        shape = group.blocks * self.groups * 4
        self.count: Array = np.zeros(shape, np.int64)
        self.history: Array = np.zeros(shape, np.uint64)
        self.ops: dict[int, Op] = {}
        self.numbers: dict[int, int] = {}
        group.on_end.append(self._end)

    def _warps(self, lanes: Lanes) -> Array:
        """The number of each warp, in order, counted by whole warpgroups."""
        found = lanes.cache.get("warps of parties")
        if found is None:
            warps = np.unique(self.group.warp_of(lanes))
            block, warp = np.divmod(warps, self.group.warps)
            found = lanes.cache["warps of parties"] = block * self.groups * 4 + warp
        return found

    def came(self, op: Op, lanes: Lanes, values: Sequence[Array]) -> None:
        """Warps start a product with some values, which are the same in all of their threads.

        Raises:
            SimulationError: the warps of a warpgroup have started different ones.
        """
        number = self.numbers.setdefault(id(op), len(self.numbers) + 1)
        self.ops[number] = op
        warps = self._warps(lanes)
        self.count[warps] += 1
        news = np.full(warps.size, number, np.uint64)
        for value in values:
            news = news * _FACTOR + value.astype(np.uint64)
        self.history[warps] = self.history[warps] * _FACTOR + news
        four = np.unique(warps // 4)
        count = self.count.reshape(-1, 4)[four]
        history = self.history.reshape(-1, 4)[four]
        together = (count == count[:, :1]).all(axis=1)
        bad = together & (history != history[:, :1]).any(axis=1)
        if bad.any():
            raise SimulationError(
                "the warps of a warpgroup start different products: "
                f"{self._name(int(four[bad][0]))}", code="OC3044", loc=op.loc,
                expected="one operation, with the same descriptors, in all four warps",
                hint="what the descriptors are made of must be the same for all 128 threads",
            )  # fmt: skip

    def _name(self, party: int) -> str:
        block, number = divmod(party, self.groups)
        return f"warpgroup {number} of block {block} of those that run together"

    def _end(self) -> None:
        if not self.group.ended.all() or not self.count.any():
            return
        count = self.count.reshape(-1, 4)
        bad = np.flatnonzero((count != count[:, :1]).any(axis=1))
        if bad.size:
            party = int(bad[0])
            op = self.ops[max(self.ops)]
            raise SimulationError(
                "not all warps of a warpgroup take part in its products: "
                f"{self._name(party)}", code="OC3045", loc=op.loc,
                expected="as many products in each of the four warps",
                found=", ".join(map(str, count[party].tolist())),
                hint="let the condition around them be the same for all 128 threads",
            )  # fmt: skip
