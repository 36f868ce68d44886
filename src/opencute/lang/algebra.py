# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The layout algebra as kernel authors call it: on layouts, shapes and tensors alike.

On a layout or tuple each function is the one of `opencute.layout`. On a tensor it acts on the
layout and moves the iterator where the operation has an offset.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from opencute import layout as la
from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.lang.numbers import Numeric, NumericMeta, number_in
from opencute.lang.pointers import Pointer, element_bits
from opencute.lang.tensors import Tensor, TracedTensor, offset_coord
from opencute.lang.vectors import TensorSSA
from opencute.layout import ComposedLayout, Layout, coord_add
from opencute.layout.ints import is_sequence, is_tuple

__all__ = [
    "append",
    "append_ones",
    "assume",
    "blocked_product",
    "ceil_div",
    "coalesce",
    "complement",
    "composition",
    "cosize",
    "crd2idx",
    "depth",
    "dice",
    "domain_offset",
    "elem_less",
    "filter",
    "filter_zeros",
    "flat_divide",
    "flat_product",
    "flatten",
    "front",
    "get",
    "group_modes",
    "idx2crd",
    "is_static",
    "left_inverse",
    "local_partition",
    "local_tile",
    "logical_divide",
    "logical_product",
    "make_composed_layout",
    "make_layout",
    "max_common_layout",
    "max_common_vector",
    "packed",
    "prepend",
    "prepend_ones",
    "raked_product",
    "rank",
    "recast_ptr",
    "recast_tensor",
    "right_inverse",
    "round_up",
    "select",
    "shape",
    "shape_div",
    "size",
    "size_in_bytes",
    "slice_",
    "slice_and_offset",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "zipped_divide",
    "zipped_product",
]


def _tuples(x: Any) -> Any:
    """Lists as tuples, numbers of the language as the algebra takes them."""
    if is_sequence(x):
        items: Any = x
        return tuple(_tuples(i) for i in items)
    x = number_in(x)
    return int(x) if isinstance(x, Numeric) and not x.is_dynamic else x


def _layout_of(x: Any) -> Any:
    target: Any = x
    return target.layout if isinstance(x, Tensor) else _tuples(x)


def _with_layout(x: Any, layout: Any) -> Any:
    target: Any = x
    return TracedTensor(target.iterator, layout) if isinstance(x, Tensor) else layout


_OF_TENSORS = "Of a tensor, its layout is taken, and the result is a tensor of the same memory."


_PLACES = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in ("loc", "ip")
]


def _described(
    apply: Callable[..., Any], fn: Callable[..., Any], more: str = ""
) -> inspect.Signature:
    """Give a function name, parameters and docstring of the one that it calls."""
    own = inspect.signature(fn)
    signature = own.replace(parameters=[*own.parameters.values(), *_PLACES])
    first, rest = (inspect.cleandoc(fn.__doc__ or "") + "\n\n").split("\n\n", 1)
    apply.__name__ = apply.__qualname__ = fn.__name__
    apply.__signature__ = signature  # type: ignore[attr-defined]
    apply.__doc__ = "\n\n".join(text for text in (first, more, rest.strip()) if text)
    return own


def _map(name: str) -> Callable[..., Any]:
    fn = getattr(la, name)

    def apply(*args: Any, loc: Any = None, ip: Any = None, **kwargs: Any) -> Any:
        if not args:
            if first not in kwargs:
                return fn(**kwargs)  # raises: it is missing
            args = (kwargs.pop(first),)
        target, *plain = args
        plain = [_tuples(a) for a in plain]
        named = {k: _tuples(v) for k, v in kwargs.items()}
        return _with_layout(target, fn(_layout_of(target), *plain, **named))

    first = next(iter(_described(apply, fn, _OF_TENSORS).parameters))
    return apply


def _measure(name: str) -> Callable[..., Any]:
    fn = getattr(la, name)

    def apply(*args: Any, loc: Any = None, ip: Any = None, **kwargs: Any) -> Any:
        named = {k: _layout_of(v) for k, v in kwargs.items()}
        return fn(*[_layout_of(a) for a in args], **named)

    _described(apply, fn)
    return apply


