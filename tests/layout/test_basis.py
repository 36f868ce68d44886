# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of scaled basis elements and coordinate sums."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencute.base.errors import LayoutError
from opencute.layout import (
    E,
    ScaledBasis,
    basis_get,
    basis_value,
    coord_add,
    coord_negate,
    coord_sub,
    flatten_to_tuple,
    idx2crd,
    inner_product,
    is_scaled_basis,
    make_basis_like,
    make_identity_layout,
    product,
)
from strategies import LAWS, Dyn, coordinates, int_tuples, reveal, shapes

pytestmark = pytest.mark.t0

flat = st.lists(st.integers(-9, 9), min_size=1, max_size=3).map(tuple)


def test_E():
    assert str(E(0)) == "1@0"
    assert str(E(0, 1)) == "1@1@0"
    assert str(E([0, 1])) == "1@1@0"
    assert str(4 * E(1)) == "4@1"
    assert str(E(1) * Dyn(8, 8)) == "?{div=8}@1"
    assert E() == 1
    assert E(2).as_tuple() == (0, 0, 1) and E(1, 1).as_tuple() == (0, (0, 1))
    assert str(make_identity_layout((2, (3, 4), 5))) == "(2,(3,4),5):(1@0,(1@0@1,1@1@1),1@2)"


@LAWS
@given(st.integers(-9, 9), st.integers(-9, 9), st.lists(st.integers(0, 3), min_size=1, max_size=3))
def test_ScaledBasis(a, b, mode):
    x = ScaledBasis(a, mode)
    assert (b * x) == (x * b) == ScaledBasis(a * b, mode)
    assert x + (-x) == coord_sub(x, x) == ScaledBasis(0, mode).as_tuple()
    assert hash(x) == hash(ScaledBasis(a, tuple(mode)))
    assert x != a and x != ScaledBasis(a, [*mode, 0])


def test_ScaledBasis_refuses_nonsense():
    with pytest.raises(LayoutError, match="OC1301"):
        ScaledBasis(1, (-1,))
    with pytest.raises(LayoutError, match="OC1301"):
        ScaledBasis(E(0), 1)
    with pytest.raises(LayoutError, match="OC1305"):
        coord_add((1, 2), 3)


@LAWS
@given(st.integers(-9, 9))
def test_basis_value(v):
    assert basis_value(v * E(2)) == v == basis_value(v)


@LAWS
@given(shapes())
def test_is_scaled_basis(shape):
    strides = flatten_to_tuple(make_identity_layout((shape, 2)).stride)
    assert all(map(is_scaled_basis, strides)) and not is_scaled_basis(1)


@LAWS
@given(flat)
def test_coord_negate(a):
    assert coord_add(a, coord_negate(a)) == (0,) * len(a)


@LAWS
@given(flat, flat, flat)
def test_coord_add(a, b, c):
    assert coord_add(a, b) == coord_add(b, a)
    assert coord_add(coord_add(a, b), c) == coord_add(a, coord_add(b, c))
    assert coord_add(a, 0) == coord_add(0, a) == a


@LAWS
@given(flat, flat)
def test_coord_sub(a, b):
    n = max(len(a), len(b))
    assert coord_add(coord_sub(a, b), b) == a + (0,) * (n - len(a))
    assert coord_negate(coord_negate(a)) == a


@LAWS
@given(st.data(), shapes())
def test_make_basis_like(data, shape):
    crd = idx2crd(data.draw(st.integers(0, product(shape) - 1)), shape)
    assert inner_product(crd, make_basis_like(shape)) == crd


@LAWS
@given(int_tuples())
def test_basis_get(shape):
    layout = make_identity_layout(shape)
    pairs = zip(flatten_to_tuple(shape), flatten_to_tuple(layout.stride), strict=True)
    assert all(basis_get(d, shape) == s for s, d in pairs)
    with pytest.raises(LayoutError, match="OC1305"):
        basis_get(E(7), shape)


@LAWS
@given(st.data(), shapes())
def test_identity_of_dynamic_coordinates(data, shape):
    crd = data.draw(coordinates(shape))
    i = make_identity_layout(shape)
    hidden = Dyn(crd) if isinstance(crd, int) else crd
    assert reveal(i(hidden)) == i(crd)
