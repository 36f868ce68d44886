# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.struct` and `cute.union`: how a piece of shared memory is divided.

    @cute.struct
    class Storage:
        full: cute.struct.MemRange[cutlass.Int64, 4]
        tile: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, 4096], 1024]
        flag: cutlass.Int32

    storage = utils.SmemAllocator().allocate(Storage)
    storage.flag = 1                              # writes memory
    sA = storage.tile.get_tensor(layout)          # a tensor

Members lie in order, each at the next multiple of its alignment, as in C; those of a union all at
the beginning.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.dialects import cute
from opencute.dialects.cute import PtrType
from opencute.ir.core import Value
from opencute.ir.types import I8, I32
from opencute.lang.block.scalars import NUMBER_OPERATORS, ScalarMember
from opencute.lang.block.smem_plan import part, place_of
from opencute.lang.numbers import Int8, NumericMeta, as_numeric, class_of
from opencute.lang.pointers import Pointer, element_bits, offset_alignment
from opencute.lang.tensors import make_tensor
from opencute.layout import ComposedLayout, Layout, cosize, is_static

__all__ = ["Align", "MemRange", "MemRangeMember", "ScalarMember", "StructMember", "struct", "union"]


@dataclass(frozen=True)
class MemRange:
    """A member that is a number of elements of one type; written ``MemRange[dtype, n]``."""

    dtype: Any
    size: int

    def __class_getitem__(cls, params: Any) -> MemRange:
        if not isinstance(params, tuple) or len(params) != 2:
            raise TypeMismatchError(
                "MemRange takes a type and a number", code="OC1296", found=repr(params),
                expected="cute.struct.MemRange[cutlass.Float32, 64]",
            )  # fmt: skip
        dtype, size = params
        return cls(_element(dtype), _static("the size of a MemRange", size, 0))


@dataclass(frozen=True)
class Align:
    """A member with an alignment of its own, in bytes; written ``Align[type, bytes]``."""

    inner: Any
    align: int

    def __class_getitem__(cls, params: Any) -> Align:
        if not isinstance(params, tuple) or len(params) != 2:
            raise TypeMismatchError(
                "Align takes a type and a number of bytes", code="OC1296", found=repr(params),
                expected="cute.struct.Align[cutlass.Int32, 16]",
            )  # fmt: skip
        inner, align = params
        n = _static("an alignment", align, 1)
        if n & (n - 1):
            raise LayoutError("alignment must be a power of two", code="OC1350", found=n)
        return cls(_member_type(inner), n)


def _static(what: str, x: Any, least: int) -> int:
    if getattr(x, "is_dynamic", False) or not hasattr(x, "__index__"):
        raise TypeMismatchError(
            f"{what} is a compile-time number", code="OC1297", found=repr(x),
            hint="sizes of structs are part of the type",
        )  # fmt: skip
    n = int(x)
    if n < least:
        raise TypeMismatchError(f"{what} is at least {least}", code="OC1297", found=n)
    return n


def _element(dtype: Any) -> Any:
    return dtype if isinstance(dtype, struct) else class_of(dtype)


def _member_type(t: Any) -> Any:
    """What a member may be: a number, a range, a struct, any of them aligned."""
    if isinstance(t, struct | MemRange | Align | NumericMeta):
        return t
    try:
        return class_of(t)
    except TypeMismatchError:
        raise TypeMismatchError(
            "a struct cannot have a member of this kind", code="OC1298", found=repr(t),
            expected="a number, MemRange[...], Align[...], or another struct",
        ) from None  # fmt: skip


