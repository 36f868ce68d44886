# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Pipelines between threads: producers write buffers, consumers read them.

pipe = pipeline.PipelineAsync.create(
    num_stages=4, producer_group=producers, consumer_group=consumers, barrier_storage=ptr
)
pipe.producer_acquire(state)       # the buffer is free
...                                # write it
pipe.producer_commit(state)        # it is full
"""

from __future__ import annotations

from typing import Any

from opencute import cute
from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.lang.hopper.launch_shape import threads_of_block
from opencute.lib.pipelines.agents import Agent, CooperativeGroup, PipelineOp, PipelineUserType
from opencute.lib.pipelines.barriers import (
    MbarrierArray,
    agent_sync,
    barrier_row,
    cluster_blocks,
    init_all,
)
from opencute.lib.pipelines.participants import PipelineConsumer, PipelineProducer
from opencute.lib.pipelines.states import PipelineState, make_pipeline_state, static_stages

__all__ = ["PipelineAsync", "begin", "check_arrivals", "check_groups", "two_rows", "wait_unless"]


def check_groups(**groups: Any) -> None:
    """Raise unless all are groups.

    Raises:
        ArgumentTypeError: one is not.
    """
    for name, group in groups.items():
        if not isinstance(group, CooperativeGroup):
            raise ArgumentTypeError(
                f"{name} is a CooperativeGroup", code="OC2185", found=repr(group),
                hint="pipeline.CooperativeGroup(pipeline.Agent.Thread, size)",
            )  # fmt: skip


def check_arrivals(name: str, size: int, each: int = 1) -> None:
    """Raise if a phase waits for more arrivals than a block has threads.

    Args:
        name: the group, for messages.
        size: arrivals of a phase.
        each: threads of which one arrives for all.

    Raises:
        ArgumentError: the phase would never be complete.
    """
    threads = threads_of_block()
    if threads is not None and size > -(-threads // each):
        who = "threads" if each == 1 else "warps"
        raise ArgumentError(
            f"{name} waits for more arrivals than the block has {who}: it would wait forever",
            code="OC2191", expected=f"at most {-(-threads // each)}", found=size,
            hint=f"each of the group's {who} arrives once at each buffer's barrier",
        )  # fmt: skip


def begin(pipe: Any, cluster: Any, defer_sync: bool) -> Any:
    """Make a pipeline's barriers, and meet unless the kernel does that itself later."""
    init_all((pipe.sync_object_full, pipe.sync_object_empty))
    if not defer_sync:
        many = cluster_blocks(cluster) > 1
        agent_sync(Agent.ThreadBlockCluster if many else Agent.ThreadBlock)
    return pipe


@cute.jit
def wait_unless(token: Any, row: Any, index: Any, phase: Any) -> None:
    """Wait at a buffer's barrier unless a `try_` call has seen the phase complete."""
    if not token:
        row.wait(index, phase)


