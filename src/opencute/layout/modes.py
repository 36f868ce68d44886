# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Functions that work alike on tuples, layouts and composed layouts: sizes, regrouping, slicing.

In: any of the three. Out: the same kind, regrouped; or integers; or an offset beside a slice::

    size(layout, mode=[0])
    select((4, 5, 6), mode=[2, 0])              # (6, 4)
    group_modes(layout, 0, 2)                   # ((A,B),C)
    slice_and_offset((None, 3), layout)         # (layout[0], 3 * stride)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opencute.layout import tuples as tp
from opencute.layout.arith import inner_product, product
from opencute.layout.basis import coord_add
from opencute.layout.coords import crd2idx_shape, crd2idx_stride
from opencute.layout.ints import (
    Coord,
    Stride,
    add,
    fail,
    is_static_int,
    is_tuple,
    to_str,
)
from opencute.layout.layout import Layout, normalize_coord
from opencute.layout.swizzle import ComposedLayout, Swizzle

__all__ = [
    "append",
    "append_ones",
    "coshape",
    "cosize",
    "crd2idx",
    "depth",
    "dice",
    "domain_offset",
    "flatten",
    "get",
    "group_modes",
    "prepend",
    "prepend_ones",
    "rank",
    "select",
    "shape",
    "size",
    "slice_",
    "slice_and_offset",
    "stride",
    "zip_modes",
]

Mode = int | Sequence[int] | None


def _map_modes(x: Any, f: Callable[[Any], Any]) -> Any:
    """Apply a regrouping of tuples to whatever `x` is."""
    if isinstance(x, Layout):
        return Layout.trusted(f(x.shape), f(x.stride))
    if isinstance(x, ComposedLayout):
        return x.with_outer(_map_modes(x.outer, f))
    return f(x)


def _shape_of(x: Any) -> Any:
    return x.shape if isinstance(x, (Layout, ComposedLayout)) else x


def get(x: Any, mode: Mode) -> Any:
    """The mode at a path: ``mode=[1, 0]`` is mode 0 of mode 1.

    Law: ``get(get(x, a), b) == get(x, a + b)`` for paths.
    """
    path = tp.mode_path(mode)
    return _map_modes(x, lambda t: tp.get_path(t, path))


def shape(x: Any, mode: Mode = None) -> Any:
    """The shape, or that of one mode.

    Args:
        x: a layout or tensor; a shape is its own.
        mode: a list with the position of the mode, outermost first; all of them when omitted.

    Law: ``shape(x, mode) == get(x, mode).shape``.

    Example:
        >>> cute.shape(cute.make_layout((2, (3, 4))), mode=[1])
        (3, 4)
    """
    return tp.get_path(_shape_of(x), tp.mode_path(mode))


def stride(x: Any, mode: Mode = None) -> Any:
    """The strides, or those of one mode.

    Law: ``stride(x, mode) == get(x, mode).stride``.
    """
    if not isinstance(x, Layout):
        fail("OC1301", "only a plain layout has strides", found=to_str(x))
    return tp.get_path(x.stride, tp.mode_path(mode))


def size(x: Any, mode: Mode = None) -> Any:
    """Number of coordinates of a shape or layout, or of one mode.

    Law: the product of the sizes of the modes.
    """
    if isinstance(x, Swizzle):
        return x.size()
    return product(shape(x, mode))


def rank(x: Any, mode: Mode = None) -> int:
    """Number of top-level modes; 1 for an integer.

    Args:
        x: a tuple, layout or tensor.
        mode: a list with the position of a mode, outermost first, whose rank is meant.

    Law: the number of modes that iteration gives.

    Example:
        >>> cute.rank((2, (3, 4)))
        2
    """
    s = shape(x, mode)
    return len(s) if is_tuple(s) else 1


def depth(x: Any, mode: Mode = None) -> int:
    """Levels of nesting; 0 for an integer.

    Args:
        x: a tuple, layout or tensor.
        mode: a list with the position of a mode, outermost first, whose depth is meant.

    Law: one more than the largest depth of the modes.

    Example:
        >>> cute.depth(((2, 2), 4))
        2
    """
    return tp.depth_of(shape(x, mode))


