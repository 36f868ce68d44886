# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of recasts."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from opencute.base.errors import LayoutError
from opencute.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    downcast,
    make_identity_layout,
    recast_layout,
    size,
    upcast,
)
from strategies import LAWS, Dyn, compact_layouts, points, reveal, swizzles

pytestmark = pytest.mark.t0

widths = st.sampled_from([4, 8, 16, 32, 64, 128])


def attempt(f, *args):
    """The result, or None if the algebra refuses."""
    try:
        return f(*args)
    except LayoutError:
        return None


@LAWS
@given(compact_layouts(100, gaps=True), st.integers(1, 8))
def test_upcast(a, n):
    r = attempt(upcast, n, a)
    assume(r is not None)
    assert set(points(r)) == {p // n for p in points(a)}
    assert attempt(upcast, n, ComposedLayout(a, n, a)) == ComposedLayout(r, 1, r)


@LAWS
@given(compact_layouts(60, gaps=True), st.integers(1, 8))
def test_downcast(a, n):
    r = attempt(downcast, n, a)
    assume(r is not None)
    assert size(r) == n * size(a)
    assert sorted(points(r)) == sorted(p * n + k for p in points(a) for k in range(n))
    assert points(upcast(n, r)) == points(a)


@LAWS
@given(swizzles(), st.integers(0, 3), st.integers(0, 500))
def test_swizzles_commute_with_recasts(s, log, x):
    n = 1 << log
    wide = attempt(upcast, n, s)
    if wide is not None:
        assert wide(x) == s(x * n) // n
        assert downcast(n, wide) == s or s.bits == 0
    assert downcast(n, s)(x * n) == s(x) * n


@LAWS
@given(compact_layouts(12), widths, widths)
def test_recast_layout(a, new, old):
    # A leading contiguous mode of 128 bits makes every recast possible.
    per = 128 // old
    grown = Layout((per, a.shape), (1, _scaled(a.stride, per)))
    r = recast_layout(new, old, grown)
    assert size(r) * new == size(grown) * old
    assert recast_layout(old, new, r)(0) == 0
    assert points(recast_layout(old, new, r)) == points(grown)
    assert recast_layout(old, old, grown) == grown


def _scaled(t, n):
    return tuple(_scaled(i, n) for i in t) if isinstance(t, tuple) else t * n


def test_recast_layout_examples():
    assert str(recast_layout(32, 8, Layout((32, 4), (1, 32)))) == "(8,4):(1,8)"
    assert str(recast_layout(8, 32, Layout((8, 4), (1, 8)))) == "(32,4):(1,32)"
    assert str(recast_layout(4, 6, Layout((8, 4), (1, 8)))) == "(12,4):(1,12)"
    assert str(recast_layout(16, 8, Layout((16, 16), (16, 1)))) == "(16,8):(8,1)"
    c = ComposedLayout(Layout((4, 5)), 2, Layout((8, 4)))
    assert str(recast_layout(32, 16, c)) == "(2,5):(1,2) o 1 o (4,4):(1,4)"
    c = ComposedLayout(Swizzle(3, 5, 4), 0, Layout((32, Dyn(4)), (1, Dyn(32, 4))))
    assert str(recast_layout(32, 8, c)) == "S<3,3,4> o 0 o (8,?):(1,?)"
    c = ComposedLayout(Swizzle(3, 3, 4), 5, Layout((8, 4)))
    assert str(recast_layout(8, 32, c)) == "S<3,5,4> o 20 o (32,4):(1,32)"
    r = recast_layout(8, 32, Layout((Dyn(8), 4), (1, Dyn(8))))
    assert str(r) == "(?{div=4},4):(1,?{div=4})"
    assert str(reveal(r)) == "(32,4):(1,32)"
    assert str(recast_layout(8, 32, Layout((1, 4), (0, 8)))) == "(4,4):(1,32)"
    offset = ComposedLayout(Swizzle(2, 2, 2), Dyn(8, 4), Layout(16))
    assert str(recast_layout(32, 8, offset)) == "S<2,0,2> o ? o 4:1"
    assert upcast(1, Layout(3)) == downcast(1, Layout(3)) == Layout(3)
    assert upcast(2, Layout((4, 3), (2, 0))) == Layout((4, 3), (1, 0))
    assert upcast(4, Layout(8, -1)) == Layout(2, -1)


@pytest.mark.parametrize(
    ("new", "old", "x"),
    [
        (0, 8, Layout(8)),
        (8, -8, Layout(8)),
        (24, 8, Layout((2, 4), (1, 2))),
        (8, 32, Layout(8, 2)),
        (32, 8, make_identity_layout((8, 4))),
        (8, 32, make_identity_layout((8, 4))),
        (32, 16, ComposedLayout(Layout(8), 3, Layout(8))),
        (32, 16, ComposedLayout(Layout(8), Dyn(4), Layout(8))),
        (32, 16, ComposedLayout(abs, 0, Layout(8))),
        (24, 8, Swizzle(2, 3, 2)),
        (64, 8, Swizzle(2, 1, 2)),
    ],
)
def test_recast_layout_refuses(new, old, x):
    with pytest.raises(LayoutError, match=r"OC1313|OC1311"):
        recast_layout(new, old, x)
