# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Typed pointers with a memory space and a known alignment."""

from __future__ import annotations

import enum
import math
import operator
from typing import Any

from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.dialects import arith, cute, interop, registers
from opencute.dialects.cute import PtrType
from opencute.ir.core import Value
from opencute.ir.types import I32, I64
from opencute.lang.numbers import Int32, Int64, Integer, Numeric, NumericMeta, ir_type, number_in
from opencute.layout import Swizzle
from opencute.numeric.literals import check_fits

__all__ = ["AddressSpace", "Pointer", "element_bits", "offset_alignment", "pointer_type"]


class AddressSpace(enum.IntEnum):
    """Where a pointer points. The values of the first members are PTX's state spaces."""

    generic = 0
    gmem = 1
    smem = 3
    rmem = 5
    tmem = 6
    dsmem = 7


def element_bits(dtype: NumericMeta) -> int:
    """Bits of one element in memory; a Boolean takes a byte."""
    return dtype.dtype.memory_bits


def pointer_type(
    dtype: NumericMeta, space: AddressSpace, align: int, swizzle: tuple[int, ...] = ()
) -> PtrType:
    """The IR type of a pointer."""
    return PtrType(ir_type(dtype.dtype), space.name, align, swizzle)


def offset_alignment(align: int, offset: Any, bits: int) -> int:
    """What is left of an alignment (bytes) after moving by `offset` elements of `bits` bits."""
    step = offset.divisibility if isinstance(offset, Integer) else abs(int(offset))
    step_bytes = step * bits // 8
    return math.gcd(align, step_bytes) if step_bytes else align


