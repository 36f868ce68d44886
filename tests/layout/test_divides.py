# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of divides and partitions."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from opencute.base.errors import LayoutError
from opencute.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    coalesce,
    composition,
    flat_divide,
    get,
    local_partition,
    local_tile,
    logical_divide,
    make_identity_layout,
    make_ordered_layout,
    product_each,
    size,
    slice_and_offset,
    tiled_divide,
    to_str,
    zipped_divide,
)
from strategies import (
    LAWS,
    Dyn,
    compact_layouts,
    hide,
    layouts,
    points,
    reveal,
    swizzles,
    tilers,
)

pytestmark = pytest.mark.t0

DIVIDES = [logical_divide, zipped_divide, tiled_divide, flat_divide]


def attempt(f, *args):
    """The result, or None if the algebra refuses."""
    try:
        return f(*args)
    except LayoutError:
        return None


@st.composite
def divisible(draw, source=None):
    """A layout and a tiler that divides it; its modes are plain or merge."""
    a = draw(source if source is not None else layouts(100))
    t = draw(tilers(a))
    if attempt(logical_divide, a, t) is None:
        t = 1
    return a, t


@LAWS
@given(divisible(), st.data())
def test_logical_divide(pair, data):
    a, t = pair
    r = logical_divide(a, t)
    if t is None:
        assert r == a
    elif isinstance(t, tuple):
        assert r.rank == a.rank
        assert list(r) == [
            logical_divide(a[i], t[i]) if i < len(t) else a[i] for i in range(a.rank)
        ]
    else:
        assert r[0] == composition(a, t if isinstance(t, Layout) else Layout(t))
        assert sorted(points(r)) == sorted(points(a))


@LAWS
@given(divisible(compact_layouts(60)), st.data())
def test_logical_divide_of_dynamic_layouts(pair, data):
    a, t = pair
    # Dynamic modes cannot be merged, so single modes are split: that always works out.
    m = coalesce(a[0])
    assume(not isinstance(m.shape, tuple) and size(m) > 1)
    n = data.draw(st.integers(1, 8))
    hidden = Layout(hide(data.draw, m.shape), hide(data.draw, m.stride))
    expected = logical_divide(m, n)
    r = logical_divide(hidden, n)
    assert points(reveal(r[0])) == points(expected[0])
    assert points(reveal(r[1])) == points(expected[1])
    pair = zipped_divide(Layout((hidden.shape, 5), (hidden.stride, 7)), (n,))
    assert points(reveal(pair[0][0])) == points(expected[0])
    assert points(reveal(pair[1][0])) == points(expected[1])
    assert t is None or size(t if isinstance(t, Layout) else 1) >= 1


def unzip(r, t):
    """The (tile, rest) leaves of a logical divide, by the leaves of a tuple tiler."""
    if t is None:
        return [Layout(1, 0)], [r]
    if not isinstance(t, tuple):
        return [r[0]], [r[1]]
    first, second = [], []
    for i, x in enumerate(t):
        f, s = unzip(r[i], x)
        first, second = first + f, second + s
    return first, second + [r[i] for i in range(len(t), r.rank)]


def leaves(a, t, keep):
    """The modes of a zipped half, down to the leaves of a tuple tiler."""
    if not isinstance(t, tuple):
        return [a]
    out = []
    for i, x in enumerate(t):
        out += leaves(a[i], x, keep)
    return out + [a[i] for i in range(len(t), a.rank)]


@LAWS
@given(divisible())
def test_zipped_divide(pair):
    a, t = pair
    r = zipped_divide(a, t)
    assert r.rank == 2
    tiles, rests = unzip(logical_divide(a, t), t)
    assert leaves(r[0], t, True) == tiles
    assert leaves(r[1], t, False) == rests
    assert sorted(points(r)) == sorted(points(a))


@LAWS
@given(divisible())
def test_tiled_divide(pair):
    a, t = pair
    tile, rest = zipped_divide(a, t)
    assert list(tiled_divide(a, t)) == [tile, *rest]


@LAWS
@given(divisible())
def test_flat_divide(pair):
    a, t = pair
    tile, rest = zipped_divide(a, t)
    assert list(flat_divide(a, t)) == [*tile, *rest]


@LAWS
@given(divisible(), swizzles(), st.integers(0, 9))
def test_divides_of_composed_layouts(pair, s, offset):
    a, t = pair
    for f in DIVIDES:
        r = f(ComposedLayout(s, offset, a), t)
        assert r == ComposedLayout(s, offset, f(a, t))


def test_divide_examples():
    a = Layout((9, (4, 8)), (59, (13, 1)))
    t = (Layout(3, 3), Layout((2, 4), (1, 8)))
    assert [str(f(a, tiler=t)) for f in DIVIDES] == [
        "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))",
        "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))",
        "((3,(2,4)),3,(2,2)):((177,(13,2)),59,(26,1))",
        "(3,(2,4),3,(2,2)):(177,(13,2),59,(26,1))",
    ]
    assert str(logical_divide(Layout((4, 2, 3), (2, 1, 8)), Layout(4, 2))) == (
        "((2,2),(2,3)):((4,1),(2,8))"
    )
    assert str(zipped_divide(make_identity_layout((6, 8)), (3, 4))) == (
        "((3,4),(2,2)):((1@0,1@1),(3@0,4@1))"
    )


def test_zipped_divide_of_dynamic_shapes():
    a = Layout((Dyn(100), Dyn(44)), (Dyn(44), 1))
    r = zipped_divide(a, (1, 8))
    assert str(r) == "((1,8),(?,?)):((0,1),(?,8))"
    assert str(reveal(r)) == "((1,8),(100,6)):((0,1),(44,8))"
    r = zipped_divide(Layout((Dyn(64, 16), Dyn(44)), (1, Dyn(64))), (16, 4))
    assert str(r) == "((16,4),(?,?)):((1,?),(16,?{div=4}))"
    assert str(reveal(r)) == "((16,4),(4,11)):((1,64),(16,256))"


