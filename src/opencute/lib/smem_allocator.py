# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Shared memory given away piece by piece.

    smem = utils.SmemAllocator()
    storage = smem.allocate(SharedStorage)                        # a struct
    sA = smem.allocate_tensor(cutlass.Float16, layout, 128)       # a tensor
    flag = smem.allocate(cutlass.Int32)                           # a pointer

All allocators of a kernel share its memory. The launch asks for as much as they use, unless it is
told to ask for more.
"""

from __future__ import annotations

from typing import Any

from opencute.arch.target import target
from opencute.base.errors import ArgumentError, LayoutError, TypeMismatchError
from opencute.compiler.targets import run_target
from opencute.lang.block.smem import typed
from opencute.lang.block.smem_plan import current_plan, take
from opencute.lang.block.structs import struct
from opencute.lang.numbers import Int8, class_of
from opencute.lang.pointers import element_bits
from opencute.lang.tensors import make_tensor
from opencute.layout import ComposedLayout, Layout, Swizzle, cosize, is_static, make_layout

__all__ = ["SMEM_CAPACITY", "SmemAllocator", "get_smem_capacity_in_bytes"]


def get_smem_capacity_in_bytes(compute_capability: str | None = None) -> int:
    """Bytes of shared memory that a block may have.

    Args:
        compute_capability: such as "sm_90"; if not given, that of the kernel that is traced, or
            what kernels are compiled for.

    Raises:
        ArgumentError: there is no such processor.
    """
    if compute_capability is None:
        plan = current_plan()
        if plan is not None:
            return plan.limit
        compute_capability = run_target().arch
    return target(str(compute_capability)).max_smem


class SmemAllocator:
    """Gives away the shared memory of the kernel that is traced."""

    def __init__(self, *, loc: Any = None, ip: Any = None) -> None:
        plan = current_plan()
        self._start = plan.offset if plan is not None else 0

    @staticmethod
    def capacity_in_bytes(compute_capability: str | None = None) -> int:
        """As `get_smem_capacity_in_bytes`.

        Args:
            compute_capability: such as "sm_90".
        """
        return get_smem_capacity_in_bytes(compute_capability)

    @property
    def allocated_bytes(self) -> int:
        """Bytes of shared memory that the kernel has given away so far."""
        plan = current_plan()
        return plan.offset if plan is not None else 0

    def allocate(
        self, size_or_type: Any, byte_alignment: int = 1, *, loc: Any = None, ip: Any = None
    ) -> Any:
        """Memory for a number of bytes, a number of the language, or a struct.

        Args:
            size_or_type: a number of bytes, a numeric class, or a struct.
            byte_alignment: in bytes, a power of two; what the type needs in any case.

        Returns:
            A pointer; for a struct, the struct at its place.

        Raises:
            ArgumentError: there is no room, or no such alignment.
            TypeMismatchError: none of these.
        """
        if isinstance(size_or_type, struct):
            align = max(byte_alignment, size_or_type.alignof())
            return size_or_type(typed(take(size_or_type.size_in_bytes(), align), Int8))
        if isinstance(size_or_type, int) and not isinstance(size_or_type, bool):
            return typed(take(size_or_type, byte_alignment), Int8)
        if getattr(size_or_type, "is_dynamic", True) is False:
            return self.allocate(int(size_or_type), byte_alignment)
        try:
            dtype = class_of(size_or_type)
        except TypeMismatchError:
            raise TypeMismatchError(
                "allocate() takes a number of bytes, a type or a struct", code="OC1285",
                found=repr(size_or_type), hint="sizes must be known at compile time",
            ) from None  # fmt: skip
        return self.allocate_array(dtype, 1, byte_alignment)

    def allocate_array(
        self, element_type: Any, num_elems: int = 1, byte_alignment: int = 1,
        *, loc: Any = None, ip: Any = None,
    ) -> Any:  # fmt: skip
        """A pointer to memory for some elements of a type, aligned as an element at least.

        Args:
            element_type: numeric class of the elements.
            num_elems: how many, known at compile time.
            byte_alignment: in bytes, a power of two.
        """
        dtype = class_of(element_type)
        bits = element_bits(dtype)
        size = -(-_static("num_elems", num_elems) * bits // 8)
        return typed(take(size, max(byte_alignment, bits // 8, 1)), dtype)

    def allocate_tensor(
        self,
        element_type: Any,
        layout: Any,
        byte_alignment: int = 1,
        swizzle: Any = None,
        *,
        loc: Any = None,
        ip: Any = None,
    ) -> Any:
        """A tensor in memory of its own.

        Args:
            element_type: numeric class of the elements.
            layout: a static layout, composed layout, or shape.
            byte_alignment: in bytes, a power of two.
            swizzle: of the byte addresses; memory is then aligned to its period.

        Raises:
            LayoutError: the layout is not static, or is swizzled twice.
            ArgumentError: there is no room.
        """
        dtype = class_of(element_type)
        layout = layout if isinstance(layout, Layout | ComposedLayout) else make_layout(layout)
        if not is_static(layout):
            raise LayoutError("shared memory needs a static layout", code="OC1358", found=layout)
        if isinstance(layout, ComposedLayout) and swizzle is not None:
            raise LayoutError(
                "a tensor is swizzled by its layout or by its pointer", code="OC1369",
                found=f"{layout} and {swizzle}", hint="pass layout.outer with swizzle=layout.inner",
            )  # fmt: skip
        bits = element_bits(dtype)
        align = max(byte_alignment, bits // 8, 1)
        size = -(-_elements(layout) * bits // 8)
        if isinstance(swizzle, Swizzle) and swizzle.bits:
            align = max(align, min(swizzle.size(), 1024))
            size = _whole(size, swizzle)
        elif isinstance(layout, ComposedLayout) and isinstance(layout.inner, Swizzle):
            align = max(align, min(layout.inner.size() * bits // 8, 1024))
        ptr = typed(take(size, align), dtype)
        return make_tensor(ptr if swizzle is None else ptr.swizzled(swizzle), layout)


def _static(what: str, n: Any) -> int:
    if getattr(n, "is_dynamic", False) or not hasattr(n, "__index__"):
        raise TypeMismatchError(f"{what} must be known at compile time", code="OC1285",
                                found=repr(n))  # fmt: skip
    if int(n) < 0:
        raise ArgumentError(f"{what} is negative", code="OC2129", found=int(n))
    return int(n)


def _whole(size: int, swizzle: Swizzle) -> int:
    """Room for whole pieces within which a swizzle permutes."""
    unit = 1 << (swizzle.bits + swizzle.base) if swizzle.shift >= 0 else swizzle.size()
    return -(-size // unit) * unit


def _elements(layout: Any) -> int:
    """Elements from the first to the last that a layout reaches."""
    if not isinstance(layout, ComposedLayout):
        return cosize(layout)
    outer = cosize(layout.outer)
    if isinstance(layout.inner, Swizzle) and layout.inner.bits:
        return _whole(int(layout.offset) + outer, layout.inner)
    reached = [int(layout(i)) for i in range(layout.size())]
    return max(reached) + 1


SMEM_CAPACITY = {name: target(name).max_smem for name in ("sm_80", "sm_86", "sm_89", "sm_90")}
"""Bytes of shared memory of a block, by processor."""
