# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Layouts: functions from coordinates to offsets, given by a shape and congruent strides.

In: shapes and strides. Out: layouts that are called with coordinates, sliced with None, and
printed as CuTe does::

    a = make_layout((4, (2, 3)), stride=(1, (4, 8)))
    str(a)              # (4,(2,3)):(1,(4,8))
    a(2, (1, 2))        # 22
    a(None, (0, 1))     # (4):(1); slice_and_offset also gives the offset, 8
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opencute.layout.arith import all_of, filter_zero_modes, product, tuple_equal
from opencute.layout.basis import make_basis_like
from opencute.layout.composer import Composer, open_ended
from opencute.layout.coords import (
    compact_col_major,
    compact_order,
    crd2crd,
    crd2idx_shape,
    crd2idx_stride,
    idx2crd,
)
from opencute.layout.ints import (
    Coord,
    IntTuple,
    Shape,
    Stride,
    divisibility,
    fail,
    is_dynamic_int,
    is_sequence,
    is_static,
    is_static_int,
    is_tuple,
    normalize,
    to_str,
)
from opencute.layout.runs import alignment
from opencute.layout.tuples import (
    congruent,
    dice_tuple,
    flatten_to_tuple,
    get_path,
    has_none,
    repeat,
    slice_tuple,
    wrap,
)

__all__ = [
    "Layout",
    "make_identity_layout",
    "make_layout",
    "make_layout_like",
    "make_ordered_layout",
    "normalize_coord",
]


class Layout:
    """A function from coordinates to offsets.

    Args:
        shape: extents, an integer or a nested tuple.
        stride: steps with the same profile; integers or basis elements. Column-major if omitted.

    Law: ``layout(c) == inner_product(c, layout.stride)`` for a natural coordinate ``c``.

    Raises:
        LayoutError: shape and stride differ in profile, or a leaf is no integer.

    Example:
        >>> layout = cute.make_layout((4, 8), stride=(8, 1))
        >>> layout((1, 2)), layout(9), layout.size()
        (10, 10, 32)
    """

    __slots__ = ("shape", "stride")
    shape: Any
    stride: Any

    def __init__(self, shape: Shape, stride: Stride = None) -> None:
        shape = normalize(shape)
        stride = compact_col_major(shape) if stride is None else normalize(stride)
        if not congruent(shape, stride):
            fail("OC1306", "shape and stride differ in profile",
                 expected=f"a stride with the profile of {to_str(shape)}",
                 found=to_str(stride))  # fmt: skip
        for n in flatten_to_tuple(shape):
            if is_static_int(n) and n < 0:
                fail("OC1368", f"an extent of {to_str(shape)} is negative",
                     expected="extents of at least 0", found=n)  # fmt: skip
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "stride", stride)

    @classmethod
    def trusted(cls, shape: Shape, stride: Stride) -> Layout:
        """A layout of parts of other layouts, which need no checks."""
        self = cls.__new__(cls)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "stride", stride)
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"layouts are immutable: cannot set {name}")

    def static_parts(self) -> tuple[Any, ...]:
        return (self.shape, self.stride)

    @property
    def is_static(self) -> bool:
        """Whether every extent and stride is known."""
        return is_static(self)

    @property
    def rank(self) -> int:
        """Number of top-level modes."""
        return len(self.shape) if is_tuple(self.shape) else 1

    @property
    def max_alignment(self) -> int:
        """The largest number of elements that is known to move as one; see `inverse.max_alignment`.

        Of a single run of unknown length, what is known to divide the length.
        """
        if is_dynamic_int(self.shape) and is_static_int(self.stride) and self.stride == 1:
            return divisibility(self.shape)
        return alignment(self)

    def __len__(self) -> int:
        return self.rank

    def size(self) -> Any:
        """Number of coordinates."""
        return product(self.shape)

    def __call__(self, *crd: Coord) -> Any:
        """The offset of a coordinate; with None entries, the layout of the modes they keep.

        Args:
            crd: a coordinate, or one for each mode; an integer is one of all modes.
        """
        c = normalize_coord(crd[0] if len(crd) == 1 else crd)
        if has_none(c):
            return Layout.trusted(slice_tuple(c, self.shape), slice_tuple(c, self.stride))
        return crd2idx_stride(c, self.shape, self.stride)

    def offsets(self) -> list[int]:
        """The offsets of all coordinates in order, first mode fastest. The layout must be static.

        Law: ``layout.offsets() == [layout(i) for i in range(layout.size())]``, in a time that lets
        tables of atoms check themselves when they are imported.
        """
        out = [0]
        leaves = zip(flatten_to_tuple(self.shape), flatten_to_tuple(self.stride), strict=True)
        for extent, step in leaves:
            out = [o + i * step for i in range(extent) for o in out]
        return out

    def dice(self, crd: Coord) -> Layout:
        """The layout of the modes whose coordinate is not None.

        Args:
            crd: a coordinate; None leaves a mode out.
        """
        return Layout(dice_tuple(crd, self.shape), dice_tuple(crd, self.stride))

    def __getitem__(self, mode: int) -> Layout:
        return Layout.trusted(get_path(self.shape, (mode,)), get_path(self.stride, (mode,)))

    def __iter__(self) -> Iterator[Layout]:
        return (self[i] for i in range(self.rank))

    def get_hier_coord(self, idx: Any, *, loc: Any = None, ip: Any = None) -> Any:
        """The natural coordinate of an offset. The layout must be compact.

        Args:
            idx: the offset.

        Law: ``layout(layout.get_hier_coord(i)) == i``.
        """
        return idx2crd(idx, self.shape, self.stride)

    def get_flat_coord(self, idx: Any, *, loc: Any = None, ip: Any = None) -> Any:
        """The coordinate of an offset with one entry per top-level mode; see `get_hier_coord`.

        Args:
            idx: the offset.
        """
        return crd2crd(self.get_hier_coord(idx), self.shape, _ones(self.shape))

    def get_1d_coord(self, idx: Any, *, loc: Any = None, ip: Any = None) -> Any:
        """The 1-D coordinate of an offset; see `get_hier_coord`.

        Args:
            idx: the offset.
        """
        return crd2idx_shape(self.get_hier_coord(idx), self.shape)

    def with_shape(self, *shape: Any) -> Layout:
        """The same offsets by 1-D coordinate under another shape, as far as that goes; a method
        of all plain layouts, inverses too (C++'s ``layout.with_shape(...)``)."""
        wanted = Layout(shape[0] if len(shape) == 1 else shape)
        flat = open_ended(self.shape, self.stride)
        return Layout.trusted(*Composer(self, wanted).after(flat, wanted.shape, wanted.stride))

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, Layout):
            return NotImplemented
        return all_of(
            [tuple_equal(self.shape, other.shape), tuple_equal(self.stride, other.stride)]
        )

    def __hash__(self) -> int:
        return hash((_key(self.shape), _key(self.stride)))

    def __str__(self) -> str:
        return f"{to_str(self.shape)}:{to_str(self.stride)}"

    def __repr__(self) -> str:
        return f"Layout({self})"


