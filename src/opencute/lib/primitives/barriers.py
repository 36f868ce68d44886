# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Barriers of blocks, warps and clusters, mbarriers, fences and registers."""

from __future__ import annotations

from typing import Any

from opencute.cute import arch
from opencute.dialects.hopper import mbarrier as ops
from opencute.lang.block.words import word
from opencute.lang.hopper.mbarriers import barrier_place, parity_word
from opencute.lang.numbers import Boolean, Int64
from opencute.lang.pointers import RawPointer

__all__ = [
    "bar_warp_sync",
    "barrier_cluster_arrive",
    "barrier_cluster_arrive_relaxed",
    "barrier_cluster_wait",
    "barrier_cta_arrive",
    "barrier_cta_red",
    "barrier_cta_sync",
    "barrier_cta_sync_aligned",
    "cluster_ctarank",
    "cp_async_mbarrier_arrive",
    "elect_sync",
    "fence_mbarrier_init",
    "fence_proxy",
    "mapa",
    "mbarrier_arrive",
    "mbarrier_arrive_expect_tx",
    "mbarrier_expect_tx",
    "mbarrier_init",
    "mbarrier_inval",
    "mbarrier_test_wait_parity",
    "mbarrier_try_wait_parity",
    "mbarrier_try_wait_timelimit",
    "mbarrier_wait_parity",
    "setmaxregister",
]

_FULL = 0xFFFFFFFF


def _word(x: Any) -> str:
    return "" if x is None else str(getattr(x, "value", x))


# ---------------------------------------------------------------- blocks and warps
def barrier_cta_sync(
    barrier_id: Any = 0, thread_count: Any = None, *, loc: Any = None, ip: Any = None
) -> None:
    """Wait at a barrier for all threads of the block, or for `thread_count` of them.

    Args:
        barrier_id: which of 16; 0 is that of `sync_threads`.
        thread_count: how many threads meet there, a multiple of 32; all if None.
    """
    arch.barrier(barrier_id=barrier_id, number_of_threads=thread_count)


barrier_cta_sync_aligned = barrier_cta_sync


def barrier_cta_arrive(
    barrier_id: Any = 0, thread_count: Any = None, *, loc: Any = None, ip: Any = None
) -> None:
    """Arrive at a barrier that `thread_count` threads meet at, without waiting.

    Args:
        barrier_id: which of 16; 0 is that of `sync_threads`.
        thread_count: a multiple of 32; has to be given.
    """
    arch.barrier_arrive(barrier_id=barrier_id, number_of_threads=thread_count)


def barrier_cta_red(
    pred: Any, *, barrier_id: Any = 0, kind: Any = "and", thread_count: Any = None,
    loc: Any = None, ip: Any = None,
) -> Any:  # fmt: skip
    """Wait at a barrier and combine a condition of all threads: "and", "or" or "popc".

    Args:
        pred: the condition.
        barrier_id: which of 16; 0 is that of `sync_threads`.
        kind: "and", "or" or "popc" (how many threads it holds for).
        thread_count: how many threads meet there, a multiple of 32; all if None.
    """
    return arch.barrier_red(
        _word(kind), pred, barrier_id=barrier_id, number_of_threads=thread_count
    )


def bar_warp_sync(membermask: Any = _FULL, *, loc: Any = None, ip: Any = None) -> None:
    """Wait for the lanes of the warp that a mask names.

    Args:
        membermask: the lanes, as bits.
    """
    arch.sync_warp(membermask)


def elect_sync(membermask: Any = _FULL, *, loc: Any = None, ip: Any = None) -> Any:
    """Whether this lane is the one that is elected among those of a mask, a Boolean.

    Args:
        membermask: the lanes, as bits.
    """
    from opencute.dialects import ptx_warp
    from opencute.lang.block.words import mask_of

    return Boolean(ptx_warp.elect_sync(mask_of(membermask))[1])


# ---------------------------------------------------------------- clusters
def barrier_cluster_arrive(*, loc: Any = None, ip: Any = None) -> None:
    """Arrive at the barrier of the cluster."""
    arch.cluster_arrive()


def barrier_cluster_arrive_relaxed(*, loc: Any = None, ip: Any = None) -> None:
    """Arrive at the barrier of the cluster, without making writes visible."""
    arch.cluster_arrive_relaxed()


def barrier_cluster_wait(*, loc: Any = None, ip: Any = None) -> None:
    """Wait for all threads of the cluster."""
    arch.cluster_wait()


def cluster_ctarank(*, loc: Any = None, ip: Any = None) -> Any:
    """The block's number in its cluster."""
    return arch.block_idx_in_cluster()


def mapa(addr: Any, cta_rank: Any, *, loc: Any = None, ip: Any = None) -> RawPointer:
    """The same place in the shared memory of another block of the cluster.

    Args:
        addr: a pointer to the block's own shared memory.
        cta_rank: which block.
    """
    far = arch.map_dsmem_ptr(addr, cta_rank)
    return RawPointer(far.value, far.dtype)


# ---------------------------------------------------------------- mbarriers
def fence_mbarrier_init(*, loc: Any = None, ip: Any = None) -> None:
    """Make this thread's `mbarrier_init` visible to the cluster and to asynchronous copies."""
    arch.mbarrier_init_fence()