coalesce = _map("coalesce")
filter = _map("filter")
filter_zeros = _map("filter_zeros")
flatten = _map("flatten")
group_modes = _map("group_modes")
select = _map("select")
logical_divide = _map("logical_divide")
zipped_divide = _map("zipped_divide")
tiled_divide = _map("tiled_divide")
flat_divide = _map("flat_divide")
logical_product = _map("logical_product")
zipped_product = _map("zipped_product")
tiled_product = _map("tiled_product")
flat_product = _map("flat_product")
blocked_product = _map("blocked_product")
raked_product = _map("raked_product")
complement = _map("complement")
right_inverse = _map("right_inverse")
left_inverse = _map("left_inverse")
tile_to_shape = _map("tile_to_shape")
append = _map("append")
prepend = _map("prepend")
append_ones = _map("append_ones")
prepend_ones = _map("prepend_ones")

rank = _measure("rank")
depth = _measure("depth")
cosize = _measure("cosize")
shape = _measure("shape")
elem_less = _measure("elem_less")
max_common_layout = _measure("max_common_layout")
max_common_vector = _measure("max_common_vector")
shape_div = _measure("shape_div")
idx2crd = _measure("idx2crd")
is_static = _measure("is_static")


def size(a: Any, mode: Any = None, *, loc: Any = None, ip: Any = None) -> Any:
    """Number of elements of a shape, layout, tensor or vector, or of one of its modes.

    Args:
        a: what to measure; an int is its own size.
        mode: a list with the position of the mode, outermost first.

    Example:
        >>> cute.size((2, (3, 4)), mode=[1])
        12
    """
    if isinstance(a, TensorSSA):
        a = a.shape
    if hasattr(a, "size") and not isinstance(a, Layout | ComposedLayout | Tensor):
        return a.size() if callable(a.size) else a.size
    return la.size(_layout_of(a), mode=mode)


