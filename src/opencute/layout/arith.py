# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic and comparisons on IntTuples.

In: nested tuples of integers, static or dynamic. Out: integers, tuples and truth values; a truth
value that depends on a dynamic integer is whatever that integer's comparisons return::

    product(((2, 3), 4))          # 24
    ceil_div((10, 6), (4, 4))     # (3, 2)
    shape_div((4, 5, 6), 40)      # (1, 1, 3)
    elem_less((1, 2), (3, 4))     # True
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from opencute.layout.basis import coord_add
from opencute.layout.ints import (
    IntTuple,
    Shape,
    ceil_div_int,
    fail,
    is_dynamic_int,
    is_static_int,
    is_tuple,
    known_equal,
    mul,
    shape_div_int,
    to_str,
)
from opencute.layout.tuples import congruent, repeat_like, transform_leaf, wrap

__all__ = [
    "all_of",
    "ceil_div",
    "elem_less",
    "elem_scale",
    "filter_zero_modes",
    "inner_product",
    "int_equal",
    "is_compatible",
    "prefix_product",
    "product",
    "product_each",
    "product_like",
    "round_up",
    "shape_div",
    "tuple_equal",
    "tuple_max",
]


def product(t: IntTuple) -> Any:
    """Product of all leaves; 1 for the empty tuple.

    Args:
        t: an integer or nested tuple.

    Law: ``product((a, b)) == product(a) * product(b)``.

    Example:
        >>> cute.product((2, (3, 4)))
        24
    """
    if not is_tuple(t):
        return t
    out: Any = 1
    for i in t:
        out = mul(out, product(i) if isinstance(i, tuple) else i)
    return out


def product_each(t: IntTuple) -> tuple[Any, ...]:
    """Product of each top-level mode.

    Args:
        t: a tuple.

    Law: ``product(product_each(t)) == product(t)`` and the rank stays.

    Example:
        >>> cute.product_each((2, (3, 4)))
        (2, 12)
    """
    return tuple(map(product, wrap(t)))


def _second_product(_: Any, x: Any) -> Any:
    return product(x)


def product_like(t: IntTuple, guide: Any) -> Any:
    """Product of `t` at each leaf of `guide`.

    Args:
        t: the integers.
        guide: a tuple whose leaves stand where tuples may stand in `t`.

    Law: the result is congruent to ``guide`` and has the product of ``t``.

    Example:
        >>> cute.product_like(((2, 3), 4), (1, 1))
        (6, 4)
    """
    return transform_leaf(_second_product, guide, t)


def inner_product(a: IntTuple, b: IntTuple) -> Any:
    """Sum of the products of paired leaves; `b` may hold basis elements.

    Args:
        a: integers.
        b: integers or basis elements, in a tuple of the same profile.

    Law: linear in each argument.

    Example:
        >>> cute.inner_product((1, 2), (4, 8))
        20
    """
    if not is_tuple(a):
        return mul(a, b)
    if not is_tuple(b) or len(a) != len(b):
        fail("OC1306", f"inner_product: {to_str(a)} and {to_str(b)} differ in rank")
    return reduce(coord_add, map(inner_product, a, b), 0)


def prefix_product(t: IntTuple, init: IntTuple = 1) -> Any:
    """At each leaf, the product of `init` and all leaves before it.

    Args:
        t: the integers.
        init: what the first leaf gets.

    Law: the strides of the column-major layout of shape ``t``, up to size-1 modes.

    Example:
        >>> cute.prefix_product((2, 3, 4))
        (1, 2, 6)
    """
    if not is_tuple(t):
        if is_tuple(init):
            fail("OC1306", f"prefix_product: {to_str(init)} for the leaf {to_str(t)}")
        return init
    if is_tuple(init):
        if len(init) != len(t):
            fail("OC1306", f"prefix_product: {to_str(t)} and {to_str(init)} differ in rank")
        return tuple(map(prefix_product, t, init))
    out: list[Any] = []
    for mode in t:
        out.append(prefix_product(mode, init))
        init = mul(init, product(mode))
    return tuple(out)


def _scaled(x: Any, y: Any) -> Any:
    return mul(x, product(y))


def elem_scale(a: IntTuple, b: IntTuple) -> Any:
    """`a` with each leaf multiplied by the product of what it is paired with in `b`.

    Law: congruent to ``a``; the product is that of both.
    """
    return transform_leaf(_scaled, a, b)


def tuple_max(t: IntTuple) -> Any:
    """The largest leaf of a static IntTuple.

    Args:
        t: an integer or nested tuple.

    Law: the maximum of the flattened tuple.

    Example:
        >>> cute.tuple_max((1, (5, 3)))
        5
    """
    return max(map(tuple_max, t)) if is_tuple(t) else t


