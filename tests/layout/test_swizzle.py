# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of swizzles and composed layouts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencute.base.errors import LayoutError
from opencute.layout import (
    Chain,
    ComposedLayout,
    Layout,
    Swizzle,
    composition,
    coord_add,
    cosize,
    domain_offset,
    is_static,
    make_composed_layout,
    make_identity_layout,
    make_swizzle,
    size,
    slice_and_offset,
    zipped_divide,
)
from strategies import LAWS, Dyn, layouts, reveal, slice_coordinates, swizzles

pytestmark = pytest.mark.t0


@LAWS
@given(swizzles(), st.integers(0, 5000))
def test_Swizzle(s, x):
    assert s(s(x)) == x
    assert sorted(map(s, range(s.size()))) == list(range(s.size()))
    assert s(x + s.size()) == s(x) + s.size()
    run = 1 << s.base
    assert s(x) % run == x % run
    assert reveal(s(Dyn(x))) == s(x)
    assert hash(s) == hash(Swizzle(s.bits, s.base, s.shift))
    assert size(s) == cosize(s) == s.size()


@LAWS
@given(swizzles())
def test_make_swizzle(s):
    assert make_swizzle(s.bits, s.base, s.shift) == s
    assert str(s) == f"S<{s.bits},{s.base},{s.shift}>"


@LAWS
@given(swizzles(), st.integers(0, 40), layouts(60))
def test_make_composed_layout(s, offset, outer):
    c = make_composed_layout(s, offset, outer)
    assert c == ComposedLayout(s, offset, outer)
    assert all(c(i) == s(offset + outer(i)) for i in range(size(outer)))


def test_Swizzle_prints_and_checks():
    assert str(Swizzle(3, 4, 3)) == "S<3,4,3>"
    for bad in ((-1, 0, 1), (1, -1, 1), (3, 0, 2)):
        with pytest.raises(LayoutError, match="OC1311"):
            Swizzle(*bad)
    with pytest.raises(LayoutError, match="OC1308"):
        Swizzle(1, 0, 1)((1, 2))


@LAWS
@given(swizzles(), st.integers(0, 40), layouts(60), st.data())
def test_ComposedLayout(s, offset, outer, data):
    c = ComposedLayout(s, offset, outer)
    i = data.draw(st.integers(0, outer.size() - 1))
    assert c(i) == s(offset + outer(i))
    assert c.shape == outer.shape and c.rank == len(c) and size(c) == size(outer)
    assert is_static(c) and not c.is_normal
    hidden = ComposedLayout(s, Dyn(offset), outer)
    assert reveal(hidden(i)) == c(i)
    sub, zero = slice_and_offset(data.draw(slice_coordinates(outer.shape)), c)
    assert zero == 0 and sub.inner == s


@LAWS
@given(swizzles(), st.integers(0, 40), layouts(60), st.data())
def test_slices_of_composed_layouts(s, offset, outer, data):
    crd = data.draw(slice_coordinates(outer.shape))
    sub, _ = slice_and_offset(crd, ComposedLayout(s, offset, outer))
    plain, start = slice_and_offset(crd, outer)
    for i in range(size(plain)):
        assert sub(i) == s(offset + start + plain(i))


def test_slicing_a_swizzled_layout_whose_extent_is_no_power_of_two():
    c = composition(Swizzle(3, 4, 3), Layout((10, 64), (64, 1)))
    for row in range(10):
        sub = c(row, None)
        assert [sub(i) for i in range(64)] == [c(row, i) for i in range(64)]
    assert str(c(3, None)) == "S<3,4,3> o 192 o (64):(1)"
    assert str(c(None, 0)) == "S<3,4,3> o 0 o (10):(64)"


def test_slices_match_the_documented_form():
    c = ComposedLayout(Layout((4, 5)), 2, Layout((8, 3)))
    assert str(c(1, None)) == "(4,5):(1,4) o 3 o (3):(8)"
    assert str(c(None, None)) == "(4,5):(1,4) o 2 o (8,3):(1,8)"


def test_inner_may_be_any_function():
    def inner(c):
        x, y = c
        return x, y + 1

    c = make_composed_layout(inner, (1, 0), make_identity_layout((8, 4)))
    assert c(0) == (1, 1)
    assert c(2, 3) == (3, 4)
    assert str(c) == "inner o (1,0) o (8,4):(1@0,1@1)"
    tiled = zipped_divide(c, (4, 2))
    assert tiled((1, 1), (1, 1)) == inner(coord_add((1, 0), (5, 3)))
    moved, zero = domain_offset((1, 1), c)
    assert zero == 0 and moved(0) == c(1, 1)
    assert c[1](2) == (1, 3) and [m.shape for m in c] == [8, 4]
    assert hash(c) == hash(c.with_outer(c.outer))


@LAWS
@given(swizzles(), swizzles(), st.integers(0, 999))
def test_Chain(a, b, x):
    assert Chain(a, b)(x) == a(b(x))
    assert Chain(a, b) == Chain(a, b) and hash(Chain(a)) == hash(Chain(a))
    assert str(Chain(a, b)) == f"{a} o {b}"


def test_ComposedLayout_refuses_what_is_no_function_or_layout():
    with pytest.raises(LayoutError, match="inner"):
        ComposedLayout(3, 0, Layout(4))
    with pytest.raises(LayoutError, match="outer"):
        ComposedLayout(Swizzle(1, 0, 1), 0, 4)
