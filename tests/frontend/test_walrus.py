# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Assignments inside of expressions that Python evaluates conditionally, against CPython."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiled import on_device
from opencute import cute

pytestmark = pytest.mark.t0


def _and(i):
    b = 0
    out = 0
    if i > 1 and (b := i * 2) > 4:
        out = b
    return out * 100 + b


def _only_in_an_expression(i):
    out = (_c := i + 1) if i > 2 else 4
    return out


def _two(i):
    if (a := i) > 0 and (b := a * 2) > 3:
        return a + b
    return a


def _while(i):
    k = turns = 0
    j = -1
    while (k := k + 1) < i and (j := k * 2) < 7:
        turns += 10
    return turns + k * 100 + j


def _read_in_the_body(i):
    total = k = 0
    while k < i and (step := k + 1) < 5:
        total += step
        k = step
    return total


def _false(i):
    y = 5
    while y := 0:
        pass
    return y + i


def _chain(i):
    z = 0
    found = 0 < i < (z := i * 2) < 7
    return int(found) * 100 + z


@pytest.mark.parametrize(
    "fn", [_and, _only_in_an_expression, _two, _while, _read_in_the_body, _false, _chain]
)
def test_what_an_expression_assigns(fn: Callable[[Any], Any]) -> None:
    out, compiled = np.zeros(6, np.int32), cute.jit(fn)

    def body(o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        o[i] = compiled(i)

    on_device(body, out, block=6)
    assert out.tolist() == [fn(i) for i in range(6)]
