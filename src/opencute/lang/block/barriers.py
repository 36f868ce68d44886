# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Barriers of a block or warp, and fences."""

from __future__ import annotations

import enum
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.dialects import ptx
from opencute.ir.core import Value
from opencute.lang.block.words import flag, mask_of, word
from opencute.lang.numbers import Boolean, Int32
from opencute.lang.pointers import Pointer

__all__ = [
    "ProxyKind",
    "SharedSpace",
    "barrier",
    "barrier_arrive",
    "barrier_red",
    "check_barrier",
    "fence_acq_rel_cluster",
    "fence_acq_rel_cta",
    "fence_acq_rel_gpu",
    "fence_acq_rel_sys",
    "fence_proxy",
    "fence_sc",
    "fence_view_async_shared",
    "nanosleep",
    "sync_threads",
    "sync_warp",
]

_BARRIERS = 16
_FULL = 0xFFFFFFFF


class ProxyKind(enum.Enum):
    """Ways to memory that a fence orders; see `fence_proxy`."""

    alias = "alias"
    async_ = "async"
    async_global = "async.global"
    async_shared = "async.shared"


class SharedSpace(enum.Enum):
    """Whose shared memory."""

    shared_cta = "cta"
    shared_cluster = "cluster"


def check_barrier(barrier_id: Any, number_of_threads: Any) -> None:
    """Raise unless a named barrier can be as described.

    Raises:
        ArgumentError: there is no such barrier, or the threads are no whole warps.
    """
    if isinstance(barrier_id, int) and not 0 <= barrier_id < _BARRIERS:
        raise ArgumentError(
            "a block has 16 barriers", code="OC2126", expected="0 to 15", found=barrier_id
        )
    n = number_of_threads
    if isinstance(n, int) and (n % 32 or not 32 <= n <= 1024):
        raise ArgumentError(
            "the threads that meet at a barrier are whole warps", code="OC2127",
            expected="a multiple of 32, at most 1024", found=n,
        )  # fmt: skip


def _operands(barrier_id: Any, number_of_threads: Any) -> tuple[Value, Value | None]:
    check_barrier(barrier_id, number_of_threads)
    name = word(0 if barrier_id is None else barrier_id)
    return name, None if number_of_threads is None else word(number_of_threads)


def sync_threads(*, loc: Any = None, ip: Any = None) -> None:
    """Wait for all threads of the block; orders their memory accesses."""
    ptx.bar_sync(word(0))


def barrier(
    *,
    barrier_id: Any = None,
    number_of_threads: Any = None,
    loc: Any = None,
    ip: Any = None,
) -> None:
    """Wait at one of the block's 16 barriers.

    Args:
        barrier_id: which; 0 (that of `sync_threads`) if not given.
        number_of_threads: how many threads meet there, a multiple of 32; all if not given.

    Raises:
        ArgumentError: there is no such barrier, or the number is not of whole warps.

    Source: PTX ISA, "barrier.cta.sync".
    """
    ptx.bar_sync(*_operands(barrier_id, number_of_threads))


def barrier_arrive(
    *,
    barrier_id: Any = None,
    number_of_threads: Any = None,
    loc: Any = None,
    ip: Any = None,
) -> None:
    """Arrive at a barrier where `number_of_threads` threads meet, without waiting.

    Args:
        barrier_id: which, 0 to 15; 0 if not given.
        number_of_threads: how many threads meet there, those that wait included; a multiple of 32.

    Raises:
        ArgumentError: as for `barrier`, or no number is given.

    Source: PTX ISA, "barrier.cta.arrive".
    """
    if number_of_threads is None:
        raise ArgumentError(
            "barrier_arrive needs the number of threads that meet", code="OC2127",
            expected="number_of_threads=...",
        )  # fmt: skip
    name, count = _operands(barrier_id, number_of_threads)
    assert count is not None
    ptx.bar_arrive(name, count)


