# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What is said of an access that nothing orders with one before: who, where, and what to do.

In: an `AccessState` and which of its pieces. Out: the error, or the warning, that names both lines.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import NoReturn

from opencute.base.errors import RaceError
from opencute.ir.core import Op
from opencute.sim.faults import byte_name
from opencute.sim.report import doubt
from opencute.sim.sync.checks.state import AccessState
from opencute.sim.sync.clocks import AGENTS
from opencute.sim.sync.group import WARP

__all__ = ["Reports"]

_ATOMIC = ("ptx.atomic", "ptx.red", "ptx.cas")


class Reports(AccessState):
    """Messages about one access."""

    def _last_reader(self, i: int) -> Op:
        return self.checker.ops[int(self.shadow.last_read[self.pieces[i]]) & 0xFFFFFFFF]

    def _where(self, i: int) -> tuple[str, str, str]:
        """Who, at which byte, of what."""
        place = int(self.pieces[i]) << self.shadow.shift
        name = self.buffer.name
        if self.shadow.columns:
            name, place = self.buffer.arena.name_of(place)
        me = self._name(int(self.slots[i]) + self.first)
        return me, byte_name(self.buffer, place), name

    def _name(self, thread: int) -> str:
        if thread >= AGENTS:
            return self.checker.agents.name(thread)
        threads = self.clocks.threads
        return self.lanes.run.describe(thread // threads, thread % threads)

    def _race(self, i: int, who: int, did: str, op: Op) -> None:
        me, place, name = self._where(i)
        mine = int(self.slots[i]) + self.first
        verb = {"read": "reads", "update": "updates"}.get(self.verb, "writes")
        other = "other threads" if who < 0 else self._name(who)
        raise RaceError(
            f"{me} {verb} byte {place} of {name!r}, which {other} {did} at {op.loc} with no order "
            "between them",
            code="OC3401", loc=self.access.op.loc,
            hint=self._as_one(did, op) + self._hint(mine, who) + self._any_value(did, op),
        )  # fmt: skip

    def _any_value(self, did: str, op: Op) -> str:
        """What to say last of a plain read beside an atomic operation, as loops around a
        compare-and-swap begin with."""
        mine = self.verb == "read" and op.name in _ATOMIC
        if not mine and not (self.verb == "update" and did == "read"):
            return ""
        return (
            '; or, where any value serves, cute.arch.load(p, T, sem="relaxed", scope="gpu"): '
            "a plain read beside atomic operations is a race too"
        )

    def _as_one(self, did: str, op: Op) -> str:
        """What to say first of a line that reads and writes, as ``s[i] += 1`` does."""
        a, b = op.loc, self.access.op.loc
        if (did == "read") == (self.verb == "read") or a is None or b is None:
            return ""
        if (a.file, a.line, a.caller) != (b.file, b.line, b.caller):
            return ""
        return (
            "this line reads and writes in two steps; where threads add to one element, "
            "cute.arch.atomic_add does both in one; otherwise "
        )

    def _hint(self, mine: int, who: int) -> str:
        threads = self.clocks.threads
        alone = self.lanes.run.grid == (1, 1, 1)  # whoever it is, it is in the same block
        if (who < 0 and not alone) or (who >= 0 and mine // threads != who // threads):
            if self.shadow.columns:
                return (
                    "threads of a cluster are ordered by cluster_arrive() and cluster_wait(), or "
                    "by an mbarrier, whose arrivals and waits are for the own block where they do "
                    'not say otherwise: scope="cluster" for both, or fence_acq_rel_cluster() '
                    "before the arrival and after the wait, is of the cluster's scope"
                )
            return (
                "threads of different blocks are ordered by a release (or a fence and an atomic "
                "store) that the other one acquires, or by another launch"
            )
        if who >= 0 and mine % threads // WARP == who % threads // WARP:
            return "the threads are in one warp: sync_warp() or a barrier between the accesses"
        return (
            "the threads are in one block: a barrier, such as sync_threads(), between the accesses"
        )

    def _other_starter(self, op: Op, who: int, slot: int) -> str:
        """The thread of the same block that has started the same copy of a unit, if another one."""
        other = self.checker.starters.get((who, id(op)))
        threads = self.clocks.threads
        if op is not self.access.op or other is None or other == slot:
            return ""
        return self._name(other + self.first) if other // threads == slot // threads else ""

    def _not_waited(self, i: int, who: int) -> None:
        me, place, name = self._where(i)
        op = self.checker.ops[self.shadow.write_op[self.pieces[i]]]
        verb = {"read": "reads", "update": "updates"}.get(self.verb, "writes")
        mine = int(self.slots[i]) + self.first
        other = self._other_starter(op, who, int(self.slots[i])) if who >= AGENTS else ""
        if other:
            raise RaceError(
                f"{me} {verb} byte {place} of {name!r}, which {self._name(who)} writes, started at "
                f"{op.loc} by {other}",
                code="OC3402", loc=self.access.op.loc,
                hint="several threads start this copy, and one is meant: let one warp do it, if "
                "warp_idx() == 0, for a TMA copy by cute.copy, which elects a thread of each warp; "
                "or one thread, if thread_idx()[0] == 0, for a bulk copy",
            )  # fmt: skip
        if who >= AGENTS:
            raise RaceError(
                f"{me} {verb} byte {place} of {name!r}, which {self._name(who)} writes, started at "
                f"{op.loc}, without waiting until it has",
                code="OC3402", loc=self.access.op.loc,
                hint="wait for the mbarrier that counts its bytes, or for its group; where it is "
                "waited for, look at the count of bytes it expects, which has to be that of all "
                "its copies, and at the parity, that of the phase before lets a wait pass at once",
            )  # fmt: skip
        text = "the same thread" if mine == who else self._name(who)
        raise RaceError(
            f"{me} {verb} byte {place} of {name!r}, while a copy that {text} started at {op.loc} "
            "is still writing there",
            code="OC3402", loc=self.access.op.loc,
            hint="wait for the copy (cp_async_commit_group, cp_async_wait_group), and let a "
            "barrier follow before other threads read",
        )  # fmt: skip

    def _still_read(self, i: int, who: int, op: Op) -> NoReturn:
        me, place, name = self._where(i)
        raise RaceError(
            f"{me} writes byte {place} of {name!r}, which {self._name(who)} reads, started at "
            f"{op.loc}, without waiting until it has",
            code="OC3403", loc=self.access.op.loc,
            hint="wait for its group (cp_async_bulk_wait_group, warpgroup.wait_group), then let "
            "others know through a barrier",
        )  # fmt: skip

    def _others_waited(self, i: int, op: Op) -> None:
        """A warp's part of a product has ended, as only another warp has waited for.

        Why this only warns (PTX ISA, "wgmma.commit_group", "wgmma.wait_group"): a wait is for what
        the executing threads have committed, and a group takes what the executing warp has started,
        so that a warp is sure of its own part only; but there is one group for a warpgroup, and one
        instruction for its four warps, so that the whole of it may be meant. Published libraries
        let one thread of a warpgroup free a tile after its own wait, and GPUs show no difference.
        A kernel without the warning is right by either reading: each warp arrives, or the
        warpgroup meets before one thread does. OPENCUTE_SIM_STRICT makes it an error.
        """
        told = (id(self.access.op), id(op))
        if told in self.checker.told:
            return
        self.checker.told.add(told)
        me, place, name = self._where(i)
        doubt(RaceError(
            f"{me} writes byte {place} of {name!r}, which a product of a warpgroup read, started "
            f"at {op.loc}, and not all warps that started it have waited for it and said so",
            code="OC3410", loc=self.access.op.loc,
            hint="the manual lets each warp wait for its own: let each one arrive, or all meet, "
            "before one thread goes on for them",
        ))  # fmt: skip