def coshape(x: Layout, mode: Mode = None) -> Any:
    """Extents that the offsets stay below: a number, or a shape for basis strides.

    Args:
        x: the layout.
        mode: a list with the position of a mode, outermost first, whose coshape is meant.

    Law: ``elem_less(x(c), coshape(x))`` for each coordinate, and nothing smaller does.

    Example:
        >>> cute.coshape(cute.make_identity_layout((4, 8)))
        (4, 8)
    """
    sub = get(x, mode)
    last = tp.transform_leaf(_previous, sub.shape)
    strides = tp.transform_leaf(_magnitude, sub.stride)
    reach = coord_add(0, inner_product(last, strides))
    return tp.transform_leaf(_next, reach)


def _previous(x: Any) -> Any:
    return add(x, -1)


def _next(x: Any) -> Any:
    return add(x, 1)


def _magnitude(d: Any) -> Any:
    return abs(d) if is_static_int(d) else d


def cosize(x: Any, mode: Mode = None) -> Any:
    """One more than the largest offset (of the outer layout, for a composed one).

    Args:
        x: a layout or tensor.
        mode: a list with the position of a mode, outermost first, whose cosize is meant.

    Law: ``max(x(i) for i in range(size(x))) + 1`` for non-negative strides.

    Example:
        >>> cute.cosize(cute.make_layout((4, 8), stride=(1, 10)))
        74
    """
    if isinstance(x, Swizzle):
        return x.cosize()
    return product(coshape(x.outer if isinstance(x, ComposedLayout) else x, mode))


def flatten(x: Any) -> Any:
    """All leaves as one level.

    Args:
        x: a tuple, layout or tensor.

    Law: the same function of 1-D coordinates.

    Example:
        >>> cute.flatten(((2, 2), 4))
        (2, 2, 4)
    """
    return _map_modes(x, tp.flatten_tuple)


def select(x: Any, mode: Sequence[int]) -> Any:
    """The top-level modes listed, in that order.

    Args:
        x: a tuple, layout or tensor.
        mode: their positions.

    Law: mode ``i`` of the result is mode ``mode[i]``.

    Example:
        >>> cute.select((2, 3, 4), [2, 0])
        (4, 2)
    """
    modes = tp.mode_path(mode)
    return _map_modes(x, lambda t: tp.select_tuple(t, modes))


def group_modes(x: Any, begin: int, end: int = -1) -> Any:
    """Modes ``begin`` to ``end - 1`` as one mode; -1 means up to the last.

    Args:
        x: a tuple, layout or tensor.
        begin: the first of the modes.
        end: one past the last of them.

    Law: the same function of 1-D coordinates.

    Example:
        >>> cute.group_modes(cute.make_layout((2, 3, 4)), 0, 2)
        Layout(((2,3),4):((1,2),6))
    """
    return _map_modes(x, lambda t: tp.group_tuple(t, begin, end))


def _extend(x: Any, elem: Any, up_to_rank: int | None, f: Callable[..., Any]) -> Any:
    if isinstance(x, ComposedLayout):
        return x.with_outer(_extend(x.outer, elem, up_to_rank, f))
    if isinstance(x, Layout):
        if not isinstance(elem, Layout):
            fail("OC1301", "only a layout can become a mode of a layout", found=to_str(elem))
        return Layout(f(x.shape, elem.shape, up_to_rank), f(x.stride, elem.stride, up_to_rank))
    return f(x, elem, up_to_rank)


def append(x: Any, elem: Any, up_to_rank: int | None = None) -> Any:
    """`x` with `elem` as one more mode at the end, or as many as `up_to_rank` needs.

    Args:
        x: a tuple, layout or tensor.
        elem: the mode; of a layout or tensor a layout.
        up_to_rank: the rank of the result; nothing is added to one that has it. One more when
            omitted.

    Law: the leading modes are those of ``x``.

    Example:
        >>> cute.append((2,), 1, up_to_rank=3)
        (2, 1, 1)
    """
    return _extend(x, elem, up_to_rank, tp.append_tuple)


def prepend(x: Any, elem: Any, up_to_rank: int | None = None) -> Any:
    """Like `append`, at the front.

    Args:
        x: a tuple, layout or tensor.
        elem: the mode; of a layout or tensor a layout.
        up_to_rank: the rank of the result; one more when omitted.

    Law: the trailing modes are those of ``x``.

    Example:
        >>> cute.prepend((2, 3), 4)
        (4, 2, 3)
    """
    return _extend(x, elem, up_to_rank, tp.prepend_tuple)


