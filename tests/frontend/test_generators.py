# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Generators run while tracing: with static loops they work anywhere; a run-time loop or branch
around a `yield` is one error that says what to write instead, and that works."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import LanguageError
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0


def plain(n: Any):
    for i in range(n):
        yield i * 2


@cute.jit
def decorated(n: Any):
    for i in range(n):
        yield i * 2


@cute.jit
def branching(n: Any):
    yield 1
    if n > 2:
        yield 2


def waiting(n: Any):
    i = cutlass.Int32(0)
    while i < n:
        yield i
        i += 1


def delegating(n: Any):
    yield from cutlass.range(n)


def inner_work(n: Any):
    for i in range(3):
        yield select(i, n)


@cute.jit
def select(i: Any, n: Any):
    x = cutlass.Int32(i)
    if n > 1:
        x += 1
    return x


@cute.jit
def each(n: Any, f: Any):
    for i in range(n):
        f(i * 2)


def run(body: Any, n: int) -> int:
    @cute.kernel
    def kernel(o: cute.Tensor, count: cutlass.Int32):
        body(o, count)

    @cute.jit
    def host(o: cute.Tensor, count: cutlass.Int32):
        kernel(o, count).launch(grid=1, block=1)

    o = np.zeros(4, np.int32)
    host(from_dlpack(o), n)
    return int(o[0])


@pytest.mark.parametrize(
    "generator", [plain, decorated, branching, waiting, delegating], ids=lambda g: g.__name__
)
def test_what_depends_on_run_time_says_what_to_write(generator: Any) -> None:
    @cute.jit
    def body(o: Any, n: Any):
        for v in generator(n):
            o[0] = o[0] + v

    with pytest.raises(LanguageError, match=r"OC1101|OC1112") as e:
        run(body, 4)
    assert "runs while tracing" in str(e.value.hint) and "a function" in str(e.value.hint)
    assert e.value.loc is not None
    assert e.value.loc.function == generator.__name__ or "yield" in e.value.loc.render()


def test_in_a_comprehension() -> None:
    @cute.jit
    def body(o: Any, n: Any):
        o[0] = sum(i for i in range(n))

    with pytest.raises(LanguageError, match="OC1112") as e:
        run(body, 4)
    assert "a comprehension makes a list of a length known" in str(e.value.hint)


def test_static_generators_work() -> None:
    @cute.jit
    def body(o: Any, n: Any):
        for v in plain(3):
            o[0] = o[0] + v
        for _ in range(n):
            for v in decorated(3):
                o[0] = o[0] + v
        for v in inner_work(n):
            o[0] = o[0] + v

    assert run(body, 4) == 6 + 4 * 6 + 6


def test_what_the_hint_says_works() -> None:
    @cute.jit
    def body(o: Any, n: Any):
        def add(v: Any) -> None:
            o[0] = o[0] + v

        each(n, add)
        for i in range(n):
            add(i * 2)

    assert run(body, 4) == 24
