# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of arithmetic on IntTuples."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from opencute.base.errors import LayoutError
from opencute.layout import (
    ceil_div,
    congruent,
    elem_less,
    elem_scale,
    flatten_to_tuple,
    idx2crd,
    inner_product,
    is_compatible,
    make_layout,
    prefix_product,
    product,
    product_each,
    product_like,
    repeat_like,
    round_up,
    shape_div,
    size,
    transform_leaf,
    tuple_equal,
    tuple_max,
    wrap,
)
from strategies import LAWS, Dyn, DynBool, dynamic, int_tuples, reveal, shapes

pytestmark = pytest.mark.t0

trees = int_tuples(max_leaves=6)


@LAWS
@given(trees, trees, st.data())
def test_product(a, b, data):
    assert product((a, b)) == product(a) * product(b)
    assert product(a) == math.prod(flatten_to_tuple(a))
    assert product(()) == 1
    plain, hidden = data.draw(dynamic(st.just(a)))
    assert reveal(product(hidden)) == product(plain)


@LAWS
@given(trees)
def test_product_each(t):
    assert product(product_each(t)) == product(t)
    assert len(product_each(t)) == len(wrap(t))


@LAWS
@given(trees)
def test_product_like(t):
    for guide in (0, repeat_like(0, t), tuple(0 for _ in wrap(t)) if isinstance(t, tuple) else 0):
        r = product_like(t, guide)
        assert congruent(r, guide) and product(r) == product(t)


@LAWS
@given(trees, st.integers(-5, 5))
def test_inner_product(t, k):
    scaled = transform_leaf(lambda x: k * x, t)
    assert inner_product(scaled, t) == k * inner_product(t, t) == inner_product(t, scaled)
    assert inner_product(t, repeat_like(1, t)) == sum(flatten_to_tuple(t))


@LAWS
@given(dynamic(trees), st.integers(1, 5))
def test_prefix_product(pair, init):
    t, hidden = pair
    flat = flatten_to_tuple(t)
    expected = tuple(init * math.prod(flat[:i]) for i in range(len(flat)))
    assert flatten_to_tuple(prefix_product(t, init)) == expected
    assert reveal(prefix_product(hidden, init)) == prefix_product(t, init)


@LAWS
@given(trees, st.integers(1, 5))
def test_elem_scale(t, k):
    r = elem_scale(t, transform_leaf(lambda x: (x, k), t))
    assert congruent(r, t)
    assert flatten_to_tuple(r) == tuple(x * x * k for x in flatten_to_tuple(t))


@LAWS
@given(trees)
def test_tuple_max(t):
    assert tuple_max(t) == max(flatten_to_tuple(t))


@LAWS
@given(dynamic(st.integers(1, 99)), dynamic(st.integers(1, 12)))
def test_ceil_div(a, b):
    (x, hx), (y, hy) = a, b
    q = reveal(ceil_div(hx, hy))
    assert (q - 1) * y < x <= q * y
    assert ceil_div((x, x, 7), (y, 1)) == (ceil_div(x, y), x, 7)
    assert reveal(ceil_div((hx, (hx,)), (hy, None))) == (q, (x,))
    assert ceil_div(x, (y, 2)) == ceil_div(x, 2 * y)


@LAWS
@given(int_tuples(st.sampled_from([1, 2, 4, 8]), 6), st.sampled_from([1, 2, 4, 8, 16, 32]))
def test_ceil_div_of_a_tuple_consumes(t, n):
    r = ceil_div(t, n)
    assert congruent(r, t) and size(r) * n >= size(t)


@LAWS
@given(dynamic(st.integers(1, 99)), dynamic(st.integers(1, 12)))
def test_round_up(a, b):
    (x, hx), (y, hy) = a, b
    r = reveal(round_up((hx, 5), (hy,)))
    assert r[0] % y == 0 and r[0] - y < x <= r[0] and r[1] == 5


@LAWS
@given(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=4), st.data())
def test_shape_div(extents, data):
    t = tuple(extents)
    n = data.draw(st.sampled_from([d for d in range(1, 65) if size(t) % d == 0]))
    assert product(shape_div(t, n)) * n == product(t)
    assert congruent(shape_div(t, n), t)
    assert shape_div(t, t) == repeat_like(1, t)
    hidden = tuple(Dyn(x) for x in t)
    assert reveal(shape_div(hidden, n)) == shape_div(t, n)


def test_shape_div_refuses_what_does_not_divide():
    with pytest.raises(LayoutError, match="neither of 6 and 4"):
        shape_div(6, 4)
    assert shape_div((3, 4), 6) == (1, 2)


@LAWS
@given(shapes(), st.data())
def test_elem_less(shape, data):
    crd = idx2crd(data.draw(st.integers(0, size(shape) - 1)), shape)
    assert elem_less(crd, shape) is True
    assert elem_less(shape, shape) is False
    hidden = transform_leaf(Dyn, crd)
    less = elem_less(hidden, shape)
    assert isinstance(less, DynBool) and less.value
    with pytest.raises(LayoutError, match="different profiles"):
        elem_less((crd, 0), shape if not isinstance(shape, tuple) else (shape,))


@LAWS
@given(shapes(), shapes())
def test_is_compatible(a, b):
    assert is_compatible(size(a), a) is True and is_compatible(a, a) is True
    assert not is_compatible(a, (b, 97))
    if is_compatible(a, b) and is_compatible(b, a):
        assert a == b
    assert is_compatible(make_layout(a), a)
    assume(isinstance(a, tuple))
    assert is_compatible(product_each(a), a)
    hidden = (Dyn(size(a)), 3)
    assert is_compatible(hidden, (a, 3)).value


@LAWS
@given(trees, trees)
def test_tuple_equal(a, b):
    assert tuple_equal(a, b) is (a == b)
    hidden = transform_leaf(Dyn, a)
    assert tuple_equal(hidden, a).value
    assert tuple_equal(hidden, hidden) is True
