# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Clusters of blocks, other blocks' shared memory, registers of warpgroups, order of launches."""

from __future__ import annotations

from typing import Any

from opencute import layout as la
from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.dialects import vector
from opencute.dialects.hopper import cluster as ops
from opencute.ir.core import Value
from opencute.lang.block.atomics import pointer_of
from opencute.lang.block.words import word
from opencute.lang.hopper.mbarriers import barrier_place
from opencute.lang.numbers import NumericMeta, as_numeric
from opencute.lang.pointers import AddressSpace, Pointer, element_bits
from opencute.lang.vectors import TensorSSA

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
    "red_async",
    "setmaxregister_decrease",
    "setmaxregister_increase",
    "st_async",
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


# ---------------------------------------------------------------- writes that count
_STORED = ("i32", "u32", "i64", "u64", "f32", "f64")


def _target(
    what: str, ptr: Any, mbar_ptr: Any, peer: Any, count: int
) -> tuple[Value, Value, NumericMeta]:
    """Where a write goes, the barrier that counts its bytes, and the type of its numbers."""
    pointer = pointer_of(ptr, what)
    if peer is None and pointer.memspace != AddressSpace.dsmem:
        raise ArgumentError(
            f"{what} is for the shared memory of a block of the cluster", code="OC2220",
            found=str(pointer), expected="peer_cta_rank_in_cluster=, or what map_dsmem_ptr gives",
        )  # fmt: skip
    size = element_bits(pointer.dtype) // 8 * count
    if pointer.alignment < size:
        pointer = pointer.align(size)
    if peer is not None:
        pointer = map_dsmem_ptr(pointer, peer)
    bar = barrier_place(mbar_ptr, what, peer)
    type: Any = bar.type
    if type.space != "dsmem":
        raise ArgumentError(
            f"{what}: the barrier is to be in the same block as the memory", code="OC2220",
            found=str(mbar_ptr), expected="map_dsmem_ptr of the barrier, too",
        )  # fmt: skip
    return pointer.value, bar, pointer.dtype


def st_async(
    ptr: Any, value: Any, mbar_ptr: Any, peer_cta_rank_in_cluster: Any = None, *,
    loc: Any = None, ip: Any = None,
) -> None:  # fmt: skip
    """Write to the shared memory of a block of the cluster, later; an mbarrier of that block counts
    the bytes (PTX ISA, "st.async"). Who waits for its phase sees the numbers.

    Args:
        ptr: where to, aligned to all of the numbers: a place in the own shared memory if there is a
            rank, else what `map_dsmem_ptr` gave. To 32- or 64-bit numbers.
        value: a number, or two or four of them (of 64 bits: two), in a tuple or a TensorSSA; they
            become numbers of the pointer's type.
        mbar_ptr: the barrier, likewise.
        peer_cta_rank_in_cluster: which block; the own one may be meant, too.

    Raises:
        ArgumentError: not such pointers.
        TypeMismatchError: there is no instruction for these numbers.
    """
    parts = [value]
    if isinstance(value, TensorSSA):
        parts = [value[i] for i in range(la.size(value.shape))]
    elif isinstance(value, (tuple, list)):
        parts = list(value)
    dtype = pointer_of(ptr, "st_async").dtype
    most = 128 // element_bits(dtype)
    if dtype.dtype.name not in _STORED or len(parts) not in (1, 2, 4) or len(parts) > most:
        raise TypeMismatchError(
            "st_async: there is no instruction for these numbers", code="OC1631",
            found=f"{len(parts)} of {dtype}", expected="1, 2 or 4 of 32 bits, 1 or 2 of 64",
        )  # fmt: skip
    place, bar, dtype = _target("st_async", ptr, mbar_ptr, peer_cta_rank_in_cluster, len(parts))
    numbers = [as_numeric(x).to(dtype).ir_value() for x in parts]
    stored = numbers[0] if len(numbers) == 1 else vector.from_elements(numbers)
    ops.st_async(place, stored, bar)


def red_async(
    ptr: Any, value: Any, mbar_ptr: Any, peer_cta_rank_in_cluster: Any = None, *,
    op: str = "add", loc: Any = None, ip: Any = None,
) -> None:  # fmt: skip
    """As `st_async`, combining a number in memory with another one, atomically (PTX ISA,
    "red.async").

    Args:
        ptr: to an Int32 or Uint32, or for "add" to an Int64 or Uint64, as for `st_async`.
        value: the number, which becomes one of the pointer's type.
        mbar_ptr: the barrier.
        peer_cta_rank_in_cluster: which block.
        op: "add", "min", "max", "inc", "dec" (both Uint32), "and", "or" or "xor".

    Raises:
        ArgumentError: not such pointers.
        TypeMismatchError: there is no instruction for these numbers.
    """
    place, bar, dtype = _target("red_async", ptr, mbar_ptr, peer_cta_rank_in_cluster, 1)
    allowed = {"inc": ("u32",), "dec": ("u32",), "add": ("i32", "u32", "i64", "u64")}
    names = allowed.get(op, ("i32", "u32")) if op in ops.RED_ASYNC else ()
    if dtype.dtype.name not in names:
        raise TypeMismatchError(
            f"red_async: there is no instruction {op!r} for these numbers", code="OC1631",
            found=dtype, expected=", ".join(names) or f"op one of {', '.join(ops.RED_ASYNC)}",
        )  # fmt: skip
    number = as_numeric(value).to(dtype)
    ops.red_async(op, place, number.ir_value(), bar, unsigned=not dtype.signed)


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
