# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Coordinates and offsets, and the compact strides that link them.

In: coordinates (an integer, or a tuple that fits the shape, possibly less deep), shapes, strides.
Out: offsets, coordinates, strides::

    crd2idx((1, 2), (4, 8), (8, 1))     # 10
    idx2crd(9, (4, 8))                  # (1, 2)
    compact_order((2, 3, 4), (2, 0, 1)) # (12, 1, 3)
"""

from __future__ import annotations

from typing import Any, NoReturn

from opencute.layout.arith import product, product_like
from opencute.layout.basis import coord_add, make_basis_like
from opencute.layout.ints import (
    Coord,
    IntTuple,
    Shape,
    Stride,
    add,
    fail,
    floor_div,
    is_dynamic_int,
    is_static_int,
    is_tuple,
    mod,
    mul,
    to_str,
)
from opencute.layout.tuples import flatten_to_tuple, unflatten

__all__ = [
    "compact_col_major",
    "compact_order",
    "compact_row_major",
    "crd2crd",
    "crd2idx_shape",
    "crd2idx_stride",
    "idx2crd",
    "increment_coord",
]


_MOST_SHOWN = 40  # letters of a coordinate, which a product of a tuple and a number makes long


def _bad_coord(crd: Any, shape: Any) -> NoReturn:
    hint = None
    if is_tuple(crd) and len(crd) > 2 and len(crd) % 3 == 0 and all(map(is_dynamic_int, crd)):
        hint = "thread_idx() and block_idx() give tuples: write x, y, z = cute.arch.thread_idx()"
    found = shown = to_str(crd)
    if len(found) > _MOST_SHOWN and is_tuple(crd):
        shown = f"{found[:_MOST_SHOWN].rstrip(',')},...)"
        found = f"{shown}, {len(crd)} entries"
    fail(
        "OC1308",
        f"the coordinate {shown} does not fit the shape {to_str(shape)}",
        expected=f"an integer, or a tuple that {to_str(shape)} refines",
        found=found,
        hint=hint,
    )


def crd2idx_stride(crd: Coord, shape: Shape, stride: Stride) -> Any:
    """Offset of a coordinate: the inner product of its natural form with the strides.

    None entries count as 0. With basis strides the offset is a coordinate. A dynamic coordinate's
    product with a stride is taken in 64 bits (`__offset_int__`), unless the layout is static and
    its offsets fit in 32; quotients of coordinates keep their width.
    """
    wide = _has_dynamic(crd) and not _fits_32_bits(shape, stride)
    offset = _offset(crd, shape, stride, wide)
    as_tuple = getattr(offset, "as_tuple", None)
    return offset if as_tuple is None else as_tuple()


def _has_dynamic(x: Any) -> bool:
    if is_tuple(x):
        return any(map(_has_dynamic, x))
    return type(x) is not int and is_dynamic_int(x)


def _fits_32_bits(shape: Shape, stride: Stride) -> bool:
    """Whether all offsets of a layout are known to fit in 32 bits, or are no offsets at all."""
    reach = 0
    for s, d in zip(flatten_to_tuple(shape), flatten_to_tuple(stride), strict=True):
        if getattr(d, "is_scaled_basis", False):
            return True  # coordinates
        if not is_static_int(s) or not is_static_int(d):
            return False
        reach += abs((s - 1) * d)
    return reach < (1 << 31) - 1


def _as_factor(crd: Any, wide: bool) -> Any:
    """A coordinate's entry, as it is multiplied with a stride."""
    widen = getattr(crd, "__offset_int__", None) if wide else None
    return crd if widen is None else widen()


def _offset(crd: Coord, shape: Shape, stride: Stride, wide: bool) -> Any:
    if not is_tuple(shape):
        if is_tuple(crd):
            _bad_coord(crd, shape)
        return mul(0 if crd is None else _as_factor(crd, wide), stride)
    total: Any = 0
    if is_tuple(crd):
        if len(crd) != len(shape):
            _bad_coord(crd, shape)
        for c, s, d in zip(crd, shape, stride, strict=True):
            total = coord_add(total, _offset(c, s, d, wide))
        return total
    rest: Any = 0 if crd is None else crd
    last = len(shape) - 1
    for i, (s, d) in enumerate(zip(shape, stride, strict=True)):
        if i == last or (is_static_int(rest) and rest == 0):
            here, left = rest, 0
        else:
            extent = product(s)
            if is_static_int(extent) and extent == 0:
                return total  # no coordinate exists, so that no answer is wrong
            here, left = mod(rest, extent), floor_div(rest, extent)
        total, rest = coord_add(total, _offset(here, s, d, wide)), left
    return total


def crd2idx_shape(crd: Coord, shape: Shape) -> Any:
    """Position of a coordinate in the colexicographic order of a shape.

    It is as wide as the offset in the compact layout of the shape (`crd2idx_stride`).

    Law: ``crd2idx(idx2crd(i, shape), shape) == i``.
    """
    if not is_tuple(crd):
        return 0 if crd is None else crd
    if not is_tuple(shape) or len(crd) != len(shape):
        _bad_coord(crd, shape)
    total: Any = 0
    step: Any = 1
    flat_shape = flatten_to_tuple(product_like(shape, crd))
    wide = _has_dynamic(crd) and not _fits_32_bits(product(flat_shape), 1)
    for c, s in zip(flatten_to_tuple(crd), flat_shape, strict=True):
        total = add(total, mul(0 if c is None else _as_factor(c, wide), step))
        step = mul(step, s)
    return total


