# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies, and the dynamic integer that tests use.

`Dyn` carries a hidden value and behaves as an integer that is not known yet: its comparisons give
`DynBool`, which refuses to be used in an `if`. `reveal` turns results into plain ints, so that a
result with dynamic leaves can be compared with the same operation on plain ints.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from opencute.layout import ComposedLayout, Layout, ScaledBasis, Swizzle
from opencute.layout.ints import is_tuple


class DynBool:
    """A truth value that is not known yet."""

    def __init__(self, value: bool) -> None:
        self.value = value

    def __and__(self, other: Any) -> DynBool:
        return DynBool(self.value and (other.value if isinstance(other, DynBool) else other))

    __rand__ = __and__

    def __bool__(self) -> bool:
        raise TypeError("the algebra branched on a dynamic comparison")


class Dyn:
    """An integer whose value the algebra must not see.

    Args:
        value: the hidden value.
        divisibility: a divisor of it that is known.
        width: 32 or 64.
        text: how it was computed.
    """

    __opencute_dynamic_int__ = True

    def __init__(self, value: int, divisibility: int = 1, width: int = 32, text: str = "n") -> None:
        assert value % divisibility == 0, "a wrong fact"
        self.hidden = value
        self.divisibility = divisibility
        self.width = width
        self.text = text

    def _make(self, op: str, other: Any, swap: bool, f: Callable[[int, int], int]) -> Dyn:
        assert isinstance(other, (int, Dyn)), f"{op} with {other!r}"
        x = other if isinstance(other, Dyn) else Dyn(other, max(abs(other), 1), 32, str(other))
        a, b = (x, self) if swap else (self, x)
        known_zero = isinstance(other, int) and other == 0
        if op == "*":
            div = 1 if known_zero else a.divisibility * b.divisibility
        elif op in "+-":
            div = self.divisibility if known_zero else math.gcd(a.divisibility, b.divisibility)
        elif op == "//" and isinstance(other, int) and not swap and a.divisibility % other == 0:
            div = a.divisibility // other
        elif op == "%" and isinstance(other, int) and not swap:
            div = math.gcd(a.divisibility, other)
        else:
            div = 1
        text = f"({a.text} {op} {b.text})"
        return Dyn(f(a.hidden, b.hidden), max(div, 1), max(self.width, x.width), text)

    def __add__(self, o: Any) -> Dyn:
        return self._make("+", o, False, lambda a, b: a + b)

    def __radd__(self, o: Any) -> Dyn:
        return self._make("+", o, True, lambda a, b: a + b)

    def __sub__(self, o: Any) -> Dyn:
        return self._make("-", o, False, lambda a, b: a - b)

    def __rsub__(self, o: Any) -> Dyn:
        return self._make("-", o, True, lambda a, b: a - b)

    def __mul__(self, o: Any) -> Dyn:
        if isinstance(o, ScaledBasis):
            return NotImplemented
        return self._make("*", o, False, lambda a, b: a * b)

    def __rmul__(self, o: Any) -> Dyn:
        return self._make("*", o, True, lambda a, b: a * b)

    def __floordiv__(self, o: Any) -> Dyn:
        return self._make("//", o, False, lambda a, b: a // b)

    def __rfloordiv__(self, o: Any) -> Dyn:
        return self._make("//", o, True, lambda a, b: a // b)

    def __mod__(self, o: Any) -> Dyn:
        return self._make("%", o, False, lambda a, b: a % b)

    def __rmod__(self, o: Any) -> Dyn:
        return self._make("%", o, True, lambda a, b: a % b)

    def __and__(self, o: Any) -> Dyn:
        return self._make("&", o, False, lambda a, b: a & b)

    def __xor__(self, o: Any) -> Dyn:
        return self._make("^", o, False, lambda a, b: a ^ b)

    def __rshift__(self, o: Any) -> Dyn:
        return self._make(">>", o, False, lambda a, b: a >> b)

    def __lshift__(self, o: Any) -> Dyn:
        return self._make("<<", o, False, lambda a, b: a << b)

    def __eq__(self, o: object) -> Any:
        return DynBool(self.hidden == reveal(o))

    def __lt__(self, o: Any) -> Any:
        return DynBool(self.hidden < reveal(o))

    def __gt__(self, o: Any) -> Any:
        return DynBool(self.hidden > reveal(o))

    def __hash__(self) -> int:
        raise TypeError("the algebra hashed a dynamic integer")

    def __bool__(self) -> bool:
        raise TypeError("the algebra branched on a dynamic integer")

    def __repr__(self) -> str:
        return f"Dyn<{self.text}={self.hidden}, div={self.divisibility}>"


class RichDyn(Dyn):
    """A dynamic integer with the optional operations."""

    def __min__(self, o: Any) -> Dyn:
        return Dyn(min(self.hidden, reveal(o)), 1, self.width, "min")

    def __ceil_div__(self, o: Any) -> Dyn:
        return Dyn(-(-self.hidden // reveal(o)), 1, self.width, "ceil_div")

    def __rceil_div__(self, o: Any) -> Dyn:
        return Dyn(-(-reveal(o) // self.hidden), 1, self.width, "ceil_div")

    def __shape_div__(self, o: Any) -> Dyn:
        return self.__ceil_div__(o)

    def __rshape_div__(self, o: Any) -> Dyn:
        return self.__rceil_div__(o)


def reveal(x: Any) -> Any:
    """`x` with the hidden values of its dynamic integers."""
    if isinstance(x, (Dyn, DynBool)):
        return x.hidden if isinstance(x, Dyn) else x.value
    if is_tuple(x):
        return tuple(map(reveal, x))
    if isinstance(x, ScaledBasis):
        return ScaledBasis(reveal(x.value), x.mode)
    if isinstance(x, Layout):
        return Layout(reveal(x.shape), reveal(x.stride))
    if isinstance(x, ComposedLayout):
        return ComposedLayout(x.inner, reveal(x.offset), reveal(x.outer))
    return x


def hide(draw: Any, x: Any, keep: Any = None) -> Any:
    """`x` with some of its leaves made dynamic, each with a divisor of it as a known fact."""
    if is_tuple(x):
        return tuple(hide(draw, i, keep) for i in x)
    if isinstance(x, Layout):
        return Layout(hide(draw, x.shape, keep), hide(draw, x.stride, keep))
    if isinstance(x, ScaledBasis) or x is None or (keep is not None and keep(x)):
        return x
    if draw(st.booleans()):
        return x
    divisors = [d for d in range(1, x + 1) if x % d == 0] or [1]
    kind = draw(st.sampled_from([Dyn, RichDyn]))
    return kind(x, draw(st.sampled_from(divisors)), draw(st.sampled_from([32, 64])))


@st.composite
def dynamic(draw: Any, source: Any, keep: Any = None) -> tuple[Any, Any]:
    """A pair: something from `source`, and the same with some leaves hidden."""
    x = draw(source)
    return x, hide(draw, x, keep)


def points(layout: Any) -> list[Any]:
    """A static layout as the list of its offsets, by 1-D coordinate."""
    return [layout(i) for i in range(layout.size())]


def leaves(min_value: int = 1, max_value: int = 6) -> st.SearchStrategy[int]:
    """Extents."""
    return st.integers(min_value, max_value)


def int_tuples(
    leaf: st.SearchStrategy[Any] | None = None, max_leaves: int = 4
) -> st.SearchStrategy[Any]:
    """An integer, or a nested tuple of a few."""
    return st.recursive(
        leaf if leaf is not None else leaves(),
        lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple),
        max_leaves=max_leaves,
    )


def shapes(max_size: int = 200) -> st.SearchStrategy[Any]:
    """Shapes whose size can be enumerated."""
    return int_tuples().filter(lambda s: _product(s) <= max_size)


def _product(t: Any) -> int:
    return math.prod(map(_product, t)) if is_tuple(t) else t


@st.composite
def layouts(draw: Any, max_size: int = 200, min_stride: int = 0, max_stride: int = 20) -> Layout:
    """Any layout with non-negative strides; half of them with strides that fit together."""
    if draw(st.booleans()):
        return draw(compact_layouts(max_size))
    shape = draw(shapes(max_size))
    return Layout(shape, _fill(shape, lambda: draw(st.integers(min_stride, max_stride))))


def _fill(shape: Any, leaf: Callable[[], Any]) -> Any:
    return tuple(_fill(s, leaf) for s in shape) if is_tuple(shape) else leaf()


@st.composite
def compact_layouts(draw: Any, max_size: int = 200, gaps: bool = False) -> Layout:
    """Bijections onto ``range(size)``; with `gaps`, injective layouts whose strides divide."""
    shape = draw(shapes(max_size))
    flat: list[Any] = []
    _fill(shape, lambda: flat.append(None))
    order = draw(st.permutations(range(len(flat))))
    extents = iter(_leaves(shape))
    extent = dict(enumerate(extents))
    strides: dict[int, int] = {}
    step = 1
    for i in order:
        if gaps:
            step *= draw(st.integers(1, 3))
        strides[i] = step
        step *= extent[i]
    it = iter(range(len(flat)))
    return Layout(shape, _fill(shape, lambda: strides[next(it)]))


def _leaves(t: Any) -> list[Any]:
    return [x for i in t for x in _leaves(i)] if is_tuple(t) else [t]


@st.composite
def coordinates(draw: Any, shape: Any) -> Any:
    """A coordinate of a shape: natural, or an integer at any level."""
    if is_tuple(shape) and draw(st.booleans()):
        return tuple(draw(coordinates(s)) for s in shape)
    return draw(st.integers(0, _product(shape) - 1))


@st.composite
def slice_coordinates(draw: Any, shape: Any) -> Any:
    """A coordinate in which some entries are None."""
    if is_tuple(shape) and draw(st.booleans()):
        return tuple(draw(slice_coordinates(s)) for s in shape)
    return None if draw(st.booleans()) else draw(st.integers(0, _product(shape) - 1))


@st.composite
def tilers(draw: Any, target: Layout) -> Any:
    """A tiler for a layout: an int, None, a layout, or a tuple of tilers, possibly short."""
    kind = draw(st.sampled_from(["int", "none", "layout", "tuple"]))
    size = target.size()
    if kind == "none":
        return None
    if kind == "tuple" and is_tuple(target.shape):
        n = draw(st.integers(1, target.rank))
        return tuple(draw(tilers(target[i])) for i in range(n))
    divisors = [d for d in range(1, size + 1) if size % d == 0]
    tile = draw(st.sampled_from(divisors))
    if kind == "layout":
        rest = size // tile
        steps = [d for d in range(1, rest + 1) if rest % d == 0]
        return Layout(tile, draw(st.sampled_from(steps)))
    return tile


@st.composite
def swizzles(draw: Any, max_bits: int = 3) -> Swizzle:
    """Swizzles of a small period."""
    bits = draw(st.integers(0, max_bits))
    shift = draw(st.integers(bits, bits + 2)) * draw(st.sampled_from([1, -1]))
    return Swizzle(bits, draw(st.integers(0, 3)), shift)


LAWS = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