def _size_align(t: Any) -> tuple[int, int]:
    """Bytes and alignment of a member."""
    if isinstance(t, struct):
        return t.size_in_bytes(), t.alignof()
    if isinstance(t, Align):
        size, align = _size_align(t.inner)
        return size, max(align, t.align)
    if isinstance(t, MemRange):
        if isinstance(t.dtype, struct):
            return t.size * t.dtype.size_in_bytes(), t.dtype.alignof()
        bits = element_bits(t.dtype)
        return -(-t.size * bits // 8), max(bits // 8, 1)
    size = max(element_bits(t) // 8, 1)
    return size, size


class struct:
    """Class decorator: the annotations of the class are the members of a piece of memory.

    Args:
        cls: the class.

    Raises:
        TypeMismatchError: a member that no memory can hold.
    """

    MemRange: ClassVar[Any] = MemRange
    Align: ClassVar[Any] = Align
    _overlay = False

    def __init__(self, cls: type) -> None:
        self.__name__ = cls.__name__
        self.__doc__ = cls.__doc__
        self.fields: dict[str, tuple[Any, int]] = {}
        end, align = 0, 1
        for name, t in _annotations(cls).items():
            member = _member_type(t)
            size, own = _size_align(member)
            start = 0 if self._overlay else -(-end // own) * own
            self.fields[name] = member, start
            end, align = max(end, start + size), max(align, own)
        self._size, self._align = -(-end // align) * align, align

    def size_in_bytes(self) -> int:
        """Bytes of the whole, a multiple of its alignment."""
        return self._size

    def alignof(self) -> int:
        """Alignment in bytes: the greatest of the members'."""
        return self._align

    def __sizeof__(self) -> int:
        return self._size

    def __alignof__(self) -> int:
        return self._align

    def offsetof(self, name: str) -> int:
        """Where a member begins, in bytes.

        Args:
            name: the member's.
        """
        return self.fields[name][1]

    def __call__(self, ptr: Any) -> StructMember:
        """The struct that lies at a pointer.

        Args:
            ptr: the pointer.
        """
        found = getattr(ptr, "ptr", ptr)
        if not isinstance(found, Pointer):
            raise TypeMismatchError(
                f"{self.__name__} lies at a pointer", code="OC1299", found=type(ptr).__name__
            )
        return StructMember(self, found)

    def __repr__(self) -> str:
        kind = "union" if self._overlay else "struct"
        return f"<{kind} {self.__name__}: {self._size} bytes, align {self._align}>"


class union(struct):
    """As `struct`, but all members begin at the same place.

    Args:
        cls: the class; its annotations are the members.
    """

    _overlay = True


def _annotations(cls: type) -> dict[str, Any]:
    """The annotations of a class; texts are evaluated where the class is defined."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        found |= vars(base).get("__annotations__", {})
    if not any(isinstance(t, str) for t in found.values()):
        return found
    module = sys.modules.get(cls.__module__)
    space: dict[str, Any] = {} if module is None else vars(module)
    local: dict[str, Any] = {}
    frame: Any = inspect.currentframe()
    while frame is not None:  # nearer scopes hide what farther ones have
        if frame.f_globals.get("__name__") == cls.__module__:
            space = space or frame.f_globals  # of a module that nobody registered
            local = {**frame.f_locals, **local}
        frame = frame.f_back
    return {n: eval(t, space, local) if isinstance(t, str) else t for n, t in found.items()}


# ---------------------------------------------------------------- members in memory
def _moved(
    base: Pointer, offset: int, dtype: NumericMeta, size: int, label: str, run: int
) -> Pointer:
    """A pointer to elements of a type, some bytes after `base`.

    Args:
        size: bytes that there are.
        label: what messages call them.
        run: bytes with those of the members that follow and hold the same type.
    """
    from opencute.dialects import arith

    type = base.value.type
    assert isinstance(type, PtrType)
    value = base.value
    align = offset_alignment(type.align, offset, 8)
    element = PtrType(dtype.mlir_type, type.space, max(align, 1), type.swizzle)
    place = place_of(value) if type.space == "smem" and not type.swizzle else None
    if place is not None:
        value = part(place + offset, size, max(align, 1), label, run)
        return Pointer(value if value.type == element else cute.recast(value, element), dtype)
    if type.element != I8:
        value = cute.recast(value, PtrType(I8, type.space, type.align, type.swizzle))
    if offset:
        value = cute.ptr_add(value, arith.constant(offset, I32), max(align, 1))
    return Pointer(value if value.type == element else cute.recast(value, element), dtype)


def _held(t: Any) -> tuple[Any, Any]:
    """A member without its alignment, and the type of what it holds."""
    while isinstance(t, Align):
        t = t.inner
    return t, t.dtype if isinstance(t, MemRange) else t


def _run(of: struct, name: str) -> int:
    """Bytes of a member and of those that follow it without a gap and hold the same type."""
    t, start = of.fields[name]
    held, end = _held(t)[1], start
    for other, offset in sorted(of.fields.values(), key=lambda field: field[1]):
        if offset == end and _held(other)[1] is held:
            end += _size_align(_held(other)[0])[0]
    return end - start


def _member(of: struct, name: str, base: Pointer) -> Any:
    t, held = _held(of.fields[name][0])
    offset, dtype = of.fields[name][1], Int8 if isinstance(held, struct) else held
    size, label = _size_align(t)[0], f"{of.__name__}.{name}"
    ptr = _moved(base, offset, dtype, size, label, _run(of, name))
    if isinstance(t, struct):
        return StructMember(t, ptr)
    return MemRangeMember(t, ptr) if isinstance(t, MemRange) else ScalarMember(ptr)


_Class = TypeVar("_Class", bound=type)


class _Member:
    """Something at a pointer, which crosses regions as that pointer."""

    __slots__ = ("_ptr",)
    _ptr: Pointer

    def __extract_mlir_values__(self) -> list[Value]:
        return [self._ptr.value]

    def _at(self, value: Value) -> Pointer:
        return Pointer(value, self._ptr.dtype)

    @property
    def ptr(self) -> Pointer:
        """Where it lies."""
        return self._ptr


def _no_number(name: str) -> Any:
    def refuse(self: Any, *args: Any) -> Any:
        raise TypeMismatchError(
            "a member that is no number is used as one", code="OC1299", found=str(self),
            hint="use an element of it, x[i], a tensor on it, x.get_tensor(layout), or a member",
        )  # fmt: skip

    refuse.__name__ = name
    return refuse


def _without_numbers(cls: _Class) -> _Class:
    """Arithmetic on a class is an error that says what to write."""
    for name in NUMBER_OPERATORS:
        setattr(cls, name, _no_number(name))
    return cls


@_without_numbers
class MemRangeMember(_Member):
    """Elements of one type that lie one after the other."""

    __slots__ = ("_range",)

    def __init__(self, range: MemRange, ptr: Pointer) -> None:
        self._range = range
        self._ptr = ptr

    def __new_from_mlir_values__(self, values: list[Value]) -> MemRangeMember:
        return MemRangeMember(self._range, self._at(values[0]))

    @property
    def dtype(self) -> Any:
        """The elements' type."""
        return self._range.dtype

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._range.size

    def __len__(self) -> int:
        return self._range.size

    def size_in_bytes(self) -> int:
        """Bytes of all elements."""
        return _size_align(self._range)[0]

    def data_ptr(self, dtype: Any = None, *, loc: Any = None, ip: Any = None) -> Pointer:
        """A pointer to the first element, also as one to elements of another type."""
        return self._ptr if dtype is None else self._ptr.recast(class_of(dtype))

    def get_tensor(
        self, layout: Any, swizzle: Any = None, dtype: Any = None,
        *, loc: Any = None, ip: Any = None,
    ) -> Any:  # fmt: skip
        """A tensor on the elements.

        Args:
            layout: a layout, composed layout, or shape.
            swizzle: of the byte addresses.
            dtype: another type of the elements.

        Raises:
            LayoutError: the tensor is larger than the range, or swizzled twice.
        """
        ptr = self.data_ptr(dtype)
        if isinstance(layout, ComposedLayout) and swizzle is not None:
            raise LayoutError(
                "a tensor is swizzled by its layout or by its pointer", code="OC1369",
                found=f"{layout} and {swizzle}", hint="pass layout.outer with swizzle=layout.inner",
            )  # fmt: skip
        tensor = make_tensor(ptr if swizzle is None else ptr.swizzled(swizzle), layout)
        self._check_room(tensor.layout, ptr)
        return tensor

    def _check_room(self, layout: Any, ptr: Pointer) -> None:
        outer = layout.outer if isinstance(layout, ComposedLayout) else layout
        if not isinstance(outer, Layout) or not is_static(outer):
            return
        extent = cosize(outer)
        if not isinstance(extent, int):
            return
        need, have = extent * element_bits(ptr.dtype), self.size_in_bytes() * 8
        if need > have:
            raise LayoutError(
                "the tensor is larger than the memory range", code="OC1369",
                expected=f"at most {have // 8} bytes", found=f"{-(-need // 8)} bytes: {layout}",
            )  # fmt: skip

    def _element(self, index: Any) -> Any:
        if isinstance(index, int) and not 0 <= index < self.size:
            raise LayoutError(
                "there is no such element in the memory range", code="OC1369",
                expected=f"0 to {self.size - 1}", found=index,
            )  # fmt: skip
        if isinstance(self._range.dtype, struct):
            inner = self._range.dtype
            return StructMember(inner, self._ptr + index * inner.size_in_bytes())
        return self._ptr + index

    def __getitem__(self, index: Any) -> Any:
        element = self._element(index)
        return element.load() if isinstance(element, Pointer) else element

    def __setitem__(self, index: Any, value: Any) -> None:
        element = self._element(index)
        if not isinstance(element, Pointer):
            raise TypeMismatchError(
                "a struct in memory is assigned as a whole", code="OC1299",
                hint="assign its members",
            )  # fmt: skip
        element.store(value)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.size))

    def __str__(self) -> str:
        return f"{self._range.size} elements at {self._ptr}"


@_without_numbers
class StructMember:
    """A struct in memory: its members are attributes."""

    __slots__ = ("_base", "_struct")
    _base: Pointer
    _struct: struct

    def __init__(self, struct_: struct, base: Pointer) -> None:
        object.__setattr__(self, "_struct", struct_)
        object.__setattr__(self, "_base", base)

    def __extract_mlir_values__(self) -> list[Value]:
        return [self._base.value]

    def __new_from_mlir_values__(self, values: list[Value]) -> StructMember:
        return StructMember(self._struct, Pointer(values[0], self._base.dtype))

    def __getattr__(self, name: str) -> Any:
        field = self._struct.fields.get(name)
        if field is not None:
            return _member(self._struct, name, self._base)
        if name in ("ptr", "size_in_bytes"):
            return self._base if name == "ptr" else self._struct.size_in_bytes
        raise AttributeError(_no_member(self._struct, name))

    def __setattr__(self, name: str, value: Any) -> None:
        field = self._struct.fields.get(name)
        if field is None:
            raise AttributeError(_no_member(self._struct, name))
        member = _member(self._struct, name, self._base)
        if not isinstance(member, ScalarMember):
            raise TypeMismatchError(
                f"{name!r} is no number that could be assigned", code="OC1299", found=str(member),
                hint="assign its elements or members, or fill a tensor on it",
            )  # fmt: skip
        member.store(as_numeric(value, member.dtype))

    def __str__(self) -> str:
        return f"{self._struct.__name__} at {self._base}"


def _no_member(struct_: struct, name: str) -> str:
    return f"{struct_.__name__} has no member {name!r}; it has {', '.join(struct_.fields)}"
