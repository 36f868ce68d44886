# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of trees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencute.base.errors import LayoutError
from opencute.layout import (
    congruent,
    find,
    find_if,
    flatten_to_tuple,
    has_none,
    insert,
    product,
    remove,
    repeat,
    repeat_like,
    replace,
    transform_leaf,
    unflatten,
    unwrap,
    weakly_congruent,
    wrap,
)
from opencute.layout import tuples as tp
from strategies import LAWS, Dyn, int_tuples, slice_coordinates

pytestmark = pytest.mark.t0

trees = int_tuples(st.integers(0, 9), max_leaves=6)


@LAWS
@given(trees)
def test_flatten_to_tuple(t):
    flat = flatten_to_tuple(t)
    assert unflatten(flat, t) == t
    assert not any(isinstance(i, tuple) for i in flat)
    assert product(flat) == product(t)


@LAWS
@given(trees, st.data())
def test_unflatten(profile, data):
    n = len(flatten_to_tuple(profile))
    leaves = tuple(data.draw(st.lists(st.integers(), min_size=n, max_size=n)))
    r = unflatten(leaves, profile)
    assert congruent(r, profile) and flatten_to_tuple(r) == leaves
    with pytest.raises(LayoutError, match="OC1306"):
        unflatten((*leaves, 1), profile)


@LAWS
@given(trees)
def test_transform_leaf(t):
    r = transform_leaf(lambda x: x + 1, t)
    assert flatten_to_tuple(r) == tuple(x + 1 for x in flatten_to_tuple(t))
    assert congruent(r, t)
    with pytest.raises(LayoutError, match="OC1306"):
        transform_leaf(lambda x, y: x, (t, t), (t,))


@LAWS
@given(trees)
def test_repeat_like(t):
    r = repeat_like(None, t)
    assert congruent(r, t) and all(x is None for x in flatten_to_tuple(r))


@LAWS
@given(trees, st.integers(0, 4))
def test_repeat(t, n):
    assert len(repeat(t, n)) == n and all(x == t for x in repeat(t, n))


@LAWS
@given(trees, trees)
def test_congruent(a, b):
    assert congruent(a, a) and congruent(a, b) == congruent(b, a)
    assert congruent(a, repeat_like(0, a))
    assert congruent(a, b) == (repeat_like(0, a) == repeat_like(0, b))


@LAWS
@given(trees, trees)
def test_weakly_congruent(a, b):
    assert weakly_congruent(0, a) and weakly_congruent(a, a)
    assert (weakly_congruent(a, b) and weakly_congruent(b, a)) == congruent(a, b)


@LAWS
@given(trees, st.integers(0, 2), trees)
def test_insert(t, i, x):
    i = min(i, len(wrap(t)))
    assert remove(insert(t, i, x), i) == wrap(t)
    assert insert(t, i, x)[i] == x


@LAWS
@given(trees, trees)
def test_remove(t, x):
    assert remove((*wrap(t), x), len(wrap(t))) == wrap(t)
    with pytest.raises(LayoutError, match="OC1307"):
        remove(t, 99)


@LAWS
@given(trees, st.data(), trees)
def test_replace(t, data, x):
    i = data.draw(st.integers(0, len(wrap(t)) - 1))
    r = replace(t, i, x)
    assert r[i] == x and remove(r, i) == remove(t, i)


@LAWS
@given(st.lists(st.integers(0, 5), min_size=1), st.integers(0, 5))
def test_find(items, x):
    expected = items.index(x) if x in items else None
    assert find(tuple(items), x) == expected


@LAWS
@given(st.lists(st.integers(0, 5), min_size=1), st.integers(0, 5))
def test_find_if(items, x):
    expected = items.index(x) if x in items else None
    assert find_if(tuple(items), lambda i: i == x) == expected


def test_find_does_not_compare_dynamic_values():
    n = Dyn(3)
    assert find((3, n), n) == 1
    assert find((n, 3), 3) == 1


@LAWS
@given(trees)
def test_unwrap(t):
    assert unwrap(((t,),)) == unwrap(t)


@LAWS
@given(trees)
def test_wrap(t):
    assert wrap(t) == (t if isinstance(t, tuple) else (t,)) == wrap(wrap(t))


@LAWS
@given(trees)
def test_has_none(t):
    assert not has_none(t)
    assert has_none((t, None))


@LAWS
@given(trees, st.data())
def test_slice_and_dice_share_out_the_leaves(t, data):
    crd = data.draw(slice_coordinates(transform_leaf(lambda x: x + 1, t)))
    kept = flatten_to_tuple(tp.slice_tuple(crd, t)) if tp.slice_tuple(crd, t) != () else ()
    cut = flatten_to_tuple(tp.dice_tuple(crd, t)) if tp.dice_tuple(crd, t) != () else ()
    assert sorted(kept + cut) == sorted(flatten_to_tuple(t))


def test_slice_flattens_like_cute():
    assert tp.slice_tuple((None, (None, 0)), ("A", ("B", "C"))) == ("A", "B")
    assert tp.slice_tuple(None, (1, 2)) == (1, 2)
    with pytest.raises(LayoutError, match="OC1308"):
        tp.slice_tuple((None, 0), (1, 2, 3))


def test_zip2_by_gathers_pairs():
    t = (("A", "a"), (("B", "b"), "C"))
    assert tp.zip2_by(t, (0, (0,))) == (("A", ("B",)), ("a", ("b", "C")))