def mbarrier_init(addr: Any, count: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Make a barrier that expects `count` arrivals in each phase.

    Args:
        addr: 8 bytes of shared memory.
        count: how many.
    """
    arch.mbarrier_init(addr, count)


def mbarrier_inval(addr: Any, *, loc: Any = None, ip: Any = None) -> None:
    """The barrier ends.

    Args:
        addr: the barrier.
    """
    arch.mbarrier_inval(addr)


def _arrival(kind: str, addr: Any, value: Any, scope: Any, relaxed: bool) -> Any:
    place = barrier_place(addr, f"mbarrier_{kind}")
    type: Any = place.type
    among = _word(scope)
    sem = "relaxed" if relaxed else "release" if among == "cluster" and type.space == "smem" else ""
    among = among if sem else ""
    if type.space == "dsmem":
        ops.mbarrier_arrive(kind, place, word(value), sem=sem, scope=among)
        return None
    return Int64(ops.mbarrier_arrive_token(kind, place, word(value), sem=sem, scope=among))


def mbarrier_arrive(
    addr: Any, count: Any = 1, *, scope: Any = None, relaxed: bool = False,
    loc: Any = None, ip: Any = None,
) -> Any:  # fmt: skip
    """Arrive; the result names the phase, where the barrier is the block's own.

    Args:
        addr: the barrier; also one of another block of the cluster (see `mapa`).
        count: arrivals that this one counts for.
        scope: a `MemScope`: whose accesses are ordered.
        relaxed: order nothing.

    Returns:
        An Int64 that names the phase; None for a barrier of another block.
    """
    return _arrival("arrive", addr, count, scope, relaxed)


def mbarrier_arrive_expect_tx(
    addr: Any, tx_count: Any, *, scope: Any = None, relaxed: bool = False,
    loc: Any = None, ip: Any = None,
) -> Any:  # fmt: skip
    """Let the phase wait for some bytes more, and arrive.

    Args:
        addr: the barrier; also one of another block of the cluster (see `mapa`).
        tx_count: how many bytes.
        scope: a `MemScope`: whose accesses are ordered.
        relaxed: order nothing.

    Returns:
        An Int64 that names the phase; None for a barrier of another block.
    """
    return _arrival("arrive_expect_tx", addr, tx_count, scope, relaxed)


def mbarrier_expect_tx(addr: Any, tx_count: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Let the phase wait for some bytes more.

    Args:
        addr: the barrier.
        tx_count: how many.
    """
    arch.mbarrier_expect_tx(addr, tx_count)


def mbarrier_try_wait_parity(
    addr: Any, parity: Any, *, time_limit: Any = None, loc: Any = None, ip: Any = None
) -> Any:
    """Whether the phase of a parity is complete, after at most `time_limit` nanoseconds.

    Args:
        addr: the barrier.
        parity: 0 or 1.
        time_limit: nanoseconds; the hardware's own when omitted.
    """
    place = barrier_place(addr, "mbarrier_try_wait_parity")
    limit = None if time_limit is None else word(time_limit)
    phase = parity_word("mbarrier_try_wait_parity", parity)
    return Boolean(ops.mbarrier_try_wait(place, phase, limit))


def mbarrier_test_wait_parity(addr: Any, parity: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """Whether the phase of a parity is complete now.

    Args:
        addr: the barrier.
        parity: 0 or 1.
    """
    return arch.mbarrier_test_wait(addr, parity)


def mbarrier_try_wait_timelimit(
    addr: Any, state: Any, time_limit: Any, *, loc: Any = None, ip: Any = None
) -> Any:
    """Whether the phase that arriving named is complete, after at most some nanoseconds.

    Args:
        addr: the barrier.
        state: what arriving returned.
        time_limit: nanoseconds.
    """
    place = barrier_place(addr, "mbarrier_try_wait_timelimit")
    return Boolean(ops.mbarrier_try_wait(place, Int64(state).ir_value(), word(time_limit)))


def mbarrier_wait_parity(
    addr: Any, parity: Any, kind: Any = None, *, loc: Any = None, ip: Any = None
) -> None:
    """Wait until the phase of a parity is complete.

    Args:
        addr: the barrier.
        parity: 0 or 1.
        kind: accepted; a `MBarrierWait` changes no result.
    """
    arch.mbarrier_wait(addr, parity)


def cp_async_mbarrier_arrive(
    addr: Any, *, noinc: bool = False, loc: Any = None, ip: Any = None
) -> None:
    """Arrive when the copies that this thread has started are complete.

    Args:
        addr: the barrier.
        noinc: the arrival is one of those that the barrier expects.
    """
    arch.cp_async_mbarrier_arrive_shared(addr, noinc)


# ---------------------------------------------------------------- fences and registers
def fence_proxy(kind: Any, *, space: Any = None, loc: Any = None, ip: Any = None) -> None:
    """Order accesses through different proxies.

    Args:
        kind: a `Proxy`, or its word.
        space: a `SharedSpace`, for those of shared memory.
    """
    arch.fence_proxy(_word(kind), space=_word(space) or None)


def setmaxregister(reg_count: int, action: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Let each thread of the warpgroup have another number of registers.

    Args:
        reg_count: a multiple of 8 from 24 to 256.
        action: a `SetMaxRegisterAction`.
    """
    if _word(action) == "inc":
        arch.setmaxregister_increase(reg_count)
    else:
        arch.setmaxregister_decrease(reg_count)
