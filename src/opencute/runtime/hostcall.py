# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Python callables of native code.

In: the address of a function, from a JIT or `driver.function_address`. Out: something to call::

    add = c_function(module.address("add"), c_int, (c_int, c_int), keep=module)
    fast = fastcall_builtin(module.address("fast"), "fast", keep=module)

`c_function` converts arguments through ctypes (about 0.5 us). `fastcall_builtin` converts
nothing: the native code gets the argument objects themselves, as ``PyObject *f(PyObject *,
PyObject *const *args, Py_ssize_t count)``, and returns a new reference, or null with an exception
set.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from opencute.base.errors import ArgumentError

__all__ = ["c_function", "fastcall_builtin"]

_METH_FASTCALL = 0x0080


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _Keeper:
    """The builtin's ``__self__``: what has to live as long as it does."""

    def __init__(self, *things: object) -> None:
        self.things = things


_new_builtin = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
)(("PyCFunction_NewEx", ctypes.pythonapi))


def c_function(
    address: int,
    restype: Any,
    argtypes: Sequence[Any],
    *,
    release_gil: bool = False,
    keep: object = None,
) -> Callable[..., Any]:
    """A callable that converts its arguments through ctypes.

    Args:
        address: of a C function.
        restype: ctypes type of the result, None for none.
        argtypes: ctypes types of the arguments.
        release_gil: let other threads run meanwhile; for long functions that touch no Python.
        keep: kept alive with the callable, e.g. the module that holds the code.

    Raises:
        ArgumentError: the address is 0.
    """
    prototype = ctypes.CFUNCTYPE if release_gil else ctypes.PYFUNCTYPE
    function: Any = prototype(restype, *argtypes)(_checked(address))
    function.keep = keep
    return function


def fastcall_builtin(
    address: int, name: str, doc: str | None = None, *, keep: object = None
) -> Callable[..., Any]:
    """A builtin function whose body is native code (METH_FASTCALL: no keyword arguments).

    Args:
        address: of the native code.
        name: its ``__name__``.
        doc: its ``__doc__``.
        keep: kept alive with the builtin, e.g. the module that holds the code.

    Raises:
        ArgumentError: the address is 0.
    """
    definition = _MethodDef(
        name.encode(), _checked(address), _METH_FASTCALL, doc.encode() if doc else None
    )
    return _new_builtin(ctypes.addressof(definition), _Keeper(definition, keep), None)


def _checked(address: int) -> int:
    if address <= 0:
        raise ArgumentError("there is no native code at this address", code="OC2170", found=address)
    return address
