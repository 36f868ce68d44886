# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of runs of bytes by the hardware's copy unit, and matrices of a warp.

In: pointers, and sizes in bytes. Out: the instructions with these operands::

    prims.cp_async_bulk_global_shared_cta(dst, tile, 2048)
    prims.cp_async_bulk_commit_group()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.dialects import cute, ptx_matrix, vector
from opencute.dialects.cute import PtrType
from opencute.dialects.hopper import bulk
from opencute.ir.core import Value
from opencute.ir.types import I8
from opencute.lang.block.atomics import pointer_of
from opencute.lang.block.words import word
from opencute.lang.hopper.mbarriers import barrier_place
from opencute.lang.numbers import Int32, as_numeric

__all__ = [
    "cp_async_bulk_commit_group",
    "cp_async_bulk_global_shared_cta",
    "cp_async_bulk_prefetch",
    "cp_async_bulk_shared_cluster_global",
    "cp_async_bulk_wait_group",
    "ldmatrix",
    "stmatrix",
]

_ALIGN = 16
_8X8, _16X8 = "8x8.b16", "16x8.b8"


def _run(ptr: Any, what: str) -> Value:
    """A pointer as one to bytes that are aligned as the copy unit needs them."""
    value = pointer_of(ptr, what).value
    type: Any = value.type
    return cute.recast(value, PtrType(I8, type.space, _ALIGN, type.swizzle))


def cp_async_bulk_prefetch(ptr: Any, size: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Start fetching `size` bytes of global memory, a multiple of 16, into the L2 cache.

    Args:
        ptr: where, a multiple of 16 bytes.
        size: bytes.
    """
    bulk.bulk_prefetch(_run(ptr, "cp_async_bulk_prefetch"), word(size))


def cp_async_bulk_shared_cluster_global(
    dst: Any, src: Any, mbar: Any, size: Any, *, loc: Any = None, ip: Any = None
) -> None:
    """Start copying `size` bytes from global to shared memory; an mbarrier counts them.

    Args:
        dst: where to, a multiple of 16 bytes.
        src: where from, likewise.
        mbar: the barrier.
        size: bytes, a multiple of 16.
    """
    what = "cp_async_bulk_shared_cluster_global"
    bar = barrier_place(mbar, what)
    bulk.bulk_copy(_run(dst, what), _run(src, what), word(size), bar)


def cp_async_bulk_global_shared_cta(
    dst: Any, src: Any, size: Any, *, loc: Any = None, ip: Any = None
) -> None:
    """Start copying `size` bytes from shared to global memory, as part of a group.

    Args:
        dst: where to, a multiple of 16 bytes.
        src: where from, likewise.
        size: bytes, a multiple of 16.
    """
    what = "cp_async_bulk_global_shared_cta"
    bulk.bulk_copy(_run(dst, what), _run(src, what), word(size))


def cp_async_bulk_commit_group(*, loc: Any = None, ip: Any = None) -> None:
    """Close a group of copies to global memory."""
    bulk.bulk_commit()


def cp_async_bulk_wait_group(
    n: int, *, read: bool = False, loc: Any = None, ip: Any = None
) -> None:
    """Wait until at most `n` groups are under way, or, with `read`, still read their sources."""
    bulk.bulk_wait(int(n), read=bool(read))


def _shape(shape: Any, source: Any) -> str:
    name = str(getattr(shape, "value", shape or "m8n8"))
    kind = str(getattr(source, "value", source or ""))
    known = {("m8n8", ""): _8X8, ("m8n8", "b16"): _8X8, ("m16n16", "b8"): "16x16.b8",
             ("m16n8", ""): _16X8, ("m16n8", "b8"): _16X8}  # fmt: skip
    if (name, kind) not in known:
        raise ArgumentError(
            "no such matrices", code="OC2229", expected=", ".join(f"{a} {b}" for a, b in known),
            found=f"{name} {kind}",
        )  # fmt: skip
    return known[name, kind]


def _transposed(layout: Any) -> bool:
    return str(getattr(layout, "value", layout)).lower() == "col"


def ldmatrix(
    ptr: Any, num: int, layout: Any, *, shape: Any = None, src_format: Any = None,
    loc: Any = None, ip: Any = None,
) -> tuple[Int32, ...]:  # fmt: skip
    """The thread's registers of matrices in shared memory.

    Args:
        ptr: the row that this lane points to.
        num: matrices; each is a register of a thread, of 16x16 bytes two.
        layout: a `MMALayout`; COL transposes.
        shape: a `LoadShape`; 8x8 elements of 16 bits when omitted.
        src_format: a `LoadSrcFormat`.
    """
    value = _run(ptr, "ldmatrix")
    form = _shape(shape, src_format)
    registers = ptx_matrix.ldmatrix(value, int(num), trans=_transposed(layout), shape=form)
    count: int = registers.type.length  # pyright: ignore
    return tuple(Int32(vector.extract(registers, i)) for i in range(count))


def stmatrix(
    ptr: Any, registers: Sequence[Any], layout: Any, *, shape: Any = None, loc: Any = None,
    ip: Any = None,
) -> None:  # fmt: skip
    """Write the thread's registers of matrices to shared memory; as `ldmatrix`.

    Args:
        ptr: the row that this lane points to.
        registers: 32 bits each.
        layout: a `MMALayout`; COL transposes.
        shape: a `StoreShape`; 8x8 elements of 16 bits when omitted.
    """
    words = [as_numeric(r).to(Int32).ir_value() for r in registers]
    ptx_matrix.stmatrix(
        _run(ptr, "stmatrix"), vector.from_elements(words), len(words),
        trans=_transposed(layout), shape=_shape(shape, None),
    )  # fmt: skip
