# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Pointers that come from outside: `make_ptr`, `nullptr`.

In: an address that somebody else has, and what lies there. Out: an argument of compiled functions;
in compiled code, a pointer::

    p = make_ptr(Float32, tensor.data_ptr(), AddressSpace.gmem, assumed_align=16)
"""

from __future__ import annotations

from typing import Any

from opencute.base.errors import ArgumentError
from opencute.dialects import cute
from opencute.ir.builder import current_block
from opencute.lang.numbers import Int64
from opencute.lang.pointers import AddressSpace, Pointer, element_bits, pointer_type

__all__ = ["ExternalPointer", "check_tensor_alignment", "make_ptr", "nullptr"]


class ExternalPointer:
    """An address as an argument of compiled functions; see `make_ptr`."""

    __slots__ = ("address", "alignment", "dtype", "memspace")

    def __init__(self, dtype: Any, address: int, memspace: AddressSpace, alignment: int) -> None:
        self.dtype = dtype
        self.address = address
        self.memspace = memspace
        self.alignment = alignment

    value_type = property(lambda self: self.dtype)
    _pointer = property(lambda self: self.address)  # as examples free what they allocated

    def __c_pointers__(self) -> list[Any]:
        return [self]

    __get_mlir_types__ = __c_pointers__

    def __new_from_mlir_values__(self, values: Any) -> Any:
        return values[0]

    def __str__(self) -> str:
        return f"ptr<{self.dtype.dtype.name}, {self.memspace.name}, align<{self.alignment}>>"

    __repr__ = __str__


def check_tensor_alignment(address: int, align: int) -> None:
    """Check the address of a tensor whose alignment somebody promises.

    Args:
        address: of its first element.
        align: bytes.

    Raises:
        ArgumentError: it is not aligned so.
    """
    if address % align:
        raise ArgumentError(
            "the tensor is not aligned as assumed", code="OC2102",
            expected=f"an address that is a multiple of {align}", found=f"0x{address:x}",
            hint="a view that starts inside a row is not aligned; clone() it, or pass a "
            "smaller assumed_align",
        )  # fmt: skip


def make_ptr(
    dtype: Any,
    value: Any,
    mem_space: AddressSpace = AddressSpace.generic,
    assumed_align: int | None = None,
    *,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """A typed pointer from an address.

    Args:
        dtype: numeric class of the elements.
        value: the address: a Python int outside of compiled code, also an integer inside.
        mem_space: where it points.
        assumed_align: alignment in bytes; the element's own when omitted.

    Raises:
        ArgumentError: the address is not aligned as assumed.
    """
    align = assumed_align or max(element_bits(dtype) // 8, 1)
    if current_block() is not None:
        if isinstance(value, Pointer):
            space = value.memspace if mem_space == AddressSpace.generic else mem_space
            type = pointer_type(dtype, space, assumed_align or max(align, value.alignment))
            return Pointer(cute.recast(value.value, type), dtype)
        type = pointer_type(dtype, mem_space, align)
        return Pointer(cute.int_to_ptr(Int64(value).ir_value(), type), dtype)
    address = int(getattr(value, "value", value) or 0)
    if address % align:
        raise ArgumentError(
            "the address is not aligned as assumed", code="OC2102",
            expected=f"a multiple of {align}", found=f"0x{address:x}",
        )  # fmt: skip
    return ExternalPointer(dtype, address, mem_space, align)


def nullptr(
    dtype: Any,
    mem_space: AddressSpace = AddressSpace.generic,
    assumed_align: int | None = None,
    *,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """The pointer to nowhere; see `make_ptr`.

    Args:
        dtype: numeric class of the elements.
        mem_space: where it points.
        assumed_align: alignment in bytes.
    """
    return make_ptr(dtype, 0, mem_space, assumed_align)
