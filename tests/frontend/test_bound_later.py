# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Variables that Python always binds before it reads them, and a `finally` that leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiled import on_device
from opencute import cute
from opencute.base.errors import LanguageError

pytestmark = pytest.mark.t0

N = 6


def _endless(t, n):
    while True:
        r = t
        if t > 3:
            break
        t += 1
    return r + n


def _for_else(t, n):
    for i in range(n):
        if i == t:
            r = i
            break
    else:
        r = -1
    return r


def _return_beside(t, n):
    if t > 3:
        r = 1
    else:
        for i in range(n):
            if i == t * 2:
                return 5
        r = 6
    return r


def _counter(t, n):
    for i in range(n):
        if i > t:
            break
    else:
        i = 100
    return i


def _nested(t, n):
    for i in range(1, n):
        for j in range(i):
            if (i + j) % 5 == t % 5:
                break
        else:
            continue
        break
    else:
        return -1
    return i * 10 + j


def _over_a_list(t, n):
    for x in [5, 3, 1]:
        if x == t:
            found = x * n
            break
    else:
        found = -1
    return found


def _finally_breaks(t, n):
    for i in range(n):
        try:
            if i > t:
                return 5
        finally:
            if i == 3:
                break  # noqa: B012 - what is tested
    return -1


def _finally_continues(t, n):
    r = 0
    for i in range(n):
        try:
            if i == t:
                break
            if i == t - 1:
                continue
            r += 1
        finally:
            r += 10
            if i < 4:
                continue  # noqa: B012 - what is tested
            r += 100
        r += 1000
    else:
        r += 20000
    return r


def _finally_returns(t, n):
    seen = [0]

    def inner():
        for i in range(n):
            try:
                if i == t:
                    return i * 10
                seen[0] += i
            finally:
                if i == 4:
                    return -77  # noqa: B012 - what is tested
                seen[0] += 1
        return 4

    return inner() * 1000 + seen[0]


def _finally_loops(t, n):
    r = 0
    for i in range(n):
        try:
            if i == t:
                return 50 + r
        finally:
            for j in range(3):
                if j == t:
                    break
                r += 10
            else:
                r += 100
            if i == 4 and t > 2:
                continue  # noqa: B012 - what is tested
            r += 1000
    return r


@pytest.mark.parametrize("fn", [
    _endless, _for_else, _return_beside, _counter, _nested, _over_a_list, _finally_breaks,
    _finally_continues, _finally_returns, _finally_loops,
])  # fmt: skip
def test_like_cpython(fn: Callable[[int, int], int]) -> None:
    compiled = cute.jit(fn)

    def body(o: Any, n: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        o[i] = compiled(i, n[0])

    out = np.full(8, -99, np.int32)
    on_device(body, out, np.array([N], np.int32), block=8)
    assert out.tolist() == [fn(t, N) for t in range(8)]


@cute.jit
def _not_always(t, n):
    for i in range(n):
        if i == t:
            r = i
            break
    return r


@cute.jit
def _read_before(t, n):
    total = 0
    for i in range(n):
        if i > t:
            total += r  # noqa: F821 - what is tested
        if i == 2:
            r = i
            break
    else:
        r = 0
    return total + r


@pytest.mark.parametrize("fn", [_not_always, _read_before])
def test_what_some_path_does_not_bind(fn: Any) -> None:
    def body(o: Any) -> None:
        o[0] = fn(o[0], o[0])

    with pytest.raises(LanguageError, match="OC1126"):
        on_device(body, np.zeros(1, np.int32))
