# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of the integer protocol."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from opencute.base.errors import LayoutError
from opencute.layout import Layout, ScaledBasis, Swizzle
from opencute.layout import ints as I
from strategies import LAWS, Dyn, DynBool, RichDyn, dynamic, int_tuples, reveal

pytestmark = pytest.mark.t0

numbers = st.integers(1, 40)
pairs = st.tuples(dynamic(numbers), dynamic(numbers))


@LAWS
@given(dynamic(int_tuples(st.integers(0, 9))))
def test_is_static(pair):
    plain, hidden = pair
    assert I.is_static(plain)
    assert I.is_static(hidden) == ("?" not in I.to_str(hidden))


def test_is_static_of_objects():
    assert I.is_static(Layout((2, 3)))
    assert not I.is_static(Layout((2, Dyn(3))))
    assert I.is_static(Swizzle(3, 4, 3))
    assert not I.is_static(ScaledBasis(Dyn(3), 0))
    assert I.is_static((None, 3))


@LAWS
@given(dynamic(st.integers(0, 40)))
def test_divisibility(pair):
    plain, hidden = pair
    d = I.divisibility(hidden)
    assert plain % d == 0 if d else plain == 0


@LAWS
@given(st.integers(1, 12), dynamic(st.integers(0, 40)))
def test_divides(n, pair):
    plain, hidden = pair
    assert not I.divides(n, hidden) or plain % n == 0
    assert I.divides(n, plain) == (plain % n == 0)


@LAWS
@given(pairs)
def test_known_equal(values):
    (a, x), (b, y) = values
    assert not I.known_equal(x, y) or a == b
    assert I.known_equal(x, x)
    assert I.known_equal(a, b) == (a == b)


@LAWS
@given(pairs)
def test_add_and_mul(values):
    (a, x), (b, y) = values
    assert reveal(I.add(x, y)) == a + b
    assert reveal(I.mul(x, y)) == a * b


def test_mul_folds_what_is_known():
    n = Dyn(7)
    assert I.mul(0, n) == 0
    assert I.mul(1, n) is n
    assert I.add(0, n) is n
    assert I.floor_div(n, 1) is n
    assert I.mod(Dyn(16, 8), 4) == 0
    assert I.min_int(Dyn(16, 8), 8) == 8
    assert I.ceil_div_int(1, n) == 1


@LAWS
@given(pairs)
def test_floor_div_and_mod(values):
    (a, x), (b, y) = values
    assert reveal(I.floor_div(x, y)) == a // b
    assert reveal(I.mod(x, y)) == a % b


@LAWS
@given(pairs)
def test_ceil_div_int(values):
    (a, x), (b, y) = values
    q = reveal(I.ceil_div_int(x, y))
    assert (q - 1) * b < a <= q * b


@LAWS
@given(pairs)
def test_shape_div_int(values):
    (a, x), (b, y) = values
    assume(a % b == 0 or b % a == 0)
    assert reveal(I.shape_div_int(x, y)) == max(a // b, 1)


@LAWS
@given(pairs)
def test_min_int(values):
    (a, x), (b, y) = values
    assert reveal(I.min_int(x, y)) == min(a, b)


@LAWS
@given(pairs)
def test_exact_div(values):
    (a, x), (b, y) = values
    assert reveal(I.exact_div(I.mul(x, y), y)) == a
    if (a * b + 1) % b:
        with pytest.raises(LayoutError, match="does not divide"):
            I.exact_div(a * b + 1, b)


def test_division_by_zero_is_a_layout_error():
    for f in (I.floor_div, I.mod, I.ceil_div_int, I.shape_div_int):
        with pytest.raises(LayoutError, match="OC1302"):
            f(3, 0)


@LAWS
@given(st.integers(0, 70))
def test_width(bits):
    assert I.width(1 << bits) == (32 if bits < 31 else 64)
    assert I.width(Dyn(1, 1, 64)) == 64


@LAWS
@given(dynamic(st.integers(0, 9)))
def test_is_int(pair):
    for x in pair:
        assert I.is_int(x) and I.is_static_int(x) != I.is_dynamic_int(x)
    assert not I.is_int(True) and not I.is_int((1,)) and not I.is_int(1.0)


def test_is_dynamic_int():
    assert I.is_dynamic_int(Dyn(1)) and not I.is_dynamic_int(1) and not I.is_dynamic_int(Dyn)


def test_is_static_int():
    assert I.is_static_int(1) and not any(map(I.is_static_int, (True, 1.0, Dyn(1), None)))


@LAWS
@given(int_tuples(st.integers(-9, 9)))
def test_to_str_of_static_tuples(t):
    assert I.to_str(t) == str(t).replace(" ", "").replace(",)", ")")


def test_to_str():
    assert I.to_str((4, (Dyn(2), 3))) == "(4,(?,3))"
    assert I.to_str(Dyn(8, 4)) == "?{div=4}"
    assert I.to_str(Dyn(8, 1, 64)) == "?{i64}"
    assert I.to_str(Dyn(8, 8, 64)) == "?{i64 div=8}"
    assert I.to_str((None, 1)) == "(_,1)"
    assert I.to_str((3,)) == "(3)"


def test_normalize_takes_lists_and_foreign_integers():
    class Foreign:
        def __index__(self):
            return 5

    assert I.normalize([2, (3, [Foreign()])]) == (2, (3, (5,)))
    for bad in (True, 1.5, "3", None):
        with pytest.raises(LayoutError, match="OC1301"):
            I.normalize((1, bad))


def test_the_test_integer_refuses_branches():
    with pytest.raises(TypeError, match="branched"):
        bool(Dyn(1) < 2)
    assert isinstance(Dyn(1) == 1, DynBool)
    assert RichDyn(6).__ceil_div__(4).hidden == math.ceil(6 / 4)
