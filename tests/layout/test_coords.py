# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of coordinates and compact strides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencute.base.errors import LayoutError
from opencute.layout import (
    Layout,
    compact_col_major,
    compact_order,
    compact_row_major,
    congruent,
    crd2crd,
    crd2idx,
    flatten_to_tuple,
    idx2crd,
    increment_coord,
    product,
    transform_leaf,
    unflatten,
)
from strategies import LAWS, Dyn, compact_layouts, coordinates, dynamic, points, reveal, shapes

pytestmark = pytest.mark.t0


@LAWS
@given(dynamic(shapes()), st.data())
def test_idx2crd(pair, data):
    shape, hidden = pair
    i = data.draw(st.integers(0, product(shape) - 1))
    crd = idx2crd(i, shape)
    assert congruent(crd, shape) and crd2idx(crd, shape) == i
    assert idx2crd(i, shape, compact_col_major(shape)) == crd
    assert reveal(idx2crd(Dyn(i), hidden)) == crd
    assert reveal(crd2idx(transform_leaf(Dyn, crd), hidden)) == i


@LAWS
@given(compact_layouts(), st.data())
def test_idx2crd_with_strides(layout, data):
    i = data.draw(st.integers(0, layout.size() - 1))
    assert layout(idx2crd(i, layout.shape, layout.stride)) == i


@LAWS
@given(shapes(), st.data())
def test_crd2crd(shape, data):
    crd = data.draw(coordinates(shape))
    for other in (product(shape), shape, (product(shape), 1)):
        if isinstance(crd, tuple) and isinstance(other, tuple) and other is not shape:
            continue
        assert crd2idx(crd2crd(crd, shape, other), other) == crd2idx(crd, shape)


@LAWS
@given(shapes(), st.data())
def test_increment_coord(shape, data):
    i = data.draw(st.integers(0, product(shape) - 1))
    nxt = increment_coord(idx2crd(i, shape), shape)
    assert crd2idx(nxt, shape) == (i + 1) % product(shape)


@LAWS
@given(dynamic(shapes()))
def test_compact_col_major(pair):
    shape, hidden = pair
    layout = Layout(shape, compact_col_major(shape))
    assert points(layout) == list(range(product(shape)))
    r = Layout(reveal(hidden), reveal(compact_col_major(hidden)))
    assert points(r) == points(layout)


@LAWS
@given(shapes())
def test_compact_row_major(shape):
    def mirror(t):
        return tuple(mirror(i) for i in reversed(t)) if isinstance(t, tuple) else t

    assert compact_row_major(shape) == mirror(compact_col_major(mirror(shape)))


@LAWS
@given(shapes(), st.data())
def test_compact_order(shape, data):
    n = len(flatten_to_tuple(shape))
    keys = data.draw(st.permutations(range(n)))
    strides = compact_order(shape, unflatten(keys, shape))
    layout = Layout(shape, strides)
    assert sorted(points(layout)) == list(range(product(shape)))
    rows = sorted(zip(keys, flatten_to_tuple(shape), flatten_to_tuple(strides), strict=True))
    steps = [d for _, s, d in rows if s != 1]
    assert steps == sorted(steps)


def test_compact_order_examples():
    assert compact_order((2, 2, 2, 2), (0, 2, 3, 1)) == (1, 4, 8, 2)
    order = (2, Dyn(67), Dyn(42), 50)
    assert compact_order((2, 3, 4, 5), order) == (1, 10, 30, 2)
    assert compact_order((4, 5, 6), (1, 1, 0)) == (6, 24, 1)
    assert compact_order((1, 4), (0, 1)) == (0, 1)
    assert str(Layout((4, 3, Dyn(5), 2), compact_order((4, 3, Dyn(5), 2), (2, 1, 3, 4)))) == (
        "(4,3,?,2):(3,1,12,?{div=12})"
    )


def test_bad_coordinates_name_both():
    for crd, shape in (((1, 2, 3), (4, 8)), ((1, 2), 4), ((1, (2, 3)), (4, 8))):
        with pytest.raises(LayoutError, match="does not fit the shape"):
            crd2idx(crd, Layout(shape))