class Pointer:
    """A pointer to elements of one type.

    Args:
        value: SSA value of type `!cute.ptr`.
        dtype: numeric class of the elements.

    Arithmetic counts elements: ``p + 4`` points four elements further, with the alignment that
    follows from what is known of the offset.
    """

    __slots__ = ("_dtype", "value")

    def __init__(self, value: Value, dtype: NumericMeta) -> None:
        if not isinstance(value.type, PtrType):
            raise TypeMismatchError("not a pointer", code="OC1210", found=value.type)
        self.value = value
        self._dtype = dtype

    @property
    def _ptr(self) -> PtrType:
        type = self.value.type
        assert isinstance(type, PtrType)
        return type

    @property
    def dtype(self) -> NumericMeta:
        """The elements' numeric class."""
        return self._dtype

    value_type = dtype

    @property
    def memspace(self) -> AddressSpace:
        """The memory space."""
        return AddressSpace[self._ptr.space]

    @property
    def alignment(self) -> int:
        """Known alignment of the address, in bytes."""
        return self._ptr.align

    max_alignment = alignment

    @property
    def type(self) -> str:
        """The type as it is printed."""
        return str(self)

    def ir_value(self, *, loc: Any = None, ip: Any = None) -> Value:
        """The SSA value."""
        return self.value

    def toint(self, *, loc: Any = None, ip: Any = None) -> Any:
        """The address as an Int64 (Int32 for shared memory, also of another block)."""
        address = Int64(cute.ptr_to_int(self.value))
        address.nonneg, address.div = True, self.alignment
        narrow = self.memspace in (AddressSpace.smem, AddressSpace.dsmem)
        return address.to(Int32) if narrow else address

    @property
    def llvm_ptr(self) -> Value:
        """The address as an llvm pointer, as MLIR's bindings take it."""
        return interop.to_llvm(self.value)

    def to_llvm_ptr(self, *, loc: Any = None, ip: Any = None) -> Value:
        """The address as an llvm pointer, as MLIR's bindings take it."""
        return self.llvm_ptr

    def raw_ptr(self, *, loc: Any = None, ip: Any = None) -> Any:
        """The same pointer as one that can be indexed: ``p[i]``."""
        from opencute.lang.arrays.raw import RawPointer

        return RawPointer(self.value, self._dtype)

    def align(self, alignment: int, *, loc: Any = None, ip: Any = None) -> Pointer:
        """The same pointer, promised to have an alignment in bytes (a power of two)."""
        if alignment <= 0 or alignment & (alignment - 1):
            raise LayoutError("alignment must be a power of two", code="OC1350", found=alignment)
        type = pointer_type(self._dtype, self.memspace, alignment, self._ptr.swizzle)
        return Pointer(cute.recast(self.value, type), self._dtype)

    def recast(self, dtype: NumericMeta) -> Pointer:
        """The same address as a pointer to another element type."""
        type = pointer_type(dtype, self.memspace, self.alignment, self._ptr.swizzle)
        return Pointer(cute.recast(self.value, type), dtype)

    @property
    def swizzle(self) -> tuple[int, ...]:
        """(bits, base, shift) of the swizzle that accesses put on the address; () for none."""
        return self._ptr.swizzle

    def swizzled(self, swizzle: Swizzle) -> Pointer:
        """The same address, with a swizzle (of byte addresses) put on every access.

        Raises:
            LayoutError: not shared memory, or a swizzle that reads bits below those it changes.
        """
        if swizzle.bits == 0:
            return self
        if self.memspace != AddressSpace.smem or swizzle.shift < 0:
            raise LayoutError(
                "this pointer cannot have this swizzle", code="OC1359", found=swizzle,
                expected="a pointer to shared memory, and a shift that is not negative",
            )  # fmt: skip
        numbers = (swizzle.bits, swizzle.base, swizzle.shift)
        type = pointer_type(self._dtype, self.memspace, self.alignment, numbers)
        return Pointer(cute.recast(self.value, type), self._dtype)

    def accessed(self) -> None:
        """Raise for what stands where a pointer stands and leads to no elements."""

    def moved(self, count: int) -> Pointer:
        """The pointer `count` elements further, for a count known at compile time."""
        if count == 0:
            return self
        step = abs(count) * element_bits(self._dtype) // 8
        known = self._ptr.align
        steps = arith.constant(count, I32 if -(1 << 31) <= count < 1 << 31 else I64)
        align = max(math.gcd(known, step) if step else known, 1)
        return Pointer(cute.ptr_add(self.value, steps, align), self._dtype)

    def __add__(self, offset: Any) -> Pointer:
        if type(offset) is int:
            return self.moved(offset)
        if isinstance(offset, int) and offset == 0:
            return self
        offset = steps = number_in(offset)
        if not isinstance(offset, Numeric) and hasattr(offset, "__index__"):
            steps = _constant(operator.index(offset))
        if not isinstance(steps, Integer):
            raise TypeMismatchError("a pointer moves by integers", code="OC1211", found=offset)
        align = offset_alignment(self.alignment, offset, element_bits(self._dtype))
        if steps.dtype.width < 32 or not steps.dtype.signed:
            steps = steps.to(Int64 if steps.dtype.width >= 32 else Int32)
        return Pointer(cute.ptr_add(self.value, steps.ir_value(), max(align, 1)), self._dtype)

    __radd__ = __add__

    def __sub__(self, offset: Any) -> Pointer:
        return self + (-offset)

    def load(self) -> Any:
        """The element pointed to."""
        numeric: Any = self._dtype
        return numeric(registers.load(self.value))

    def store(self, value: Any) -> None:
        """Write the element pointed to."""
        numeric: Any = self._dtype
        if type(value) is not numeric:
            check_fits(value, numeric.dtype)
            value = numeric(value)
        registers.store(value.ir_value(), self.value)

    def __extract_mlir_values__(self) -> list[Value]:
        return [self.value]

    def __new_from_mlir_values__(self, values: Any) -> Pointer:
        value = values[0]
        return value if isinstance(value, Pointer) else Pointer(value, self._dtype)

    def __str__(self) -> str:
        natural = max(element_bits(self._dtype) // 8, 1)
        align = f", align<{self.alignment}>" if self.alignment != natural else ""
        swizzle = f", S<{','.join(map(str, self.swizzle))}>" if self.swizzle else ""
        return f"ptr<{self._dtype.dtype.name}, {self._ptr.space}{align}{swizzle}>"

    __repr__ = __str__


def _constant(n: int) -> Any:
    return Int32(n) if -(1 << 31) <= n < 1 << 31 else Int64(n)
