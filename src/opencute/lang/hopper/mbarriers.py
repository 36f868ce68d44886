# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Barriers in shared memory that count arrivals and bytes: ``cute.arch.mbarrier_*``.

A barrier is 8 bytes of shared memory, ``p = alloc_smem(Int64, 1)``. Its phases follow each other;
who waits names one by its parity, 0 for the first::

    if tidx == 0:
        mbarrier_init(p, 128)
    mbarrier_init_fence()
    sync_threads()
    mbarrier_arrive(p)
    mbarrier_wait(p, 0)
"""

from __future__ import annotations

from typing import Any

from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.dialects import cute
from opencute.dialects.cute import PtrType
from opencute.dialects.hopper import cluster
from opencute.dialects.hopper import mbarrier as ops
from opencute.ir.core import Value
from opencute.ir.types import I64
from opencute.lang.block.atomics import pointer_of
from opencute.lang.block.words import word
from opencute.lang.numbers import Boolean, Int32, Int64
from opencute.lang.pointers import AddressSpace

__all__ = [
    "barrier_place",
    "mbarrier_arrive",
    "mbarrier_arrive_and_expect_tx",
    "mbarrier_arrive_drop",
    "mbarrier_arrive_drop_and_expect_tx",
    "mbarrier_arrive_token",
    "mbarrier_complete_tx",
    "mbarrier_conditional_try_wait",
    "mbarrier_expect_tx",
    "mbarrier_init",
    "mbarrier_init_fence",
    "mbarrier_inval",
    "mbarrier_pending_count",
    "mbarrier_test_wait",
    "mbarrier_test_wait_token",
    "mbarrier_try_wait",
    "mbarrier_wait",
    "mbarrier_wait_token",
    "parity_word",
]

_MAX = (1 << 20) - 1


def barrier_place(ptr: Any, what: str, peer: Any = None) -> Value:
    """A barrier's address: a pointer to 8 bytes of shared memory, or of block `peer`'s.

    Raises:
        ArgumentError: not a pointer to shared memory.
    """
    pointer = pointer_of(ptr, what, Int64)
    if pointer.memspace not in (AddressSpace.smem, AddressSpace.dsmem):
        raise ArgumentError(
            f"{what} needs a pointer to shared memory", code="OC2220", found=str(pointer)
        )
    value, type = pointer.value, pointer.value.type
    assert isinstance(type, PtrType)
    if type.element != I64 or type.align % 8 or type.swizzle:
        align = type.align if type.align % 8 == 0 else 8
        value = cute.recast(value, PtrType(I64, type.space, align))
    if peer is not None:
        value = cluster.mapa(value, word(peer))
    return value


def _number(what: str, n: Any, least: int = 1) -> Value:
    if isinstance(n, int) and not least <= n <= _MAX:
        raise ArgumentError(
            f"{what}: no such number", code="OC2222", expected=f"{least} to {_MAX}", found=n
        )
    return word(n)


def parity_word(what: str, phase: Any) -> Value:
    """The parity of a phase as an operand.

    Raises:
        ArgumentError: a constant that is neither 0 nor 1.

    Source: PTX ISA, "mbarrier.test_wait, mbarrier.try_wait": the operand phaseParity.
    """
    if isinstance(phase, int) and phase not in (0, 1):
        raise ArgumentError(
            f"{what}: no such parity of a phase", code="OC2222", expected="0 or 1", found=phase,
        )  # fmt: skip
    return word(phase)


def mbarrier_init(mbar_ptr: Any, cnt: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Make a barrier that expects `cnt` arrivals in each phase; one thread does that.

    Args:
        mbar_ptr: 8 bytes of shared memory.
        cnt: how many.

    Raises:
        ArgumentError: not shared memory, or no such count.

    Source: PTX ISA, "mbarrier.init".
    """
    place = barrier_place(mbar_ptr, "mbarrier_init")
    ops.mbarrier_init(place, _number("mbarrier_init", cnt))