def get(a: Any, mode: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """One mode of a tuple, layout or tensor.

    Args:
        a: a tuple, layout or tensor.
        mode: its position, or a list of positions, outermost first.

    Example:
        >>> cute.get((2, (3, 4)), [1, 0])
        3
    """
    return _with_layout(a, la.get(_layout_of(a), mode))


def front(a: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """The first leaf of a tuple.

    Args:
        a: a tuple, or a leaf, which is its own first.

    Example:
        >>> cute.front(((2, 3), 4))
        2
    """
    a = _tuples(a)
    while is_tuple(a):
        a = a[0]
    return a


def ceil_div(a: Any, b: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """Quotient rounded up, of integers or of shapes mode by mode.

    Args:
        a: an integer or shape.
        b: a positive integer, or a tiler of the shape.

    Example:
        >>> cute.ceil_div((10, 7), (4, 4))
        (3, 2)
    """
    return la.ceil_div(_tuples(a), _tuples(b))


def round_up(a: Any, b: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """The least multiple of `b` that is not below `a`.

    Args:
        a: an integer or shape.
        b: a positive integer, or one for each mode.

    Example:
        >>> cute.round_up(10, 4)
        12
    """
    return la.round_up(_tuples(a), _tuples(b))


def size_in_bytes(dtype: NumericMeta, layout: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """Bytes that elements of a type take in a layout.

    Args:
        dtype: numeric class of the elements.
        layout: a layout, shape or tensor; of a composed layout the outer one counts.

    Returns:
        The cosize of the layout times the bits of an element, over 8: what an allocation for
        it takes, gaps included.

    Example:
        >>> cute.size_in_bytes(cutlass.Float16, cute.make_layout((4, 8)))
        64
    """
    plain = layout.outer if isinstance(layout, ComposedLayout) else _layout_of(layout)
    known = isinstance(plain, Layout | ComposedLayout)
    extent = la.cosize(plain if known else la.make_layout(plain))
    return extent * element_bits(dtype) // 8


def composition(lhs: Any, rhs: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """``R(c) == lhs(rhs(c))``; `rhs` is a layout, a shape, or a tuple with one per mode.

    Args:
        lhs: a layout, composed layout, swizzle or tensor.
        rhs: where the coordinates of the result lead to in it.

    Example:
        >>> cute.composition(cute.make_layout((4, 8)), cute.make_layout(2, stride=4))
        Layout(2:4)
    """
    return _with_layout(lhs, la.composition(_layout_of(lhs), _layout_of(rhs)))


def crd2idx(coord: Any, layout: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """The offset of a coordinate in a layout, tensor or shape.

    Args:
        coord: the coordinate; an integer is one of all modes, in colexicographic order.
        layout: the layout, tensor or shape.

    Example:
        >>> cute.crd2idx((1, 1), (4, 8))
        5
    """
    layout = _layout_of(layout)
    crd = offset_coord(coord, layout) if isinstance(layout, Layout) else _tuples(coord)
    return la.crd2idx(crd, layout)


def slice_(src: Any, coord: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """The modes whose coordinate is None; a tensor's iterator moves to the other coordinates.

    Args:
        src: a tuple, layout or tensor.
        coord: a coordinate with None for each mode to keep.

    Example:
        >>> cute.slice_(cute.make_layout((4, 8)), (None, 3))
        Layout((4):(1))
    """
    if isinstance(src, Tensor):
        return TracedTensor(src.iterator, src.layout)[coord]  # type: ignore[attr-defined]
    return la.slice_(_tuples(src), _tuples(coord))


def slice_and_offset(coord: Any, src: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """The sliced layout and the offset that slicing skipped.

    Args:
        coord: a coordinate with None for each mode to keep.
        src: a layout.

    Returns:
        The layout of the modes kept, and the offset of the coordinate in the others.

    Example:
        >>> cute.slice_and_offset((None, 3), cute.make_layout((4, 8)))
        (Layout((4):(1)), 12)
    """
    return la.slice_and_offset(offset_coord(coord, src), src)


def dice(src: Any, dicer: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """The modes whose coordinate is not None.

    Args:
        src: a tuple, layout or tensor.
        dicer: a coordinate; None leaves a mode out.

    Example:
        >>> cute.dice(cute.make_layout((4, 8)), (None, 3))
        Layout((8):(4))
    """
    return _with_layout(src, la.dice(_layout_of(src), _tuples(dicer)))


def domain_offset(coord: Any, tensor: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """The tensor whose origin is at `coord` of the given one.

    Args:
        coord: the coordinate.
        tensor: a tensor in compiled code; of a layout the result is the layout and the offset.
    """
    if not isinstance(tensor, TracedTensor):
        return la.domain_offset(_tuples(coord), tensor)
    coord = offset_coord(coord, tensor.layout)
    layout, offset = la.domain_offset(coord, tensor.layout)
    return _moved(tensor, layout, offset)


def _moved(tensor: TracedTensor, layout: Any, offset: Any) -> TracedTensor:
    if isinstance(tensor.iterator, Pointer):
        return TracedTensor(tensor.iterator + offset, layout)
    return TracedTensor(coord_add(tensor.iterator, offset), layout)


def local_tile(
    input: Any, tiler: Any, coord: Any, proj: Any = None, *, loc: Any = None, ip: Any = None
) -> Any:
    """The tile at `coord`: zipped_divide, then a slice of the rest modes.

    Args:
        input: a tensor or layout.
        tiler: shape of a tile, or a layout per mode.
        coord: coordinate among the tiles; None keeps a mode.
        proj: None in the modes of tiler and coord to leave out, 1 in the others.

    Raises:
        LayoutError: `coord` is known to name a tile that memory does not have.

    Example:
        >>> cute.local_tile(cute.make_layout((8, 8)), (4, 4), (1, 0))
        Layout((4,4):(1,8))
    """
    layout = _layout_of(input)
    coord = offset_coord(coord, layout)
    if isinstance(input, TracedTensor) and isinstance(input.iterator, Pointer) and proj is None:
        _check_tile(layout, _tuples(tiler), coord)
    tile, offset = la.local_tile(layout, _tuples(tiler), coord, _tuples(proj))
    return _moved(input, tile, offset) if isinstance(input, TracedTensor) else tile


def _check_tile(layout: Any, tiler: Any, coord: Any) -> None:
    """Raise if a mode has no tile of this number, where its extent and the number are known.

    Coordinates that a tensor map bounds are no memory, and may lie outside of it.
    """
    plain = isinstance(layout, Layout) and is_tuple(tiler) and is_tuple(coord)
    if not plain or la.rank(layout) < len(coord):
        return
    for mode, at in enumerate(coord):
        if not la.is_static_int(at) or not la.is_static(layout[mode].shape):
            continue
        tile: Any = tiler[mode] if mode < len(tiler) else 1
        if tile is None or not la.is_static(tile):
            continue
        count = -(-int(la.size(layout[mode])) // int(la.size(tile)))
        if count and not 0 <= int(at) < count:
            raise LayoutError(
                f"local_tile: mode {mode} has no tile {at}", code="OC1315", found=f"{at}",
                expected=f"0 to {count - 1}, as {count} tiles of {la.size(tile)} cover an extent "
                f"of {la.size(layout[mode])}",
            )  # fmt: skip


def local_partition(
    target: Any, tiler: Any, index: Any, proj: Any = None, *, loc: Any = None, ip: Any = None
) -> Any:
    """What thread `index` of a thread layout owns of a tensor.

    Args:
        target: a tensor or layout.
        tiler: layout of the threads, from coordinates in a tile to thread indices.
        index: the thread's.
        proj: None in the modes of the tiler to leave out, 1 in the others.

    Example:
        >>> cute.local_partition(cute.make_layout((8, 8)), cute.make_layout((2, 2)), 1)
        Layout((4,4):(2,16))
    """
    layout = _layout_of(target)
    index = offset_coord(index, layout) if not is_tuple(index) else _tuples(index)
    part, offset = la.local_partition(layout, _tuples(tiler), index, _tuples(proj))
    return _moved(target, part, offset) if isinstance(target, TracedTensor) else part


def make_layout(shape: Any, *more: Any, stride: Any = None, loc: Any = None, ip: Any = None) -> Any:
    """A layout from shape and stride (column-major without one), or from one layout per mode.

    Args:
        shape: extents, or a layout.
        more: further layouts, which become the next modes.
        stride: steps, in a tuple of the same profile.

    Raises:
        LayoutError: shape and stride differ in profile, or a leaf is no integer.

    Example:
        >>> cute.make_layout((4, 8), stride=(8, 1))
        Layout((4,8):(8,1))
        >>> cute.make_layout(cute.make_layout(4), cute.make_layout(8, stride=16))
        Layout((4,8):(1,16))
    """
    return la.make_layout(_tuples(shape), *map(_tuples, more), stride=_tuples(stride))


def make_composed_layout(
    inner: Any, offset: Any, outer: Any, *, loc: Any = None, ip: Any = None
) -> Any:
    """``R(c) == inner(offset + outer(c))``; `inner` is a swizzle, a layout or any function.

    Args:
        inner: what an offset goes through last.
        offset: added before; an integer, or a coordinate where `outer` gives coordinates.
        outer: the layout whose domain the result has.

    Example:
        >>> cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_layout((8, 64)))
        ComposedLayout(S<3,4,3> o 0 o (8,64):(1,8))
    """
    return la.make_composed_layout(inner, _tuples(offset), outer)


def recast_ptr(
    ptr: Pointer, swizzle_: Any = None, dtype: NumericMeta | None = None,
    *, loc: Any = None, ip: Any = None,
) -> Pointer:  # fmt: skip
    """The same address as a pointer to another element type, with a swizzle of byte addresses.

    Args:
        ptr: the pointer.
        swizzle_: a swizzle, which accesses put on the byte address from then on.
        dtype: numeric class of the elements; those of the pointer when omitted.
    """
    out = ptr if dtype is None else ptr.recast(dtype)
    return out if swizzle_ is None else out.swizzled(swizzle_)


def recast_tensor(src: Any, dtype: NumericMeta, *, loc: Any = None, ip: Any = None) -> Any:
    """The same memory as a tensor of another element type.

    Args:
        src: the tensor.
        dtype: numeric class of the elements.

    Raises:
        TypeMismatchError: no tensor in compiled code.
        LayoutError: the elements cannot be regrouped.
    """
    if not isinstance(src, TracedTensor):
        raise TypeMismatchError("recast_tensor takes a tensor", code="OC1234", found=repr(src))
    new = la.recast_layout(element_bits(dtype), element_bits(src.element_type), src.layout)
    return TracedTensor(src.iterator.recast(dtype), new)


def assume(src: Any, divby: int | None = None, *, loc: Any = None, ip: Any = None) -> Any:
    """A run-time integer, promised to be a multiple of `divby` (the simulator checks it).

    Args:
        src: the integer; one that is known at compile time is given back as it is.
        divby: a positive integer, known at compile time; None promises nothing.

    Raises:
        TypeMismatchError: no integer, or no such divisor.
    """
    from opencute.dialects import cute

    if divby is not None and (type(divby) is not int or divby < 1):
        raise TypeMismatchError(
            "assume() takes a positive integer, known at compile time, as divby", code="OC1235",
            found=repr(divby),
        )  # fmt: skip
    if divby is None or isinstance(src, int):
        return src
    if not isinstance(src, Numeric) or src.dtype.is_float:
        raise TypeMismatchError("assume() takes an integer", code="OC1235", found=repr(src))
    if not src.is_dynamic:
        return src
    out = type(src)(cute.assume(src.ir_value(), divby))
    out.div, out.nonneg, out.is_index = max(src.div, divby), src.nonneg, src.is_index
    return out


def packed(shape: Any) -> Any:
    """A shape or tile as the operations here take it: nested tuples, whatever held the numbers."""
    return tuple(packed(x) for x in shape) if is_sequence(shape) else shape
