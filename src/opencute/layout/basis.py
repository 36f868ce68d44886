# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Scaled basis elements, and sums of them: strides whose offsets are coordinates.

In: ``E(0)``, ``E(0, 1)``, ``4 * E(1)``, ``ScaledBasis(4, 1)``. Out: elements that print as CuTe
does (``1@0``, ``1@1@0``, ``4@1``) and add up to tuples::

    coord_add(2 * E(0), 3 * E(1))    # (2, 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencute.layout.ints import (
    IntTuple,
    add,
    ceil_div_int,
    exact_div,
    fail,
    floor_div,
    is_sequence,
    is_static_int,
    is_tuple,
    known_equal,
    mul,
    to_str,
)

__all__ = [
    "E",
    "ScaledBasis",
    "basis_get",
    "basis_value",
    "coord_add",
    "coord_negate",
    "coord_sub",
    "is_scaled_basis",
    "make_basis_like",
]


class ScaledBasis:
    """`value` steps along one mode of a coordinate.

    Args:
        value: the scale, an integer leaf.
        mode: the mode, or the path to a nested one, outermost first.
    """

    __slots__ = ("mode", "value")
    is_scaled_basis = True

    def __init__(self, value: Any, mode: int | Sequence[int] = ()) -> None:
        if isinstance(value, ScaledBasis):
            fail("OC1301", "a scaled basis cannot scale a scaled basis", found=value)
        path = (mode,) if isinstance(mode, int) else tuple(mode)
        if not all(is_static_int(m) and m >= 0 for m in path):
            fail("OC1301", "a basis mode is a non-negative int or a path of them", found=mode)
        self.value = value
        self.mode: tuple[int, ...] = path

    def static_parts(self) -> tuple[Any, ...]:
        return (self.value,)

    def is_static(self) -> bool:
        """Whether the scale is known."""
        return is_static_int(self.value)

    def as_tuple(self) -> Any:
        """The coordinate that one step reaches: zeros up to the mode, then the value."""
        result = self.value
        for m in reversed(self.mode):
            result = (0,) * m + (result,)
        return result

    def __mul__(self, scale: Any) -> ScaledBasis:
        return ScaledBasis(mul(self.value, scale), self.mode)

    def __rmul__(self, scale: Any) -> ScaledBasis:
        return ScaledBasis(mul(scale, self.value), self.mode)

    def __floordiv__(self, by: Any) -> ScaledBasis:
        return ScaledBasis(floor_div(self.value, by), self.mode)

    def __neg__(self) -> ScaledBasis:
        return ScaledBasis(mul(-1, self.value), self.mode)

    def __add__(self, other: Any) -> Any:
        return coord_add(self, other)

    __radd__ = __add__

    def exact_div(self, by: Any) -> ScaledBasis:
        """Divide the scale, which `by` must divide."""
        return ScaledBasis(exact_div(self.value, by), self.mode)

    def ceil_div(self, by: Any) -> ScaledBasis:
        """Divide the scale, rounding up.

        Args:
            by: a positive integer.
        """
        return ScaledBasis(ceil_div_int(self.value, by), self.mode)

    def __known_equal__(self, other: object) -> bool:
        return (
            isinstance(other, ScaledBasis)
            and self.mode == other.mode
            and known_equal(self.value, other.value)
        )

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, ScaledBasis) or self.mode != other.mode:
            return False
        return known_equal(self.value, other.value) or self.value == other.value

    def __hash__(self) -> int:
        return hash((self.mode, self.value if is_static_int(self.value) else id(self.value)))

    def __str__(self) -> str:
        return to_str(self.value) + "".join(f"@{m}" for m in reversed(self.mode))

    __repr__ = __str__


def E(*mode: Any) -> Any:
    """The unit step along a mode: ``E(1)`` is ``1@1``, ``E(0, 1)`` is ``1@1@0``, ``E()`` is 1.

    Law: ``E(i).as_tuple()`` has a 1 at ``i`` and nothing else; ``E()`` is neutral for ``*``.

    Example:
        >>> cute.E(0, 1)
        1@1@0
    """
    path = tuple(mode[0]) if len(mode) == 1 and is_sequence(mode[0]) else mode
    return ScaledBasis(1, path) if path else 1


def is_scaled_basis(x: object) -> bool:
    """Whether `x` is a ScaledBasis.

    Law: true of each stride of an identity layout of a tuple.
    """
    return isinstance(x, ScaledBasis)


def basis_value(x: Any) -> Any:
    """The scale of a basis element; anything else is its own scale.

    Args:
        x: a basis element or an integer.

    Law: ``basis_value(v * E(i)) == v``.

    Example:
        >>> cute.basis_value(3 * cute.E(1))
        3
    """
    return x.value if isinstance(x, ScaledBasis) else x


def basis_get(x: Any, t: Any) -> Any:
    """The part of `t` that a basis element steps along.

    Args:
        x: a basis element, or an integer.
        t: a tuple; all of it is meant by an integer.

    Law: ``basis_get(d, shape) == s`` for each stride ``d`` and extent ``s`` of an identity layout.

    Example:
        >>> cute.basis_get(cute.E(1), (4, 8))
        8
    """
    if isinstance(x, ScaledBasis):
        for m in x.mode:
            if not is_tuple(t) or m >= len(t):
                fail("OC1305", f"{x} has no mode in {to_str(t)}")
            t = t[m]
    return t


def make_basis_like(shape: IntTuple, path: tuple[int, ...] = ()) -> Any:
    """Unit steps with the profile of `shape`, each along its own position.

    Law: the inner product of a coordinate with it is the coordinate.
    """
    if is_tuple(shape):
        return tuple(make_basis_like(s, (*path, i)) for i, s in enumerate(shape))
    return E(*path)


def _as_coord(x: Any) -> Any:
    return x.as_tuple() if isinstance(x, ScaledBasis) else x


def coord_add(a: Any, b: Any) -> Any:
    """Sum of two offsets: integers, coordinates (the shorter gets zeros) or basis elements.

    Law: addition of coordinates is commutative and associative, and 0 is neutral.
    """
    if type(a) is int and type(b) is int:
        return a + b
    a, b = _as_coord(a), _as_coord(b)
    if is_static_int(a) and a == 0:
        return b
    if is_static_int(b) and b == 0:
        return a
    if is_tuple(a) and is_tuple(b):
        n = max(len(a), len(b))
        a, b = a + (0,) * (n - len(a)), b + (0,) * (n - len(b))
        return tuple(map(coord_add, a, b))
    if is_tuple(a) or is_tuple(b):
        fail("OC1305", f"cannot add the offsets {to_str(a)} and {to_str(b)}",
             hint="one is a number, the other a coordinate")  # fmt: skip
    return add(a, b)


def coord_negate(a: Any) -> Any:
    """The offset that undoes `a`.

    Law: ``coord_add(a, coord_negate(a))`` is zero.
    """
    a = _as_coord(a)
    return tuple(coord_negate(i) for i in a) if is_tuple(a) else mul(-1, a)


def coord_sub(a: Any, b: Any) -> Any:
    """`a - b` of two offsets.

    Law: ``coord_add(coord_sub(a, b), b) == a``.
    """
    return coord_add(a, coord_negate(b))
