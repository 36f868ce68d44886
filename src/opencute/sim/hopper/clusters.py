# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The barrier of each cluster of blocks, as PTX defines `barrier.cluster`.

All threads of the cluster that have not ended have to arrive; who has arrived waits before it
arrives again. In: arrivals and waits of lanes. Out: None, or a `Wait`.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.sim.hopper.order import Knowledge
from opencute.sim.lanes import Lanes
from opencute.sim.sync.clocks import distinct
from opencute.sim.sync.deadlock import describe_slots
from opencute.sim.sync.fences import CLUSTER
from opencute.sim.sync.group import WARP, Group
from opencute.sim.values import Array
from opencute.sim.wait import Wait

__all__ = ["ClusterBarriers", "cluster_barriers_of", "clusters_of_blocks"]


def clusters_of_blocks(run: Any) -> Array:
    """The number of the cluster of each block that runs, counted from 0 without gaps."""
    cx, cy, cz = run.cluster
    gx, gy, _ = run.grid
    block = run.first_block + np.arange(run.blocks)
    x, y, z = block % gx // cx, block // gx % gy // cy, block // gx // gy // cz
    number = x + (gx // cx) * (y + (gy // cy) * z)
    return np.unique(number, return_inverse=True)[1].reshape(-1)


def cluster_barriers_of(lanes: Lanes) -> ClusterBarriers:
    """The barriers of the clusters that run together."""
    run = lanes.run
    return run.group.state("cluster barriers", lambda g: ClusterBarriers(g, run))


class ClusterBarriers:
    """The barriers of the clusters that run together.

    Args:
        group: the blocks.
        run: the launch.
    """

    def __init__(self, group: Group, run: Any) -> None:
        self.group, self.run = group, run
        self.of_block = clusters_of_blocks(run)
        self.cluster = np.repeat(self.of_block, group.threads)
        count = int(self.of_block.max()) + 1
        self.phase = np.zeros(count, np.int64)
        self.known = [Knowledge() for _ in range(count)]
        self.here = np.zeros(group.ended.size, np.bool_)
        self.owes = np.zeros(group.ended.size, np.bool_)  # has arrived, and not waited
        self.target = np.zeros(group.ended.size, np.int64)
        self.last: Op | None = None
        group.on_end.append(self._settle)

    @property
    def checker(self) -> Any:
        """What looks after the order, in the checking mode."""
        checker = self.run.checker
        return None if checker is None else checker.mbarriers

    def arrive(self, op: Op, lanes: Lanes, *, release: bool) -> None:
        """Lanes arrive.

        Raises:
            SimulationError: one that has not waited since it arrived last.
        """
        slots = lanes.slot.ravel()
        again = slots[self.owes[slots]]
        if again.size:
            raise SimulationError(
                "threads arrive twice at the barrier of their cluster without waiting: "
                f"{describe_slots(self.run, np.sort(again))}",
                code="OC3038", loc=op.loc, hint="cluster_wait() comes between two arrivals",
            )  # fmt: skip
        if self.checker is not None:
            self._check_warps(op, lanes)
            for number in np.unique(self.cluster[slots]).tolist():
                mine = slots[self.cluster[slots] == number]
                if release:
                    self.checker.gather(self.known[number], mine)
                else:
                    self.checker.gather_fenced(self.known[number], mine)
                if self.run.cluster != (1, 1, 1):
                    begun = distinct(mine // self.group.threads)
                    self.checker.gather_starts(self.known[number], begun)
        self.here[slots] = self.owes[slots] = True
        self.target[slots] = self.phase[self.cluster[slots]] + 1
        self.last = op
        self._settle()
        self.group.changed()

    def _check_warps(self, op: Op, lanes: Lanes) -> None:
        """The instruction is one of whole warps."""
        group = self.group
        counts = np.bincount(group.warp_of(lanes), minlength=group.alive.size)
        apart = (counts > 0) & (counts < group.alive.ravel())
        if apart.any():
            block, warp = divmod(int(np.flatnonzero(apart)[0]), group.warps)
            slots = block * group.threads + np.arange(
                warp * WARP, min((warp + 1) * WARP, group.threads)
            )
            raise SimulationError(
                "a part of a warp comes to the barrier of its cluster: "
                f"{describe_slots(self.run, np.intersect1d(slots, lanes.slot.ravel()))}",
                code="OC3017", loc=op.loc, hint="all threads of the warp execute it together",
            )  # fmt: skip

    def _settle(self) -> None:
        for number in np.unique(self.cluster[self.here]).tolist():
            mine = self.cluster == number
            if (mine & ~self.here & ~self.group.ended).any():
                continue
            self.phase[number] += 1
            self.here[mine] = False
            if self.checker is not None:
                self.checker.phase_done(self.known[number])
            self.group.changed()

    def wait(self, op: Op, lanes: Lanes) -> Wait | None:
        """Wait for the others.

        Raises:
            SimulationError: a thread that has not arrived.
        """
        slots = lanes.slot.ravel()
        never = slots[~self.owes[slots]]
        if never.size:
            raise SimulationError(
                "threads wait at the barrier of their cluster without having arrived: "
                f"{describe_slots(self.run, np.sort(never))}",
                code="OC3039", loc=op.loc, hint="cluster_arrive() comes before cluster_wait()",
            )  # fmt: skip
        self.owes[slots] = False
        clusters, target = self.cluster[lanes.slot], self.target[lanes.slot]

        def ready() -> Any:
            out = self.phase[clusters] >= target
            return True if out.all() else out

        now = ready()
        if self.checker is not None:
            done = np.broadcast_to(now, lanes.slot.shape)
            for number in np.unique(clusters).tolist():
                mine = clusters == number
                if (mine & done).any():
                    self.checker.learn(self.known[number], lanes.slot[mine & done])
                if (mine & ~done).any():
                    self.known[number].waiting.append((lanes.slot[mine & ~done], CLUSTER))
        if now is True:
            return None
        return Wait(op, ready, lambda: self._text(clusters, target), None,
                    lambda: self._missing(clusters, target))  # fmt: skip

    def _waiting(self, clusters: Array, target: Array) -> list[int]:
        return np.unique(clusters[self.phase[clusters] < target]).tolist()

    def _text(self, clusters: Array, target: Array) -> str:
        parts: list[str] = []
        for number in self._waiting(clusters, target):
            mine = (self.cluster == number) & ~self.group.ended
            here = int((mine & self.here).sum())
            parts.append(f"the barrier of the cluster: {here} of {int(mine.sum())} threads arrived")
        return "; ".join(parts)

    def _missing(self, clusters: Array, target: Array) -> Array:
        waiting = np.isin(self.cluster, self._waiting(clusters, target))
        return waiting & ~self.here