def _one_of(x: Any) -> Any:
    return Layout(1, 0) if isinstance(x, (Layout, ComposedLayout)) else 1


def append_ones(x: Any, up_to_rank: int | None = None) -> Any:
    """`x` with modes of size 1 at the end.

    Args:
        x: a tuple, layout or tensor.
        up_to_rank: the rank of the result; one more when omitted.

    Law: the same function of 1-D coordinates.

    Example:
        >>> cute.append_ones(cute.make_layout((2, 3)), up_to_rank=3)
        Layout((2,3,1):(1,2,0))
    """
    return append(x, _one_of(x), up_to_rank)


def prepend_ones(x: Any, up_to_rank: int | None = None) -> Any:
    """`x` with modes of size 1 at the front.

    Args:
        x: a tuple, layout or tensor.
        up_to_rank: the rank of the result; one more when omitted.

    Law: the same function of 1-D coordinates.

    Example:
        >>> cute.prepend_ones(cute.make_layout((2, 3)))
        Layout((1,2,3):(0,1,2))
    """
    return prepend(x, _one_of(x), up_to_rank)


def zip_modes(x: Any) -> Any:
    """``((A,B),(a,b))`` as ``((A,a),(B,b))``.

    Law: an involution on rank-n tuples of rank-m tuples.
    """
    return _map_modes(x, lambda t: tp.zip_tuples(*t))


def crd2idx(crd: Coord, shape: Any, stride: Stride = None) -> Any:
    """The offset of a coordinate in a layout, or its position in a shape.

    Args:
        crd: the coordinate; None entries count as 0.
        shape: a layout, or a shape.
        stride: strides of the shape; without them positions are colexicographic.

    Law: ``crd2idx(c, layout) == layout(c)``.
    """
    crd = normalize_coord(crd)
    if isinstance(shape, Layout):
        return crd2idx_stride(crd, shape.shape, shape.stride)
    if isinstance(shape, ComposedLayout):
        outer = crd2idx_stride(crd, shape.outer.shape, shape.outer.stride)
        return shape.inner(coord_add(shape.offset, outer))
    if stride is None:
        return crd2idx_shape(crd, shape)
    return crd2idx_stride(crd, shape, stride)


def slice_(x: Any, crd: Coord) -> Any:
    """The modes of `x` whose coordinate is None.

    Of a layout the offset of the other coordinates is dropped; `slice_and_offset` keeps it. A
    composed layout takes it into its own offset.

    Law: ``slice_(a, c)(d) + crd2idx(c, a) == a(c with d for None)``.
    """
    crd = normalize_coord(crd)
    if isinstance(x, (Layout, ComposedLayout)):
        return slice_and_offset(crd, x)[0]
    return tp.slice_tuple(crd, x)


def slice_and_offset(crd: Coord, layout: Any) -> tuple[Any, Any]:
    """The sub-layout that a coordinate with None entries keeps, and the offset it starts at.

    A composed layout takes the offset into itself, as its inner function needs it there; the
    second result is then 0.

    Law: ``sub(d) + offset == layout(c with d for None)`` (and ``offset == 0`` if composed).
    """
    crd = normalize_coord(crd)
    outer = layout.outer if isinstance(layout, ComposedLayout) else layout
    sub = Layout.trusted(tp.slice_tuple(crd, outer.shape), tp.slice_tuple(crd, outer.stride))
    offset = crd2idx_stride(crd, outer.shape, outer.stride)
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.inner, coord_add(layout.offset, offset), sub), 0
    return sub, offset


def dice(x: Any, crd: Coord) -> Any:
    """The modes of `x` whose coordinate is not None.

    Law: ``dice(x, c)`` and ``slice_(x, c)`` share out the leaves of ``x``.
    """
    crd = normalize_coord(crd)
    return _map_modes(x, lambda t: tp.dice_tuple(crd, t))


def domain_offset(crd: Coord, layout: Any) -> tuple[Any, Any]:
    """A layout whose origin is moved to `crd`, and the offset of the new origin.

    Law: ``moved(c) + offset == layout(crd + c)``.
    """
    crd = normalize_coord(crd)
    if isinstance(layout, ComposedLayout):
        offset = coord_add(layout.offset, crd2idx(crd, layout.outer))
        return ComposedLayout(layout.inner, offset, layout.outer), 0
    return layout, crd2idx(crd, layout)
