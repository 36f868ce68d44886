# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Pipelines whose producers copy to shared memory without waiting for it: cp.async and TMA.

pipe = pipeline.PipelineTmaAsync.create(
    barrier_storage=ptr, num_stages=4, producer_group=CooperativeGroup(Agent.Thread),
    consumer_group=CooperativeGroup(Agent.Thread, consumer_warps), tx_count=bytes_per_buffer,
)
pipe.producer_acquire(state)                 # free, and the phase waits for tx_count bytes
cute.copy(tma_atom, source, buffer, tma_bar_ptr=pipe.producer_get_barrier(state))
"""

# What users pass may be anything, whatever the annotations say.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError, LayoutError
from opencute.lang.hopper.byte_counts import Ledger
from opencute.lang.numbers import Boolean
from opencute.lib.pipelines.agents import CooperativeGroup, PipelineOp
from opencute.lib.pipelines.barriers import MbarrierArray, cluster_blocks
from opencute.lib.pipelines.base import (
    PipelineAsync,
    begin,
    check_arrivals,
    check_groups,
    two_rows,
)
from opencute.lib.pipelines.states import PipelineState

__all__ = ["PipelineCpAsync", "PipelineTmaAsync", "PipelineTmaMultiConsumersAsync"]

_WARP = 32


class PipelineCpAsync(PipelineAsync):
    """Producer threads copy by `cp.async`; a buffer is full when their copies have come.

    Args:
        sync_object_full, sync_object_empty, num_stages, producer_mask, consumer_mask: as for
            `PipelineAsync`.
    """

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
    ) -> PipelineCpAsync:
        """A pipeline whose barriers are made; all threads of the block take part.

        Args:
            num_stages, consumer_group, barrier_storage, producer_mask, consumer_mask, defer_sync:
                as for `PipelineAsync.create`.
            producer_group: as many threads as commit each buffer, also those that copied nothing.
        """
        check_groups(producer_group=producer_group, consumer_group=consumer_group)
        check_arrivals("producer_group", producer_group.size)
        if consumer_mask is None:
            check_arrivals("consumer_group", consumer_group.size)
        full, empty = two_rows(
            barrier_storage, num_stages, (PipelineOp.AsyncLoad, producer_group),
            (PipelineOp.AsyncThread, consumer_group),
        )  # fmt: skip
        pipe = PipelineCpAsync(full, empty, full.num_stages, producer_mask, consumer_mask)
        return begin(pipe, None, defer_sync)


class PipelineTmaAsync(PipelineAsync):
    """One thread of a warp starts TMA copies; one thread of each consumer warp releases buffers,
    with multicast at each block of the cluster whose copies come to the same buffer.

    Args:
        sync_object_full, sync_object_empty, num_stages: as for `PipelineAsync`.
        signals: whether this thread releases buffers; None if one thread of the warp does.
        peer: the block at whose barriers it does that; None: the own.
    """

    def __init__(
        self,
        sync_object_full: MbarrierArray,
        sync_object_empty: MbarrierArray,
        num_stages: int,
        signals: Any = None,
        peer: Any = None,
    ) -> None:
        super().__init__(sync_object_full, sync_object_empty, num_stages, None, peer)
        self.is_signalling_thread = signals
        self._bytes = Ledger(sync_object_full.tx_count)

    @staticmethod
    def create(  # pyright: ignore[reportIncompatibleMethodOverride] - of another kind of producer
        *,
        num_stages: int,
        producer_group: CooperativeGroup,
        consumer_group: CooperativeGroup,
        tx_count: int,
        barrier_storage: Any = None,
        cta_layout_vmnk: Any = None,
        tidx: Any = None,
        mcast_mode_mn: tuple[int, int] = (1, 1),
        defer_sync: bool = False,
        loc: Any = None,
        ip: Any = None,
    ) -> PipelineTmaAsync:
        """A pipeline whose barriers are made; all threads of the block take part.

        Args:
            num_stages: buffers.
            producer_group: as many warps as acquire each buffer, usually 1.
            consumer_group: as many warps as release each buffer, times the blocks that each of
                them has to tell: with multicast, those of the cluster's row and column.
            tx_count: bytes that come to a block's buffer in each phase, from all copies.
            barrier_storage: a pointer to 16 bytes of shared memory per buffer, allocated if None.
            cta_layout_vmnk: the cluster's layout (V, M, N, K); one block if None.
            tidx: the consumer thread's index, if not that in the block.
            mcast_mode_mn: whether copies go to the blocks along N that share rows of M, and to
                those along M that share columns of N.
            defer_sync: the kernel itself meets before it uses the pipeline.

        Raises:
            ArgumentError: no bytes, or a consumer group that does not fit the cluster.
        """
        check_groups(producer_group=producer_group, consumer_group=consumer_group)
        if isinstance(tx_count, int) and tx_count < 1:
            raise ArgumentError(
                "the copies of a TMA pipeline bring some bytes", code="OC2189", found=tx_count,
                hint="tx_count is cute.size_in_bytes(dtype, layout) of what is copied per stage",
            )  # fmt: skip
        told = _told(cta_layout_vmnk, mcast_mode_mn)
        if consumer_group.size % told:
            raise ArgumentError(
                "the consumers' arrivals do not fit the cluster", code="OC2190",
                expected=f"a multiple of {told}: each consumer warp tells {told} blocks",
                found=consumer_group.size,
            )  # fmt: skip
        check_arrivals("producer_group", producer_group.size, _WARP)
        check_arrivals("consumer_group", consumer_group.size // told, _WARP if tidx is None else 1)
        full, empty = two_rows(
            barrier_storage, num_stages, (PipelineOp.TmaLoad, producer_group),
            (PipelineOp.AsyncThread, consumer_group), tx_count,
        )  # fmt: skip
        signals, peer = None, None
        if cluster_blocks(cta_layout_vmnk) > 1:
            peer, signals = _signal(cta_layout_vmnk, mcast_mode_mn, tidx)
        elif tidx is not None:
            signals = _lane_of(tidx) == 0
        pipe = PipelineTmaAsync(full, empty, full.num_stages, signals, peer)
        return begin(pipe, cta_layout_vmnk, defer_sync)

    def producer_acquire(
        self, state: PipelineState, try_acquire_token: Any = None, *, loc: Any = None,
        ip: Any = None,
    ) -> None:  # fmt: skip
        """Wait until the buffer is free in all blocks that copies go to, and let the phase wait
        for the bytes. All threads of the warp take part.

        Args:
            state: the producer's.
            try_acquire_token: what `producer_try_acquire` said: if the buffer is free, nothing is
                waited for.
        """
        super().producer_acquire(state, try_acquire_token)
        self.sync_object_full.arrive(state.index)
        self._bytes.begin(state.index)

    def producer_get_barrier(self, state: PipelineState, *, loc: Any = None, ip: Any = None) -> Any:
        """A pointer to the barrier that copies into the buffer arrive at.

        Args:
            state: the producer's.
        """
        return self._bytes.barrier(state.index, super().producer_get_barrier(state))

    def producer_commit(self, state: PipelineState, *, loc: Any = None, ip: Any = None) -> None:
        """Nothing at run time: copies arrive themselves.

        Args:
            state: the producer's.

        Raises:
            ArgumentError: they bring other than the bytes that the pipeline waits for.
        """
        self._bytes.end(state.index)

    def consumer_release(self, state: PipelineState, *, loc: Any = None, ip: Any = None) -> None:
        """Say that this warp has read the buffer. All threads of the warp take part.

        Args:
            state: the consumer's.
        """
        if self.is_signalling_thread is None:
            # What other threads of the warp read comes before the one arrival for all of them.
            cute.arch.sync_warp()
            _arrive_if(cute.arch.lane_idx() == 0, self.sync_object_empty, state.index, None)
        else:
            cute.arch.sync_warp()
            _arrive_if(
                self.is_signalling_thread, self.sync_object_empty, state.index, self.consumer_mask
            )


class PipelineTmaMultiConsumersAsync(PipelineTmaAsync):
    """TMA copies for two kinds of consumers: threads, and matrix units that read shared memory
    themselves; made by `create`.

    Args:
        sync_object_full, sync_object_empty, num_stages, signals, peer: as for `PipelineTmaAsync`.
    """

    @staticmethod
    def create(  # pyright: ignore[reportIncompatibleMethodOverride] - two groups of consumers
        *,
        num_stages: int,
        producer_group: CooperativeGroup,
        consumer_group_umma: CooperativeGroup,
        consumer_group_async: CooperativeGroup,
        tx_count: int,
        barrier_storage: Any = None,
        cta_layout_vmnk: Any = None,
        defer_sync: bool = False,
        loc: Any = None,
        ip: Any = None,
    ) -> PipelineTmaMultiConsumersAsync:
        """See `PipelineTmaAsync.create`.

        Args:
            num_stages, producer_group, tx_count, barrier_storage, defer_sync: as there.
            consumer_group_umma: as many units as release each buffer.
            consumer_group_async: as many threads as release each buffer.
            cta_layout_vmnk: the cluster's layout, of one block.

        Raises:
            LayoutError: a cluster of more blocks.
        """
        check_groups(
            producer_group=producer_group, consumer_group_umma=consumer_group_umma,
            consumer_group_async=consumer_group_async,
        )  # fmt: skip
        if cluster_blocks(cta_layout_vmnk) > 1:
            raise LayoutError(
                "a pipeline for two kinds of consumers is of one block", code="OC1343",
                found=cta_layout_vmnk,
            )  # fmt: skip
        both = CooperativeGroup(
            consumer_group_async.agent, consumer_group_umma.size + consumer_group_async.size
        )
        full, empty = two_rows(
            barrier_storage, num_stages, (PipelineOp.TmaLoad, producer_group),
            (PipelineOp.AsyncThread, both), tx_count,
        )  # fmt: skip
        pipe = PipelineTmaMultiConsumersAsync(full, empty, full.num_stages)
        return begin(pipe, None, defer_sync)

    def consumer_release(
        self,
        state: PipelineState,
        op_type: PipelineOp = PipelineOp.AsyncThread,
        *,
        loc: Any = None,
        ip: Any = None,
    ) -> None:
        """Say that this thread has read the buffer, or that the matrix unit has when it is done.

        Args:
            state: the consumer's.
            op_type: which kind of consumer this is.

        Raises:
            ArgumentError: no consumer of such a pipeline.
        """
        if op_type is PipelineOp.AsyncThread:
            self.sync_object_empty.arrive(state.index)
        elif op_type is PipelineOp.TCGen05Mma:
            unit: Any = cute.nvgpu
            unit.tcgen05.commit(self.sync_object_empty.get_barrier(state.index))
        else:
            raise ArgumentError(
                "no consumer of such a pipeline", code="OC2190", found=op_type,
                expected="PipelineOp.AsyncThread or PipelineOp.TCGen05Mma",
            )  # fmt: skip


# ---------------------------------------------------------------- multicast
def _told(layout: Any, modes: tuple[int, int]) -> int:
    """Blocks that a consumer warp has to tell that a buffer is free."""
    if cluster_blocks(layout) == 1:
        return 1
    if len(layout.shape) != 4:
        raise LayoutError(
            "a cluster's layout has the modes (V, M, N, K)", code="OC1343", found=layout,
            hint="cute.make_layout((1, *cluster_shape_mnk))",
        )  # fmt: skip
    across, down = cute.size(layout, mode=[2]), cute.size(layout, mode=[1])
    return (across if modes[0] else 1) + (down if modes[1] else 1) - 1


def _lane_of(tidx: Any) -> Any:
    return cute.arch.lane_idx() if tidx is None else tidx % _WARP


def _signal(layout: Any, modes: tuple[int, int], tidx: Any) -> tuple[Any, Any]:
    """The block that this lane tells, and whether it does: lane i tells block i if that is in the
    row or column of the own block."""
    own = layout.get_flat_coord(cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster()))
    lane = _lane_of(tidx)
    blocks = cluster_blocks(layout)
    peer = cutlass.min(lane, blocks - 1)
    other = layout.get_flat_coord(peer)
    same = [Boolean(own[i] == other[i]) for i in range(4)]
    row = same[1] if modes[0] else Boolean(False)
    column = same[2] if modes[1] else Boolean(False)
    near = (row | column | (same[1] & same[2])) & same[0] & same[3]
    return peer, Boolean(lane < blocks) & near


@cute.jit
def _arrive_if(condition: Any, row: Any, index: Any, peer: Any) -> None:
    if condition:
        row.arrive(index, peer)
