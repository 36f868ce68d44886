# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of mbarriers, and how a block or cluster begins with them.

full = MbarrierArray(storage, 4, (PipelineOp.AsyncThread, producers))
full.init()                                # by one thread
pipeline_init_arrive(cluster_shape_mn=(2, 1), is_relaxed=True)
...                                        # what does not use the barriers
pipeline_init_wait(cluster_shape_mn=(2, 1))
full.arrive(state.index)
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.lang.block.smem_plan import widened
from opencute.lang.numbers import Int64
from opencute.lang.pointers import AddressSpace, Pointer
from opencute.lib.pipelines.agents import MAX_ARRIVALS, Agent, CooperativeGroup, PipelineOp
from opencute.lib.pipelines.states import static_stages
from opencute.lib.smem_allocator import SmemAllocator

__all__ = [
    "MbarrierArray",
    "agent_sync",
    "barrier_row",
    "cluster_blocks",
    "init_all",
    "pipeline_init_arrive",
    "pipeline_init_wait",
]

_BYTES = 8


def barrier_row(storage: Any, barriers: int) -> Any:
    """A pointer to a row of mbarriers.

    Args:
        storage: a pointer to shared memory for them; None allocates some.
        barriers: how many.

    Raises:
        ArgumentTypeError: no pointer to shared memory.
    """
    if storage is None:
        return SmemAllocator().allocate_array(Int64, barriers, _BYTES)
    if not isinstance(storage, Pointer) or storage.memspace is not AddressSpace.smem:
        raise ArgumentTypeError(
            "barriers are stored in shared memory", code="OC2188", found=str(storage),
            expected="a pointer to shared memory, such as storage.barriers.data_ptr()",
        )  # fmt: skip
    # A published example hands the first of two members over, of which the second follows.
    value = widened(storage.value, barriers * _BYTES, alike=True)
    if value is not storage.value:
        storage = Pointer(value, storage.dtype)
    if storage.dtype.width == 8 * _BYTES:
        return storage
    return cute.recast_ptr(storage, dtype=Int64)


class MbarrierArray:
    """A barrier for each buffer of a ring.

    Args:
        barrier_storage: a pointer to 8 bytes of shared memory for each.
        num_stages: how many.
        agent: what arrives, and the group that does.
        tx_count: bytes that copies bring in each phase.

    Raises:
        ArgumentError: bytes that a barrier cannot count.
    """

    def __init__(
        self,
        barrier_storage: Any,
        num_stages: int,
        agent: tuple[PipelineOp, CooperativeGroup],
        tx_count: Any = 0,
    ) -> None:
        self.num_stages = static_stages(num_stages)
        self.barrier_storage = barrier_row(barrier_storage, self.num_stages)
        self.op_type, self.cg = agent
        self.arrive_count = self.cg.size
        self.tx_count = tx_count
        self.scope = ""
        """Whose accesses arriving and waiting orders, "" the block's. Blocks that let each other's
        copies refill tiles need no more; who writes another block's memory does."""
        if isinstance(tx_count, int) and not 0 <= tx_count <= MAX_ARRIVALS:
            raise ArgumentError(
                "a phase of a barrier cannot wait for so many bytes", code="OC2189",
                expected=f"at most {MAX_ARRIVALS}", found=tx_count,
            )  # fmt: skip

    def get_barrier(self, index: Any, *, loc: Any = None, ip: Any = None) -> Any:
        """A pointer to a buffer's barrier.

        Args:
            index: the buffer.
        """
        return self.barrier_storage + index

    def _scoped(self) -> dict[str, str]:
        """The scope for functions of `cute.arch`, where it is not theirs anyhow: kernels put
        functions of their own in the place of these, which know no scope."""
        return {"scope": self.scope} if self.scope else {}

    def init(self, *, loc: Any = None, ip: Any = None) -> None:
        """Make the barriers; one thread does that."""
        for i in range(self.num_stages):
            cute.arch.mbarrier_init(self.get_barrier(i), self.arrive_count)

    def arrive(self, index: Any, dst: Any = None, *, loc: Any = None, ip: Any = None) -> None:
        """Arrive at a buffer's barrier, as this row's agents do.

        Args:
            index: the buffer.
            dst: the block of the cluster whose barrier is meant, the own if None.
        """
        ptr = self.get_barrier(index)
        if self.op_type is PipelineOp.TmaLoad:
            self.arrive_and_expect_tx(index, self.tx_count)
        elif self.op_type is PipelineOp.AsyncLoad:
            cute.arch.cp_async_mbarrier_arrive_noinc(ptr)
        elif dst is None:
            cute.arch.mbarrier_arrive(ptr, **self._scoped())
        else:
            cute.arch.mbarrier_arrive(ptr, dst, **self._scoped())

    def arrive_and_expect_tx(
        self, index: Any, tx_count: Any, *, loc: Any = None, ip: Any = None
    ) -> None:
        """Arrive once for the warp, and let the phase wait for bytes.

        Args:
            index: the buffer.
            tx_count: how many.
        """
        _expect(self.get_barrier(index), tx_count)

    def wait(self, index: Any, phase: Any, *, loc: Any = None, ip: Any = None) -> None:
        """Wait until the phase of a buffer's barrier is complete.

        Args:
            index: the buffer.
            phase: the parity, 0 or 1.
        """
        cute.arch.mbarrier_wait(self.get_barrier(index), phase, **self._scoped())

    def try_wait(self, index: Any, phase: Any, *, loc: Any = None, ip: Any = None) -> Any:
        """Whether the phase is complete, as Boolean; may rest for a moment.

        Args:
            index: the buffer.
            phase: the parity, 0 or 1.
        """
        return cute.arch.mbarrier_try_wait(self.get_barrier(index), phase, **self._scoped())


