# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Layouts of the same bytes seen as elements of another width.

In: a layout, composed layout or swizzle, and widths in bits. Out: the same kind::

    recast_layout(32, 8, Layout((32, 4), (1, 32)))      # (8,4):(1,8)
    recast_layout(8, 32, Layout((8, 4), (1, 8)))        # (32,4):(1,32)
    upcast(4, Swizzle(3, 5, 4))                         # S<3,3,4>
"""

from __future__ import annotations

import math
from typing import Any

from opencute.layout.algebra import flat_modes
from opencute.layout.basis import ScaledBasis
from opencute.layout.ints import (
    ceil_div_int,
    divides,
    exact_div,
    fail,
    is_static_int,
    is_tuple,
    mul,
    to_str,
)
from opencute.layout.layout import Layout
from opencute.layout.leaves import Modes, is_one
from opencute.layout.swizzle import ComposedLayout, Swizzle
from opencute.layout.tuples import flatten_to_tuple, unflatten

__all__ = ["downcast", "recast_layout", "upcast"]


def recast_layout(new_type_bits: int, old_type_bits: int, src_layout: Any) -> Any:
    """A layout of `old_type_bits` wide elements, for the same bits in `new_type_bits` wide ones.

    Args:
        new_type_bits: bits of an element of the result.
        old_type_bits: bits of an element of the layout.
        src_layout: the layout.

    Law: recasting back gives the same function; the bits covered are the same.

    Raises:
        LayoutError: the elements cannot be regrouped.

    Example:
        >>> cute.recast_layout(16, 8, cute.make_layout((8, 4)))
        Layout((4,4):(1,4))
    """
    for bits in (new_type_bits, old_type_bits):
        if not is_static_int(bits) or bits <= 0:
            fail("OC1313", "recast_layout: a width must be a positive number of bits", found=bits)
    common = math.gcd(new_type_bits, old_type_bits)
    up, down = new_type_bits // common, old_type_bits // common
    return downcast(down, upcast(up, src_layout))


def upcast(n: int, x: Any) -> Any:
    """`n` neighbouring elements become one.

    Law: the offsets of the result are the groups that the offsets of the argument touch.

    Raises:
        LayoutError: a stride that neither divides `n` nor is divided by it.
    """
    if n == 1:
        return x
    if isinstance(x, Swizzle):
        return Swizzle(x.bits, x.base - _log2(n, x), x.shift) if x.bits else x
    if isinstance(x, ComposedLayout):
        return ComposedLayout(upcast(n, _inner(x)), _offset_div(x, n), upcast(n, x.outer))
    _refuse_basis(x, "upcast")
    pairs = [_upcast_mode(n, s, d, x) for s, d in flat_modes(x)]
    return _rebuild(x, pairs)


def _upcast_mode(n: int, s: Any, d: Any, whole: Layout) -> tuple[Any, Any]:
    if is_static_int(d):
        if d == 0 or is_one(s):
            return s, 0 if d == 0 else (abs(d) + n - 1) // n * (1 if d > 0 else -1)
        pace, sign = abs(d), -1 if d < 0 else 1
        if pace % n == 0:
            return s, d // n
        if n % pace == 0:
            group = n // pace
            return ceil_div_int(s, group), sign
        fail("OC1313", f"upcast: groups of {n} do not fit the strides of {whole}",
             expected=f"a stride that divides {n} or is divided by it", found=d)  # fmt: skip
    # As the field's convention has it, a dynamic stride is taken to be a multiple of n.
    return s, exact_div(d, n)


def downcast(n: int, x: Any) -> Any:
    """Each element becomes `n`.

    Law: ``upcast(n, downcast(n, a))`` is ``a``; the size is ``n`` times as large.

    Raises:
        LayoutError: no mode has the static stride 1 (or size 1) that the new elements continue.
    """
    if n == 1:
        return x
    if isinstance(x, Swizzle):
        return Swizzle(x.bits, x.base + _log2(n, x), x.shift) if x.bits else x
    if isinstance(x, ComposedLayout):
        offset = unflatten((mul(o, n) for o in flatten_to_tuple(x.offset)), x.offset)
        return ComposedLayout(downcast(n, _inner(x)), offset, downcast(n, x.outer))
    _refuse_basis(x, "downcast")
    modes = flat_modes(x)
    spot = _unit_mode(modes, x)
    pairs = [(s, mul(d, n)) for s, d in modes]
    extent, step = modes[spot]
    pairs[spot] = (mul(extent, n), step if is_static_int(step) and step < 0 else 1)
    return _rebuild(x, pairs)


def _unit_mode(modes: Modes, whole: Layout) -> int:
    """The mode that the new elements continue.

    One of size 1 and stride 1 comes first, as `upcast` leaves it behind; then one of stride 1;
    then any of size 1, which moves nowhere.
    """
    units = [i for i, (_, d) in enumerate(modes) if is_static_int(d) and abs(d) == 1]
    spent = [i for i in units if is_one(modes[i][0])]
    single = [i for i, (s, _) in enumerate(modes) if is_one(s)]
    found = spent or units or single
    if not found:
        fail(
            "OC1313",
            f"downcast: the elements of {whole} are not adjacent",
            expected="a mode with static stride 1",
        )
    return found[0]


def _rebuild(x: Layout, pairs: list[tuple[Any, Any]]) -> Layout:
    shape = unflatten((s for s, _ in pairs), x.shape)
    return Layout(shape, unflatten((d for _, d in pairs), x.shape))


def _refuse_basis(x: Layout, what: str) -> None:
    if any(isinstance(d, ScaledBasis) for d in flatten_to_tuple(x.stride)):
        fail("OC1313", f"{what}: {x} maps to coordinates, which have no width")


def _inner(x: ComposedLayout) -> Any:
    if not isinstance(x.inner, (Swizzle, Layout, ComposedLayout)):
        fail("OC1313", f"{x} has an inner function that cannot be recast")
    return x.inner


def _offset_div(x: ComposedLayout, n: int) -> Any:
    if is_tuple(x.offset) or not divides(n, x.offset):
        fail("OC1313", f"upcast: the offset of {x} is not known to be a multiple of {n}",
             found=to_str(x.offset))  # fmt: skip
    return exact_div(x.offset, n)


def _log2(n: int, x: Swizzle) -> int:
    log = n.bit_length() - 1
    if n != 1 << log:
        fail("OC1313", f"{x} can only be recast by a power of two", found=n)
    return log
