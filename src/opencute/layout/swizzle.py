# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Swizzles and composed layouts: offsets that pass through one more function.

In: ``Swizzle(bits, base, shift)``, or any function of an offset, with an offset and a layout.
Out: objects that are called, sliced and divided like layouts::

    s = ComposedLayout(Swizzle(3, 4, 3), 0, Layout((8, 64), (64, 1)))
    str(s)          # S<3,4,3> o 0 o (8,64):(64,1)
    s(1, 0)         # 64
    s(2, 0)         # 144
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from opencute.layout.arith import all_of, tuple_equal
from opencute.layout.basis import coord_add
from opencute.layout.coords import crd2idx_stride
from opencute.layout.ints import (
    Coord,
    fail,
    is_dynamic_int,
    is_static,
    is_static_int,
    normalize,
    to_str,
)
from opencute.layout.layout import Layout, normalize_coord
from opencute.layout.tuples import has_none

__all__ = ["Chain", "ComposedLayout", "Swizzle", "make_composed_layout", "make_swizzle"]


_NAMED = {"none": (0, 4, 3), "s32b": (1, 4, 3), "s64b": (2, 4, 3), "s128b": (3, 4, 3)}


class Swizzle:
    """Exclusive-or of `bits` bits of an offset with the bits `shift` above them.

    Args:
        bits: how many bits change.
        base: how many low bits stay as they are.
        shift: distance from the changed bits up to the ones they are combined with; negative
            swaps the roles.

    Law: an involution that permutes ``range(swizzle.size())`` and keeps runs of ``2**base``.

    Example:
        >>> [cute.make_swizzle(1, 0, 1)(offset) for offset in range(4)]
        [0, 1, 3, 2]
    """

    __slots__ = ("base", "bits", "shift")

    def __init__(self, bits: int, base: int, shift: int) -> None:
        for x in (bits, base, shift):
            if not is_static_int(x):
                fail("OC1311", "a swizzle's parameters are ints", found=x)
        if bits < 0 or base < 0 or abs(shift) < bits:
            fail("OC1311", f"S<{bits},{base},{shift}> is no swizzle",
                 expected="bits >= 0, base >= 0, |shift| >= bits")  # fmt: skip
        self.bits = bits
        self.base = base
        self.shift = shift

    @staticmethod
    def from_name(name: str) -> Swizzle:
        """The swizzle of byte addresses of a name: ``none``, ``s32b``, ``s64b`` or ``s128b``.

        >>> cute.Swizzle.from_name("s64b")
        S<2,4,3>
        """
        if name not in _NAMED:
            fail("OC1311", f"no swizzle is called {name!r}", expected=", ".join(_NAMED))
        return Swizzle(*_NAMED[name])

    @property
    def source_mask(self) -> int:
        """The bits that are read."""
        return ((1 << self.bits) - 1) << (self.base + max(0, self.shift))

    @property
    def target_mask(self) -> int:
        """The bits that change."""
        return ((1 << self.bits) - 1) << (self.base + max(0, -self.shift))

    def static_parts(self) -> tuple[Any, ...]:
        return ()

    def __call__(self, offset: Any) -> Any:
        if self.bits == 0:
            return offset
        if not (is_static_int(offset) or is_dynamic_int(offset)):
            fail("OC1308", f"{self} needs an integer offset", found=to_str(offset))
        read = offset & self.source_mask
        return offset ^ (read >> self.shift if self.shift >= 0 else read << -self.shift)

    def size(self) -> int:
        """The period: offsets that far apart are treated alike."""
        return 1 << (self.bits + self.base + abs(self.shift))

    def cosize(self) -> int:
        """Same as `size`: the swizzle permutes one period."""
        return self.size()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Swizzle) and self._params() == other._params()

    def __hash__(self) -> int:
        return hash(self._params())

    def _params(self) -> tuple[int, int, int]:
        return (self.bits, self.base, self.shift)

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"

    __repr__ = __str__


