# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of coalesce, filter, composition and complement."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from opencute.base.errors import LayoutError
from opencute.layout import (
    Chain,
    ComposedLayout,
    E,
    Layout,
    Swizzle,
    coalesce,
    coalesce_shape,
    complement,
    composition,
    cosize,
    depth,
    filter,
    filter_zeros,
    flatten_to_tuple,
    is_compatible,
    make_identity_layout,
    make_layout,
    product,
    size,
    to_str,
    with_shape,
)
from opencute.layout.composer import Composer
from strategies import (
    LAWS,
    Dyn,
    RichDyn,
    compact_layouts,
    dynamic,
    hide,
    layouts,
    points,
    reveal,
    shapes,
    swizzles,
    tilers,
)

pytestmark = pytest.mark.t0


def attempt(f, *args, **kw):
    """The result, or None if the algebra refuses."""
    try:
        return f(*args, **kw)
    except LayoutError:
        return None


@LAWS
@given(dynamic(layouts()), st.booleans())
def test_coalesce(pair, merge):
    a, hidden = pair
    r = coalesce(a)
    assert points(r) == points(a) and depth(r) <= 1
    assert points(reveal(coalesce(hidden, merge_dynamic=merge))) == points(a)
    assert points(coalesce(a, target_profile=(1,))) == points(a)
    assert coalesce(a, target_profile=(1,))[0] == coalesce(a[0])
    s = ComposedLayout(Swizzle(2, 0, 2), 1, a)
    assert coalesce(s).outer == r


def test_coalesce_examples():
    n = Dyn(6)
    assert str(coalesce(Layout((2, (1, 6)), (1, (n, 2))))) == "12:1"
    assert str(coalesce(Layout((2, (1, 6)), (1, (6, 2))), target_profile=(1, 1))) == "(2,6):(1,2)"
    deep = Layout(((2, (3, 4)), (3, 2), 1), ((4, (8, 24)), (2, 6), 12))
    assert str(coalesce(deep)) == "(24,6):(4,2)"
    assert str(coalesce(Layout((4, 5, n, 3, 2), (1, 4, Dyn(7), 1, 3)))) == "(20,?,6):(1,?,1)"
    assert str(coalesce(Layout((1, 1), (3, 5)))) == "1:0"
    with pytest.raises(LayoutError, match="has more modes than"):
        coalesce(Layout((2, 3)), target_profile=(1, 1, 1))


def test_coalesce_into_a_dynamic_mode_is_opt_in():
    a = Layout((16, Dyn(4)), (8, 128))
    assert str(coalesce(a)) == "(16,?):(8,128)"
    assert str(coalesce(a, merge_dynamic=True)) == "?{div=16}:8"


@LAWS
@given(dynamic(shapes()))
def test_coalesce_shape(pair):
    s, hidden = pair
    assert product(coalesce_shape(s)) == product(s)
    assert reveal(product(coalesce_shape(hidden))) == product(s)
    kinds = [isinstance(x, Dyn) for x in flatten_to_tuple(coalesce_shape(hidden))]
    assert all(x != y for x, y in itertools.pairwise(kinds))


@LAWS
@given(dynamic(layouts()))
def test_filter_zeros(pair):
    a, hidden = pair
    r = filter_zeros(a)
    assert set(points(r)) == set(points(a)) and r.stride == a.stride
    assert set(points(reveal(filter_zeros(hidden)))) == set(points(a))
    assert filter_zeros((0, (3, 0))) == (1, (3, 1))
    assert str(filter_zeros(Layout((2, 3, 4)), target_profile=(1, 0, 1))) == "(2,1,4):(1,2,6)"
    assert filter_zeros(ComposedLayout(Swizzle(1, 0, 1), 0, a)).outer == r


@LAWS
@given(dynamic(layouts()))
def test_filter(pair):
    a, hidden = pair
    r = filter(a)
    assert set(points(r)) == set(points(a)) and depth(r) <= 1
    assert r == Layout(1, 0) or 0 not in flatten_to_tuple(r.stride)
    assert set(points(reveal(filter(hidden)))) == set(points(a))
    assert filter(a, target_profile=(1,))[0] == filter(a[0])
    assert filter(ComposedLayout(Swizzle(1, 0, 1), 0, a)).outer == r


@st.composite
def composable(draw):
    """Two layouts whose composition is a layout."""
    a = draw(layouts(60))
    b = draw(st.one_of(layouts(20, max_stride=4), compact_layouts(40, gaps=True)))
    if attempt(composition, a, b) is None:
        b = Layout((a.shape, 2), (Layout(a.shape).stride, 0))
    return a, b


