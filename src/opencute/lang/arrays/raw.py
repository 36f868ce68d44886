# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Pointers with an index, as in C: ``p[i]``, ``(p + i).load(count=4)``.

``tensor.data_ptr()`` and ``tensor.iterator.raw_ptr()`` give one.
"""

from __future__ import annotations

import math
from typing import Any

from opencute.dialects import cute
from opencute.lang.arrays import accesses
from opencute.lang.numbers import Uint8, class_of
from opencute.lang.pointers import AddressSpace, Pointer, pointer_type
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
        return accesses.load_run(
            self, count, alignment=alignment, is_volatile=is_volatile, is_invariant=is_invariant
        )

    def store(
        self, value: Any, *, alignment: int | None = None, is_volatile: bool = False,
        loc: Any = None, ip: Any = None,
    ) -> None:  # fmt: skip
        """Write an element, or all elements of a vector to neighbours; as `load`."""
        accesses.store_run(self, value, alignment=alignment, is_volatile=is_volatile)

    def masked_load(
        self, mask: Any, default: Any = None, *, alignment: int | None = None, loc: Any = None,
        ip: Any = None,
    ) -> TensorSSA:  # fmt: skip
        """Neighbours where a mask holds, and `default` (0 if not given) where it does not."""
        return accesses.masked_load(self, mask, default, alignment=alignment)

    def masked_store(
        self, value: Any, mask: Any, *, alignment: int | None = None, loc: Any = None,
        ip: Any = None,
    ) -> None:  # fmt: skip
        """Write neighbours where a mask holds."""
        accesses.masked_store(self, value, mask, alignment=alignment)

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
        pointer = accesses.promised(self, alignment).swizzled(swizzle)
        return RawPointer(pointer.value, self.dtype).load(count)

    def store_swizzled(
        self, value: Any, swizzle: Any, *, alignment: int | None = None, loc: Any = None,
        ip: Any = None,
    ) -> None:  # fmt: skip
        """As `store`, to where a swizzle (of byte addresses) puts the elements."""
        pointer = accesses.promised(self, alignment).swizzled(swizzle)
        RawPointer(pointer.value, self.dtype).store(value)

    def tospace(self, space: AddressSpace) -> RawPointer:
        """The same address in another memory space."""
        type = pointer_type(self.dtype, space, self.alignment, self.swizzle)
        return RawPointer(cute.recast(self.value, type), self.dtype)

    def __new_from_mlir_values__(self, values: Any) -> Pointer:
        made = super().__new_from_mlir_values__(values)
        return RawPointer(made.value, made.dtype)
