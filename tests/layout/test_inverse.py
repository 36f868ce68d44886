# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of inverses and of what is derived from them."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from opencute.base.errors import LayoutError
from opencute.layout import (
    ComposedLayout,
    E,
    Layout,
    Swizzle,
    filter,
    left_inverse,
    make_identity_layout,
    max_alignment,
    max_common_layout,
    max_common_vector,
    nullspace,
    right_inverse,
    size,
    upcast,
    with_shape,
)
from strategies import LAWS, Dyn, compact_layouts, dynamic, layouts, points, reveal, swizzles

pytestmark = pytest.mark.t0


@LAWS
@given(dynamic(layouts()))
def test_right_inverse(pair):
    a, hidden = pair
    r = right_inverse(a)
    assert [a(r(i)) for i in range(size(r))] == list(range(size(r)))
    h = reveal(right_inverse(hidden))
    assert [a(h(i)) for i in range(size(h))] == list(range(size(h)))


@LAWS
@given(compact_layouts(100))
def test_right_inverse_of_a_bijection_is_whole(a):
    assert size(right_inverse(a)) == size(a)
    assert right_inverse(None) is None and right_inverse(Swizzle(1, 0, 1)) == Swizzle(1, 0, 1)


@LAWS
@given(compact_layouts(100, gaps=True))
def test_left_inverse(a):
    r = left_inverse(a)
    assert [r(a(i)) for i in range(size(a))] == list(range(size(a)))
    assert left_inverse(None) is None and left_inverse(Swizzle(1, 0, 1)) == Swizzle(1, 0, 1)


@LAWS
@given(compact_layouts(30, gaps=True), st.integers(1, 4))
def test_left_inverse_of_a_layout_that_repeats(a, n):
    b = Layout((a.shape, n), (a.stride, 0))
    r = left_inverse(b)
    assert [b(r(b(i))) for i in range(size(b))] == points(b)


def test_inverse_examples():
    a = Layout((2, 4, 6), (4, 1, 8))
    assert str(right_inverse(a)) == str(left_inverse(a)) == "(4,2,6):(2,1,8)"
    assert str(left_inverse(Layout((4, 2), (1, 16)))) == "(16,2):(1,4)"
    assert str(right_inverse(Layout((2, 4), (0, 1)))) == "4:2"
    assert str(left_inverse(Layout(4, 0))) == "1:0"
    assert str(with_shape(right_inverse(a), (8, 6))) == "((4,2),6):((2,1),8)"


@LAWS
@given(compact_layouts(60))
def test_inverses_of_basis_strides(shape_source):
    shape = shape_source.shape
    a = make_identity_layout((shape, 3))
    for f in (left_inverse, right_inverse):
        r = f(a)
        assert [r(a(i)) for i in range(size(a))] == list(range(size(a)))
    turned = Layout((4, 3, 2), (E(1), 2 * E(0), E(0)))
    assert str(right_inverse(turned)) == "((2,3),4):((12,4),1)"
    assert str(right_inverse(Layout((4, 3), (E(1), 2 * E(0))))) == "(1,4):(0,1)"


def test_inverses_refuse():
    with pytest.raises(LayoutError, match="do not divide each other"):
        left_inverse(Layout((2, 2), (2, 3)))
    with pytest.raises(LayoutError, match="not static"):
        left_inverse(Layout((4, 3), (Dyn(3), 1)))
    for f in (left_inverse, right_inverse):
        with pytest.raises(LayoutError, match="mixes"):
            f(Layout((4, 3), (E(0), 5)))
        with pytest.raises(LayoutError, match="only swizzles"):
            f(ComposedLayout(lambda x: x, 0, Layout(4)))
        with pytest.raises(LayoutError, match="mixes offsets"):
            f(ComposedLayout(Swizzle(2, 0, 2), 0, Layout(6)))


@LAWS
@given(swizzles(), st.integers(0, 8))
def test_inverses_of_swizzled_layouts(s, offset):
    a = Layout((s.size(), 2), (2, 1))
    c = ComposedLayout(s, 0, a)
    r = right_inverse(c)
    assert [c(r(i)) for i in range(size(a))] == list(range(size(a)))
    n = left_inverse(c)
    assert [n(c(i)) for i in range(size(a))] == list(range(size(a)))
    moved = ComposedLayout(s, offset * size(a), a)
    n = left_inverse(moved)
    assert [n(moved(i)) for i in range(size(a))] == list(range(size(a)))


@LAWS
@given(st.one_of(compact_layouts(60), layouts(60)), st.data())
def test_max_common_layout(a, data):
    b = data.draw(st.one_of(st.just(a), layouts(60)))
    r = max_common_layout(a, b)
    n = size(r)
    assert max_common_vector(a, b) == n
    assert [b(r(i)) for i in range(n)] == list(range(n)) == [a(r(i)) for i in range(n)]


@LAWS
@given(swizzles(), compact_layouts(60))
def test_max_common_vector(s, a):
    assert max_common_vector(a, a) == size(a)
    c = ComposedLayout(s, 0, a)
    n = max_common_vector(c, a)
    r = max_common_layout(c, a)
    assert size(r) == n and [c(r(i)) for i in range(n)] == list(range(n))
    assert max_common_vector(c, c) == size(a)
    assert max_common_vector(ComposedLayout(abs, 0, a), a) == 1


def test_max_common_vector_examples():
    assert max_common_vector(Layout((4, 8), (1, 4)), Layout((4, 8), (1, 8))) == 4
    assert max_common_vector(Layout((4, 8), (8, 1)), Layout((4, 8), (1, 4))) == 1
    assert max_common_vector(Layout((4, Dyn(8)), (1, Dyn(4))), Layout((4, 8), (1, 8))) == 4
    assert max_common_vector(Layout(Dyn(4)), Layout(Dyn(4))) == 1
    swizzled = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))
    assert max_common_vector(swizzled, Layout((8, 64), (64, 1))) == 8


@LAWS
@given(layouts(100))
def test_nullspace(a):
    r = nullspace(a)
    assert all(a(r(i)) == 0 for i in range(size(r)))
    assert size(r) * size(filter(a)) == size(a)
    assert nullspace(ComposedLayout(Swizzle(1, 0, 1), 0, a)) == Layout(1, 0)


@LAWS
@given(st.one_of(compact_layouts(100, gaps=True), layouts(100)))
def test_max_alignment(a):
    n = max_alignment(a)
    for d in range(1, n + 1):
        if n % d == 0:
            upcast(d, a)
    assume(n > 1)
    assert max_alignment(upcast(n, a)) >= 1


def test_max_alignment_examples():
    assert max_alignment(Layout((8, 4), (1, 16))) == 8
    assert max_alignment(Layout((8, 4), (1, 12))) == 4
    assert max_alignment(Layout((8, Dyn(4)), (1, Dyn(12, 4)))) == 4
    assert max_alignment(Layout((8, Dyn(4)), (1, Dyn(12)))) == 1
    assert max_alignment(Layout((8, 4), (16, 1))) == 4
    assert max_alignment(Swizzle(3, 4, 3)) == 16
    c = ComposedLayout(Swizzle(3, 3, 3), 16, Layout((8, 64), (64, 1)))
    assert max_alignment(c) == 8
    assert max_alignment(ComposedLayout(abs, 0, Layout(8))) == 1
