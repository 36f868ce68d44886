# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Stores by TMA from a ring of buffers in shared memory.

stores = pipeline.PipelineTmaStore.create(num_stages=4, producer_group=group)
...                                  # write a buffer; fence; meet
if warp_idx == 0:
    cute.copy(tma_atom, buffer, target)
    stores.producer_commit()
    stores.producer_acquire()        # the buffer after the next `num_stages - 1` is free
...                                  # meet
stores.producer_tail()
"""

from __future__ import annotations

from typing import Any

from opencute import cute
from opencute.lib.pipelines.agents import CooperativeGroup
from opencute.lib.pipelines.base import check_groups
from opencute.lib.pipelines.states import static_stages

__all__ = ["PipelineTmaStore", "TmaStoreFence"]


class TmaStoreFence:
    """Groups of stores that a thread has started; made for a ring of buffers.

    Args:
        num_stages: buffers of the ring; None: one.
    """

    def __init__(self, num_stages: int | None = None) -> None:
        self.num_stages = static_stages(1 if num_stages is None else num_stages)

    def arrive(self, *, loc: Any = None, ip: Any = None) -> None:
        """The stores since the last call are a group."""
        cute.arch.cp_async_bulk_commit_group()

    def wait(self, *, loc: Any = None, ip: Any = None) -> None:
        """Wait until so few groups still read that a buffer of the ring is free."""
        cute.arch.cp_async_bulk_wait_group(self.num_stages - 1, read=True)

    def arrive_and_wait(self, *, loc: Any = None, ip: Any = None) -> None:
        """Both."""
        self.arrive()
        self.wait()

    def tail(self, *, loc: Any = None, ip: Any = None) -> None:
        """Wait until no group reads any more, so that the block may end."""
        cute.arch.cp_async_bulk_wait_group(0, read=True)


class PipelineTmaStore:
    """A ring of buffers that TMA stores from; made by `create`.

    Args:
        sync_object: the groups of stores.
        num_stages: buffers.
        producer_group: who fills the buffers.
    """

    def __init__(
        self, sync_object: TmaStoreFence, num_stages: int, producer_group: CooperativeGroup
    ) -> None:
        self.sync_object = sync_object
        self.num_stages = num_stages
        self.producer_group = producer_group

    @staticmethod
    def create(
        *,
        num_stages: int,
        producer_group: CooperativeGroup,
        loc: Any = None,
        ip: Any = None,
    ) -> PipelineTmaStore:
        """A ring of buffers.

        Args:
            num_stages: buffers.
            producer_group: who fills them.

        Raises:
            ArgumentError: no such number of buffers.
        """
        check_groups(producer_group=producer_group)
        fence = TmaStoreFence(num_stages)
        return PipelineTmaStore(fence, fence.num_stages, producer_group)

    def producer_acquire(self, *, loc: Any = None, ip: Any = None) -> None:
        """Wait until the buffer that comes next may be written."""
        self.sync_object.wait()

    def producer_commit(self, *, loc: Any = None, ip: Any = None) -> None:
        """The stores that this thread has started since the last call belong to one buffer."""
        self.sync_object.arrive()

    def producer_tail(self, *, loc: Any = None, ip: Any = None) -> None:
        """Wait until all buffers are read, so that the block may end."""
        self.sync_object.tail()
