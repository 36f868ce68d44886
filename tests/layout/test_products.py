# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of products."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencute.base.errors import LayoutError
from opencute.layout import (
    ComposedLayout,
    E,
    Layout,
    blocked_product,
    flat_product,
    logical_product,
    make_ordered_layout,
    product_each,
    raked_product,
    rank,
    round_up,
    size,
    tile_to_shape,
    tiled_product,
    zipped_product,
)
from strategies import (
    LAWS,
    Dyn,
    compact_layouts,
    hide,
    points,
    reveal,
    shapes,
    swizzles,
)

pytestmark = pytest.mark.t0

PRODUCTS = [
    logical_product,
    zipped_product,
    tiled_product,
    flat_product,
    blocked_product,
    raked_product,
]


@LAWS
@given(compact_layouts(30), compact_layouts(12))
def test_logical_product(block, tiler):
    r = logical_product(block, tiler)
    assert r[0] == block and size(r[1]) == size(tiler)
    assert len(set(points(r))) == size(block) * size(tiler)
    assert logical_product(block, None) == block
    assert logical_product(block, (2,))[0] == logical_product(block[0], 2)
    by_offset = sorted(range(size(tiler)), key=tiler)
    assert by_offset == sorted(range(size(tiler)), key=r[1])


@LAWS
@given(compact_layouts(30), compact_layouts(12))
def test_zipped_product(block, tiler):
    assert zipped_product(block, tiler) == logical_product(block, tiler)
    r = zipped_product(block, (2,))
    assert r[0][0] == block[0] and r[1][0] == logical_product(block[0], 2)[1]
    assert [r[1][i + 1] for i in range(rank(block) - 1)] == list(block)[1:]


@LAWS
@given(compact_layouts(30), compact_layouts(12))
def test_tiled_product(block, tiler):
    first, copies = zipped_product(block, tiler)
    assert list(tiled_product(block, tiler)) == [first, *copies]


@LAWS
@given(compact_layouts(30), compact_layouts(12))
def test_flat_product(block, tiler):
    first, copies = zipped_product(block, tiler)
    assert list(flat_product(block, tiler)) == [*first, *copies]


@LAWS
@given(compact_layouts(30), compact_layouts(12))
def test_blocked_product(block, tiler):
    r = blocked_product(block, tiler)
    assert r.rank == max(rank(block), rank(tiler))
    assert sorted(points(r)) == sorted(points(logical_product(block, tiler)))
    for i, m in enumerate(r):
        assert m[0] == (block[i] if i < rank(block) else Layout(1, 0))


@LAWS
@given(compact_layouts(30), compact_layouts(12))
def test_raked_product(block, tiler):
    r = raked_product(block, tiler)
    b = blocked_product(block, tiler)
    assert [(m[1], m[0]) for m in r] == [(m[0], m[1]) for m in b]


@LAWS
@given(compact_layouts(20), compact_layouts(8), swizzles())
def test_products_of_composed_layouts(block, tiler, s):
    for f in PRODUCTS:
        assert f(ComposedLayout(s, 3, block), tiler) == ComposedLayout(s, 3, f(block, tiler))


@LAWS
@given(compact_layouts(20), compact_layouts(8), st.data())
def test_products_by_dynamic_shapes(block, tiler, data):
    hidden = Layout(hide(data.draw, tiler.shape), tiler.stride)
    for f in (logical_product, blocked_product, raked_product):
        assert points(reveal(f(block, hidden))) == points(f(block, tiler))


def test_product_examples():
    block, tiler = Layout((2, 5), (5, 1)), Layout((3, 4), (1, 3))
    assert [str(f(block, tiler=tiler)) for f in PRODUCTS] == [
        "((2,5),(3,4)):((5,1),(10,30))",
        "((2,5),(3,4)):((5,1),(10,30))",
        "((2,5),3,4):((5,1),10,30)",
        "(2,5,3,4):(5,1,10,30)",
        "((2,3),(5,4)):((5,10),(1,30))",
        "((3,2),(4,5)):((10,5),(30,1))",
    ]
    assert str(logical_product(Layout((2, 2), (4, 1)), 6)) == "((2,2),(2,3)):((4,1),(2,8))"
    basis = Layout((4, 3), (E(0), E(1)))
    assert str(blocked_product(basis, Layout((2, 5)))) == "((4,2),(3,5)):((1@0,4@0),(1@1,8@0))"
    grown = logical_product(Layout((3, 4), (4, 1)), Layout((Dyn(2), Dyn(5)), (1, 2)))
    assert str(grown) == "((3,4),(?,?)):((4,1),(12,24))"


def test_products_refuse():
    with pytest.raises(LayoutError, match="more modes than"):
        logical_product(Layout((2, 3)), (2, 2, 2))
    with pytest.raises(LayoutError, match="no tiler"):
        logical_product(Layout((2, 3)), ComposedLayout(abs, 0, Layout(4)))
    with pytest.raises(LayoutError, match="more modes than"):
        tile_to_shape(Layout((2, 3)), 12)
    with pytest.raises(LayoutError, match="more than once"):
        logical_product(Layout((4, 4), (2, 1)), 3)


@LAWS
@given(compact_layouts(12), shapes(60), st.data())
def test_tile_to_shape(block, copies, data):
    n = max(rank(block), rank(copies))
    extents = product_each(block.shape) + (1,) * (n - rank(block))
    extra = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    many = product_each(copies) + (1,) * (n - rank(copies))
    target = tuple(max(e * m - x, 1) for e, m, x in zip(extents, many, extra, strict=True))
    order = tuple(data.draw(st.permutations(range(n))))
    r = tile_to_shape(block, target, order=order)
    assert product_each(r.shape) == round_up(target, extents)
    assert len(set(points(r))) == size(r)
    for i, m in enumerate(block):
        assert points(r[i])[: size(m)] == points(m)
    assert tile_to_shape(block, target) == tile_to_shape(block, target, tuple(range(n)))
    hidden = hide(data.draw, target)
    assert points(reveal(tile_to_shape(block, hidden, order))) == points(r)
    s = ComposedLayout(abs, 0, block)
    assert tile_to_shape(s, target, order).outer == r


def test_tile_to_shape_examples():
    assert str(tile_to_shape(Layout((2, 2)), (8, 8))) == "((2,4),(2,4)):((1,4),(2,16))"
    assert str(tile_to_shape(Layout((3, 3)), (5, 8))) == "((3,2),(3,3)):((1,9),(3,18))"
    atom = make_ordered_layout((8, 64), (1, 0))
    r = tile_to_shape(atom, (128, 64, 3), order=(0, 1, 2))
    assert str(r) == "((8,16),(64,1),(1,3)):((64,512),(1,0),(0,8192))"
    assert str(tile_to_shape(Layout(4), 8)) == "((4,2)):((1,4))"
