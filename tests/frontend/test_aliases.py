# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Builtins under other names, tuples of run-time numbers in order, and the order of a dict's keys.

Python itself says what is right.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiled import on_device
from opencute import cute
from opencute.base.errors import LanguageError

pytestmark = pytest.mark.t0


def run(fn: Callable[..., Any], threads: int = 6) -> list[Any]:
    """`fn(thread)` in each thread of a block."""
    out, compiled = np.full(threads, -99, np.int32), cute.jit(fn)

    def body(o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        o[i] = compiled(i)

    on_device(body, out, block=threads)
    return out.tolist()


def variable(i: Any) -> Any:
    g = max
    h = min
    return 10 * g(i, 3) + h(i, 2)


def table(i: Any) -> Any:
    ops = {"max": max, "min": min}
    return 10 * ops["max"](i, 3) + ops["min"](i, 2)


def passed(i: Any) -> Any:
    return functools.reduce(max, [i, 3, 5 - i])


def of_flags(i: Any) -> Any:
    some, every = any, all
    return (1 if some(x > 4 for x in (i, 2 * i)) else 0) + (2 if every([i > 1, i < 4]) else 0)


def identity(i: Any) -> Any:
    g = max
    return g([i, 2]) if g is max and g != min else -1


def ordered(i: Any) -> Any:
    p, q = (i, 3), (3, i)
    out = 0
    if p < q:
        out += 1
    if p <= q:
        out += 2
    if p > q:
        out += 4
    if p >= q:
        out += 8
    return out


def lists(i: Any) -> Any:
    a, b, c = [2, i], [2, 3, i], [i]
    return (1 if a < b else 0) + (2 if c > b else 0) + (4 if a <= a else 0)


@pytest.mark.parametrize("fn", [variable, table, passed, of_flags, identity, ordered, lists])
def test_as_in_python(fn: Callable[[Any], Any]) -> None:
    assert run(fn) == [fn(i) for i in range(6)]


def test_a_key_that_is_put_back_comes_last() -> None:
    def f(i: Any) -> Any:
        d = {"a": i, "b": 2 * i}
        d["a"] = d.pop("a") + 1
        (first, last) = d
        return 100 * d[first] + d[last] + (1000 if first == "b" else 0)

    assert run(f) == [f(i) for i in range(6)]


@pytest.mark.parametrize("loop", [True, False])
def test_an_order_of_keys_that_depends_on_the_path(loop: bool) -> None:
    def branch(i: Any) -> Any:
        d = {"a": i, "b": 2 * i}
        if i > 1:
            d["a"] = d.pop("a") + 1
        return d["a"]

    def turns(i: Any) -> Any:
        d = {"a": i, "b": 2 * i}
        for _ in range(i):
            d["a"] = d.pop("a") + 1
        return d["a"]

    with pytest.raises(LanguageError, match=r"OC1117.*the same order on all paths") as e:
        run(turns if loop else branch)
    assert "put back comes last" in str(e.value.hint)
