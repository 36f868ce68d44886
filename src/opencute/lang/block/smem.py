# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Shared memory of a block, as pointers with a type.

`smem_plan` gives each allocation its place::

    p = alloc_smem(Float32, 64)        # ptr<f32, smem, align<1024>>
"""

from __future__ import annotations

from typing import Any

from opencute.dialects import cute, smem
from opencute.ir.core import Value
from opencute.lang.block.smem_plan import check_align, current_plan, take
from opencute.lang.numbers import Int8, Int32, NumericMeta, class_of
from opencute.lang.pointers import AddressSpace, Pointer, element_bits, pointer_type

__all__ = ["alloc_smem", "dynamic_smem_size", "get_dyn_smem", "get_dyn_smem_size", "typed"]


def typed(raw: Value, dtype: NumericMeta) -> Pointer:
    """A pointer to bytes as one to elements of a type."""
    assert isinstance(raw.type, cute.PtrType)
    type = pointer_type(dtype, AddressSpace.smem, raw.type.align)
    return Pointer(raw if raw.type == type else cute.recast(raw, type), dtype)


def alloc_smem(
    element_type: Any, size_in_elems: int, alignment: int | None = None,
    *, loc: Any = None, ip: Any = None,
) -> Pointer:  # fmt: skip
    """Shared memory for some elements of a type.

    Args:
        element_type: numeric class of the elements.
        size_in_elems: how many, known at compile time.
        alignment: in bytes; that of an element if not given.
    """
    dtype = class_of(element_type)
    bits = element_bits(dtype)
    size = -(-int(size_in_elems) * bits // 8)
    return typed(take(size, alignment or max(bits // 8, 1)), dtype)


def dynamic_smem_size(*, loc: Any = None, ip: Any = None) -> Any:
    """Bytes of dynamic shared memory that this launch asked for, as Int32."""
    out = Int32(smem.smem_size())
    out.nonneg = True
    return out


get_dyn_smem_size = dynamic_smem_size


def get_dyn_smem(
    element_type: Any = Int8, alignment: int | None = None, *, loc: Any = None, ip: Any = None
) -> Pointer:
    """Where the block's shared memory begins, also that of all allocations.

    Args:
        element_type: numeric class of the elements.
        alignment: at most 1024, which it has.
    """
    plan = current_plan()
    if alignment is not None:
        check_align(int(alignment))
    size = plan.limit if plan is not None else 0
    return typed(smem.smem_alloc(0, size, smem.BASE_ALIGN), class_of(element_type))