def mbarrier_inval(mbar_ptr: Any, *, loc: Any = None, ip: Any = None) -> None:
    """The barrier ends; its memory may be used for other things.

    Args:
        mbar_ptr: the barrier.

    Source: PTX ISA, "mbarrier.inval".
    """
    ops.mbarrier_inval(barrier_place(mbar_ptr, "mbarrier_inval"))


def mbarrier_init_fence(*, loc: Any = None, ip: Any = None) -> None:
    """Make this thread's `mbarrier_init` visible to the cluster and to asynchronous copies.

    Source: PTX ISA, "fence.mbarrier_init.release.cluster".
    """
    ops.fence_mbarrier_init()


def mbarrier_arrive(
    mbar_ptr: Any, peer_cta_rank_in_cluster: Any = None, arrive_count: Any = 1, *,
    scope: str = "", loc: Any = None, ip: Any = None,
) -> None:  # fmt: skip
    """Arrive at a barrier. What this thread did before is over for those of its block who wait;
    those of other blocks may let copies refill what it has read.

    Args:
        mbar_ptr: the barrier.
        peer_cta_rank_in_cluster: the block of the cluster whose barrier is meant; the own if not
            given.
        arrive_count: arrivals that this one counts for.
        scope: "cluster": it is over for all of the cluster, which costs a fence.

    Raises:
        ArgumentError: not shared memory, no such count, or no such scope.

    Source: PTX ISA, "mbarrier.arrive".
    """
    place = barrier_place(mbar_ptr, "mbarrier_arrive", peer_cta_rank_in_cluster)
    count = _number("mbarrier_arrive", arrive_count)
    ops.mbarrier_arrive("arrive", place, count, **_words("release", scope))


def mbarrier_arrive_and_expect_tx(
    mbar_ptr: Any, bytes: Any, peer_cta_rank_in_cluster: Any = None, *,
    loc: Any = None, ip: Any = None,
) -> None:  # fmt: skip
    """Let the phase wait for some bytes more, and arrive.

    Args:
        mbar_ptr: the barrier.
        bytes: what copies will bring.
        peer_cta_rank_in_cluster: as for `mbarrier_arrive`.

    Source: PTX ISA, "mbarrier.arrive.expect_tx".
    """
    what = "mbarrier_arrive_and_expect_tx"
    place = barrier_place(mbar_ptr, what, peer_cta_rank_in_cluster)
    ops.mbarrier_arrive("arrive_expect_tx", place, _number(what, bytes, 0))


def mbarrier_arrive_drop(
    mbar_ptr: Any, peer_cta_rank_in_cluster: Any = None, arrive_count: Any = 1, *,
    scope: str = "", loc: Any = None, ip: Any = None,
) -> None:  # fmt: skip
    """Arrive for the last time: later phases expect so many arrivals fewer (PTX ISA,
    "mbarrier.arrive_drop").

    Args:
        mbar_ptr: the barrier.
        peer_cta_rank_in_cluster: as for `mbarrier_arrive`.
        arrive_count: arrivals that this one counts for, and that later phases do not expect.
        scope: as for `mbarrier_arrive`.
    """
    place = barrier_place(mbar_ptr, "mbarrier_arrive_drop", peer_cta_rank_in_cluster)
    count = _number("mbarrier_arrive_drop", arrive_count)
    ops.mbarrier_arrive("arrive_drop", place, count, **_words("release", scope))


def mbarrier_arrive_drop_and_expect_tx(
    mbar_ptr: Any, bytes: Any, peer_cta_rank_in_cluster: Any = None, *,
    loc: Any = None, ip: Any = None,
) -> None:  # fmt: skip
    """Let the phase wait for some bytes more, and arrive for the last time: later phases expect one
    arrival fewer.

    Args:
        mbar_ptr: the barrier.
        bytes: what copies will bring.
        peer_cta_rank_in_cluster: as for `mbarrier_arrive`.
    """
    what = "mbarrier_arrive_drop_and_expect_tx"
    place = barrier_place(mbar_ptr, what, peer_cta_rank_in_cluster)
    ops.mbarrier_arrive("arrive_drop_expect_tx", place, _number(what, bytes, 0))


