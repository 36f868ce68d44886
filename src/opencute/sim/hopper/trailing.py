# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks that end too early: while another block, or a unit, may still use their shared memory;
and those that may not have begun when another one uses it.

Each use from elsewhere is remembered; when all is over, somebody of the block must have known of
it, since otherwise nothing kept the block from ending before. Stores that only read the block's own
memory are warned of, and no error: the manual asks for the wait, but published kernels leave it out
and GPUs run them right.

The first use from elsewhere by a thread asks whether it knows anything of the block: shared memory
is there from the block's beginning on, which the barrier of the cluster tells of, relaxed or not.
Uses of mbarriers, and units that count bytes on them, ask for more already: that the thread knows
them to be initialised.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.base.errors import RaceError
from opencute.ir.core import Op
from opencute.sim.report import doubt
from opencute.sim.sync.clocks import AGENTS, FREED, OVER, Row, distinct
from opencute.sim.sync.deadlock import describe_slots
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
        self.told: set[int] = set()

    def start(self, group: Group) -> None:
        """Other blocks run from now on."""
        self.group = group
        self.uses: dict[tuple[int, int], tuple[int, Op, Any]] = {}
        self.arrivals: dict[tuple[int, int], tuple[int, Op, Any, Any, int]] = {}
        self.reads: dict[tuple[int, int], tuple[int, Op, Any]] = {}

    def by_threads(
        self, op: Op, run: Any, slots: Array, blocks: Array, bar: Any = None
    ) -> None:  # fmt: skip
        """Threads use the shared memory of blocks (of those that run), not all of them their own.

        Args:
            op: the operation.
            run: the launch.
            slots: who.
            blocks: whose memory.
            bar: the mbarrier at which they arrive, if they do.

        Raises:
            RaceError: the block has ended, or may not have begun.
        """
        group, first = self.group, self.checker.clocks.first_block * self.group.threads
        away = blocks != slots // group.threads
        if not away.any():
            return
        slots, blocks = slots[away], blocks[away]
        for word in np.unique(blocks << 32 | slots).tolist():
            block, slot = word >> 32, word & 0xFFFFFFFF
            if group.alive[block].sum() == 0:
                self._fail(op, run, block, slot + first)
            now = self.checker.clocks.now
            if bar is None:
                if (block, slot + first) not in self.uses:
                    self._begun(op, run, block, slot)
                self.uses[block, slot + first] = (now, op, run)
            else:
                self.arrivals[block, slot + first] = (now, op, run, bar, bar.phase)

    def _begun(self, op: Op, run: Any, block: int, slot: int) -> None:
        """A thread uses the shared memory of another block for the first time.

        Raises:
            RaceError: it knows nothing of the block.
        """
        if self.checker.clocks.knows_of(slot, block):
            return
        raise RaceError(
            f"{self._block(run, block)} may not have begun when "
            f"{describe_slots(run, np.array([slot]))} uses its shared memory",
            code="OC3411", loc=op.loc,
            hint="cluster_arrive() and cluster_wait() come before the first use of other blocks' "
            "shared memory (cluster_arrive_relaxed() where nothing written is read)",
        )  # fmt: skip

    def by_unit(
        self, op: Op, run: Any, agent: int, blocks: list[int], time: int, *, writes: bool
    ) -> None:
        """A unit has used the shared memory of blocks."""
        uses = self.uses if writes else self.reads
        for block in blocks:
            uses[block, agent] = (time, op, run)

    def finish(self) -> None:
        """All blocks have ended.

        Raises:
            RaceError: one may have ended too early.
        """
        self._rows: dict[int, list[Row]] = {}
        for (block, who), (time, op, run) in self.uses.items():
            if not self._known(block, who, time, FREED if who >= AGENTS else OVER):
                self._fail(op, run, block, who)
        for (block, who), (time, op, run, bar, phase) in self.arrivals.items():
            if bar.awaited <= phase and not self._known(block, who, time, FREED):
                self._fail(op, run, block, who)
        for (block, who), (time, op, run) in self.reads.items():
            if not self._known(block, who, time, FREED):
                self._warn(op, run, block, who)

    def _known(self, block: int, who: int, time: int, kind: int) -> bool:
        """Whether some thread of a block knows of a use."""
        clocks, threads = self.checker.clocks, self.group.threads
        rows = self._rows.get(block)
        if rows is None:
            ids = distinct(clocks.row[block * threads : (block + 1) * threads])
            rows = self._rows[block] = [clocks.rows[i] for i in ids]
        if any(row.knows(clocks, who, kind) >= time for row in rows):
            return True
        if who >= AGENTS:
            return False
        slots = block * threads + np.arange(threads)  # its own threads know of it by barriers
        known = clocks.knows(slots, np.full(threads, who), np.full(threads, time), kind)
        return bool(known.any())

    def _block(self, run: Any, block: int) -> str:
        name: str = run.describe(self.checker.clocks.first_block + block, 0)
        return name.split(", thread")[0]

    def _warn(self, op: Op, run: Any, block: int, who: int) -> None:
        if id(op) in self.told:
            return
        self.told.add(id(op))
        doubt(RaceError(
            f"{self._block(run, block)} may end while {self.checker.agents.name(who)} still reads "
            "its shared memory",
            code="OC3407", loc=op.loc, hint="cp_async_bulk_wait_group before the block ends",
        ))  # fmt: skip

    def _fail(self, op: Op, run: Any, block: int, who: int) -> None:
        clocks = self.checker.clocks
        name = self._block(run, block)
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
