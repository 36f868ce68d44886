# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Python callables of native code; functions of the C library and of Python stand in for it."""

from __future__ import annotations

import ctypes
import gc
import weakref

import pytest

from opencute.base.errors import ArgumentError
from opencute.base.native_function import native_function

pytestmark = pytest.mark.t0


def address_of(function):
    return ctypes.cast(function, ctypes.c_void_p).value


class Kept:
    """Weakly referable."""


# PyObject *f(PyObject *self, PyObject *const *args, Py_ssize_t count): the count as an int
BODY = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t)


def test_builtins():
    body = BODY(lambda self, args, count: count)
    count = native_function(address_of(body), "count", "Counts its arguments.", keep=body)
    assert [count(), count(1), count(1, None, "x")] == [0, 1, 3]
    assert count.__name__ == "count"
    assert count.__doc__ == "Counts its arguments."
    assert type(count) is type(len)
    with pytest.raises(TypeError, match="keyword"):
        count(x=1)


def test_what_has_to_live_does():
    kept = Kept()
    watch = weakref.ref(kept)
    body = BODY(lambda self, args, count: count)
    function = native_function(address_of(body), "f", keep=kept)
    del kept
    gc.collect()
    assert watch() is not None
    del function
    gc.collect()
    assert watch() is None


def test_keywords_and_state():
    body = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p
    )(lambda self, args, count, names: (self, count, bool(names)))
    f = native_function(address_of(body), "f", keywords=True, state=12345)
    assert f() == (12345, 0, False)
    assert f(1, x=2) == (12345, 1, True)


def test_the_module_is_a_text_and_keeps():
    """torch.compile splits the ``__module__`` of whatever a function calls."""

    @ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)
    def body(self, args, count):
        return self

    kept = Kept()
    seen = weakref.ref(kept)
    f = native_function(address_of(body), "f", state=1, keep=kept)
    kept.f = f  # as a callable keeps what native code is in front of it
    assert f.__module__ == "opencute" and f.__module__.split(".") == ["opencute"]
    del kept
    gc.collect()
    assert seen() is not None and f() == 1
    del f
    gc.collect()
    assert seen() is None


def test_no_address_no_function():
    with pytest.raises(ArgumentError) as caught:
        native_function(0, "f")
    assert caught.value.code == "OC2170"
