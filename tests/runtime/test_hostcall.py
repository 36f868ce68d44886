# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Python callables of native code; functions of the C library and of Python stand in for it."""

from __future__ import annotations

import ctypes
import gc
import weakref

import pytest

from opencute.base.errors import ArgumentError
from opencute.runtime.hostcall import c_function, fastcall_builtin

pytestmark = pytest.mark.t0


def address_of(function):
    return ctypes.cast(function, ctypes.c_void_p).value


class Kept:
    """Weakly referable."""


@pytest.mark.parametrize("release_gil", [True, False])
def test_c_functions(release_gil):
    labs = c_function(
        address_of(ctypes.CDLL(None).labs),
        ctypes.c_long,
        (ctypes.c_long,),
        release_gil=release_gil,
    )
    assert labs(-(1 << 40)) == 1 << 40
    with pytest.raises(ctypes.ArgumentError):
        labs("text")


# PyObject *f(PyObject *self, PyObject *const *args, Py_ssize_t count): the count as an int
BODY = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t)


def test_builtins():
    body = BODY(lambda self, args, count: count)
    count = fastcall_builtin(address_of(body), "count", "Counts its arguments.", keep=body)
    assert [count(), count(1), count(1, None, "x")] == [0, 1, 3]
    assert count.__name__ == "count"
    assert count.__doc__ == "Counts its arguments."
    assert type(count) is type(len)
    with pytest.raises(TypeError, match="keyword"):
        count(x=1)


@pytest.mark.parametrize("kind", ["c", "fast"])
def test_what_has_to_live_does(kind):
    kept = Kept()
    watch = weakref.ref(kept)
    body = BODY(lambda self, args, count: count)
    if kind == "c":
        function = c_function(address_of(ctypes.CDLL(None).labs), None, (), keep=kept)
    else:
        function = fastcall_builtin(address_of(body), "f", keep=kept)
    del kept
    gc.collect()
    assert watch() is not None
    del function
    gc.collect()
    assert watch() is None


def test_no_address_no_function():
    with pytest.raises(ArgumentError) as caught:
        c_function(0, None, ())
    assert caught.value.code == "OC2170"
    with pytest.raises(ArgumentError):
        fastcall_builtin(0, "f")
