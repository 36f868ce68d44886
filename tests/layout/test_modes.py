# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of what works alike on tuples, layouts and composed layouts."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from opencute.base.errors import LayoutError
from opencute.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    append,
    append_ones,
    coshape,
    cosize,
    crd2idx,
    depth,
    dice,
    domain_offset,
    elem_less,
    flatten,
    flatten_to_tuple,
    get,
    group_modes,
    has_none,
    make_identity_layout,
    prepend,
    prepend_ones,
    product,
    rank,
    select,
    shape,
    size,
    slice_,
    slice_and_offset,
    stride,
    wrap,
    zip_modes,
)
from strategies import (
    LAWS,
    Dyn,
    coordinates,
    dynamic,
    int_tuples,
    layouts,
    points,
    reveal,
    shapes,
    slice_coordinates,
)

pytestmark = pytest.mark.t0


@LAWS
@given(dynamic(layouts()))
def test_size(pair):
    a, hidden = pair
    assert size(a) == product([size(m) for m in a] and tuple(size(m) for m in a))
    assert reveal(size(hidden)) == size(a) == size(a.shape)
    assert size(a, mode=[0]) == size(a[0]) == size(a, mode=0)


@LAWS
@given(dynamic(layouts()))
def test_cosize(pair):
    a, hidden = pair
    assert cosize(a) == max(points(a)) + 1
    assert reveal(cosize(hidden)) == cosize(a)
    assert cosize(a, mode=[0]) == max(points(a[0])) + 1
    assert cosize(ComposedLayout(Swizzle(1, 0, 1), 0, a)) == cosize(a)


@LAWS
@given(shapes())
def test_coshape(s):
    i = make_identity_layout(s)
    assert coshape(i) == s or not isinstance(s, tuple)
    assert all(elem_less(i(k), coshape(i)) for k in range(size(s)))
    assert coshape(Layout(4, -2)) == 7


@LAWS
@given(layouts())
def test_rank(a):
    assert rank(a) == len(wrap(a.shape)) == rank(a.shape) == len(list(a))


@LAWS
@given(layouts())
def test_depth(a):
    assert (
        depth(a)
        == depth(a.shape)
        == (0 if not isinstance(a.shape, tuple) else 1 + max(depth(m) for m in a))
    )
    assert depth(flatten(a)) <= 1


@LAWS
@given(layouts())
def test_shape(a):
    assert shape(a) == a.shape and shape(a, mode=[0]) == a[0].shape
    assert shape(ComposedLayout(abs, 0, a), mode=[0]) == a[0].shape


@LAWS
@given(layouts())
def test_stride(a):
    assert stride(a) == a.stride and stride(a, mode=[0]) == a[0].stride
    with pytest.raises(LayoutError, match="OC1301"):
        stride(ComposedLayout(Swizzle(1, 0, 1), 0, a))


@LAWS
@given(layouts())
def test_flatten(a):
    assert points(flatten(a)) == points(a)
    assert flatten(a.shape) == flatten(a).shape
    assert flatten(7) == 7


@LAWS
@given(layouts(), st.data())
def test_select(a, data):
    modes = data.draw(st.lists(st.integers(0, a.rank - 1), min_size=1, max_size=3))
    r = select(a, mode=modes)
    assert [r[i] for i in range(len(modes))] == [a[m] for m in modes]
    assert select(a.shape, mode=modes) == r.shape


@LAWS
@given(layouts(), st.data())
def test_get(a, data):
    path, sub = [], a
    while isinstance(sub.shape, tuple) and data.draw(st.booleans()):
        i = data.draw(st.integers(0, sub.rank - 1))
        path, sub = [*path, i], sub[i]
    assert get(a, mode=path) == sub
    assert get(get(a, mode=path[:1]), mode=path[1:]) == sub
    assert get(a.shape, mode=path) == sub.shape
    with pytest.raises(LayoutError, match="OC1307"):
        get(a, mode=[9])


@LAWS
@given(layouts(), st.data())
def test_group_modes(a, data):
    b = data.draw(st.integers(0, a.rank - 1))
    e = data.draw(st.integers(b + 1, a.rank))
    r = group_modes(a, b, e)
    assert points(r) == points(a) and r.rank == a.rank - (e - b) + 1
    assert group_modes(a, b) == group_modes(a, b, a.rank)
    assert group_modes(a.shape, begin=b, end=e) == r.shape
    with pytest.raises(LayoutError, match="OC1307"):
        group_modes(a, 0, a.rank + 1)