@LAWS
@given(composable())
def test_composition(pair):
    a, b = pair
    r = composition(a, b)
    flat = flat_layout(a)
    assert [r(i) for i in range(size(b))] == [flat(b(i)) for i in range(size(b))]
    assert is_compatible(b.shape, r.shape)


def flat_layout(a):
    """A layout whose last leaf is its last mode, and so open-ended."""
    return Layout(flatten_to_tuple(a.shape), flatten_to_tuple(a.stride))


@LAWS
@given(layouts(96), layouts(60, max_stride=12))
def test_composition_that_returns_is_right(a, b):
    """Any two layouts: what cannot be expressed is refused, never wrong."""
    assume(max(b(i) for i in range(size(b))) < size(a))
    r = attempt(composition, a, b)
    assume(r is not None)
    assert [r(i) for i in range(size(b))] == [a(b(i)) for i in range(size(b))]


def test_composition_whose_modes_carry_is_refused():
    a, b = Layout((8, 12, 1), (6, 1, 3)), Layout((1, 2, (8, 1)), (6, 5, (2, 4)))
    with pytest.raises(LayoutError, match="OC1303"):
        composition(a, b)


@LAWS
@given(composable(), st.data())
def test_composition_of_dynamic_layouts(pair, data):
    a, b = pair
    ha, hb = hide(data.draw, a), hide(data.draw, b, keep=lambda x: x == 0)
    # Dynamic modes cannot be merged, so the plain layouts must fit without merging, too.
    flat = flat_layout(a)
    assume(attempt(Composer(a, b).after, (flat.shape, flat.stride), b.shape, b.stride) is not None)
    assert points(reveal(composition(ha, hb))) == points(composition(a, b))


@LAWS
@given(layouts(60), st.data())
def test_composition_by_mode(a, data):
    t = data.draw(tilers(a))
    r = attempt(composition, a, t)
    assume(r is not None and isinstance(t, tuple))
    assert r.rank == len(t)
    assert list(r) == [composition(a[i], x) for i, x in enumerate(t)]
    assert composition(a, None) == a


@LAWS
@given(swizzles(), st.integers(0, 9), composable())
def test_composition_of_composed_layouts(s, offset, pair):
    a, b = pair
    c = composition(ComposedLayout(s, offset, a), b)
    assert c.inner == s and c.outer == composition(a, b)
    d = composition(a, ComposedLayout(s, offset, b))
    assert [d(i) for i in range(size(b))] == [a(s(offset + b(i))) for i in range(size(b))]
    e = composition(s, ComposedLayout(s, offset, b))
    assert isinstance(e.inner, Chain)
    assert [e(i) for i in range(size(b))] == [s(s(offset + b(i))) for i in range(size(b))]
    f = composition(s, a)
    assert [f(i) for i in range(size(a))] == [s(a(i)) for i in range(size(a))]
    g = composition(a, ComposedLayout(b, 0, Layout(size(b))))
    assert isinstance(g, Layout) and points(g) == points(composition(a, b))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (Layout((6, 2), (Dyn(8), 2)), Layout((4, 3), (3, 1)), "((2,2),3):((?{div=3},2),?)"),
        (Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1)), "((2,2),3):((24,2),8)"),
        (Layout((10, 2), (16, 4)), Layout((5, 4), (1, 5)), "(5,(2,2)):(16,(80,4))"),
        (Layout(20, 2), Layout((5, 4), (4, 1)), "(5,4):(8,2)"),
        (Layout((4, 8)), (2, 4), "(2,4):(1,4)"),
        (Layout((4, 8)), (Layout((2, 4)),), "((2,4)):((1,2))"),
        (Layout((4, 8), (8, 1)), (None, 4), "(4,4):(8,1)"),
        (make_identity_layout((8, 4)), Layout((4, 4), (E(0), E(1))), "(4,4):(1@0,1@1)"),
        (Layout((8, 4), (5, 3)), Layout((2, 2), (2 * E(1), 4 * E(0))), "(2,2):(6,20)"),
        (Layout((Dyn(16, 8), Dyn(5)), (1, Dyn(16))), (8, None), "(8,?):(1,?)"),
    ],
)
def test_composition_examples(a, b, expected):
    assert str(composition(a, b)) == expected