@cute.jit
def _expect(ptr: Any, tx_count: Any) -> None:
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(ptr, tx_count)


@cute.jit
def init_all(rows: Any) -> None:
    """Make the barriers of some rows, by one thread of the block, and publish them."""
    if cute.arch.make_warp_uniform(cute.arch.warp_idx()) == 0:
        with cute.arch.elect_one():
            for row in cutlass.range_constexpr(len(rows)):
                rows[row].init()
            cute.arch.mbarrier_init_fence()


# ---------------------------------------------------------------- the beginning
def cluster_blocks(shape: Any) -> int:
    """Blocks of a cluster by its shape or layout; None is one block."""
    return 1 if shape is None else int(cute.size(shape))


def pipeline_init_arrive(
    cluster_shape_mn: Any = None, is_relaxed: bool = False, *, loc: Any = None, ip: Any = None
) -> None:
    """Say that this thread's barriers are made; what follows until `pipeline_init_wait` may not use
    those of others.

    Args:
        cluster_shape_mn: the cluster's shape or layout.
        is_relaxed: order nothing but the making of barriers.
    """
    cute.arch.mbarrier_init_fence()
    if cluster_blocks(cluster_shape_mn) == 1:
        return
    if is_relaxed:
        cute.arch.cluster_arrive_relaxed()
    else:
        cute.arch.cluster_arrive()


def pipeline_init_wait(cluster_shape_mn: Any = None, *, loc: Any = None, ip: Any = None) -> None:
    """Wait until the barriers of the block, or of the cluster, are made.

    Args:
        cluster_shape_mn: the cluster's shape or layout, as for `pipeline_init_arrive`.
    """
    agent_sync(
        Agent.ThreadBlock if cluster_blocks(cluster_shape_mn) == 1 else Agent.ThreadBlockCluster,
        arrived=True,
    )


def agent_sync(
    group: Agent,
    is_relaxed: bool = False,
    *,
    arrived: bool = False,
    loc: Any = None,
    ip: Any = None,
) -> None:
    """Meet with all threads of a warp, block or cluster.

    Args:
        group: whose threads.
        is_relaxed: of a cluster: order nothing.
        arrived: of a cluster: this thread has arrived before.
    """
    if group is Agent.ThreadBlockCluster:
        if not arrived:
            (cute.arch.cluster_arrive_relaxed if is_relaxed else cute.arch.cluster_arrive)()
        cute.arch.cluster_wait()
    elif group is Agent.ThreadBlock:
        cute.arch.sync_threads()
    elif group is Agent.Warp:
        cute.arch.sync_warp()
