# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Promotion: its table, and its laws over every pair and triple of types."""

from __future__ import annotations

from itertools import product
from typing import Any, cast

import pytest

from opencute.base.errors import TypeMismatchError
from opencute.numeric.dtypes import DTYPES, DType
from opencute.numeric.promotion import holds, promote

pytestmark = pytest.mark.t0

TYPES = list(DTYPES.values())
WEAK: list[Any] = [bool, int, float]


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        ("i8", "i32", "i32"),
        ("u8", "u64", "u64"),
        ("i32", "u32", "u32"),
        ("i64", "u32", "i64"),
        ("i8", "u4", "i8"),
        ("i128", "u64", "i128"),
        ("i1", "i1", "i1"),
        ("i1", "u8", "u8"),
        ("i1", "f16", "f16"),
        ("i64", "f16", "f16"),
        ("u128", "f8e5m2", "f8e5m2"),
        ("f16", "bf16", "f32"),
        ("f16", "f32", "f32"),
        ("bf16", "f64", "f64"),
        ("tf32", "f16", "f32"),
        ("tf32", "bf16", "f32"),
        ("tf32", "f32", "f32"),
        ("tf32", "f8e4m3fn", "tf32"),
        ("f8e4m3fn", "f16", "f16"),
        ("f8e5m2", "bf16", "bf16"),
        ("f8e4m3fn", "f32", "f32"),
        ("f8e4m3fn", "f8e5m2", "f16"),
        ("f8e4m3fn", "f8e4m3", "f16"),
        ("f4e2m1fn", "f8e4m3fn", "f8e4m3fn"),
        ("f4e2m1fn", "f6e2m3fn", "f6e2m3fn"),
        ("f6e2m3fn", "f6e3m2fn", "f16"),
        ("f8e8m0fnu", "f16", "f32"),
        ("f8e8m0fnu", "bf16", "bf16"),
        ("f8e8m0fnu", "f8e4m3fn", "f32"),
    ],
)
def test_the_table(a: str, b: str, want: str) -> None:
    assert promote(DTYPES[a], DTYPES[b]).name == want


@pytest.mark.parametrize(
    ("literal", "other", "want"),
    [
        (int, "i8", "i8"),
        (int, "u64", "u64"),
        (int, "f16", "f16"),
        (int, "i1", "i32"),
        (float, "bf16", "bf16"),
        (float, "f64", "f64"),
        (float, "f8e4m3fn", "f8e4m3fn"),
        (float, "i64", "f32"),
        (float, "i1", "f32"),
        (bool, "i1", "i1"),
        (bool, "u8", "u8"),
        (bool, "f16", "f16"),
    ],
)
def test_python_numbers_are_weak(literal: type, other: str, want: str) -> None:
    assert promote(cast(Any, literal), DTYPES[other]).name == want
    assert promote(DTYPES[other], cast(Any, literal)).name == want


def test_two_python_numbers() -> None:
    assert promote(int, int).name == "i32"
    assert promote(bool, bool).name == "i1"
    assert promote(int, float).name == promote(float, bool).name == "f32"


def test_symmetric_and_idempotent() -> None:
    for a in TYPES:
        assert promote(a, a) is a
    for a, b in product(TYPES + WEAK, repeat=2):
        assert promote(a, b) is promote(b, a)


def test_a_float_result_holds_both_floats() -> None:
    floats = [t for t in TYPES if t.is_float]
    for a, b in product(floats, repeat=2):
        assert holds(promote(a, b), a), (a, b)


def test_an_operand_promotes_into_the_result_without_change() -> None:
    for a, b in product(TYPES, repeat=2):
        c = promote(a, b)
        assert promote(c, a) is c, (a, b)


def test_associative_with_the_documented_exceptions_only() -> None:
    def is_documented(*types: DType) -> bool:
        narrow = [t for t in types if t.is_float and t.width < 16]
        return any(promote(x, y) not in (x, y) for x, y in product(narrow, repeat=2))

    exceptions = 0
    for a, b, c in product(TYPES, repeat=3):
        if promote(promote(a, b), c) is not promote(a, promote(b, c)):
            assert is_documented(a, b, c), (a, b, c)
            exceptions += 1
    assert exceptions > 0  # the docstring would be wrong otherwise


def test_holds_means_a_round_trip_of_every_pattern() -> None:
    np = pytest.importorskip("numpy")
    small = [t for t in TYPES if t.is_float and t.width <= 8]
    for wide, narrow in product([t for t in TYPES if t.is_float and t.name != "tf32"], small):
        codes = np.arange(1 << narrow.width, dtype=np.uint8).view(narrow.numpy_dtype)
        exact = codes.astype(np.float64)
        with np.errstate(all="ignore"):
            back = exact.astype(wide.numpy_dtype).astype(np.float64)
        same = (exact == back) & (np.signbit(exact) == np.signbit(back))
        same |= np.isnan(exact) & np.isnan(back) & wide.has_nan
        assert bool(same.all()) == holds(wide, narrow), (wide, narrow)


@pytest.mark.parametrize("bad", [str, complex, "f16", None, 1])
def test_other_operands_are_refused(bad: Any) -> None:
    with pytest.raises(TypeMismatchError) as e:
        promote(bad, DTYPES["f16"])
    assert e.value.code == "OC1609"
