# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks that end too early: while another block, or a unit, may still use their shared memory.

Each use from elsewhere is remembered; when all is over, somebody of the block must have known of
it, since otherwise nothing kept the block from ending before.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.base.errors import RaceError
from opencute.ir.core import Op
from opencute.sim.sync.clocks import AGENTS
from opencute.sim.sync.group import Group
from opencute.sim.values import Array

__all__ = ["Trailing"]


class Trailing:
    """Uses of blocks' shared memory from elsewhere.

    Args:
        checker: of the launch.
    """

    def __init__(self, checker: Any) -> None:
        self.checker = checker

    def start(self, group: Group) -> None:
        """Other blocks run from now on."""
        self.group = group
        self.uses: dict[tuple[int, int], tuple[int, Op, Any]] = {}

    def by_threads(self, op: Op, run: Any, slots: Array, blocks: Array) -> None:
        """Threads use the shared memory of blocks (of those that run), not all of them their own.

        Raises:
            RaceError: the block has ended.
        """
        group, first = self.group, self.checker.clocks.first_block * self.group.threads
        away = blocks != slots // group.threads
        if not away.any():
            return
        slots, blocks = slots[away], blocks[away]
        for pair in np.unique(np.stack([blocks, slots]), axis=1).T.tolist():
            block, slot = pair
            if group.alive[block].sum() == 0:
                self._fail(op, run, block, slot + first)
            self.uses[block, slot + first] = (self.checker.clocks.now, op, run)

    def by_unit(self, op: Op, run: Any, agent: int, blocks: Array, time: int) -> None:
        """A unit has used the shared memory of blocks."""
        for block in np.unique(blocks).tolist():
            self.uses[block, agent] = (time, op, run)

    def finish(self) -> None:
        """All blocks have ended.

        Raises:
            RaceError: one may have ended too early.
        """
        clocks, threads = self.checker.clocks, self.group.threads
        for (block, who), (time, op, run) in self.uses.items():
            slots = block * threads + np.arange(threads)
            known = clocks.knows(slots, np.full(threads, who), np.full(threads, time))
            if not known.any():
                self._fail(op, run, block, who)

    def _fail(self, op: Op, run: Any, block: int, who: int) -> None:
        clocks = self.checker.clocks
        name = run.describe(clocks.first_block + block, 0).split(", thread")[0]
        if who >= AGENTS:
            raise RaceError(
                f"{name} may end while {self.checker.agents.name(who)} still uses its shared "
                "memory",
                code="OC3407", loc=op.loc,
                hint="wait for it before the block ends (the mbarrier that counts its bytes, or "
                "cp_async_bulk_wait_group)",
            )  # fmt: skip
        other = run.describe(who // clocks.threads, who % clocks.threads)
        raise RaceError(
            f"{name} may end while {other} still uses its shared memory", code="OC3407",
            loc=op.loc,
            hint="cluster_arrive() and cluster_wait() at the end of the kernel keep all blocks of "
            "the cluster there",
        )  # fmt: skip
