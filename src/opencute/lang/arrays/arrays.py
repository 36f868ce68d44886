# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""``cutlass.Array(Float32, 64, space=cutlass.AddressSpace.smem)``: memory for some elements.

The result is a tensor whose last mode is contiguous. As an annotation it stands for any tensor.
"""

from __future__ import annotations

import math
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.lang.block.atomics import pointer_of
from opencute.lang.block.smem import alloc_smem
from opencute.lang.numbers import class_of
from opencute.lang.pointers import AddressSpace
from opencute.lang.tensors import TracedTensor, make_rmem_tensor, make_tensor
from opencute.layout import make_layout, size

__all__ = ["Array"]


class Array:
    """A tensor in fresh memory, or on memory that a pointer points to.

    Args:
        source: numeric class of the elements (also as `dtype`), or a pointer to them.
        shape: a size, or a tuple of sizes.
        space: shared memory or registers; registers if not given.
        alignment: in bytes.
        dtype: another type for what a pointer points to.
        addrspace: the memory space of the pointer, which it has anyway.
    """

    def __new__(
        cls, source: Any = None, shape: Any = None, *, space: Any = None,
        alignment: int | None = None, dtype: Any = None, addrspace: Any = None,
        loc: Any = None, ip: Any = None,
    ) -> Any:  # fmt: skip
        """Make the tensor.

        Raises:
            ArgumentError: no shape, or another memory.
        """
        if shape is None:
            raise ArgumentError("an array has a shape", code="OC2226", expected="a size or a tuple")
        if source is None:
            source, dtype = dtype, None
        if source is None:
            raise ArgumentError(
                "an array has elements", code="OC2226", expected="a numeric class, or a pointer"
            )
        if isinstance(shape, tuple | list) and len(shape) > 1:
            sizes: Any = tuple(shape)
            strides = tuple(math.prod(sizes[i + 1 :]) for i in range(len(sizes)))
            layout = make_layout(sizes, stride=strides)
        else:
            extent: Any = shape
            layout = make_layout(extent[0] if isinstance(extent, tuple | list) else extent)
        if not isinstance(source, type):
            pointer = pointer_of(source, "Array")
            return make_tensor(
                pointer if dtype is None else pointer.recast(class_of(dtype)), layout
            )
        where = AddressSpace.rmem if space is None else AddressSpace(space)
        if where == AddressSpace.rmem:
            return make_rmem_tensor(layout, source)
        if where != AddressSpace.smem:
            raise ArgumentError(
                "an array is in shared memory or in registers", code="OC2226",
                expected="AddressSpace.smem or AddressSpace.rmem", found=where.name,
            )  # fmt: skip
        return TracedTensor(alloc_smem(source, size(layout), alignment), layout)
