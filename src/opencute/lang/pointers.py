# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Typed pointers with a memory space and a known alignment; plain ones, and such with an index.

``tensor.iterator`` is plain; ``tensor.data_ptr()`` and ``tensor.iterator.raw_ptr()`` are indexed as
in C: ``p[i]``, ``(p + i).load(count=4)``.
"""

from __future__ import annotations

import enum
import math
import operator
from typing import Any

from opencute.arch.hints import AccessHints
from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.dialects import arith, cute, interop, registers
from opencute.dialects.cute import PtrType
from opencute.ir.core import Value
from opencute.ir.types import I32, I64
from opencute.lang.numbers import (
    Boolean,
    Int32,
    Int64,
    Integer,
    Numeric,
    NumericMeta,
    Uint8,
    as_numeric,
    class_of,
    ir_type,
    number_in,
)
from opencute.lang.values import runs
from opencute.lang.values.stored import check_stored
from opencute.lang.vectors import TensorSSA, splat
from opencute.layout import Swizzle, product, to_str

__all__ = [
    "AddressSpace",
    "Pointer",
    "RawPointer",
    "element_bits",
    "offset_alignment",
    "pointer_type",
]


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
    """The IR type of a pointer.

    Raises:
        LayoutError: a swizzle of byte addresses that would take elements apart.
    """
    size = element_bits(dtype) // 8
    if swizzle and size > 1 << swizzle[1]:
        raise LayoutError(
            "a swizzle of byte addresses has to keep elements whole", code="OC1394",
            expected=f"a base of at least {(size - 1).bit_length()} for the {size} bytes of a "
            f"{dtype.__name__}", found=Swizzle(swizzle[0], swizzle[1], swizzle[2]),
            hint="the base counts low bits of the byte address that stay; where it was meant to "
            "count elements, add the bits of an element's bytes: make_swizzle(b, "
            f"{swizzle[1] + (size - 1).bit_length()}, s)",
        )  # fmt: skip
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
        return RawPointer(self.value, self._dtype)

    def align(self, alignment: int, *, loc: Any = None, ip: Any = None) -> Pointer:
        """The same pointer, promised to have an alignment in bytes (a power of two)."""
        if alignment <= 0 or alignment & (alignment - 1):
            raise LayoutError("alignment must be a power of two", code="OC1350", found=alignment)
        type = pointer_type(self._dtype, self.memspace, alignment, self._ptr.swizzle)
        return Pointer(cute.recast(self.value, type), self._dtype)

    def recast(self, dtype: NumericMeta) -> Pointer:
        """The same address as a pointer to another element type.

        Args:
            dtype: numeric class of the elements.

        Raises:
            LayoutError: elements that the pointer's swizzle takes apart.
        """
        type = pointer_type(dtype, self.memspace, self.alignment, self._ptr.swizzle)
        return Pointer(cute.recast(self.value, type), dtype)

    @property
    def swizzle(self) -> tuple[int, ...]:
        """(bits, base, shift) of the swizzle that accesses put on the address; () for none."""
        return self._ptr.swizzle

    def swizzled(self, swizzle: Swizzle) -> Pointer:
        """The same address, with a swizzle (of byte addresses) put on every access.

        Raises:
            LayoutError: not shared memory, a swizzle that reads bits below those it changes, or one
                that takes elements apart.
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
            raise TypeMismatchError(
                "a pointer moves by integers", code="OC1211", found=repr(offset)
            )
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
        """Write the element pointed to.

        Args:
            value: a number, which gets the type of the element.
        """
        numeric: Any = self._dtype
        if type(value) is not numeric:
            check_stored(value, numeric)
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


