# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Ways to an object that a branch changes: bound methods, weak references, keys, views, classes.

Each function runs in CPython too; a way that is not followed leaves the other branch's value.
"""

from __future__ import annotations

import contextvars
import functools
import operator
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiled import on_device
from opencute import cute
from opencute.base.errors import LanguageError

pytestmark = pytest.mark.t0


class Box:
    """Something to change."""

    v = 1


def _state() -> type[Box]:
    return Box


@cute.jit
def _bound_method(t, n):
    items = [n]
    put, part = items.__setitem__, functools.partial(items.insert, 0)
    if t > 30:
        put(0, 9)
    if t > 20:
        part(7)
        items.pop()
    return items[0]


@cute.jit
def _operator(t, n):
    items = [n]
    if t > 3:
        operator.setitem(items, 0, 7)
    return items[0]


@cute.jit
def _weak(t, n):
    box = Box()
    box.v = n
    ref, proxy = weakref.ref(box), weakref.proxy(box)
    if t > 30:
        ref().v = 5
    if t > 20:
        proxy.v = 6
    return box.v


@cute.jit
def _keys(t, n):
    a, b = Box(), Box()
    a.v = b.v = n
    by, among = {a: 1}, {b}
    if t > 30:
        for k in by:
            k.v = 5
    if t > 20:
        for k in among:
            k.v = 6
    return a.v * 10 + b.v


@cute.jit
def _views(t, n):
    box = Box()
    box.v = n
    inside = {"k": box}
    values, shown = inside.values(), types.MappingProxyType(inside)
    if t > 30:
        for k in values:
            k.v = 5
    if t > 20:
        shown["k"].v = 6
    return box.v


@cute.jit
def _class_from_a_function(t, n):
    Box.v = n
    if t > 30:
        _state().v = 5
    return Box.v


@cute.jit
def _metaclass_and_special_methods(t, n):
    count = [n, n]

    class Meta(type):
        made = count

        def __call__(cls, *args):
            cls.made[0] += 1
            return super().__call__(*args)

    class Base(metaclass=Meta):
        def __init_subclass__(cls):
            count[1] += 1

        def __call__(self):
            count[0] += 10

    base = Base()
    if t > 30:
        base()
        Base()
    if t > 20:

        class Derived(Base):
            pass

    return count[0] * 100 + count[1]


@cute.jit
def _parent(t, n):
    class A:
        def put(self):
            self.v = 9

    class B(A):
        def put(self):
            pass

        def parent(self):
            return super()

    b = B()
    b.v = n
    parent = b.parent()
    if t > 30:
        parent.put()
    return b.v


@cute.jit
def _thread_local(t, n):
    local = threading.local()
    local.v = n
    if t > 30:
        local.v = 5
    return local.v


@pytest.mark.parametrize("fn", [
    _bound_method, _operator, _weak, _keys, _views, _class_from_a_function,
    _metaclass_and_special_methods, _parent, _thread_local,
])  # fmt: skip
@pytest.mark.parametrize("t", [2, 25, 40])
def test_as_in_cpython(fn: Callable[..., Any], t: int) -> None:
    def body(o: Any) -> None:
        o[0] = fn(o[0], o[1])

    out = np.array([t, 3], np.int32)
    on_device(body, out)
    assert out[0] == fn.__wrapped__(t, 3)


@cute.jit
def _context_variable(t):
    variable = contextvars.ContextVar("v", default=1)
    if t > 30:
        variable.set(5)
    return variable.get()


@cute.jit
def _memory(t):
    data = bytearray(2)
    view = memoryview(data)
    if t > 30:
        view[0] = 1
    return data[0]


@pytest.mark.parametrize("fn", [_context_variable, _memory])
def test_refused(fn: Callable[..., Any]) -> None:
    def body(o: Any) -> None:
        o[0] = fn(o[0])

    with pytest.raises(LanguageError, match="OC1142") as e:
        on_device(body, np.zeros(1, np.int32))
    assert e.value.loc is not None