@pytest.mark.parametrize("kind", [Dyn, RichDyn])
def test_composition_of_the_notebook(kind):
    a = Layout((kind(12), (kind(4), kind(8))), (kind(59), (kind(13), kind(1))))
    r = composition(a, (3, 8))
    assert str(r) == "(3,(?,?)):(?,(?,?))"
    assert str(reveal(r)) == "(3,(4,2)):(59,(13,1))"
    a = Layout((kind(10), kind(2)), (kind(16), kind(4)))
    b = Layout((kind(5), kind(4)), (kind(1), kind(5)))
    assert str(reveal(composition(a, b))) == "((5,1),(2,2)):((16,4),(80,4))"


def test_composition_keeps_what_divisibility_tells():
    r = composition(Layout((Dyn(16, 8), Dyn(3)), (1, Dyn(16, 16))), Layout(8))
    assert str(r) == "8:1"
    r = composition(Layout((4, 6), (Dyn(4, 4), Dyn(9, 3))), Layout(12, 2))
    assert str(r) == "(2,6):(?{div=8},?{div=3})"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Layout((4, 3), (3, 1)), Layout(5)),
        (Layout((6, 2), (8, 2)), Layout(4, 4)),
        (Layout((6, 2), (8, 3)), Layout(3, 4)),
        (Layout((3, 2), (1, 5)), Layout((2, 2), (1, 2))),
        (Layout((4, 2), (1, 5)), Layout((3, 2), (1, 2))),
        (Layout(20, 2), (5, 4)),
        (Layout((4, 8)), (2, (2, 2))),
        (Layout((4, 8)), "tile"),
        (Layout((4, 8)), (2, ComposedLayout(Swizzle(1, 0, 1), 0, Layout(4)))),
        (Swizzle(1, 0, 1), 4),
        ((4, 8), 2),
    ],
)
def test_composition_refuses(a, b):
    with pytest.raises(LayoutError) as e:
        composition(a, b)
    assert to_str(a) in str(e.value) or "tiler" in str(e.value)


@LAWS
@given(layouts(60), st.data())
def test_with_shape(a, data):
    n = size(a)
    d = data.draw(st.sampled_from([d for d in range(1, n + 1) if n % d == 0]))
    r = attempt(with_shape, a, (d, n // d))
    assume(r is not None)
    assert points(r) == points(a) and size(r[0]) == d
    assert with_shape(a, d, n // d) == r


@LAWS
@given(compact_layouts(60, gaps=True), st.integers(1, 200))
def test_complement(a, n):
    r = complement(a, n)
    mine, other = set(points(a)), points(r)
    assert mine & set(other) <= {0}
    assert all(x < y for x, y in itertools.pairwise(other))
    both = make_layout(a, r)
    assert sorted(points(both)) == list(range(size(both))) and size(both) >= n
    least = make_layout(a, complement(a))
    assert sorted(points(least)) == list(range(size(least))) and size(least) >= cosize(a)


def test_complement_examples():
    assert str(complement(Layout((2, 2), (4, 1)), 24)) == "(2,3):(2,8)"
    assert str(complement(Layout(3, 2), 6)) == "2:1"
    assert str(complement(Layout(3, 2), Layout(6))) == "2:1"
    assert str(complement(Layout(4, 0), 6)) == "6:1"
    assert str(complement(Layout(3, E(0)))) == "(1):(3@0)"
    assert str(complement(Layout(8), Dyn(16))) == "?:8"
    assert str(complement(Layout(Dyn(8), Dyn(2)), 64)) == "(?,?):(1,?)"
    assert str(complement(Layout(2, 64 * E(0)), (128, 64))) == "(64,64):(1@0,1@1)"
    c = ComposedLayout(Swizzle(1, 0, 1), 0, Layout(8))
    assert complement(c, 16) == complement(Layout(8), 16)


def test_complement_refuses():
    with pytest.raises(LayoutError, match="more than once"):
        complement(Layout((4, 4), (2, 1)), 99)
    with pytest.raises(LayoutError, match="dynamic stride"):
        complement(Layout((4, 4), (Dyn(1), 8)), 99)
    with pytest.raises(LayoutError, match="mixes"):
        complement(Layout((4, 4), (E(0), 1)), 99)


@LAWS
@given(compact_layouts(60, gaps=True), st.integers(1, 200), st.data())
def test_complement_of_dynamic_layouts(a, n, data):
    # Several dynamic strides are refused, and what a dynamic size of 1 leaves out is not dropped.
    rank_one = len(flatten_to_tuple(a.shape)) == 1
    shape = hide(data.draw, a.shape, keep=lambda x: x == 1)
    ha = Layout(shape, hide(data.draw, a.stride) if rank_one and size(a) > 1 else a.stride)
    (target,) = hide(data.draw, (n,))
    assert points(reveal(complement(ha, target))) == points(complement(a, n))
