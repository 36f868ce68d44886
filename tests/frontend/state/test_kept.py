# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""State in closures, defaults, attributes and subclasses, changed under run-time conditions."""

from __future__ import annotations

import array
import collections
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiled import on_device
from opencute import cute
from opencute.base.errors import LanguageError

pytestmark = pytest.mark.t0

TOTAL = [0]


def make(start):
    count = start

    def add(k):
        nonlocal count
        count += k
        return count

    def set_to(k):
        nonlocal count
        count = k

    return add, set_to


add_global, set_global = make(0)


def bump(k):
    TOTAL[0] += k


def bump_twice(k):
    bump(k)
    bump(1)


def _closure(t, n):
    add, _ = make(0)
    if t > 3:
        add(5)
    return add(0) + n


def _closures_in_loops(t, n):
    f, g = make(0)[0], make(t)[0]
    i = 0
    while f(1) < n:
        i += 1
        if i > t:
            break
        g(i)
    return f(0) * 100 + g(0) + i * 10000


def _getter_and_setter(t, n):
    get, put = make(1)
    for i in range(n):
        if i > t:
            put(get(0) * 2)
    return get(0)


def _of_a_module(t, n):
    set_global(0)
    for i in range(n):
        if i < t:
            add_global(i)
    more = add_global(5) if t > 4 else 0
    return add_global(0) * 100 + more


def _global_list(t, n):
    TOTAL[0] = 0
    if t > 3:
        bump_twice(n)
    return TOTAL[0]


def _passed_on(t, n):
    count = 0

    def add(k):
        nonlocal count
        count += k
        return count

    def twice(f, k):
        if k > t:
            f(k)
        return f(1)

    for i in range(n):
        twice(add, i)
    return count


def _default(t, n):
    def f(x, acc=[0], *, most=[0]):  # noqa: B006 - what is tested
        acc[0] += x
        most[0] += 1
        return acc[0] * 10 + most[0]

    for i in range(n):
        if i < t:
            f(i)
    return f(0)


def _class_attribute(t, n):
    class K:
        total = 0
        seen = [0, 0]  # noqa: RUF012 - what is tested

        def add(self, x):
            K.total += x

        @classmethod
        def note(cls):
            cls.seen[1] += 1

        @staticmethod
        def keep(x, acc=[0]):  # noqa: B006 - what is tested
            acc[0] += x
            return acc[0]

    k = K()
    for i in range(n):
        if i < t:
            k.add(i)
            K.note()
        elif i == 5:
            k.keep(7)
    return K.total * 100 + K.seen[1] + K.keep(0) * 1000


def _function_attribute(t, n):
    def f(x):
        f.count += x

    f.count = 0
    for i in range(n):
        if i < t:
            f(i)
    if t > 2:
        f.late = 1
    else:
        f.late = 2
    return f.count * 10 + f.late


def _containers(t, n):
    class D(collections.OrderedDict):
        pass

    class L(list):
        def total(self):
            return self[0] + self.extra

    d, m = D(a=0, b=0), L([1])
    m.extra = 0
    seen = collections.Counter(x=0)
    user = collections.UserDict(a=0)
    ordered = collections.OrderedDict(a=0, b=0)
    for i in range(n):
        if i < t:
            d["a"] += 1
            m[0] += i
            user["a"] += 1
            ordered["a"] += 3
        else:
            d["b"] += 2
            m.extra += 1
            seen["x"] += 1
    return d["a"] * 100 + d["b"] + m.total() * 1000 + seen["x"] * 10 + user["a"] + ordered["a"]


@pytest.mark.parametrize("fn", [
    _closure, _closures_in_loops, _getter_and_setter, _of_a_module, _global_list, _passed_on,
    _default, _class_attribute, _function_attribute, _containers,
])  # fmt: skip
def test_like_cpython(fn: Callable[[int, int], int]) -> None:
    compiled = cute.jit(fn)

    def body(o: Any, n: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        o[i] = compiled(i, n[0])

    out = np.full(8, -99, np.int32)
    on_device(body, out, np.array([6], np.int32), block=8)
    assert out.tolist() == [fn(t, 6) for t in range(8)]


def _three():
    yield 1
    yield 2
    yield 3


@cute.jit
def _advance(t, items):
    if t > 3:
        next(items)
    return next(items)


@cute.jit
def _loop_over(t, items):
    if t > 3:
        for x in items:
            t += x
    return t


@cute.jit
def _consume(t, items):
    if t > 3:
        t += sum(x for x in items)
    return t


@cute.jit
def _store(t, items):
    if t > 3:
        items[0] = 1
    return items[0]


@cute.jit
def _include(t, items):
    if t > 3:
        items.add(1)
    return len(items)


def _assign_global():
    global LAST
    LAST = LAST + 1


LAST = 0


@cute.jit
def _call(t, items):
    if t > 3:
        items()
    return LAST


class _Set(set):
    pass


@pytest.mark.parametrize(("fn", "make_items"), [
    (_advance, lambda: iter([1, 2, 3])), (_advance, _three), (_advance, itertools.count),
    (_advance, lambda: zip([1], [2], strict=True)), (_loop_over, lambda: iter([1, 2])),
    (_loop_over, _three), (_consume, lambda: iter((1, 2))), (_consume, _three),
    (_consume, lambda: map(abs, [1, 2])), (_store, lambda: bytearray(2)),
    (_store, lambda: np.zeros(2, np.int32)), (_store, lambda: np.zeros(9999, np.int8)),
    (_store, lambda: array.array("i", [0])), (_include, _Set),
    (_call, lambda: _assign_global),
])  # fmt: skip
def test_what_cannot_be_joined(fn: Any, make_items: Callable[[], Any]) -> None:
    def body(o: Any) -> None:
        o[0] = fn(o[0], make_items())

    with pytest.raises(LanguageError, match="OC1142") as e:
        on_device(body, np.zeros(1, np.int32))
    assert e.value.loc is not None
    assert e.value.loc.file == __file__


def test_iterators_of_the_branch_itself() -> None:
    @cute.jit
    def body(o: Any) -> None:
        if o[0] > 3:
            items = iter([1, 2])
            next(items)
            o[1] = next(items)

    out = np.array([4, 0], np.int32)
    on_device(body, out)
    assert out.tolist() == [4, 2]
