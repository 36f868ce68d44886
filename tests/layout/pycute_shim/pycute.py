# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The names of the published `pycute` package, answered by `opencute.layout`.

In: ``import pycute`` in pycute's own tests. Out: our functions under its names and conventions: a
default stride is the plain prefix product, a rank-1 flatten gives a tuple, None is a no-op.
"""

from __future__ import annotations

from typing import Any

import opencute.layout as ours
from opencute.layout import (
    ComposedLayout,
    Swizzle,
    complement,
    composition,
    cosize,
    crd2idx,
    elem_scale,
    has_none,
    inner_product,
    is_int,
    left_inverse,
    logical_divide,
    logical_product,
    prefix_product,
    product,
    right_inverse,
    shape_div,
    size,
    slice_and_offset,
    tiled_divide,
    tiled_product,
    tuple_max,
    zipped_divide,
    zipped_product,
)
from opencute.layout.ints import is_tuple

__all__ = [
    "ComposedLayout",
    "Integer",
    "Layout",
    "LayoutBase",
    "Swizzle",
    "coalesce",
    "complement",
    "composition",
    "cosize",
    "crd2idx",
    "elem_scale",
    "filter",
    "flatten",
    "has_none",
    "idx2crd",
    "inner_product",
    "is_int",
    "is_layout",
    "is_tuple",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "make_layout",
    "prefix_product",
    "product",
    "right_inverse",
    "shape_div",
    "size",
    "slice_",
    "slice_and_offset",
    "tiled_divide",
    "tiled_product",
    "tuple_max",
    "zipped_divide",
    "zipped_product",
]

LayoutBase = (ours.Layout, ComposedLayout)
flatten = ours.flatten_to_tuple
idx2crd = ours.idx2crd
make_layout = ours.make_layout


class _IntegerCheck(type):
    def __subclasscheck__(cls, c: type) -> bool:
        return issubclass(c, int) and c is not bool

    def __instancecheck__(cls, x: object) -> bool:
        return cls.__subclasscheck__(type(x))


class Integer(metaclass=_IntegerCheck):
    """A class check for Python ints that are not bools."""


def Layout(shape: Any, stride: Any = None) -> ours.Layout:
    """A layout; without strides those of the prefix product, also for modes of size 1."""
    return ours.Layout(shape, ours.prefix_product(shape) if stride is None else stride)


def is_layout(x: object) -> bool:
    """Whether `x` is a layout of either kind."""
    return isinstance(x, LayoutBase)


def coalesce(layout: Any, profile: Any = None) -> Any:
    """Our coalesce, by pycute's argument name."""
    return ours.coalesce(layout, target_profile=profile)


def filter(layout: Any, profile: Any = None) -> Any:
    """Our filter, by pycute's argument name."""
    return ours.filter(layout, target_profile=profile)


def slice_(crd: Any, target: Any) -> Any:
    """Our slice, with the coordinate first."""
    return ours.slice_(target, crd)
