# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""C structures as arguments: their layout in memory, and the values in compiled code.

A structure's type is anything with ``members``: integer, float, pointer and structure types. In:
such a type and a C pointer. Out: the members' values, which the host function gets one by one, and
an `Aggregate` that stands for the structure while tracing::

    read_value(type, address, out)           # out: the leaves, in order
    wrap_value(type, values).member([1, 0])  # an Int32
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Nested member types are of any kind; annotations cannot say more.

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.dialects.cute import PtrType
from opencute.dialects.llvm import LLVMPointerType
from opencute.ir.core import Value
from opencute.ir.types import FloatType, IntegerType, Type
from opencute.lang.external_pointers import ExternalPointer
from opencute.lang.numbers import NUMERIC_CLASSES, Int8
from opencute.lang.pointers import AddressSpace, Pointer, pointer_type
from opencute.numeric.dtypes import DTYPES
from opencute.numeric.scalars import decode_scalar

__all__ = ["Aggregate", "leaf_types", "memory_layout", "read_value", "wrap_value"]


def memory_layout(type: Any) -> tuple[int, int, tuple[int, ...]]:
    """Size, alignment and the members' offsets of a type, as C lays it out.

    Raises:
        TypeMismatchError: a type that C has not.
    """
    if hasattr(type, "members"):
        offsets: list[int] = []
        at, most = 0, 1
        for member in type.members:
            size, align, _ = memory_layout(member)
            align = 1 if getattr(type, "packed", False) else align
            at = -(-at // align) * align
            offsets.append(at)
            at, most = at + size, max(most, align)
        return -(-at // most) * most, most, tuple(offsets)
    if isinstance(type, LLVMPointerType):
        return 8, 8, ()
    if isinstance(type, IntegerType | FloatType) and type.width <= 64:
        size = max(type.width // 8, 1)
        return size, size, ()
    raise TypeMismatchError(
        "an argument's part cannot be of this type", code="OC1264",
        expected="an integer, a float, a pointer or a structure of these", found=str(type),
    )  # fmt: skip


def leaf_types(type: Any) -> Iterator[Type]:
    """The types of the SSA values that a type becomes."""
    if hasattr(type, "members"):
        for member in type.members:
            yield from leaf_types(member)
    elif isinstance(type, LLVMPointerType):
        yield pointer_type(Int8, AddressSpace.generic, 1)
    else:
        memory_layout(type)
        yield type


def read_value(type: Any, address: int, out: list[Any]) -> None:
    """Append the values that lie at an address, in the order of `leaf_types`.

    Raises:
        ArgumentError: the address is 0.
    """
    if address == 0:
        raise ArgumentError("__c_pointers__ gives a null pointer", code="OC2145", found=str(type))
    size, _, offsets = memory_layout(type)
    if hasattr(type, "members"):
        for member, offset in zip(type.members, offsets, strict=True):
            read_value(member, address + offset, out)
        return
    raw = ctypes.string_at(address, size)
    if isinstance(type, LLVMPointerType):
        pointee = int.from_bytes(raw, "little")
        out.append(ExternalPointer(Int8, pointee, AddressSpace.generic, 1))
    elif isinstance(type, FloatType):
        out.append(decode_scalar(int.from_bytes(raw, "little"), DTYPES[type.name]))
    else:
        out.append(int.from_bytes(raw, "little", signed=True))


class Aggregate:
    """A structure while tracing: its members.

    Args:
        type: the structure's type.
        values: the SSA values of its leaves.
    """

    def __init__(self, type: Any, values: Iterator[Value]) -> None:
        self.type = type
        self.members = [wrap_value(member, values) for member in type.members]

    def member(self, position: Sequence[int]) -> Any:
        """The member at an index, or at indices through nested structures.

        Raises:
            TypeMismatchError: there is none.
        """
        found: Any = self
        for index in position:
            if not isinstance(found, Aggregate) or not -1 < index < len(found.members):
                raise TypeMismatchError(
                    "the structure has no such member", code="OC1265", expected=str(self.type),
                    found=f"position {list(position)}",
                )  # fmt: skip
            found = found.members[index]
        return found

    def __extract_mlir_values__(self) -> list[Value]:
        return [v for m in self.members for v in m.__extract_mlir_values__()]

    def __new_from_mlir_values__(self, values: Sequence[Value]) -> Aggregate:
        return Aggregate(self.type, iter(values))

    def __str__(self) -> str:
        return str(self.type)


def wrap_value(type: Any, values: Iterator[Value]) -> Any:
    """The object that stands for the next values while tracing."""
    if hasattr(type, "members"):
        return Aggregate(type, values)
    value = next(values)
    if isinstance(value.type, PtrType):
        return Pointer(value, Int8)
    cls: Any = NUMERIC_CLASSES[f"i{type.width}" if isinstance(type, IntegerType) else type.name]
    return cls(value)
