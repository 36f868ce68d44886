# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors of one number, and truth of all elements of a vector.

In: a shape, or something that has one. Out: a `TensorSSA`::

    full((2, 4), 1.5)                # eight Float32
    any_(v > 0)                      # a Boolean
"""

from __future__ import annotations

from typing import Any

from opencute.dialects import vector
from opencute.lang.numbers import Boolean, as_numeric, class_of
from opencute.lang.vectors import TensorSSA, splat

__all__ = ["all_", "any_", "empty_like", "full", "full_like", "ones_like", "zeros_like"]


def full(shape: Any, fill_value: Any, dtype: Any = None) -> TensorSSA:
    """`fill_value` in each element of a static shape, a number or (nested) tuples or lists.

    Args:
        shape: extents, a number or (nested) tuples or lists.
        fill_value: a number.
        dtype: numeric class of the elements; that of the number when omitted.
    """
    shape = _tupled(shape)
    cls = class_of(dtype) if dtype is not None else type(as_numeric(fill_value))
    return splat(fill_value, shape, cls)


def _tupled(shape: Any) -> Any:
    if isinstance(shape, list | tuple):
        items: Any = shape
        return tuple(_tupled(s) for s in items)
    return shape


def full_like(a: Any, fill_value: Any, dtype: Any = None) -> TensorSSA:
    """`fill_value` in each element of the shape of `a` (a vector or tensor).

    Args:
        a: a vector or tensor of a static shape.
        fill_value: a number.
        dtype: numeric class of the elements; that of `a` when omitted.
    """
    own = a.dtype if isinstance(a, TensorSSA) else a.element_type
    return splat(fill_value, a.shape, class_of(dtype if dtype is not None else own))


def zeros_like(a: Any, dtype: Any = None) -> TensorSSA:
    """Zeros in the shape of `a`.

    Args:
        a: a vector or tensor of a static shape.
        dtype: numeric class of the elements; that of `a` when omitted.
    """
    return full_like(a, 0, dtype)


def ones_like(a: Any, dtype: Any = None) -> TensorSSA:
    """Ones in the shape of `a`.

    Args:
        a: a vector or tensor of a static shape.
        dtype: numeric class of the elements; that of `a` when omitted.
    """
    return full_like(a, 1, dtype)


def empty_like(a: Any, dtype: Any = None) -> TensorSSA:
    """A vector in the shape of `a` whose values must not matter (zeros).

    Args:
        a: a vector or tensor of a static shape.
        dtype: numeric class of the elements; that of `a` when omitted.
    """
    return full_like(a, 0, dtype)


def any_(x: TensorSSA) -> Any:
    """Whether any element is not zero.

    Args:
        x: the vector.

    Returns:
        A Boolean.
    """
    return Boolean(vector.reduction("or", x.to(Boolean).value))


def all_(x: TensorSSA) -> Any:
    """Whether all elements are not zero.

    Args:
        x: the vector.

    Returns:
        A Boolean.
    """
    return Boolean(vector.reduction("and", x.to(Boolean).value))