def mbarrier_arrive_token(
    mbar_ptr: Any, arrive_count: Any = 1, *, scope: str = "", loc: Any = None, ip: Any = None
) -> Any:
    """As `mbarrier_arrive` at a barrier of the own block; the result names the phase.

    Args:
        mbar_ptr: the barrier.
        arrive_count: arrivals that this one counts for.
        scope: as for `mbarrier_arrive`.

    Returns:
        An Int64 for `mbarrier_wait_token`, `mbarrier_test_wait_token` and `mbarrier_pending_count`.
    """
    place = barrier_place(mbar_ptr, "mbarrier_arrive_token")
    count = _number("mbarrier_arrive_token", arrive_count)
    return Int64(ops.mbarrier_arrive_token("arrive", place, count, **_words("release", scope)))


def mbarrier_pending_count(token: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """Arrivals that a phase still waited for when a token was made, with the one that made it: an
    Int32 (PTX ISA, "mbarrier.pending_count").

    Args:
        token: what `mbarrier_arrive_token` gave.
    """
    return Int32(ops.mbarrier_pending_count(_token(token)))


def _token(x: Any) -> Value:
    if not isinstance(x, Int64):
        raise TypeMismatchError(
            "this names no phase of an mbarrier", code="OC1632", found=repr(x),
            expected="the Int64 that mbarrier_arrive_token gave",
            hint="mbarrier_wait and mbarrier_test_wait take a parity",
        )  # fmt: skip
    return x.ir_value()


def mbarrier_expect_tx(
    mbar_ptr: Any, bytes: Any, peer_cta_rank_in_cluster: Any = None, *,
    loc: Any = None, ip: Any = None,
) -> None:  # fmt: skip
    """Let the phase wait for some bytes more, without arriving.

    Args:
        mbar_ptr: the barrier.
        bytes: what copies will bring.
        peer_cta_rank_in_cluster: as for `mbarrier_arrive`.

    Source: PTX ISA, "mbarrier.expect_tx".
    """
    what = "mbarrier_expect_tx"
    place = barrier_place(mbar_ptr, what, peer_cta_rank_in_cluster)
    ops.mbarrier_tx("expect_tx", place, _number(what, bytes, 0))


def mbarrier_complete_tx(
    mbar_ptr: Any, bytes: Any, peer_cta_rank_in_cluster: Any = None, *,
    loc: Any = None, ip: Any = None,
) -> None:  # fmt: skip
    """Tell a phase that some of its bytes have come, as copies do for those that they bring (PTX
    ISA, "mbarrier.complete_tx"). It orders nothing: what this thread wrote before need not be seen
    by those who wait.

    Args:
        mbar_ptr: the barrier.
        bytes: how many.
        peer_cta_rank_in_cluster: as for `mbarrier_arrive`.
    """
    what = "mbarrier_complete_tx"
    place = barrier_place(mbar_ptr, what, peer_cta_rank_in_cluster)
    ops.mbarrier_tx("complete_tx", place, _number(what, bytes, 0))


def _words(sem: str, scope: str) -> dict[str, Any]:
    """An order for a scope, nothing for PTX's default."""
    if scope not in ops.MBARRIER_SCOPES:
        raise ArgumentError(
            "an mbarrier orders accesses of no such scope", code="OC2222", found=scope,
            expected=", ".join(s for s in ops.MBARRIER_SCOPES if s),
        )  # fmt: skip
    return {"sem": sem, "scope": scope} if scope else {}


def mbarrier_wait(
    mbar_ptr: Any, phase: Any, *, scope: str = "", loc: Any = None, ip: Any = None
) -> None:
    """Wait until the phase of a parity (0 or 1) is complete.

    Args:
        mbar_ptr: the barrier.
        phase: the parity.
        scope: "cluster": what threads of other blocks did, and released for the cluster, may be
            read then; else what those of the own block did.

    Raises:
        ArgumentError: not shared memory, or a constant parity that is neither 0 nor 1.

    Source: PTX ISA, "mbarrier.try_wait" in a loop.
    """
    place = barrier_place(mbar_ptr, "mbarrier_wait")
    ops.mbarrier_wait(place, parity_word("mbarrier_wait", phase), **_words("acquire", scope))


def mbarrier_try_wait(
    mbar_ptr: Any, phase: Any, *, scope: str = "", loc: Any = None, ip: Any = None
) -> Any:
    """Whether the phase of a parity is complete, after a short rest, a Boolean; see
    `mbarrier_wait`.

    Args:
        mbar_ptr: the barrier.
        phase: the parity, 0 or 1.
        scope: as for `mbarrier_wait`.

    Source: PTX ISA, "mbarrier.try_wait".
    """
    place = barrier_place(mbar_ptr, "mbarrier_try_wait")
    phase = parity_word("mbarrier_try_wait", phase)
    return Boolean(ops.mbarrier_try_wait(place, phase, **_words("acquire", scope)))


def mbarrier_test_wait(
    mbar_ptr: Any, phase: Any, *, scope: str = "", loc: Any = None, ip: Any = None
) -> Any:
    """Whether the phase of a parity is complete now, a Boolean; see `mbarrier_wait`.

    Args:
        mbar_ptr: the barrier.
        phase: the parity, 0 or 1.
        scope: as for `mbarrier_wait`.

    Source: PTX ISA, "mbarrier.test_wait".
    """
    place = barrier_place(mbar_ptr, "mbarrier_test_wait")
    phase = parity_word("mbarrier_test_wait", phase)
    return Boolean(ops.mbarrier_test_wait(place, phase, **_words("acquire", scope)))


def mbarrier_wait_token(
    mbar_ptr: Any, token: Any, *, scope: str = "", loc: Any = None, ip: Any = None
) -> None:
    """Wait until the phase of a token is complete; see `mbarrier_wait`.

    Args:
        mbar_ptr: the barrier.
        token: what `mbarrier_arrive_token` gave.
        scope: as for `mbarrier_wait`.
    """
    place = barrier_place(mbar_ptr, "mbarrier_wait_token")
    ops.mbarrier_wait(place, _token(token), **_words("acquire", scope))


def mbarrier_test_wait_token(
    mbar_ptr: Any, token: Any, *, scope: str = "", loc: Any = None, ip: Any = None
) -> Any:
    """Whether the phase of a token is complete now, a Boolean; see `mbarrier_wait_token`.

    Args:
        mbar_ptr: the barrier.
        token: what arriving gave.
        scope: as for `mbarrier_wait`.
    """
    place = barrier_place(mbar_ptr, "mbarrier_test_wait_token")
    return Boolean(ops.mbarrier_test_wait(place, _token(token), **_words("acquire", scope)))


def mbarrier_conditional_try_wait(
    cond: Any, mbar_ptr: Any, phase: Any, *, loc: Any = None, ip: Any = None
) -> Any:
    """As `mbarrier_try_wait` where a condition holds; True where it does not.

    Args:
        cond: the condition.
        mbar_ptr: the barrier.
        phase: the parity, 0 or 1.
    """
    from opencute.dialects import arith, scf
    from opencute.ir.builder import insert_at, new_block
    from opencute.ir.types import I1
    from opencute.lang.block.words import flag

    condition = flag(cond)
    then, inside = new_block()
    with insert_at(inside):
        scf.yield_([mbarrier_try_wait(mbar_ptr, phase).ir_value()])
    orelse, outside = new_block()
    with insert_at(outside):
        scf.yield_([arith.constant(True, I1)])
    return Boolean(scf.if_(condition, (I1,), then, orelse).results[0])
