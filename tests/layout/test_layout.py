# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of layouts and their constructors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencute.base.errors import LayoutError
from opencute.layout import (
    E,
    Layout,
    flatten_to_tuple,
    idx2crd,
    inner_product,
    make_identity_layout,
    make_layout,
    make_layout_like,
    make_ordered_layout,
    product,
    size,
    unflatten,
)
from strategies import (
    LAWS,
    Dyn,
    DynBool,
    compact_layouts,
    coordinates,
    dynamic,
    layouts,
    points,
    reveal,
    shapes,
)

pytestmark = pytest.mark.t0


@LAWS
@given(dynamic(layouts()), st.data())
def test_Layout(pair, data):
    a, hidden = pair
    i = data.draw(st.integers(0, a.size() - 1))
    crd = idx2crd(i, a.shape)
    assert a(i) == a(crd) == inner_product(crd, a.stride)
    assert a(data.draw(coordinates(a.shape))) in points(a)
    assert reveal(hidden(Dyn(i))) == reveal(hidden(crd)) == a(i)
    assert reveal(hidden) == a and hash(a) == hash(Layout(a.shape, a.stride))
    assert a.rank == len(a) == len(list(a))


@LAWS
@given(layouts())
def test_offsets(a):
    assert a.offsets() == [a(i) for i in range(a.size())]


def test_Layout_prints_like_cute():
    assert str(Layout((4, (2, 3)), (1, (4, 8)))) == "(4,(2,3)):(1,(4,8))"
    assert str(Layout((Dyn(4), 2), (1, Dyn(8, 8, 64)))) == "(?,2):(1,?{i64 div=8})"
    assert str(Layout((4,), (3,))) == "(4):(3)"
    assert str(Layout(4)) == "4:1"
    assert str(Layout((1, 4))) == "(1,4):(0,1)"
    assert repr(Layout([4, [2, 3]])) == "Layout((4,(2,3)):(1,(4,8)))"


def test_Layout_refuses_what_is_not_congruent():
    with pytest.raises(LayoutError, match=r"differ in profile") as e:
        Layout((4, (2, 3)), (1, 4))
    assert "(4,(2,3))" in str(e.value) and "(1,4)" in str(e.value)
    with pytest.raises(LayoutError, match="OC1301"):
        Layout((4, "a"))
    with pytest.raises(AttributeError):
        Layout(4).shape = 5
    with pytest.raises(LayoutError, match="OC1307"):
        Layout((4, 2))[2]


def test_Layout_equality_is_dynamic_where_it_must_be():
    n = Dyn(4)
    assert Layout((n, 2), (2, 1)) == Layout((n, 2), (2, 1))
    assert (Layout((n, 2), (2, 1)) == Layout((n, 2), (1, 1))) is False
    unknown = Layout((n, 2), (2, 1)) == Layout((4, 2), (2, 1))
    assert isinstance(unknown, DynBool) and unknown.value
    assert (Layout(4) == 4) is False
    assert hash(Layout((n, E(0) and 2), (E(0), 1))) is not None


def test_offsets_of_64_bits():
    a = Layout((1 << 20, 1 << 20), (1 << 20, 1))
    assert a((1 << 20) - 1, (1 << 20) - 1) == (1 << 40) - 1
    assert Layout((4, 4), (1 << 33, 1))(3, 3) == 3 * (1 << 33) + 3
    assert reveal(Layout((4, 4), (1 << 33, 1))(Dyn(3), Dyn(2))) == 3 * (1 << 33) + 2


@LAWS
@given(st.lists(layouts(20), min_size=1, max_size=3))
def test_make_layout(parts):
    r = make_layout(*parts)
    assert list(r) == parts and list(make_layout(parts)) == parts
    assert make_layout(r.shape, stride=r.stride) == r
    assert points(make_layout(parts[0].shape)) == list(range(size(parts[0])))


def test_make_layout_refuses_mixtures():
    with pytest.raises(LayoutError, match="OC1301"):
        make_layout(4, Layout(4))
    with pytest.raises(LayoutError, match="OC1301"):
        make_layout(Layout(4), 4)


@LAWS
@given(shapes(), st.data())
def test_make_ordered_layout(shape, data):
    n = len(flatten_to_tuple(shape))
    order = unflatten(data.draw(st.permutations(range(n))), shape)
    r = make_ordered_layout(shape, order=order)
    assert sorted(points(r)) == list(range(size(shape)))
    assert make_ordered_layout(shape) == make_layout(shape)


def test_make_ordered_layout_examples():
    assert str(make_ordered_layout((4, 32), order=(1, 0))) == "(4,32):(32,1)"
    assert str(make_ordered_layout((4, 3, 8, 2), order=(2, 1, 3, 0))) == "(4,3,8,2):(6,2,24,1)"
    assert str(make_ordered_layout((4, 8, (2, 3)), order=(1, 0, (2, 3)))) == (
        "(4,8,(2,3)):(8,1,(32,64))"
    )
    with pytest.raises(LayoutError, match="differ in rank"):
        make_ordered_layout((4, 2), order=(0, 1, 2))


@LAWS
@given(shapes())
def test_make_identity_layout(shape):
    i = make_identity_layout(shape)
    for k in range(product(shape)):
        assert i(k) == idx2crd(k, shape) == i(idx2crd(k, shape))


@LAWS
@given(compact_layouts(gaps=True))
def test_make_layout_like(layout):
    r = make_layout_like(layout)
    before, after = points(layout), points(r)
    assert sorted(after) == list(range(size(layout)))
    assert sorted(range(len(before)), key=before.__getitem__) == sorted(
        range(len(after)), key=after.__getitem__
    )


def test_make_layout_like_keeps_zeros():
    assert str(make_layout_like(Layout((2, 3, 4, 5), (0, 42, 1, 0)))) == "(2,3,4,5):(0,4,1,0)"
    with pytest.raises(LayoutError, match="OC1310"):
        make_layout_like(make_identity_layout((2, 3)))


@LAWS
@given(compact_layouts(), st.data())
def test_get_hier_coord(layout, data):
    i = data.draw(st.integers(0, layout.size() - 1))
    assert layout(layout.get_hier_coord(i)) == i
    flat = layout.get_flat_coord(i)
    assert layout(flat) == i
    assert not isinstance(flat, tuple) or not any(isinstance(c, tuple) for c in flat)
    assert layout(layout.get_1d_coord(i)) == i


def test_negative_extents_are_refused():
    for shape in (-1, (-1, 3), (2, (3, -4))):
        with pytest.raises(LayoutError, match="OC1368"):
            make_layout(shape)
        with pytest.raises(LayoutError, match="OC1368"):
            Layout(shape)
    assert make_layout(3, stride=-1)(2) == -2


def test_empty_modes_have_no_coordinate_and_no_error():
    a = make_layout((0, 3))
    assert a.size() == 0
    assert isinstance(a(2), int)
    assert isinstance(make_layout((2, 0), stride=(1, 2))(5), int)