def test_short_and_empty_tilers():
    a = Layout((8, 6, 5))
    assert str(zipped_divide(a, (4,))) == "((4),(2,6,5)):((1),(4,8,48))"
    assert str(zipped_divide(a, (None, 3))) == "((1,3),(8,2,5)):((0,8),(1,24,48))"
    assert str(zipped_divide(a, None)) == "(1,(8,6,5)):(0,(1,8,48))"
    assert str(logical_divide(a, (None, None, 5))) == "(8,6,(5,1)):(1,8,(48,0))"
    assert str(tiled_divide(a, 4)) == "(4,60):(1,4)"
    assert str(flat_divide(a, [2, [3]])) == "(2,(3),4,(2),5):(1,(8),2,(24),48)"


@pytest.mark.parametrize("f", DIVIDES)
@pytest.mark.parametrize(
    ("a", "t"),
    [
        (Layout((8, 6)), (2, 2, 2)),
        (Layout((8, (3, 2)), (1, (16, 8))), (2, 4)),
        (Layout((8, (3, 2)), (1, (16, 8))), (2, (3, 2, 1))),
        (Layout((8, 6)), (2, "x")),
        (Layout(8), (2, 2)),
        (Layout((8, 6)), Layout((4, 4), (2, 1))),
        (Layout((8, 6)), (0, 2)),
    ],
)
def test_bad_tilers_are_errors_that_name_both(f, a, t):
    with pytest.raises(LayoutError) as e:
        f(a, t)
    text = str(e.value)
    assert "tiler" in text or to_str(a[1]) in text or to_str(t) in text or "zero" in text


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


@LAWS
@given(compact_layouts(100), st.data())
def test_local_tile(a, data):
    assume(isinstance(a.shape, tuple))
    t = tuple(data.draw(st.sampled_from(divisors(size(m)))) for m in a)
    r = attempt(zipped_divide, a, t)
    assume(r is not None)
    crd = tuple(data.draw(st.integers(0, size(m) - 1)) for m in r[1])
    tile, offset = local_tile(a, tiler=t, coord=crd)
    assert tile.shape == r[0].shape and tile.stride == r[0].stride
    assert offset == r(0, crd)
    assert [offset + p for p in points(tile)] == [r(i, crd) for i in range(size(r[0]))]
    everything, offset = local_tile(a, t, (None,) * len(crd))
    assert offset == 0 and sorted(points(everything)) == sorted(points(a))
    at = data.draw(st.integers(0, size(r[1]) - 1))
    assert local_tile(a, t, at)[1] == r(0, at)


def test_local_tile_projections_and_rests():
    a = Layout((64, 32), (32, 1))
    tile, offset = local_tile(a, tiler=(16, 99, 8), coord=(1, 7, None), proj=(1, None, 1))
    assert (str(tile), offset) == ("(16,8,4):(32,1,8)", 512)
    batches = Layout((64, 32, 5), (32, 1, 2048))
    tile, offset = local_tile(batches, (16, 99, 8), (1, 7, None, 3), (1, None, 1))
    assert (str(tile), offset) == ("(16,8,4):(32,1,8)", 512 + 3 * 2048)
    tile, offset = local_tile(a, (16, 8), (2,))
    assert (str(tile), offset) == ("(16,8,4):(32,1,8)", 1024)
    assert reveal(local_tile(a, (16, 8), (Dyn(2), Dyn(3)))[1]) == 2 * 512 + 24
    s = ComposedLayout(Swizzle(2, 0, 3), 0, a)
    tile, offset = local_tile(s, (16, 8), (1, 2))
    assert offset == 0 and tile(3, 4) == s(19, 20)
    with pytest.raises(LayoutError, match="does not fit the tiles"):
        local_tile(a, (16, 8), (1, 2, 3))


@LAWS
@given(st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4]), st.data())
def test_local_partition(m, n, data):
    a = make_ordered_layout((8, 4), data.draw(st.sampled_from([(0, 1), (1, 0)])))
    threads = make_ordered_layout((m, n), data.draw(st.sampled_from([(0, 1), (1, 0)])))
    owned = []
    for t in range(m * n):
        part, offset = local_partition(a, threads, t)
        owned += [offset + p for p in points(part)]
        assert part.shape == (8 // m, 4 // n)
        dynamic = local_partition(a, threads, Dyn(t))
        assert reveal(dynamic) == (part, offset)
    assert sorted(owned) == list(range(32))
    by_row = local_partition(a, threads, 0, proj=(1, None))[0]
    assert by_row.shape == (8 // m, 4)


def test_local_partition_needs_a_layout():
    with pytest.raises(LayoutError, match="layout of threads"):
        local_partition(Layout((8, 4)), (2, 2), 0)


def test_partition_by_thread_values():
    # The pattern of tiled copies: compose a tile with a thread-value layout, slice one thread.
    a = make_ordered_layout((16, 128), (1, 0))
    tv = Layout(((32, 4), (4, 4)), ((64, 4), (16, 1)))
    tiled = zipped_divide(a, (16, 128))
    mine, offset = slice_and_offset(((5, None), 0), composition(tiled, (tv, None)))
    assert size(mine) == 16 and offset == a(tv.get_flat_coord(0)[0], 0) + 20
    assert product_each(a.shape) == (16, 128) and get(tiled, mode=[1, 0]).shape == 1
