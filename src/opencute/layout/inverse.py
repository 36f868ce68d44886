# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Inverses of layouts, and what they tell: common vectors, null space, alignment.

In: layouts (composed ones where it makes sense). Out: layouts or sizes::

    right_inverse(Layout((2, 4), (4, 1)))               # (4,2):(2,1)
    left_inverse(Layout((4, 2), (1, 16)))               # (16,2):(1,4)
    max_common_vector(Layout((4, 8), (1, 4)), Layout((4, 8), (1, 8)))   # 4
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opencute.base.errors import LayoutError
from opencute.layout.algebra import coalesce, composition, flat_modes, from_modes
from opencute.layout.basis import coord_negate
from opencute.layout.ints import fail, is_static, is_static_int
from opencute.layout.layout import Layout
from opencute.layout.leaves import Modes, Pair, is_one, is_zero, of_leaves
from opencute.layout.modes import size
from opencute.layout.remembered import remembered
from opencute.layout.runs import Rows, alignment, divisors, inverted, rising, rows, steps
from opencute.layout.swizzle import Chain, ComposedLayout, Swizzle

__all__ = [
    "left_inverse",
    "max_alignment",
    "max_common_layout",
    "max_common_vector",
    "nullspace",
    "right_inverse",
]


@remembered
def right_inverse(layout: Any) -> Any:
    """The layout that finds a coordinate for each of the offsets 0, 1, 2, ...

    It reaches as far as static strides continue each other from 1 on. With basis strides it finds
    a 1-D coordinate for each coordinate.

    Args:
        layout: the layout.

    Law: ``layout(right_inverse(layout)(i)) == i`` for every ``i`` below its size.

    Example:
        >>> cute.right_inverse(cute.make_layout((4, 8), stride=(8, 1)))
        Layout((8,4):(4,1))
    """
    if layout is None:
        return None
    if isinstance(layout, Swizzle):
        return layout
    if isinstance(layout, ComposedLayout):
        return _inverse_composed(layout, right_inverse(layout.outer))
    return _inverted(layout, rising)


@remembered
def left_inverse(layout: Any) -> Any:
    """The layout that finds the coordinate that an offset came from.

    Args:
        layout: the layout.

    Law: ``left_inverse(layout)(layout(i)) == i`` for an injective layout; in general
    ``layout(left_inverse(layout)(layout(i))) == layout(i)``.

    Raises:
        LayoutError: dynamic strides, or strides that do not divide each other in order.

    Example:
        >>> cute.left_inverse(cute.make_layout((4, 8), stride=(8, 1)))
        Layout((8,4):(4,1))
    """
    if layout is None:
        return None
    if isinstance(layout, Swizzle):
        return layout
    if isinstance(layout, ComposedLayout):
        return _inverse_composed(layout, left_inverse(layout.outer))
    if not is_static(layout.stride):
        fail("OC1310", f"left_inverse: {layout} has strides that are not static")
    return _inverted(layout, _left)


def _inverted(layout: Layout, invert: Callable[[Rows, Any], Pair]) -> Layout:
    return Layout.trusted(*inverted(rows(flat_modes(coalesce(layout))), layout, invert))