@LAWS
@given(layouts(30), layouts(30), st.integers(0, 3))
def test_append(a, x, more):
    r = append(a, x)
    assert [r[i] for i in range(a.rank)] == list(a) and r[a.rank] == x
    assert append(a, x, up_to_rank=a.rank + more).rank == a.rank + more
    assert append(3, 4) == (3, 4) and append((1, 2), (3, 4)) == (1, 2, (3, 4))
    with pytest.raises(LayoutError, match="OC1301"):
        append(a, 4)
    with pytest.raises(LayoutError, match="OC1307"):
        append((1, 2, 3), 4, up_to_rank=2)


@LAWS
@given(layouts(30), layouts(30))
def test_prepend(a, x):
    r = prepend(a, x)
    assert r[0] == x and [r[i + 1] for i in range(a.rank)] == list(a)
    assert prepend((1, 2), 0) == (0, 1, 2)


@LAWS
@given(layouts(60))
def test_append_ones(a):
    r = append_ones(a, up_to_rank=a.rank + 2)
    assert points(r) == points(a) and r.rank == a.rank + 2
    assert append_ones((2, 3), up_to_rank=3) == (2, 3, 1)


@LAWS
@given(layouts(60))
def test_prepend_ones(a):
    r = prepend_ones(a, up_to_rank=a.rank + 2)
    assert points(r) == points(a) and r.rank == a.rank + 2


@LAWS
@given(st.lists(st.tuples(int_tuples(), int_tuples(), int_tuples()), min_size=1, max_size=3))
def test_zip_modes(rows):
    t = tuple(rows)
    assert zip_modes(zip_modes(t)) == t
    assert str(zip_modes(Layout(((2, 3), (4, 5))))) == "((2,4),(3,5)):((1,6),(2,24))"


@LAWS
@given(layouts(), st.data())
def test_crd2idx(a, data):
    crd = data.draw(coordinates(a.shape))
    assert crd2idx(crd, a) == a(crd) == crd2idx(crd, a.shape, a.stride)
    assert crd2idx(crd, a.shape) == Layout(a.shape)(crd)
    s = ComposedLayout(Swizzle(2, 0, 2), 5, a)
    assert crd2idx(crd, s) == s(crd)


def fill(crd, values):
    """A coordinate with the next of some values for each None."""
    if isinstance(crd, tuple):
        return tuple(fill(c, values) for c in crd)
    return next(values) if crd is None else crd


@LAWS
@given(dynamic(layouts()), st.data())
def test_slice_and_offset(pair, data):
    a, hidden = pair
    crd = data.draw(slice_coordinates(a.shape))
    sub, offset = slice_and_offset(crd, a)
    kept = [size(m) for m in wrap_layout(sub, crd)]
    values = [data.draw(st.integers(0, n - 1)) for n in kept]
    full = fill(crd, iter(values))
    at = sub(values[0]) if crd is None else (sub(tuple(values)) if values else 0)
    assert at + offset == a(full)
    assert reveal(slice_and_offset(crd, hidden)) == (sub, offset)
    assert a(crd) == (sub if has_none(crd) else a(full))


def wrap_layout(sub, crd):
    return [sub] if crd is None else list(sub)


@LAWS
@given(layouts(), st.data())
def test_slice_(a, data):
    crd = data.draw(slice_coordinates(a.shape))
    assert slice_(a, crd) == slice_and_offset(crd, a)[0]
    assert slice_(a.shape, crd) == slice_(a, crd).shape


@LAWS
@given(layouts(), st.data())
def test_dice(a, data):
    crd = data.draw(slice_coordinates(a.shape))

    def leaves(x):
        pairs = zip(flatten_to_tuple(x.shape), flatten_to_tuple(x.stride), strict=True)
        return sorted(pairs) if x.shape != () else []

    assert sorted(leaves(dice(a, crd)) + leaves(slice_(a, crd))) == leaves(a)
    assert dice((1, 2, 3), (1, None, 1)) == (1, 3)
    assert a.dice(crd) == dice(a, crd)


@LAWS
@given(layouts(), st.data())
def test_domain_offset(a, data):
    assume(isinstance(a.shape, tuple))
    start = tuple(data.draw(st.integers(0, 5)) for _ in range(a.rank))
    moved, offset = domain_offset(start, a)
    zero = (0,) * a.rank
    assert moved(zero) + offset == a(start)
    c = ComposedLayout(Swizzle(2, 0, 2), 3, a)
    moved, offset = domain_offset(start, c)
    assert offset == 0 and moved(zero) == c(start)
    moved, offset = domain_offset(tuple(map(Dyn, start)), c)
    assert reveal(moved(zero)) == c(start)
