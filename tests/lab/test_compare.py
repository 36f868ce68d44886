# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Structure and values, judged against plain statements of what is equal."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencute.lab.arrays import Frozen, freeze
from opencute.lab.compare import Comparison, compare
from opencute.lab.rules import Tolerance

pytestmark = pytest.mark.t0

EXACT = Tolerance(0.0, 0.0)
LOOSE = Tolerance(1e-3, 1e-3)


def check(a: Any, b: Any, tolerance: Tolerance = LOOSE) -> Comparison:
    return compare(freeze(a), freeze(b), tolerance)


def test_equal_arrays_are_right() -> None:
    found = check(np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3), EXACT)
    assert found.ok
    assert found.largest("max_abs_diff") == 0.0
    assert found.largest("max_rel_diff") == 0.0


@pytest.mark.parametrize(
    ("a", "b", "word"),
    [
        (np.zeros((2, 1)), np.zeros((2, 3)), "shape"),
        (np.zeros(3), np.zeros((1, 3)), "shape"),
        (np.zeros(()), np.zeros(1), "shape"),
        (np.zeros(2, np.float32), np.zeros(2), "dtype"),
        (np.zeros(2, np.int32), np.zeros(2, np.uint32), "dtype"),
        ((np.zeros(2),), np.zeros(2), "tuple"),
        ([np.zeros(2)], (np.zeros(2),), "list"),
        ((np.zeros(2),), (np.zeros(2), np.zeros(2)), "1 value, the reference 2"),
        ({"a": np.zeros(2)}, {"b": np.zeros(2)}, "keys"),
        (0.0, np.zeros(()), "float"),
        (1, 1.0, "int"),
        (True, 1, "bool"),
        (None, np.zeros(1), "NoneType"),
        ("a", "b", "gives"),
        (object(), object(), "compared"),
    ],
)
def test_structure_must_be_the_same(a: Any, b: Any, word: str) -> None:
    found = check(a, b)
    assert not found.ok
    assert word in found.problems[0]


def test_nested_containers_name_the_path() -> None:
    found = check({"a": [np.zeros(2), np.ones(2)]}, {"a": [np.zeros(2), np.zeros(2)]})
    assert found.problems[0].startswith("output['a'][1]: 2 of 2 elements")
    assert found.leaves[1]["first_wrong"]["index"] == [0]


def test_cuda_and_cpu_differ() -> None:
    data = np.zeros(2)
    on_gpu = Frozen("torch", "cuda:0", "float64", (2,), data)
    on_cpu = Frozen("torch", "cpu", "float64", (2,), data)
    assert "device" in compare(on_cpu, on_gpu, LOOSE).problems[0]
    library = compare(Frozen("numpy", "cpu", "float64", (2,), data), on_cpu, LOOSE)
    assert "numpy array" in library.problems[0]


def test_the_formula_is_relative_to_the_reference() -> None:
    tolerance = Tolerance(rtol=0.5, atol=0.0)
    assert check(np.array([1.0]), np.array([2.0]), tolerance).ok
    assert not check(np.array([2.0]), np.array([1.0]), tolerance).ok
    assert check(np.array([0.5]), np.array([0.0]), Tolerance(0.0, 0.5)).ok


def test_the_relative_difference_divides_by_the_reference() -> None:
    found = check(np.array([3.0]), np.array([2.0]))
    assert found.largest("max_abs_diff") == 1.0
    assert found.largest("max_rel_diff") == 0.5
    found = check(np.array([1.0]), np.array([0.0]))
    assert found.largest("max_rel_diff") == pytest.approx(1e12)