def idx2crd(idx: IntTuple, shape: Shape, stride: Stride = None) -> Any:
    """The coordinate that an index belongs to.

    Without strides, by the colexicographic order of the shape. With strides, the coordinate
    whose offset it is; this needs a compact layout. A tuple of indices is split mode by mode.

    Args:
        idx: the index, or a tuple of one for each mode.
        shape: extents.
        stride: strides of a compact layout.

    Law: ``crd2idx(idx2crd(i, s), s) == i``, and likewise with compact strides.

    Example:
        >>> cute.idx2crd(5, (4, 8))
        (1, 1)
    """
    if is_tuple(idx):
        if not is_tuple(shape) or len(idx) != len(shape):
            _bad_coord(idx, shape)
        strides: Any = (None,) * len(idx) if stride is None else stride
        return tuple(map(idx2crd, idx, shape, strides))
    if stride is None:
        if not is_tuple(shape):
            return idx
        crd = crd2idx_stride(idx, shape, make_basis_like(shape))
        return _pad_like(crd, shape)
    if is_tuple(shape):
        strides = stride if is_tuple(stride) else compact_col_major(shape, stride)
        return tuple(idx2crd(idx, s, d) for s, d in zip(shape, strides, strict=True))
    if (is_static_int(shape) and shape == 1) or (is_static_int(stride) and stride == 0):
        return 0
    return mod(floor_div(idx, stride), shape)


def _pad_like(crd: Any, shape: Any) -> Any:
    """The sum of basis elements lacks trailing zeros; give it the profile of the shape."""
    if not is_tuple(shape):
        return crd
    items = crd if is_tuple(crd) else ()
    items = items + (0,) * (len(shape) - len(items))
    return tuple(map(_pad_like, items, shape))


def crd2crd(crd: Coord, src_shape: Shape, dst_shape: Shape) -> Any:
    """A coordinate of one shape as the coordinate of another of the same size.

    Law: ``crd2idx(crd2crd(c, s, t), t) == crd2idx(c, s)``.
    """
    if is_tuple(crd) and is_tuple(src_shape) and is_tuple(dst_shape):
        if len(crd) != len(src_shape) or len(crd) != len(dst_shape):
            _bad_coord(crd, dst_shape)
        return tuple(map(crd2crd, crd, src_shape, dst_shape))
    return idx2crd(crd2idx_shape(crd, src_shape), dst_shape)


def increment_coord(crd: Coord, shape: Shape) -> Any:
    """The next coordinate in colexicographic order; the last is followed by the first.

    Args:
        crd: the coordinate.
        shape: extents of its domain.

    Law: ``crd2idx(increment_coord(c, s), s) == (crd2idx(c, s) + 1) % product(s)``.

    Example:
        >>> cute.increment_coord((3, 0), (4, 8))
        (0, 1)
    """
    return idx2crd(mod(add(crd2idx_shape(crd, shape), 1), product(shape)), shape)


def _compact(shape: Shape, current: Any, left: bool) -> tuple[Any, Any]:
    """Strides of a shape whose first step is `current`, and the step after its last."""
    if not is_tuple(shape):
        if is_static_int(shape) and shape == 1:
            return 0, current
        return current, mul(current, shape)
    out: list[Any] = []
    for s in shape if left else reversed(shape):
        stride, current = _compact(s, current, left)
        out.append(stride)
    return tuple(out if left else reversed(out)), current


def compact_col_major(shape: Shape, current: Any = 1) -> Any:
    """Strides with the leftmost mode fastest; modes of static size 1 get stride 0.

    Law: the layout of ``shape`` with them maps every 1-D coordinate to itself.
    """
    if is_tuple(current):
        return tuple(map(compact_col_major, shape, current))
    return _compact(shape, current, True)[0]


def compact_row_major(shape: Shape, current: Any = 1) -> Any:
    """Strides with the rightmost mode fastest; modes of static size 1 get stride 0.

    Law: column-major strides of the mirrored shape, mirrored.
    """
    if is_tuple(current):
        return tuple(map(compact_row_major, shape, current))
    return _compact(shape, current, False)[0]


def compact_order(shape: Shape, order: IntTuple) -> Any:
    """Strides of a compact layout whose modes are laid out by ascending `order`.

    `order` may be less deep than the shape. Dynamic entries count as larger than all static ones;
    equal entries go from left to right.

    Law: the layout is a bijection onto ``range(size)``; of two modes the one with the lesser order
    has the lesser stride.
    """
    extents = flatten_to_tuple(product_like(shape, order))
    keys = flatten_to_tuple(order)
    ranks = sorted(
        range(len(keys)), key=lambda i: (0, keys[i]) if is_static_int(keys[i]) else (1, 0)
    )
    starts: dict[int, Any] = {}
    step: Any = 1
    for i in ranks:
        starts[i] = step
        step = mul(step, extents[i])
    return _compact_at(shape, unflatten((starts[i] for i in range(len(keys))), order))


def _compact_at(shape: Shape, starts: Any) -> Any:
    if is_tuple(starts):
        return tuple(map(_compact_at, shape, starts))
    return compact_col_major(shape, starts)