class Chain:
    """Functions applied one after the other, the last one first."""

    __slots__ = ("functions",)

    def __init__(self, *functions: Callable[[Any], Any]) -> None:
        self.functions = functions

    def static_parts(self) -> tuple[Any, ...]:
        return self.functions

    def __call__(self, x: Any) -> Any:
        for f in reversed(self.functions):
            x = f(x)
        return x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chain) and self.functions == other.functions

    def __hash__(self) -> int:
        return hash(self.functions)

    def __str__(self) -> str:
        return " o ".join(_name(f) for f in self.functions)

    __repr__ = __str__


def _name(f: object) -> str:
    if isinstance(f, (Swizzle, Layout, Chain, ComposedLayout)):
        return str(f)
    return getattr(f, "__name__", type(f).__name__)


class ComposedLayout:
    """A layout whose offsets pass through a function: ``inner(offset + outer(c))``.

    Args:
        inner: a Swizzle, a Layout, or any function of an offset.
        offset: added to the outer offset; an integer, or a coordinate if `outer` has basis strides.
        outer: the layout whose domain the user sees.

    Law: ``composed(c) == inner(offset + outer(c))``, also of a slice with its offset.
    """

    __slots__ = ("inner", "offset", "outer")

    def __init__(self, inner: Any, offset: Any, outer: Any) -> None:
        if not callable(inner):
            fail("OC1301", "the inner part of a composed layout must be callable", found=inner)
        if not isinstance(outer, Layout):
            fail("OC1301", "the outer part of a composed layout must be a layout", found=outer)
        self.inner = inner
        self.offset: Any = normalize(offset)
        self.outer = outer

    def static_parts(self) -> tuple[Any, ...]:
        return (self.inner, self.offset, self.outer)

    @property
    def is_static(self) -> bool:
        """Whether every number in it is known."""
        return is_static(self)

    @property
    def is_normal(self) -> bool:
        """Whether it is a plain layout; a composed layout is not."""
        return False

    @property
    def shape(self) -> Any:
        """The shape of the outer layout."""
        return self.outer.shape

    @property
    def rank(self) -> int:
        """Number of top-level modes."""
        return self.outer.rank

    def __len__(self) -> int:
        return self.outer.rank

    def size(self) -> Any:
        """Number of coordinates."""
        return self.outer.size()

    def with_outer(self, outer: Layout) -> ComposedLayout:
        """The same inner function and offset over another layout.

        Args:
            outer: the layout that takes the place of the outer one.
        """
        return ComposedLayout(self.inner, self.offset, outer)

    def __call__(self, *crd: Coord) -> Any:
        """The offset of a coordinate; with None entries, the composed layout they keep.

        Args:
            crd: a coordinate, or one for each mode; an integer is one of all modes.
        """
        c: Any = crd[0] if len(crd) == 1 else crd
        if has_none(c):
            start = crd2idx_stride(normalize_coord(c), self.outer.shape, self.outer.stride)
            return ComposedLayout(self.inner, coord_add(self.offset, start), self.outer(c))
        return self.inner(coord_add(self.offset, self.outer(c)))

    def __getitem__(self, mode: int) -> ComposedLayout:
        return self.with_outer(self.outer[mode])

    def __iter__(self) -> Iterator[ComposedLayout]:
        return (self[i] for i in range(self.rank))

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, ComposedLayout):
            return NotImplemented
        return all_of(
            [
                self.inner == other.inner,
                tuple_equal(self.offset, other.offset),
                self.outer == other.outer,
            ]
        )

    def __hash__(self) -> int:
        return hash((self.inner, self.outer))

    def __str__(self) -> str:
        return f"{_name(self.inner)} o {to_str(self.offset)} o {self.outer}"

    def __repr__(self) -> str:
        return f"ComposedLayout({self})"


def make_swizzle(b: int, m: int, s: int) -> Swizzle:
    """``Swizzle(b, m, s)``.

    Args:
        b: how many bits change.
        m: how many low bits stay as they are.
        s: distance from the changed bits up to the ones they are combined with.

    Law: prints as ``S<b,m,s>``.

    Example:
        >>> cute.make_swizzle(3, 4, 3)
        S<3,4,3>
    """
    return Swizzle(b, m, s)


def make_composed_layout(inner: Any, offset: Any, outer: Layout) -> ComposedLayout:
    """``ComposedLayout(inner, offset, outer)``.

    Law: ``r(c) == inner(coord_add(offset, outer(c)))``.
    """
    return ComposedLayout(inner, offset, outer)