@pytest.mark.parametrize(
    ("a", "b", "right"),
    [
        (math.inf, math.inf, True), (-math.inf, math.inf, False), (math.inf, 1.0, False),
        (1.0, math.inf, False), (math.nan, 1.0, False), (1.0, math.nan, False),
        (math.nan, math.nan, False), (math.nan, math.inf, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_infinity_and_nan(a: float, b: float, right: bool, dtype: Any) -> None:
    found = check(np.array([a], dtype), np.array([b], dtype), Tolerance(1.0, 1.0))
    assert found.ok == right
    if not right:
        worst = found.largest("max_abs_diff")
        assert worst is not None
        assert not math.isfinite(worst)


def test_nan_may_be_equal_on_request() -> None:
    tolerance = Tolerance(0.0, 0.0, equal_nan=True)
    assert check(np.array([math.nan, 1.0]), np.array([math.nan, 1.0]), tolerance).ok
    assert not check(np.array([math.nan, 1.0]), np.array([1.0, math.nan]), tolerance).ok
    hint = check(np.array([math.nan]), np.array([math.nan])).problems[0]
    assert "1 NaN from the kernel, 1 from the reference" in hint
    assert "--equal-nan" in hint


def test_overflowing_difference_is_no_pass() -> None:
    big = np.array([1.7e308])
    assert not check(big, -big, Tolerance(0.0, 1e308)).ok


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_int64_is_exact(a: int, b: int) -> None:
    found = check(np.array([a]), np.array([b]), EXACT)
    assert found.ok == (a == b)
    assert found.largest("max_abs_diff") == pytest.approx(float(abs(a - b)))


def test_large_integers_differ_by_one() -> None:
    a = np.array([2**63 - 1, 2**53 + 1])
    found = check(a, a - 1, EXACT)
    assert found.leaves[0]["wrong_elements"] == 2
    assert found.largest("max_abs_diff") == 1.0
    u = np.array([2**64 - 1], np.uint64)
    assert not check(u, u - np.uint64(1), EXACT).ok
    low = np.array([-(2**63)])
    assert check(low, low, EXACT).ok
    assert check(low + 1, low, Tolerance(0.0, 1.0)).ok


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, ml_dtypes.int4, ml_dtypes.uint4])
def test_small_integers_do_not_wrap(dtype: Any) -> None:
    low, high = (0, 15) if "u" in np.dtype(dtype).name else (-8, 7)
    found = check(np.array([low], dtype), np.array([high], dtype), Tolerance(0.0, 14.0))
    assert not found.ok
    assert found.largest("max_abs_diff") == 15.0


def test_bool_and_complex() -> None:
    assert not check(np.array([True]), np.array([False]), Tolerance(9.0, 9.0)).ok
    assert check(np.array([1 + 1j]), np.array([1 + 1.0001j])).ok
    assert not check(np.array([1 + 1j]), np.array([1 - 1j])).ok
    assert not check(np.array([complex(math.inf, 0)]), np.array([complex(-math.inf, 0)])).ok
    assert not check(np.array([complex(math.nan, 0)]), np.array([complex(math.nan, 0)])).ok


NARROW = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn"]


@pytest.mark.parametrize("name", NARROW)
def test_narrow_floats(name: str) -> None:
    dtype = getattr(ml_dtypes, name)
    one, two = np.array([1.0], dtype), np.array([2.0], dtype)
    assert check(one, one, EXACT).ok
    found = check(one, two, EXACT)
    assert not found.ok
    assert found.largest("max_abs_diff") == 1.0


def test_python_numbers_and_empty_arrays() -> None:
    assert check(1.0, 1.0005).ok
    assert not check(1, 2).ok
    assert check(np.zeros((0, 3)), np.zeros((0, 3)), EXACT).ok
    assert check([], [], EXACT).ok
    assert not check(np.zeros((0, 3)), np.zeros((3, 0)), EXACT).ok


def test_structured_and_text_arrays() -> None:
    assert check(np.array(["a", "b"]), np.array(["a", "b"])).ok
    assert not check(np.array(["a", "b"]), np.array(["a", "c"])).ok
    assert check(np.array([None, 1], object), np.array([None, 1], object)).ok


def test_a_difference_in_a_late_chunk_is_found() -> None:
    a = np.zeros((3, 1 << 20), np.float32)
    b = a.copy()
    b[2, 5] = 1
    found = check(a, b)
    assert found.leaves[0]["first_wrong"]["index"] == [2, 5]
    assert found.leaves[0]["wrong_elements"] == 1


@given(
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=8),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_agrees_with_the_formula_in_python(values: list[float], rtol: float, atol: float) -> None:
    a = np.array(values)
    b = a[::-1].copy()
    expected = all(
        abs(x - y) <= atol + rtol * abs(y) for x, y in zip(a.tolist(), b.tolist(), strict=True)
    )
    assert check(a, b, Tolerance(rtol, atol)).ok == expected
