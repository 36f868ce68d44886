# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The rules for kernels that return values, that work in place, and that do both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute.lab.arrays import freeze
from opencute.lab.compare import Comparison
from opencute.lab.rules import Tolerance
from opencute.lab.verdict import Call, changed, judge

pytestmark = pytest.mark.t0

X = np.array([-1.0, 2.0])
RELU = np.array([0.0, 2.0])
ZERO = np.zeros(2)


def decide(
    before: list[Any], kernel: tuple[Any, list[Any]], reference: tuple[Any, list[Any]]
) -> Comparison:
    calls = [Call(freeze(value), freeze(inputs)) for value, inputs in (kernel, reference)]
    return judge(freeze(before), calls[0], calls[1], Tolerance(1e-6, 1e-6))


def test_value_against_value() -> None:
    assert decide([X], (RELU, [X]), (RELU, [X])).ok
    assert not decide([X], (X, [X]), (RELU, [X])).ok


def test_in_place_against_a_returned_value() -> None:
    assert decide([X], (None, [RELU]), (RELU, [X])).ok
    assert decide([X, ZERO], (None, [X, RELU]), (RELU, [X, ZERO])).ok
    assert not decide([X, ZERO], (None, [X, X]), (RELU, [X, ZERO])).ok


def test_in_place_against_an_in_place_reference() -> None:
    assert decide([X], (None, [RELU]), (None, [RELU])).ok
    assert not decide([X], (None, [ZERO]), (None, [RELU])).ok


def test_an_out_argument_that_the_reference_fills_and_returns() -> None:
    assert decide([X, ZERO], (None, [X, RELU]), (RELU, [X, RELU])).ok


def test_several_outputs_in_the_order_of_the_inputs() -> None:
    before = [X, ZERO, ZERO]
    assert decide(before, (None, [X, RELU, X]), ((RELU, X), before)).ok
    assert not decide(before, (None, [X, X, RELU]), ((RELU, X), before)).ok


def test_nothing_returned_and_nothing_changed() -> None:
    for reference in ((RELU, [X]), (None, [RELU]), (None, [X])):
        found = decide([X], (None, [X]), reference)
        assert found.problems[0] == "the kernel returns nothing and changes none of its inputs"


def test_a_reference_that_does_nothing_judges_nothing() -> None:
    found = decide([X], (None, [RELU]), (None, [X]))
    assert any("the reference returns nothing" in p for p in found.problems)


def test_too_many_changed_inputs() -> None:
    found = decide([X, ZERO], (None, [ZERO, RELU]), (RELU, [X, ZERO]))
    assert "changes 2 inputs (input[0], input[1]), but the reference returns 1" in found.problems[0]


def test_returning_a_value_and_changing_an_input() -> None:
    found = decide([X], (RELU, [RELU]), (RELU, [X]))
    assert "also changes input[0]" in found.problems[0]
    assert decide([X], (RELU, [RELU]), (RELU, [RELU])).ok
    assert not decide([X], (RELU, [ZERO]), (RELU, [RELU])).ok


def test_in_place_must_leave_the_rest_alone_to_the_bit() -> None:
    nudged = X + 1e-9
    found = decide([X, ZERO], (None, [nudged, RELU]), (None, [X, RELU]))
    assert "changes input[0], which the reference leaves alone" in found.problems[0]


def test_value_where_the_reference_returns_nothing() -> None:
    assert not decide([X], (RELU, [RELU]), (None, [RELU])).ok


def test_changed_sees_bits_structure_and_scalars() -> None:
    assert changed(freeze([X, 1, "a"]), freeze([X, 2, "a"])) == ["input[1]"]
    assert changed(freeze([[1]]), freeze([[1, 2]])) == ["input[0][1]"]
    assert changed(freeze([np.array([0.0])]), freeze([np.array([-0.0])])) == ["input[0]"]
    assert changed(freeze([float("nan")]), freeze([float("nan")])) == []
