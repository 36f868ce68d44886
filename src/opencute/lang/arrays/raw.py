# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Pointers with an index, as in C: ``p[i]``, ``(p + i).load(count=4)``.

``tensor.data_ptr()`` and ``tensor.iterator.raw_ptr()`` give one.
"""

from __future__ import annotations

from typing import Any

from opencute.dialects import cute
from opencute.lang.pointers import AddressSpace, Pointer, pointer_type
from opencute.lang.tensors import make_tensor
from opencute.lang.vectors import TensorSSA

__all__ = ["RawPointer"]


class RawPointer(Pointer):
    """A pointer whose elements are indexed; see `Pointer`."""

    __slots__ = ()

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

    def load(self, count: int = 1, *, loc: Any = None, ip: Any = None) -> Any:
        """The element pointed to, or a vector of `count` neighbours."""
        return (
            super().load()
            if count == 1
            else make_tensor(Pointer(self.value, self.dtype), count).load()
        )

    def store(self, value: Any, *, loc: Any = None, ip: Any = None) -> None:
        """Write an element, or all elements of a vector to neighbours."""
        if isinstance(value, TensorSSA):
            size = value.value.type.length  # pyright: ignore[reportAttributeAccessIssue]
            make_tensor(Pointer(self.value, self.dtype), size).store(value)
        else:
            super().store(value)

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

    def tospace(self, space: AddressSpace) -> RawPointer:
        """The same address in another memory space."""
        type = pointer_type(self.dtype, space, self.alignment, self.swizzle)
        return RawPointer(cute.recast(self.value, type), self.dtype)

    def __new_from_mlir_values__(self, values: Any) -> Pointer:
        made = super().__new_from_mlir_values__(values)
        return RawPointer(made.value, made.dtype)
