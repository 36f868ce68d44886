# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`return`, `break` and `continue` under run-time conditions: each function against CPython."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import load_source, on_device
from opencute import cute
from opencute.base.errors import TypeMismatchError

pytestmark = pytest.mark.t0


def _break(i):
    total = 0
    for k in range(6):
        if k == i:
            break
        total += k
    else:
        total += 100
    return total * 10 + k


def _break_of_a_branch(i):
    total = 0
    if i > 1:
        for k in range(i, 9, 2):
            total += k
            if total > 7:
                total += 1
                break
            total += 2
        total *= 2
    return total


def _continue(i):
    total = 0
    for k in range(7):
        if k % 2 == i % 2:
            if k > 3:
                continue
            total += 10
        total += k
    return total


def _while(i):
    n = total = 0
    while n < 9:
        n += 1
        if n == i:
            continue
        total += n
        if total > 12 + i:
            break
    else:
        total = -1
    return total * 10 + n


def _forever(i):
    while True:
        i += 3
        if i > 10:
            return i


def _return_from_two_loops(i):
    for a in range(4):
        for b in range(a, 4):
            if a * b == i * 2:
                return a * 10 + b
            if b > i + 1:
                break
    return -1


def _items(i):
    seen = 0
    for k in [4, 3, 2, 1, 0]:
        if k == i:
            break
        if k == i + 1:
            continue
        seen += k
    else:
        seen = -5
    return seen * 10 + k


def _constexpr(i):
    for k in cutlass.range_constexpr(5):
        if k == i:
            return k * 7
        i = i + 0
    return 99


def _with(i):
    if i > 1:
        with contextlib.nullcontext():
            if i == 2:
                return 7
            i += 1
        i += 10
    return i


def _else_of_an_inner_loop(i):
    total = 0
    for a in range(5):
        for b in range(a):
            if b == i:
                break
            total += 1
        else:
            if a > i:
                break
            continue
        total += 50
    return total


def _pairs(i):
    for k in range(8):
        if k * k > i * 2:
            return k, i + 0.5
    return -1, 2


@pytest.mark.parametrize("fn", [
    _break, _break_of_a_branch, _continue, _while, _forever, _return_from_two_loops, _items,
    _constexpr, _with, _else_of_an_inner_loop, _pairs,
])  # fmt: skip
def test_leaving_means_what_it_means_in_python(fn: Callable[[Any], Any]) -> None:
    out = np.zeros((6, 2), np.float32)
    compiled = cute.jit(fn)

    def body(o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        found = compiled(i)
        for k, v in enumerate(found if isinstance(found, tuple) else (found, 0)):
            o[i, k] = v

    on_device(body, out, block=6)
    rows = [fn(i) for i in range(6)]
    assert out.tolist() == [list(r) if isinstance(r, tuple) else [r, 0] for r in rows]


def test_nested_returns_take_linear_time(tmp_path: Path) -> None:
    lines = ["def f(i, n):"]
    for k in range(24):
        lines += [f"    if i > {k}:", "        n += 1", f"        if n == {k} + i:",
                  f"            return n * {k}"]  # fmt: skip
    f = load_source("\n".join([*lines, "    return n"]), tmp_path).f
    out, compiled = np.zeros(8, np.int32), cute.jit(f)

    def body(o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        o[i] = compiled(i * 3, i)

    start = time.process_time()
    on_device(body, out, block=8)
    assert time.process_time() - start < 10
    assert out.tolist() == [f(i * 3, i) for i in range(8)]


def test_a_condition_known_while_tracing_leaves_static_values() -> None:
    def f(i, flag):
        if flag:
            i += 1
            if i > 2:
                return i
        n = 4
        for k in [1, 2, 3]:
            if k == 2:
                break
            n += k
        assert type(n) is int and type(k) is int
        return n

    out, compiled = np.zeros(4, np.int32), cute.jit(f)

    def body(o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        o[i] = compiled(i, False)

    on_device(body, out, block=4)
    assert out.tolist() == [5] * 4


def test_returns_of_different_kinds() -> None:
    @cute.jit
    def f(i):
        if i > 0:
            i += 1
            if i > 2:
                return "a"
        return i

    def body(o: Any) -> None:
        o[0] = f(o[0])

    with pytest.raises(TypeMismatchError, match="returns different kinds"):
        on_device(body, np.zeros(1, np.int32))


def test_a_tensor_that_is_returned_early() -> None:
    @cute.jit
    def nested(n, a, b):
        if n > 1:
            n += 1
            if n > 3:
                return a
        return b

    @cute.jit
    def in_a_loop(n, a, b):
        for k in range(n):
            if k > 1:
                return a
        return b

    def body(m: Any) -> None:
        a = cute.make_tensor(m.iterator + 1, cute.make_layout(1))
        b = cute.make_tensor(m.iterator + 2, cute.make_layout(1))
        nested(m[0], a, b)[0] += 1
        in_a_loop(m[0], a, b)[0] += 2

    for n, expected in ((0, [0, 3]), (2, [0, 3]), (3, [3, 0])):
        out = np.array([n, 0, 0], np.int32)
        on_device(body, out)
        assert out.tolist() == [n, *expected]


def test_a_helper_inside_of_a_function() -> None:
    @cute.jit
    def f(i):
        def root(v):
            for q in range(v):
                if q * q >= v:
                    return q
            return -1

        return root(i)

    def body(o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        o[i] = f(i)

    out = np.zeros(6, np.int32)
    on_device(body, out, block=6)
    assert out.tolist() == [-1, -1, -1, 2, 2, 3]