def normalize_coord(c: Any) -> Any:
    """Lists in a coordinate as tuples."""
    if is_sequence(c):
        return tuple(normalize_coord(i) for i in c)
    return c


def _ones(shape: Any) -> Any:
    # crd2crd splits a whole mode's index over a leaf, so any integer per mode will do.
    return repeat(1, len(shape)) if is_tuple(shape) else 1


def _key(t: Any) -> Any:
    if is_tuple(t):
        return tuple(map(_key, t))
    return t if is_static_int(t) or getattr(t, "is_scaled_basis", False) else id(t)


def make_layout(shape: Any, *more: Any, stride: Stride = None) -> Any:
    """A layout of a shape, or the concatenation of layouts, each one mode of the result.

    Args:
        shape: a shape; or a layout; or a sequence of layouts.
        more: further layouts, if the first argument is one.
        stride: the strides of a shape; column-major if omitted.

    Law: mode ``i`` of ``make_layout(a, b, ...)`` is the i-th argument.
    """
    if is_sequence(shape) and shape and all(isinstance(i, Layout) for i in shape) and not more:
        return _concatenate(tuple(shape))
    if isinstance(shape, Layout):
        return _concatenate((shape, *more))
    if more:
        fail("OC1301", "make_layout takes one shape, or layouts only",
             found=", ".join(map(to_str, (shape, *more))))  # fmt: skip
    return Layout(shape, stride)


def _concatenate(layouts: tuple[Any, ...]) -> Layout:
    for a in layouts:
        if not isinstance(a, Layout):
            fail("OC1301", "only plain layouts can be concatenated", found=to_str(a))
    return Layout.trusted(tuple(a.shape for a in layouts), tuple(a.stride for a in layouts))


def make_ordered_layout(shape: Shape, order: IntTuple = None) -> Layout:
    """A compact layout whose modes are laid out by ascending `order`; column-major by default.

    Args:
        shape: extents.
        order: a number for each extent.

    Law: a bijection onto ``range(size)``; a lesser order means a lesser stride.

    Example:
        >>> cute.make_ordered_layout((4, 8), order=(1, 0))
        Layout((4,8):(8,1))
    """
    shape = normalize(shape)
    return Layout(shape, None if order is None else compact_order(shape, normalize(order)))


def make_identity_layout(shape: Shape) -> Layout:
    """The layout that maps every coordinate to itself.

    Args:
        shape: extents.

    Law: ``make_identity_layout(s)(c) == idx2crd(c, s)``.

    Example:
        >>> cute.make_identity_layout((4, 8))
        Layout((4,8):(1@0,1@1))
    """
    shape = normalize(shape)
    return Layout(shape, make_basis_like(shape))


def make_layout_like(layout: Any) -> Layout:
    """A compact layout of the same shape whose strides have the same order; 0 strides stay.

    Args:
        layout: the layout.

    Law: the offsets of the result, in the order of its argument's offsets, have no gaps.

    Example:
        >>> cute.make_layout_like(cute.make_layout((4, 8), stride=(16, 1)))
        Layout((4,8):(8,1))
    """
    layout = getattr(layout, "outer", layout)
    shape, stride = layout.shape, layout.stride
    if any(getattr(d, "is_scaled_basis", False) for d in wrap(stride)):
        fail("OC1310", "make_layout_like: basis strides have no order", found=layout)
    return Layout(shape, compact_order(filter_zero_modes(stride, shape), stride))
