# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Groups of threads that take turns, such as the warpgroups of a ping-pong kernel.

order = pipeline.PipelineOrder.create(
    barrier_storage=ptr, depth=2, length=2, group_id=warp_group_idx,
    producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 128),
)
order.wait()           # group 0 first
...                    # what only one group does at a time: stage 0, then stage 1, ...
order.arrive()         # the next group's turn
"""

from __future__ import annotations

from typing import Any

from opencute.lang.mathfns import max as max_
from opencute.lang.numbers import Int32
from opencute.lang.vectors import where
from opencute.lib.pipelines.agents import Agent, CooperativeGroup, PipelineOp
from opencute.lib.pipelines.barriers import MbarrierArray, agent_sync, barrier_row, init_all
from opencute.lib.pipelines.base import check_groups
from opencute.lib.pipelines.states import PipelineState, static_stages

__all__ = ["PipelineOrder"]


class PipelineOrder:
    """Turns of groups; made by `create`.

    Args:
        sync_object: a barrier for each stage and group.
        depth: stages that a turn has.
        length: groups.
        group_id: which group this thread belongs to.
        state: the stage.
    """

    def __init__(
        self,
        sync_object: MbarrierArray,
        depth: int,
        length: int,
        group_id: Any,
        state: PipelineState,
    ) -> None:
        self.sync_object = sync_object
        self.depth = depth
        self.length = length
        self.group_id = group_id
        self.state = state

    @staticmethod
    def create(
        *,
        barrier_storage: Any = None,
        depth: int,
        length: int,
        group_id: Any,
        producer_group: CooperativeGroup,
        defer_sync: bool = False,
        loc: Any = None,
        ip: Any = None,
    ) -> PipelineOrder:
        """Turns whose barriers are made; all threads of the block take part.

        Args:
            barrier_storage: a pointer to 8 bytes of shared memory per stage and group, allocated if
                None.
            depth: stages that a turn has, each with an order of its own.
            length: groups.
            group_id: the group of this thread, 0 to length - 1; any other number for threads that
                take no turns.
            producer_group: the threads of one group.
            defer_sync: the kernel itself meets before it uses the turns.

        Raises:
            ArgumentError: no such number of stages or groups.
        """
        check_groups(producer_group=producer_group)
        depth, length = static_stages(depth), static_stages(length)
        row = MbarrierArray(
            barrier_row(barrier_storage, depth * length), depth * length,
            (PipelineOp.AsyncThread, producer_group),
        )  # fmt: skip
        # The first group's turn begins at once: its barriers' first phase counts as complete.
        group = Int32(group_id)
        first = where(group == 0, Int32(1), Int32(0)) if group.is_dynamic else int(group == 0)
        order = PipelineOrder(row, depth, length, group, PipelineState(depth, 0, 0, first))
        init_all((row,))
        if not defer_sync:
            agent_sync(Agent.ThreadBlock)
        return order

    def get_barrier_for_current_stage_idx(
        self, group_id: Any, *, loc: Any = None, ip: Any = None
    ) -> Any:
        """The index of a group's barrier of the present stage.

        Args:
            group_id: the group.
        """
        if self.depth == 1:
            return group_id
        return self.state.index * self.length + group_id

    def wait(self, *, loc: Any = None, ip: Any = None) -> None:
        """Wait for this group's turn."""
        index = self.get_barrier_for_current_stage_idx(max_(self.group_id, 0))
        self.sync_object.wait(index, self.state.phase)

    def arrive(self, *, loc: Any = None, ip: Any = None) -> None:
        """This group's turn is over; the next group's begins."""
        following = self.group_id + 1
        if following.is_dynamic:
            following = where(following == self.length, Int32(0), following)
        else:
            following = following % self.length
        self.sync_object.arrive(self.get_barrier_for_current_stage_idx(following))
        self.state.advance()
