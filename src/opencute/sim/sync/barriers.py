# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The sixteen named barriers of each block, as PTX defines `bar` and `barrier`.

A barrier counts warps: a warp is there when all of its threads that have not ended are, and then
counts as 32 threads. Without a count, all warps of the block that have not ended have to come.

In: arrivals of lanes. Out: an `Arrival`, which says which lanes may go on.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.sim.lanes import Lanes
from opencute.sim.sync.deadlock import absent, describe_slots
from opencute.sim.sync.group import WARP, Group
from opencute.sim.values import Array

__all__ = ["BARRIERS", "Arrival", "Barriers", "barriers_of"]

BARRIERS = 16
_KEPT = 4  # phases whose reductions are kept


def barriers_of(group: Group) -> Barriers:
    """The barriers of the blocks that run together."""
    return group.state("barriers", Barriers)


class Barriers:
    """The barriers of the blocks that run together.

    Args:
        group: the blocks.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        shape = (BARRIERS, group.blocks)
        self.arrived = np.zeros(shape, np.int64)
        self.expected = np.zeros(shape, np.int64)
        self.open = np.zeros(shape, np.bool_)  # waits for all threads of the block
        self.generation = np.zeros(shape, np.int64)
        self.reduces = np.zeros(shape, np.bool_)
        self.here = np.zeros((*shape, group.warps), np.bool_)
        self.syncs = np.zeros((*shape, group.warps), np.bool_)  # here, and waiting
        self.part = np.zeros((*shape, group.warps), np.int64)
        self.held = np.zeros(shape, np.int64)  # threads whose predicate holds
        self.asked = np.zeros(shape, np.int64)
        self.results = np.zeros((BARRIERS, _KEPT, 2, group.blocks), np.int64)
        self.busy = [False] * BARRIERS
        self.last: list[Op | None] = [None] * BARRIERS
        self.checker: Any = None
        self.run: Any = None
        group.on_end.append(self._ended)

    # ------------------------------------------------------------------ arriving
    def meet(self, op: Op, lanes: Lanes, name: int, count: int | None) -> bool:
        """Whether lanes are all there is, and may pass at once."""
        group = self.group
        whole = lanes.n == group.blocks * group.threads and not self.busy[name]
        if not whole or (count is not None and count != group.warps * WARP):
            return False
        self.generation[name] += 1
        group.version += 1
        if lanes.run.checker is not None:
            lanes.run.checker.met(op, lanes, name)
        return True

    def arrive(
        self, op: Op, lanes: Lanes, who: Array, name: int, count: int | None,
        *, wait: bool = True, pred: Any = None,
    ) -> Arrival:  # fmt: skip
        """Lanes `who` (P, Q) arrive.

        Raises:
            SimulationError: what PTX does not allow: another count than those who are there said,
                more threads than that, the same warp twice, or a reduction mixed with others.
        """
        group, self.run, self.checker = self.group, lanes.run, lanes.run.checker
        flat = group.warp_of(lanes)[who.ravel()]
        counts = np.bincount(flat, minlength=group.alive.size).reshape(group.alive.shape)
        blocks: Array = np.asarray(counts.any(axis=1))
        want = group.warps * WARP if count is None else count
        self._check(op, name, counts, blocks, want, pred is not None)
        if self.checker is not None:
            self._check_aligned(op, name, counts, lanes, who)
            self.checker.arrived(op, self.run, name, counts > 0)
        self.expected[name, blocks] = want
        self.open[name, blocks] = count is None
        self.reduces[name, blocks] = pred is not None
        if pred is not None:
            held = np.bincount(flat, lanes.full(pred)[who], minlength=group.alive.size)
            self.held[name] += held.reshape(group.alive.shape).sum(axis=1).astype(np.int64)
            self.asked[name] += counts.sum(axis=1)
        self.part[name] += counts
        if wait:
            self.syncs[name] |= counts > 0
        self.busy[name], self.last[name] = True, op
        arrival = Arrival(self, lanes, who, name, want)
        over = self._settle(name)
        if over.any():
            raise self._error(
                op, name, f"more than {want} threads arrive at barrier {name}",
                (self.part[name] > 0) | (self.here[name] & over[:, None]), "OC3009",
            )  # fmt: skip
        group.version += 1
        return arrival

    def _check(
        self, op: Op, name: int, counts: Array, blocks: Array, want: int, reduces: bool
    ) -> None:
        here, part = self.here[name], self.part[name]
        pending = blocks & (here.any(axis=1) | part.any(axis=1))
        other = pending & (self.expected[name] != want)
        if other.any():
            expected = int(self.expected[name][other][0])
            raise self._error(
                op, name, f"barrier {name} is used with {want} threads while others wait at it "
                f"for {expected}", (counts > 0) & other[:, None], "OC3014",
            )  # fmt: skip
        again = (counts > 0) & here
        if again.any():
            raise self._error(
                op, name, f"a warp arrives again at barrier {name} before its phase is complete "
                f"({int(self.arrived[name][again.any(axis=1)][0])} of {want} threads are there)",
                again, "OC3015",
            )  # fmt: skip
        mixed = pending & (self.reduces[name] != reduces)
        if mixed.any():
            raise self._error(
                op, name, f"barrier {name} is used with and without a reduction at a time",
                (counts > 0) & mixed[:, None], "OC3016",
            )  # fmt: skip

    def _check_aligned(self, op: Op, name: int, counts: Array, lanes: Lanes, who: Array) -> None:
        group = self.group
        apart = (counts > 0) & (counts < group.alive)
        if not apart.any():
            return
        threads = self._threads(apart)
        slots = np.broadcast_to(lanes.slot, who.shape)[who]
        here = np.intersect1d(slots, threads)
        missing = np.setdiff1d(threads[~group.ended[threads]], slots)
        places, waiting = absent(self.run, here, missing)
        raise SimulationError(
            f"a part of a warp arrives at barrier {name}, the other threads are somewhere else: "
            f"{describe_slots(self.run, here)}{places}",
            code="OC3017", loc=op.loc,
            hint="the threads of a warp come to a barrier together: move it out of the branch, or "
            "let whole warps take the branch" if waiting is None
            else f"{waiting} waits for threads that have gone on: move it out of its branch, or "
            "give it the mask of those who come there",
        )  # fmt: skip

    def _error(self, op: Op, name: int, text: str, warps: Array, code: str) -> SimulationError:
        slots = self._threads(warps & (self.group.alive > 0))
        who = describe_slots(self.run, slots)
        other = self.last[name]
        hint = None
        if other is not None and other is not op and self.here[name].any():
            hint = f"others arrived at {other.loc}"
        return SimulationError(f"{text}: {who}", code=code, loc=op.loc, hint=hint)

    def _threads(self, warps: Array) -> Array:
        """Slots of the threads of some warps (blocks x warps)."""
        group = self.group
        each = np.repeat(warps, WARP, axis=1)[:, : group.threads]
        return np.flatnonzero(each.reshape(-1))

    # ------------------------------------------------------------------ completing
    def _ended(self) -> None:
        for name in range(BARRIERS):
            if self.busy[name]:
                self._settle(name)

    def _settle(self, name: int) -> Array:
        """Complete what is complete; returns the blocks in which too many have come."""
        group, here, part = self.group, self.here[name], self.part[name]
        full = (part > 0) & (part >= group.alive)
        if full.any():
            here |= full
            part[full] = 0
            self.arrived[name] += full.sum(axis=1) * WARP
        arrived, is_open = self.arrived[name], self.open[name]
        everyone = (here | (group.alive == 0)).all(axis=1) & here.any(axis=1)
        done = np.where(is_open, everyone, (arrived == self.expected[name]) & (arrived > 0))
        if done.any():
            self._complete(name, done)
        return ~is_open & (self.arrived[name] > self.expected[name])

    def _complete(self, name: int, done: Array) -> None:
        group = self.group
        if self.checker is not None:
            self._check_ended(name, done)
            self.checker.opened(name, done, self.here[name], self.syncs[name])
        phase = self.generation[name, done] % _KEPT
        blocks = np.flatnonzero(done)
        self.results[name, phase, 0, blocks] = self.held[name, done]
        self.results[name, phase, 1, blocks] = self.asked[name, done]
        self.held[name, done] = self.asked[name, done] = 0
        self.generation[name, done] += 1
        for array in (self.here, self.syncs, self.part, self.arrived, self.expected):
            array[name, done] = 0
        self.busy[name] = bool(self.here[name].any() or self.part[name].any())
        group.version += 1

    def _check_ended(self, name: int, done: Array) -> None:
        """In the checking mode, nobody may have ended before a barrier of the whole block."""
        group = self.group
        gone = group.ended.reshape(group.blocks, group.threads) & (done & self.open[name])[:, None]
        op = self.last[name]
        if gone.any() and op is not None:
            raise SimulationError(
                f"threads have ended without coming to barrier {name}, where all others of the "
                f"block wait: {describe_slots(self.run, np.flatnonzero(gone.reshape(-1)))}",
                code="OC3018", loc=op.loc,
                hint="let all threads of the block reach the barrier, or count the ones that do",
            )  # fmt: skip


class Arrival:
    """Lanes that have arrived at one barrier together.

    Args:
        barriers: where.
        lanes: the cohort they belong to.
        who: which lanes of the cohort, (P, Q).
        name: the barrier's number.
        count: threads that the barrier waits for.
    """

    def __init__(self, barriers: Barriers, lanes: Lanes, who: Array, name: int, count: int) -> None:
        self.barriers, self.who, self.name, self.count = barriers, who, name, count
        self.blocks = lanes.full(lanes.bid - lanes.run.first_block)[who].astype(np.int64)
        self.before = barriers.generation[name].copy()

    def passed(self) -> Array:
        """Which of the lanes may go on."""
        return (self.barriers.generation[self.name] != self.before)[self.blocks]

    def reduction(self) -> tuple[Array, Array]:
        """For each lane, threads whose predicate held, and threads that met."""
        phase = self.before[self.blocks] % _KEPT
        got = self.barriers.results[self.name, phase, :, self.blocks]
        return got[:, 0], got[:, 1]

    def text(self) -> str:
        """What is missing."""
        b = self.barriers
        waiting = self.blocks[~self.passed()]
        arrived = int(b.arrived[self.name][waiting[0]]) if waiting.size else self.count
        return f"barrier {self.name}: {arrived} of {self.count} threads arrived"

    def missing(self) -> Array:
        """A mask over all threads, of those of these blocks that have not come."""
        b, group = self.barriers, self.barriers.group
        blocks = np.zeros(group.blocks, np.bool_)
        blocks[self.blocks[~self.passed()]] = True
        warps = ~b.here[self.name] & (b.part[self.name] == 0) & blocks[:, None]
        return np.repeat(warps, WARP, axis=1)[:, : group.threads].reshape(-1)