class RawPointer(Pointer):
    """A pointer whose elements are indexed; see `Pointer`.

    Args:
        value: an SSA value, or a pointer.
        dtype: numeric class of the elements; the pointer's own when omitted.
    """

    __slots__ = ()

    def __init__(self, value: Any, dtype: Any = None, *, loc: Any = None, ip: Any = None) -> None:
        if isinstance(value, Pointer):
            dtype = value.dtype if dtype is None else class_of(dtype)
            value = value.value if dtype is value.dtype else value.recast(dtype).value
        super().__init__(value, dtype)

    def __add__(self, offset: Any) -> RawPointer:
        moved = super().__add__(offset)
        return RawPointer(moved.value, moved.dtype)

    __radd__ = __add__

    def __sub__(self, offset: Any) -> RawPointer:
        return self + (-offset)

    def _promised(self, alignment: int | None) -> Pointer:
        """The plain pointer, aligned as the user says."""
        plain = Pointer(self.value, self.dtype)
        if alignment is None or alignment <= plain.alignment or alignment & (alignment - 1):
            return plain
        return plain.align(alignment)

    def _held(self, value: Any, count: int) -> Value:
        """Registers with what is written to so many neighbours."""
        held = runs.fragment(self.dtype, count)
        if not isinstance(value, TensorSSA):
            check_stored(value, self.dtype)
            value = splat(value, count, self.dtype)
        elif product(value.shape) != count:
            raise LayoutError(
                "a vector is stored to a tensor of another size", code="OC1356",
                expected=count, found=to_str(value.shape),
            )  # fmt: skip
        else:
            check_stored(value, self.dtype)
        runs.write(held, value.to(self.dtype))
        return held

    def __getitem__(self, index: Any) -> Any:
        return Pointer.load(self + index)

    def __setitem__(self, index: Any, value: Any) -> None:
        Pointer.store(self + index, value)

    def load(
        self, count: int = 1, *, alignment: int | None = None, is_volatile: bool = False,
        is_invariant: bool = False, loc: Any = None, ip: Any = None,
    ) -> Any:  # fmt: skip
        """The element pointed to, or a vector of `count` neighbours.

        Args:
            count: how many elements.
            alignment: of the address, in bytes, as the user promises.
            is_volatile: neither left out nor moved.
            is_invariant: nobody writes them while the kernel runs.
        """
        where, dtype = self._promised(alignment), self.dtype
        if not is_volatile and not is_invariant:
            return where.load() if count == 1 else runs.read(where.value, dtype, count)
        held = runs.fragment(dtype, count)
        hints = AccessHints("volatile" if is_volatile else "", invariant=is_invariant)
        runs.copy(where.value, held, dtype, count, hints)
        if count == 1 and not dtype.dtype.is_subbyte:
            return Pointer(held, dtype).load()
        return runs.read(held, dtype, count)[0] if count == 1 else runs.read(held, dtype, count)

    def store(
        self, value: Any, *, alignment: int | None = None, is_volatile: bool = False,
        loc: Any = None, ip: Any = None,
    ) -> None:  # fmt: skip
        """Write an element, or all elements of a vector to neighbours; as `load`.

        Args:
            value: a number, which gets the type of the elements, or a vector.
            alignment: of the address, in bytes, as the user promises.
            is_volatile: neither left out nor moved.
        """
        where, dtype = self._promised(alignment), self.dtype
        count: int = product(value.shape) if isinstance(value, TensorSSA) else 1
        if not is_volatile and not isinstance(value, TensorSSA):
            where.store(value)
        elif not is_volatile:
            check_stored(value, dtype)
            runs.write(where.value, value.to(dtype))
        else:
            held = self._held(value, count)
            runs.copy(held, where.value, dtype, count, AccessHints("volatile"))

    def masked_load(
        self, mask: Any, default: Any = None, *, alignment: int | None = None, loc: Any = None,
        ip: Any = None,
    ) -> TensorSSA:  # fmt: skip
        """Neighbours where a mask holds, and `default` (0 if not given) where it does not.

        Args:
            mask: a vector of Booleans, one for each neighbour.
            default: a number.
            alignment: of the address, in bytes, as the user promises.
        """
        flags = _mask_of(mask)
        count, dtype = product(flags.shape), self.dtype
        held = self._held(as_numeric(0 if default is None else default).to(dtype), count)
        runs.copy(self._promised(alignment).value, held, dtype, count, AccessHints(), flags)
        return runs.read(held, dtype, count)

    def masked_store(
        self, value: Any, mask: Any, *, alignment: int | None = None, loc: Any = None,
        ip: Any = None,
    ) -> None:  # fmt: skip
        """Write neighbours where a mask holds.

        Args:
            value: a vector of as many elements as the mask, or a number for all of them.
            mask: a vector of Booleans, one for each neighbour.
            alignment: of the address, in bytes, as the user promises.
        """
        flags = _mask_of(mask)
        count = product(flags.shape)
        held, where = self._held(value, count), self._promised(alignment)
        runs.copy(held, where.value, self.dtype, count, AccessHints(), flags)

    def subview(self, offset: Any) -> RawPointer:
        """The pointer some elements further.

        Args:
            offset: how many elements.
        """
        return self + offset

    def data_ptr(self, *, loc: Any = None, ip: Any = None) -> RawPointer:
        """Itself."""
        return self

    def raw_ptr(self, *, loc: Any = None, ip: Any = None) -> RawPointer:
        """Itself."""
        return self

    def recast(self, dtype: Any) -> RawPointer:
        """The same address as a pointer to another element type.

        Args:
            dtype: numeric class of the elements.
        """
        return RawPointer(super().recast(dtype).value, dtype)

    def toint(self, dtype: Any = None, *, loc: Any = None, ip: Any = None) -> Any:
        """The address as an integer, of another class if one is named.

        Args:
            dtype: the class; Int64 when omitted, Int32 for shared memory.
        """
        address = super().toint()
        return address if dtype is None else address.to(class_of(dtype))

    def apply_swizzle(self, swizzle: Any, *, loc: Any = None, ip: Any = None) -> RawPointer:
        """Where an access with a swizzle (of byte addresses) goes from here.

        Args:
            swizzle: a `Swizzle`, such as ``Swizzle.from_name("s128b")``.

        Raises:
            LayoutError: not shared memory, a swizzle that reads bits below those it changes, or one
                that takes elements apart.
        """
        if swizzle.bits == 0:
            return self
        self.swizzled(swizzle)  # refuses what is no swizzle of addresses
        plain = pointer_type(Uint8, self.memspace, self.alignment)
        place = Pointer(cute.recast(self.value, plain), Uint8)
        address: Any = place.toint()
        moved = place + (swizzle(address) - address)
        align = math.gcd(self.alignment, 1 << swizzle.base)
        return RawPointer(moved.align(align).recast(self.dtype).value, self.dtype)

    def load_swizzled(
        self, swizzle: Any, count: int = 1, *, alignment: int | None = None, loc: Any = None,
        ip: Any = None,
    ) -> Any:  # fmt: skip
        """As `load`, where a swizzle (of byte addresses) puts the elements.

        Args:
            swizzle: the swizzle.
            count, alignment: as for `load`.
        """
        pointer = self._promised(alignment).swizzled(swizzle)
        return RawPointer(pointer.value, self.dtype).load(count)

    def store_swizzled(
        self, value: Any, swizzle: Any, *, alignment: int | None = None, loc: Any = None,
        ip: Any = None,
    ) -> None:  # fmt: skip
        """As `store`, to where a swizzle (of byte addresses) puts the elements.

        Args:
            value, alignment: as for `store`.
            swizzle: the swizzle.
        """
        pointer = self._promised(alignment).swizzled(swizzle)
        RawPointer(pointer.value, self.dtype).store(value)

    def tospace(self, space: AddressSpace) -> RawPointer:
        """The same address in another memory space."""
        type = pointer_type(self.dtype, space, self.alignment, self.swizzle)
        return RawPointer(cute.recast(self.value, type), self.dtype)

    def __new_from_mlir_values__(self, values: Any) -> Pointer:
        made = super().__new_from_mlir_values__(values)
        return RawPointer(made.value, made.dtype)


def _mask_of(mask: Any) -> TensorSSA:
    """A mask, also one in registers, as a vector."""
    kind = mask.dtype if isinstance(mask, TensorSSA) else getattr(mask, "element_type", None)
    if kind is not Boolean:
        raise TypeMismatchError(
            "a mask has a Boolean for each element", code="OC1261", found=str(mask),
            expected="a vector or a register tensor of Boolean",
        )  # fmt: skip
    return mask if isinstance(mask, TensorSSA) else mask.load()


def _constant(n: int) -> Any:
    return Int32(n) if -(1 << 31) <= n < 1 << 31 else Int64(n)