def ceil_div(a: IntTuple, b: IntTuple) -> Any:
    """Division rounded up: how many tiles `b` cover `a`.

    A tuple by a tuple divides mode by mode (missing modes of `b` count as 1); a tuple by an
    integer consumes the integer from left to right; an integer by a tuple divides by its product.

    Law: for integers the least quotient with ``ceil_div(a, b) * b >= a``; a tuple by an integer
    covers the tuple as long as the integer divides the modes it walks, or they it.
    """
    if not is_tuple(a):
        return ceil_div_int(a, product(b))
    if is_tuple(b):
        if len(b) > len(a):
            fail("OC1306", f"ceil_div: {to_str(b)} has more modes than {to_str(a)}")
        ones = (1,) * (len(a) - len(b))
        return tuple(map(ceil_div, a, b + ones))
    out: list[Any] = []
    for mode in a:
        out.append(ceil_div(mode, b))
        b = ceil_div_int(b, product(mode))
    return tuple(out)


def round_up(a: IntTuple, b: IntTuple) -> Any:
    """`a` rounded up to a multiple of `b`, mode by mode (missing modes of `b` count as 1).

    Law: the least multiple of ``b`` that is not less than ``a``.
    """
    if is_tuple(a) and is_tuple(b):
        if len(b) > len(a):
            fail("OC1306", f"round_up: {to_str(b)} has more modes than {to_str(a)}")
        return tuple(map(round_up, a, b + (1,) * (len(a) - len(b))))
    if is_tuple(a) or is_tuple(b):
        fail("OC1306", f"round_up: cannot round {to_str(a)} to {to_str(b)}")
    return mul(ceil_div_int(a, b), b)


def shape_div(a: Shape, b: Shape) -> Any:
    """What remains of the extents `a` after `b` elements are taken from the left.

    Args:
        a: the shape.
        b: a shape, or a number of elements.

    Law: for ``b`` that divides ``a``, ``product(shape_div(a, b)) * product(b) == product(a)``.

    Raises:
        LayoutError: of two static extents neither divides the other.

    Example:
        >>> cute.shape_div((4, 8), 8)
        (1, 4)
    """
    if not is_tuple(a):
        return shape_div_int(a, product(b))
    if is_tuple(b):
        if len(a) != len(b):
            fail("OC1306", f"shape_div: {to_str(a)} and {to_str(b)} differ in rank")
        return tuple(map(shape_div, a, b))
    out: list[Any] = []
    for mode in a:
        out.append(shape_div(mode, b))
        b = shape_div_int(b, product(mode))
    return tuple(out)


def int_equal(a: Any, b: Any) -> Any:
    """`a == b` of leaves; True where the algebra knows it."""
    if known_equal(a, b):
        return True
    return a == b if is_dynamic_int(a) or is_dynamic_int(b) else False


def all_of(truths: Iterable[Any]) -> Any:
    """Conjunction: a Python bool if decided, else the dynamic truth values joined by ``&``."""
    result: Any = True
    for t in truths:
        if t is True:
            continue
        if t is False:
            return False
        result = t if result is True else result & t
    return result


def tuple_equal(a: Any, b: Any) -> Any:
    """Whether two trees of leaves are equal; False if their profiles differ.

    Law: reflexive; for static trees the same as ``==``.
    """
    if not congruent(a, b):
        return False
    if not is_tuple(a):
        return a == b if getattr(a, "is_scaled_basis", False) else int_equal(a, b)
    return all_of([tuple_equal(x, y) for x, y in zip(a, b, strict=True)])


def elem_less(a: IntTuple, b: IntTuple) -> Any:
    """Whether every leaf of `a` is less than its partner in `b`: is a coordinate in bounds?

    Args:
        a: a coordinate.
        b: a coordinate or shape of the same profile.

    Returns:
        A bool, or a Boolean where numbers are known at run time only.

    Law: ``elem_less(c, shape)`` for every coordinate ``c`` of a layout of that shape.

    Raises:
        LayoutError: the profiles differ.

    Example:
        >>> cute.elem_less((1, 2), (2, 4))
        True
    """
    if not congruent(a, b):
        fail("OC1308", f"elem_less: {to_str(a)} and {to_str(b)} have different profiles",
             expected=f"the profile of {to_str(b)}", found=to_str(a))  # fmt: skip
    if not is_tuple(a):
        less: Any = a < b
        return less
    return all_of([elem_less(x, y) for x, y in zip(a, b, strict=True)])


def is_compatible(a: Any, b: Any) -> Any:
    """Whether every coordinate of shape `a` is one of shape `b`: `b` refines `a`, sizes equal.

    Law: a partial order; ``is_compatible(product(s), s)``.

    Example:
        >>> cute.is_compatible(32, (4, 8))
        True
    """
    a, b = getattr(a, "shape", a), getattr(b, "shape", b)
    if not is_tuple(a):
        return int_equal(a, product(b))
    if not is_tuple(b) or len(a) != len(b):
        return False
    return all_of([is_compatible(x, y) for x, y in zip(a, b, strict=True)])


def filter_zero_modes(guide: Any, t: Any) -> Any:
    """`t` with 1 wherever `guide` has a static 0."""
    if is_tuple(guide):
        if not is_tuple(t) or len(t) != len(guide):
            fail("OC1306", f"{to_str(guide)} and {to_str(t)} differ in rank")
        return tuple(map(filter_zero_modes, guide, t))
    return repeat_like(1, t) if is_static_int(guide) and guide == 0 else t
