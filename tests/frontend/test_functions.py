# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Functions in functions: wrappers, nested decorated functions, closures over changing variables,
and objects that change in place."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiled import on_device
from opencute import Int32, cute
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0


def twice(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        f(*args, **kwargs)
        f(*args, **kwargs)

    return wrapper


def test_a_wrapper_is_compiled_itself() -> None:
    @cute.kernel
    @twice
    def k(m: cute.Tensor, by: Int32):
        m[0] = m[0] * by + 1

    @cute.jit
    @twice
    def host(m: cute.Tensor):
        k(m, 3).launch(grid=1, block=1)

    out = np.zeros(1, np.int32)
    host(from_dlpack(out))
    assert out.tolist() == [40]


def test_nested_decorated_functions() -> None:
    jit = cute.jit
    other = cute.jit

    @cute.jit
    def host(m: cute.Tensor):
        @jit
        def half(v):
            if v > 2:
                return v // 2
            return v

        @other
        def more(v):
            for _ in range(v):
                v += 1
            return v

        @cute.kernel
        def k(m: cute.Tensor):
            if m[0] > 0:
                m[0] = half(m[0]) + more(m[0])

        k(m).launch(grid=1, block=1)

    out = np.array([7], np.int32)
    host(from_dlpack(out))
    assert out.tolist() == [17]


@dataclasses.dataclass
class Box:
    n: Any


def _a_closure_in_a_branch(i):
    x = i
    get = lambda: x  # noqa: E731
    out = 0
    if i > 1:
        x = i * 7
        out = get()
    return out * 10 + get()


def _a_closure_in_a_loop(i):
    k = total = 0

    def get():
        return k

    for k in range(i):  # noqa: B007
        total += get()
        if total > 4:
            break
    return total * 10 + get()


def _closures_of_a_list(i):
    fs = []
    for k in [0, 1, i]:
        fs.append(lambda: k)  # noqa: B023
    return fs[0]() * 10 + fs[1]()


def _a_helper_that_assigns(i):
    z = 1

    def bump():
        nonlocal z
        z += 3

    if i > 2:
        bump()
    for _ in range(i):
        if z > 8:
            break
        bump()
    return z


def _a_list(i):
    s = [0, 0]
    for _ in range(i):
        s[0] += 1
        s[1] += 2
        if s[0] == 3:
            break
    return s[0] * 10 + s[1]


def _a_dataclass(i):
    box = Box(1)
    for k in range(i):
        if k == 2:
            continue
        box.n += k
    return box.n


def _a_dict(i):
    d = {"k": 1}
    if i > 2:
        d["k"] = i + 4
    return d["k"]


def _in(i):
    return int(i in range(1, 9, 2)) + 10 * int(i in {2, 3}) + 100 * int(i not in range(4, 1, -1))


@pytest.mark.parametrize("fn", [
    _a_closure_in_a_branch, _a_closure_in_a_loop, _closures_of_a_list, _a_helper_that_assigns,
    _a_list, _a_dataclass, _a_dict, _in,
])  # fmt: skip
def test_functions_against_python(fn: Callable[[Any], Any]) -> None:
    out, compiled = np.zeros(6, np.int32), cute.jit(fn)

    def body(o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        o[i] = compiled(i)

    on_device(body, out, block=6)
    assert out.tolist() == [fn(i) for i in range(6)]
