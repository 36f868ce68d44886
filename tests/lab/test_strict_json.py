# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""No NaN and no Infinity in what is printed."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.lab.strict_json import dumps, plain

pytestmark = pytest.mark.t0

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


def refuse(text: str) -> float:
    raise AssertionError(f"{text} is not JSON")


@settings(max_examples=40, deadline=None)
@given(VALUES)
def test_any_value_is_strict_json(value: object) -> None:
    assert "\n" not in dumps(value)
    json.loads(dumps(value), parse_constant=refuse)


@pytest.mark.parametrize(
    ("value", "text"), [(math.inf, "Infinity"), (-math.inf, "-Infinity"), (math.nan, "NaN")]
)
def test_odd_numbers_are_said_in_words(value: float, text: str) -> None:
    assert plain({"x": value, "l": [value, 1.0]}) == {"x": None, "x_text": text, "l": [text, 1.0]}


def test_ordinary_values_are_kept() -> None:
    value = {"a": [1, 2.5, "x", None, True], "b": {"c": -3}}
    assert json.loads(dumps(value)) == value
    assert json.loads(dumps({"t": (1, 2), "o": frozenset()})) == {"t": [1, 2], "o": "frozenset()"}
