# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Clusters of blocks, other blocks' shared memory, registers of warpgroups, order of launches."""

from __future__ import annotations

from typing import Any

from opencute.base.errors import ArgumentError
from opencute.dialects.hopper import cluster as ops
from opencute.lang.block.atomics import pointer_of
from opencute.lang.block.words import word
from opencute.lang.hopper.mbarriers import barrier_place
from opencute.lang.pointers import AddressSpace, Pointer

__all__ = [
    "cluster_arrive",
    "cluster_arrive_relaxed",
    "cluster_sync",
    "cluster_wait",
    "cp_async_mbarrier_arrive_noinc",
    "cp_async_mbarrier_arrive_shared",
    "griddepcontrol_launch_dependents",
    "griddepcontrol_wait",
    "map_dsmem_ptr",
    "mapa",
    "setmaxregister_decrease",
    "setmaxregister_increase",
    "warpgroup_reg_alloc",
    "warpgroup_reg_dealloc",
]


def cluster_arrive(*, aligned: Any = None, loc: Any = None, ip: Any = None) -> None:
    """Arrive at the barrier of the cluster: what this thread wrote, others see after their wait.

    Args:
        aligned: accepted; all threads of a warp have to come here together in any case.

    Source: PTX ISA, "barrier.cluster.arrive".
    """
    ops.cluster_arrive("release")


def cluster_arrive_relaxed(*, aligned: Any = None, loc: Any = None, ip: Any = None) -> None:
    """As `cluster_arrive`, without making anything visible but what `mbarrier_init_fence` has.

    Args:
        aligned: as for `cluster_arrive`.

    Source: PTX ISA, "barrier.cluster.arrive.relaxed".
    """
    ops.cluster_arrive("relaxed")


def cluster_wait(*, aligned: Any = None, loc: Any = None, ip: Any = None) -> None:
    """Wait until all threads of the cluster have arrived at its barrier.

    Args:
        aligned: as for `cluster_arrive`.

    Source: PTX ISA, "barrier.cluster.wait".
    """
    ops.cluster_wait()


def cluster_sync(*, loc: Any = None, ip: Any = None) -> None:
    """Wait for all threads of the cluster; orders their memory accesses."""
    ops.cluster_arrive("release")
    ops.cluster_wait()


def map_dsmem_ptr(
    smem_ptr: Any, cta_rank_in_cluster: Any, *, loc: Any = None, ip: Any = None
) -> Pointer:
    """The same place in the shared memory of another block of the cluster.

    Args:
        smem_ptr: a pointer to the block's own shared memory.
        cta_rank_in_cluster: which block, as `block_idx_in_cluster` counts them.

    Raises:
        ArgumentError: not a pointer to the block's own shared memory.

    Source: PTX ISA, "mapa".
    """
    pointer = pointer_of(smem_ptr, "map_dsmem_ptr")
    if pointer.memspace != AddressSpace.smem:
        raise ArgumentError(
            "map_dsmem_ptr needs a pointer to the block's own shared memory", code="OC2220",
            found=str(pointer),
        )  # fmt: skip
    return Pointer(ops.mapa(pointer.value, word(cta_rank_in_cluster)), pointer.dtype)


mapa = map_dsmem_ptr


# ---------------------------------------------------------------- copies that arrive
def cp_async_mbarrier_arrive_noinc(mbar_ptr: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Arrive when the copies (`cp_async`) that this thread has started are complete.

    Args:
        mbar_ptr: the barrier, 8 bytes of shared memory.

    Source: PTX ISA, "cp.async.mbarrier.arrive.noinc".
    """
    ops.cp_async_mbarrier_arrive(barrier_place(mbar_ptr, "cp_async_mbarrier_arrive"), noinc=True)


def cp_async_mbarrier_arrive_shared(
    mbar_ptr: Any, noinc: bool = False, *, loc: Any = None, ip: Any = None
) -> None:
    """As `cp_async_mbarrier_arrive_noinc`; without `noinc`, the phase expects one arrival more.

    Args:
        mbar_ptr: the barrier, 8 bytes of shared memory.
        noinc: the arrival is one of those that the barrier expects.

    Source: PTX ISA, "cp.async.mbarrier.arrive".
    """
    place = barrier_place(mbar_ptr, "cp_async_mbarrier_arrive")
    ops.cp_async_mbarrier_arrive(place, noinc=bool(noinc))


# ---------------------------------------------------------------- registers
def _registers(action: str, count: Any) -> None:
    n = int(count)
    if n % 8 or not 24 <= n <= 256:
        raise ArgumentError(
            "no such number of registers for a warpgroup", code="OC2221",
            expected="a multiple of 8, 24 to 256", found=n,
        )  # fmt: skip
    ops.setmaxnreg(action, n)


def setmaxregister_increase(reg_count: int, *, loc: Any = None, ip: Any = None) -> None:
    """Let each thread of the warpgroup have `reg_count` registers, more than it has; waits until
    others have given them back.

    Args:
        reg_count: registers of each thread, a multiple of 8 from 24 to 256.

    Raises:
        ArgumentError: not a multiple of 8 from 24 to 256.

    Source: PTX ISA, "setmaxnreg".
    """
    _registers("inc", reg_count)


def setmaxregister_decrease(reg_count: int, *, loc: Any = None, ip: Any = None) -> None:
    """Give back the registers of each thread of the warpgroup beyond `reg_count`.

    Args:
        reg_count: registers that each thread keeps, a multiple of 8 from 24 to 256.

    Raises:
        ArgumentError: not a multiple of 8 from 24 to 256.

    Source: PTX ISA, "setmaxnreg".
    """
    _registers("dec", reg_count)


warpgroup_reg_alloc = setmaxregister_increase
warpgroup_reg_dealloc = setmaxregister_decrease


# ---------------------------------------------------------------- order of launches
def griddepcontrol_wait(*, loc: Any = None, ip: Any = None) -> None:
    """Wait until the kernels that this one was launched after have ended (`use_pdl=True`).

    Source: PTX ISA, "griddepcontrol".
    """
    ops.griddepcontrol("wait")


def griddepcontrol_launch_dependents(*, loc: Any = None, ip: Any = None) -> None:
    """Let the kernels that are launched after this one start, once all blocks have said so.

    Source: PTX ISA, "griddepcontrol".
    """
    ops.griddepcontrol("launch_dependents")