class PipelineAsync:
    """Producer threads and consumer threads, which all arrive each for itself; made by `create`.

    Args:
        sync_object_full: the barriers where producers arrive.
        sync_object_empty: the barriers where consumers arrive.
        num_stages: buffers.
        producer_mask: the block of the cluster at whose barriers producers arrive; None: the own.
        consumer_mask: that at whose barriers consumers arrive.
    """

    def __init__(
        self,
        sync_object_full: MbarrierArray,
        sync_object_empty: MbarrierArray,
        num_stages: int,
        producer_mask: Any = None,
        consumer_mask: Any = None,
    ) -> None:
        self.sync_object_full = sync_object_full
        self.sync_object_empty = sync_object_empty
        self.num_stages = num_stages
        self.producer_mask = producer_mask
        self.consumer_mask = consumer_mask

    @staticmethod
    def create(
        *,
        num_stages: int,
        producer_group: CooperativeGroup,
        consumer_group: CooperativeGroup,
        barrier_storage: Any = None,
        producer_mask: Any = None,
        consumer_mask: Any = None,
        defer_sync: bool = False,
        loc: Any = None,
        ip: Any = None,
    ) -> PipelineAsync:
        """A pipeline whose barriers are made; all threads of the block take part.

        Args:
            num_stages: buffers.
            producer_group: as many threads as commit each buffer.
            consumer_group: as many threads as release each buffer.
            barrier_storage: a pointer to 16 bytes of shared memory per buffer, allocated if None.
            producer_mask: the block of the cluster whose consumers the producers serve; None: the
                own.
            consumer_mask: the block of the cluster whose producers the consumers serve.
            defer_sync: the kernel itself meets before it uses the pipeline.

        Raises:
            ArgumentError: sizes that no barrier can count, or more arrivals than threads.
            ArgumentTypeError: no groups, or no shared memory.
        """
        check_groups(producer_group=producer_group, consumer_group=consumer_group)
        remote = producer_mask is not None or consumer_mask is not None
        if not remote:
            check_arrivals("producer_group", producer_group.size)
            check_arrivals("consumer_group", consumer_group.size)
        full, empty = two_rows(
            barrier_storage, num_stages, (PipelineOp.AsyncThread, producer_group),
            (PipelineOp.AsyncThread, consumer_group),
        )  # fmt: skip
        if remote:
            full.scope = empty.scope = "cluster"
        pipe = PipelineAsync(full, empty, full.num_stages, producer_mask, consumer_mask)
        return begin(pipe, (2,) if remote else None, defer_sync)

    # ------------------------------------------------------------------ producers
    def producer_acquire(
        self, state: PipelineState, try_acquire_token: Any = None, *, loc: Any = None,
        ip: Any = None,
    ) -> None:  # fmt: skip
        """Wait until the buffer is free.

        Args:
            state: the producer's.
            try_acquire_token: what `producer_try_acquire` said: if the buffer is free, nothing is
                waited for.
        """
        _wait(self.sync_object_empty, state, try_acquire_token)

    def producer_try_acquire(self, state: PipelineState, *, loc: Any = None, ip: Any = None) -> Any:
        """Whether the buffer is free, as Boolean.

        Args:
            state: the producer's.
        """
        return self.sync_object_empty.try_wait(state.index, state.phase)

    def producer_commit(self, state: PipelineState, *, loc: Any = None, ip: Any = None) -> None:
        """Say that this thread has filled the buffer.

        Args:
            state: the producer's.
        """
        self.sync_object_full.arrive(state.index, self.producer_mask)

    def producer_get_barrier(self, state: PipelineState, *, loc: Any = None, ip: Any = None) -> Any:
        """A pointer to the barrier where producers arrive, for copies that do that themselves.

        Args:
            state: the producer's.
        """
        return self.sync_object_full.get_barrier(state.index)

    def producer_tail(self, state: PipelineState, *, loc: Any = None, ip: Any = None) -> None:
        """Wait until consumers have released all buffers, so that the block may end: its barriers
        are not needed any more. The state stays where it is."""
        at = state.clone()
        for _ in range(self.num_stages):
            self.sync_object_empty.wait(at.index, at.phase)
            at.advance()

    # ------------------------------------------------------------------ consumers
    def consumer_wait(
        self, state: PipelineState, try_wait_token: Any = None, *, loc: Any = None, ip: Any = None
    ) -> None:
        """Wait until the buffer is full.

        Args:
            state: the consumer's.
            try_wait_token: what `consumer_try_wait` said: if the buffer is full, nothing is waited
                for.
        """
        _wait(self.sync_object_full, state, try_wait_token)

    def consumer_try_wait(self, state: PipelineState, *, loc: Any = None, ip: Any = None) -> Any:
        """Whether the buffer is full, as Boolean.

        Args:
            state: the consumer's.
        """
        return self.sync_object_full.try_wait(state.index, state.phase)

    def consumer_release(self, state: PipelineState, *, loc: Any = None, ip: Any = None) -> None:
        """Say that this thread has read the buffer.

        Args:
            state: the consumer's.
        """
        self.sync_object_empty.arrive(state.index, self.consumer_mask)

    def consumer_get_barrier(self, state: PipelineState, *, loc: Any = None, ip: Any = None) -> Any:
        """A pointer to the barrier where consumers arrive.

        Args:
            state: the consumer's.
        """
        return self.sync_object_empty.get_barrier(state.index)

    # ------------------------------------------------------------------ sides
    def make_producer(self, *, loc: Any = None, ip: Any = None) -> PipelineProducer:
        """The producers' side, with a state of its own."""
        state = make_pipeline_state(PipelineUserType.Producer, self.num_stages)
        return PipelineProducer(self, state, self.sync_object_full.cg)

    def make_consumer(self, *, loc: Any = None, ip: Any = None) -> PipelineConsumer:
        """The consumers' side, with a state of its own."""
        state = make_pipeline_state(PipelineUserType.Consumer, self.num_stages)
        return PipelineConsumer(self, state, self.sync_object_empty.cg)

    def make_participants(
        self, *, loc: Any = None, ip: Any = None
    ) -> tuple[PipelineProducer, PipelineConsumer]:
        """Both sides."""
        return self.make_producer(), self.make_consumer()


def _wait(row: MbarrierArray, state: PipelineState, token: Any) -> None:
    if token is None:
        row.wait(state.index, state.phase)
    else:
        wait_unless(token, row, state.index, state.phase)


def two_rows(
    storage: Any, stages: Any, full: Any, empty: Any, tx_count: Any = 0
) -> tuple[MbarrierArray, MbarrierArray]:
    """The barriers of a pipeline: full ones, then empty ones."""
    n = static_stages(stages)
    ptr = barrier_row(storage, 2 * n)
    return MbarrierArray(ptr, n, full, tx_count), MbarrierArray(ptr + n, n, empty)
