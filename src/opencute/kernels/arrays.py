# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of torch and NumPy alike: what the interfaces of operators need of them."""

from __future__ import annotations

from typing import Any

from opencute.base.errors import ArgumentError

__all__ = ["as_rows", "empty", "empty_like", "item_bits", "same_shape", "vector_elements"]


def item_bits(array: Any) -> int:
    """Bits of an element."""
    size = array.element_size() if hasattr(array, "element_size") else array.dtype.itemsize
    return 8 * int(size)


def empty_like(array: Any, shape: tuple[int, ...] | None = None) -> Any:
    """A new array of the same kind, type and device; contiguous."""
    return empty(array, tuple(array.shape) if shape is None else shape, array.dtype)


def empty(array: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """A new contiguous array of the same kind and device, with another shape and type.

    Args:
        dtype: of the framework that `array` is from, or ``"float32"``.
    """
    if hasattr(array, "new_empty"):
        if dtype == "float32":
            import torch

            dtype = torch.float32
        return array.new_empty(shape, dtype=dtype)
    import numpy as np

    return np.empty(shape, dtype=dtype)


def as_rows(name: str, array: Any) -> Any:
    """A view of an array as a matrix whose rows are its last axis.

    Raises:
        ArgumentError: it has no axis, or its layout does not allow a view with rows that are
            contiguous.
    """
    if len(array.shape) < 1:
        raise ArgumentError(f"{name} has no axis", code="OC2500", found=tuple(array.shape))
    matrix = array if len(array.shape) == 2 else array.reshape(-1, array.shape[-1])
    strides = matrix.stride() if callable(getattr(matrix, "stride", None)) else tuple(
        s // matrix.dtype.itemsize for s in matrix.strides
    )  # fmt: skip
    if matrix.shape[1] > 1 and strides[1] != 1:
        raise ArgumentError(
            f"the last axis of {name} is not contiguous", code="OC2501", expected="stride 1",
            found=f"stride {strides[1]}", hint="pass a contiguous copy",
        )  # fmt: skip
    return matrix


def same_shape(**arrays: Any) -> None:
    """Check that arrays have one shape; None is left out.

    Raises:
        ArgumentError: they differ; the message has both shapes.
    """
    given = [(n, tuple(a.shape)) for n, a in arrays.items() if a is not None]
    for name, shape in given[1:]:
        if shape != given[0][1]:
            raise ArgumentError(
                f"{name} and {given[0][0]} differ in shape", code="OC2502", expected=given[0][1],
                found=shape,
            )  # fmt: skip


def vector_elements(n: int, bits: int, *arrays: Any) -> int:
    """Neighbouring elements that can be moved at once: at most 128 bits, a power of two.

    It divides the row, and rows and addresses are aligned to it.
    """
    vec = 128 // bits
    while vec > 1 and (n % vec or any(_address(a) % (vec * bits // 8) for a in arrays)):
        vec //= 2
    return vec


def _address(array: Any) -> int:
    """Address and row stride in bytes, or-ed: what divides both divides this."""
    if hasattr(array, "data_ptr"):
        size, at = array.element_size(), int(array.data_ptr())
        steps = [s * size for s in array.stride()[:-1]]
    else:
        at, steps = int(array.ctypes.data), list(array.strides[:-1])
    for extent, step in zip(array.shape, steps, strict=False):
        at |= step if extent > 1 else 0
    return at
