# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Pointers with an index, as in C: ``p[i]``, ``(p + i).load(count=4)``.

``tensor.data_ptr()`` and ``tensor.iterator.raw_ptr()`` give one.
"""

from __future__ import annotations

import math
from typing import Any

from opencute.dialects import cute
from opencute.lang.numbers import Uint8, class_of
from opencute.lang.pointers import AddressSpace, Pointer, pointer_type
from opencute.lang.tensors import make_tensor
from opencute.lang.vectors import TensorSSA

__all__ = ["RawPointer"]


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

    def __getitem__(self, index: Any) -> Any:
        return Pointer.load(self + index)

    def __setitem__(self, index: Any, value: Any) -> None:
        Pointer.store(self + index, value)

    def _promised(self, alignment: int | None) -> Pointer:
        """The plain pointer, aligned as the user says."""
        plain = Pointer(self.value, self.dtype)
        if alignment is None or alignment <= self.alignment or alignment & (alignment - 1):
            return plain
        return plain.align(alignment)

    def load(
        self, count: int = 1, *, alignment: int | None = None, loc: Any = None, ip: Any = None
    ) -> Any:
        """The element pointed to, or a vector of `count` neighbours.

        Args:
            count: how many elements.
            alignment: of the address, in bytes, as the user promises.
        """
        pointer = self._promised(alignment)
        return pointer.load() if count == 1 else make_tensor(pointer, count).load()

    def store(
        self, value: Any, *, alignment: int | None = None, loc: Any = None, ip: Any = None
    ) -> None:
        """Write an element, or all elements of a vector to neighbours; as `load`."""
        pointer = self._promised(alignment)
        if isinstance(value, TensorSSA):
            size = value.value.type.length  # pyright: ignore[reportAttributeAccessIssue]
            make_tensor(pointer, size).store(value)
        else:
            pointer.store(value)

    def subview(self, offset: Any) -> RawPointer:
        """The pointer some elements further."""
        return self + offset

    def data_ptr(self, *, loc: Any = None, ip: Any = None) -> RawPointer:
        """Itself."""
        return self

    def raw_ptr(self, *, loc: Any = None, ip: Any = None) -> RawPointer:
        """Itself."""
        return self

    def recast(self, dtype: Any) -> RawPointer:
        """The same address as a pointer to another element type."""
        return RawPointer(super().recast(dtype).value, dtype)

    def toint(self, dtype: Any = None, *, loc: Any = None, ip: Any = None) -> Any:
        """The address as an integer, of another class if one is named."""
        address = super().toint()
        return address if dtype is None else address.to(class_of(dtype))

    def apply_swizzle(self, swizzle: Any, *, loc: Any = None, ip: Any = None) -> RawPointer:
        """Where an access with a swizzle (of byte addresses) goes from here.

        Args:
            swizzle: a `Swizzle`, such as ``Swizzle.from_name("s128b")``.

        Raises:
            LayoutError: not shared memory, or a swizzle that reads bits below those it changes.
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
        """As `load`, where a swizzle (of byte addresses) puts the elements."""
        pointer = self._promised(alignment).swizzled(swizzle)
        return RawPointer(pointer.value, self.dtype).load(count)

    def store_swizzled(
        self, value: Any, swizzle: Any, *, alignment: int | None = None, loc: Any = None,
        ip: Any = None,
    ) -> None:  # fmt: skip
        """As `store`, to where a swizzle (of byte addresses) puts the elements."""
        pointer = self._promised(alignment).swizzled(swizzle)
        RawPointer(pointer.value, self.dtype).store(value)

    def tospace(self, space: AddressSpace) -> RawPointer:
        """The same address in another memory space."""
        type = pointer_type(self.dtype, space, self.alignment, self.swizzle)
        return RawPointer(cute.recast(self.value, type), self.dtype)

    def __new_from_mlir_values__(self, values: Any) -> Pointer:
        made = super().__new_from_mlir_values__(values)
        return RawPointer(made.value, made.dtype)