def _left(given: Rows, layout: Any) -> Pair:
    """Give each mode the offsets from its stride up to the next mode's."""
    moving = sorted((r for r in given if r[0] != 0), key=lambda r: r[0])
    if not moving:
        return 1, 0
    out: Modes = []
    before, step_before = 1, 0
    for d, _, step in moving:
        if d < 0 or d % before != 0:
            fail(
                "OC1312",
                f"left_inverse: the strides of {layout} do not divide each other",
                expected=f"a multiple of {before}",
                found=d,
            )
        out.append((d // before, step_before))
        before, step_before = d, step
    return of_leaves([*out, (moving[-1][1], step_before)])


def _inverse_composed(layout: ComposedLayout, inverse: Layout) -> ComposedLayout:
    """Undo the inner function, then the offset, then the outer layout."""
    if not isinstance(layout.inner, Swizzle):
        fail("OC1310", f"only swizzles and layouts have inverses, not {layout}")
    n = size(inverse)
    period, quiet = layout.inner.size(), _lowest_bit(layout.inner.source_mask)
    if layout.inner.bits and not (is_static_int(n) and (n % period == 0 or n <= quiet)):
        fail("OC1312", f"the swizzle of {layout} mixes offsets inside and outside of its domain",
             expected=f"a multiple of {period} offsets", found=n)  # fmt: skip
    if is_zero(layout.offset):
        return ComposedLayout(Chain(inverse, layout.inner), 0, Layout(n))
    back = ComposedLayout(inverse, coord_negate(layout.offset), Layout(n))
    return ComposedLayout(Chain(back, layout.inner), 0, Layout(n))


def _lowest_bit(mask: int) -> int:
    return mask & -mask


def max_common_layout(a: Any, b: Any) -> Layout:
    """The coordinates of the longest run of elements that are contiguous in both layouts.

    Args:
        a: a layout or tensor.
        b: a layout or tensor.

    Law: ``a(r(i)) == i == b(r(i))`` for every ``i`` below the size of the result ``r``.

    Example:
        >>> a, b = cute.make_layout((4, 8)), cute.make_layout((4, 8), stride=(1, 16))
        >>> cute.max_common_layout(a, b)
        Layout(4:1)
    """
    common, inverse = _common(a, b)
    head = common[0]
    if is_static_int(head.shape) and is_one(head.stride):
        for n in divisors(_limit(a, b, head.shape)):
            try:
                return composition(inverse, Layout(n))
            except LayoutError:
                continue
    return Layout(1, 0)


def max_common_vector(a: Any, b: Any) -> int:
    """How many elements are contiguous in both layouts, starting from the first.

    Args:
        a: a layout or tensor.
        b: a layout or tensor.

    Law: the size of ``max_common_layout``.

    Example:
        >>> a, b = cute.make_layout((4, 8)), cute.make_layout((4, 8), stride=(1, 16))
        >>> cute.max_common_vector(a, b)
        4
    """
    return size(max_common_layout(a, b))


def _common(a: Any, b: Any) -> tuple[Layout, Layout]:
    """Offsets of `a` along the contiguous elements of `b`, coalesced; and where those are."""
    a, b = getattr(a, "outer", a), getattr(b, "outer", b)
    inverse = right_inverse(b)
    n = size(inverse)
    # Where the extents do not divide, a shorter run may still be common.
    for m in divisors(n) if is_static_int(n) else [n]:
        try:
            run = inverse if m is n else composition(inverse, Layout(m))
            return coalesce(composition(a, run)), run
        except LayoutError:
            continue
    return Layout(1, 0), Layout(1, 0)


def _limit(a: Any, b: Any, n: int) -> int:
    """Runs longer than a swizzle's base are broken up, unless both swizzle alike."""
    swizzles = [x.inner if isinstance(x, ComposedLayout) else None for x in (a, b)]
    if swizzles[0] is not None and swizzles[0] == swizzles[1] and a.offset == b.offset:
        return n
    for x, s in zip((a, b), swizzles, strict=True):
        if s is None or (isinstance(s, Swizzle) and s.bits == 0):
            continue
        if not isinstance(s, Swizzle):
            return 1
        run = math.gcd(1 << s.base, x.offset if is_static_int(x.offset) else 1)
        n = math.gcd(n, run) if n > run else n
    return n


def nullspace(layout: Any) -> Layout:
    """The layout of the 1-D coordinates that only move along modes of stride 0.

    Args:
        layout: the layout.

    Law: ``layout(nullspace(layout)(i)) == 0``; its size is ``size(layout)`` over that of the
    filtered layout.

    Example:
        >>> cute.nullspace(cute.make_layout((2, 4), stride=(0, 1)))
        Layout(2:1)
    """
    if isinstance(layout, ComposedLayout):
        return Layout(1, 0)
    modes = flat_modes(layout)
    still = [(s, p) for (s, d), p in zip(modes, steps(modes), strict=True) if is_zero(d)]
    return coalesce(from_modes(still))


def max_alignment(layout: Any) -> int:
    """The largest number of elements that a layout moves as one: `upcast` takes any divisor of it.

    Dynamic strides count by what is known to divide them.

    Law: ``upcast(n, layout)`` succeeds for each divisor ``n``.
    """
    if isinstance(layout, Swizzle):
        return 1 << layout.base
    if isinstance(layout, ComposedLayout):
        if not isinstance(layout.inner, Swizzle) or not is_static_int(layout.offset):
            return 1
        return math.gcd(max_alignment(layout.inner), layout.offset, max_alignment(layout.outer))
    return alignment(layout)