def barrier_red(
    op: str,
    pred: Any,
    *,
    barrier_id: Any = None,
    number_of_threads: Any = None,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """Wait at a barrier and combine a condition of all threads that meet there.

    Args:
        op: "and" or "or" (a Boolean), "popc" (an Int32: how many threads it holds for).
        pred: the condition.
        barrier_id, number_of_threads: as for `barrier`.

    Raises:
        ArgumentError: as for `barrier`, or no such reduction.

    Source: PTX ISA, "barrier.cta.red".
    """
    if op not in ptx.BAR_REDUCTIONS:
        raise ArgumentError(
            "no such reduction", code="OC2128", expected=", ".join(ptx.BAR_REDUCTIONS), found=op
        )
    name, count = _operands(barrier_id, number_of_threads)
    out = ptx.bar_red(op, name, count, flag(pred))
    return Int32(out) if op == "popc" else Boolean(out)


def sync_warp(mask: Any = _FULL, *, loc: Any = None, ip: Any = None) -> None:
    """Wait for the lanes of the warp that `mask` names; orders their memory accesses.

    Args:
        mask: the lanes, as bits; all of them if not given.

    Source: PTX ISA, "bar.warp.sync".
    """
    ptx.bar_warp_sync(mask_of(mask))


def nanosleep(sleep_time: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Rest for about some nanoseconds.

    Args:
        sleep_time: nanoseconds, at most a million.

    Source: PTX ISA, "nanosleep": between none and twice as long.
    """
    ptx.nanosleep(word(sleep_time))


# ---------------------------------------------------------------- fences
def fence_acq_rel_cta(*, loc: Any = None, ip: Any = None) -> None:
    """Order this thread's memory accesses for the threads of its block."""
    ptx.fence("acq_rel", "cta")


def fence_acq_rel_cluster(*, loc: Any = None, ip: Any = None) -> None:
    """Order this thread's memory accesses for the threads of its cluster."""
    ptx.fence("acq_rel", "cluster")


def fence_acq_rel_gpu(*, loc: Any = None, ip: Any = None) -> None:
    """Order this thread's memory accesses for all threads of the GPU."""
    ptx.fence("acq_rel", "gpu")


def fence_acq_rel_sys(*, loc: Any = None, ip: Any = None) -> None:
    """Order this thread's memory accesses for all threads of all GPUs and the host."""
    ptx.fence("acq_rel", "sys")


def fence_sc(scope: str = "gpu", *, loc: Any = None, ip: Any = None) -> None:
    """A sequentially consistent fence for "cta", "cluster", "gpu" or "sys".

    Args:
        scope: among which threads: "cta", "cluster", "gpu" or "sys".

    Raises:
        ArgumentError: there is no such scope.

    Source: PTX ISA, "fence.sc".
    """
    if scope not in ptx.SCOPES:
        raise ArgumentError(
            "no such scope", code="OC2128", expected=", ".join(ptx.SCOPES), found=scope
        )
    ptx.fence("sc", scope)


def _plain(word_: Any) -> str:
    """A word of a fence: text, or a member of any enumeration of such words."""
    if word_ is None or isinstance(word_, str):
        return word_ or ""
    value = getattr(word_, "value", None)
    return value if isinstance(value, str) else str(getattr(word_, "name", word_))


def fence_proxy(
    kind: Any, *, space: Any = None, ptr: Any = None, loc: Any = None, ip: Any = None,
    **options: Any,
) -> None:  # fmt: skip
    """Order accesses through different proxies, such as ordinary and asynchronous ones.

    Args:
        kind: "async", "async.shared", "async.global", "alias", or a `ProxyKind`.
        space: for "async.shared": "cta" or "cluster".
        ptr: the tensor map, for the kinds that acquire one.
        options: accepted for kernels that name more; without effect.

    Raises:
        ArgumentError: there is no such fence.

    Source: PTX ISA, "fence.proxy".
    """
    name = _plain(kind).lower().replace("async_", "async.", 1)
    where = _plain(space).lower().removeprefix("shared_").removeprefix("shared::")
    if name == "async.shared":
        name = f"async.shared::{where or 'cta'}"
    if name not in ptx.FENCE_PROXIES:
        raise ArgumentError(
            "no such proxy fence", code="OC2128", expected=", ".join(ptx.FENCE_PROXIES),
            found=name,
        )  # fmt: skip
    ptx.fence_proxy(name, ptr.value if isinstance(ptr, Pointer) else None)


def fence_view_async_shared(*, loc: Any = None, ip: Any = None) -> None:
    """Make this thread's writes to shared memory visible to asynchronous copies."""
    ptx.fence_proxy("async.shared::cta")
