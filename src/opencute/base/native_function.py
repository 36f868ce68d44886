# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Python builtins whose body is native code.

In: the address of a function, from a JIT. Out: something to call that converts nothing: the
native code gets the argument objects themselves and returns a new reference, or null with an
exception set::

    PyObject *f(PyObject *self, PyObject *const *args, Py_ssize_t count)
    PyObject *f(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from opencute.base.errors import ArgumentError

__all__ = ["native_function", "native_method"]

_FASTCALL, _KEYWORDS = 0x0080, 0x0002


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


class _Module(str):
    """The builtin's ``__module__``, where its ``__self__`` is a number: a text, as all expect that
    look at functions (torch.compile does), which keeps something alive."""

    keep: object


_new_builtin = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
)(("PyCFunction_NewEx", ctypes.pythonapi))
_new_method = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p)(
    ("PyDescr_NewMethod", ctypes.pythonapi)
)
_forever: list[object] = []


def native_function(
    address: int,
    name: str,
    doc: str | None = None,
    *,
    keywords: bool = False,
    state: int | None = None,
    keep: object = None,
) -> Callable[..., Any]:
    """A builtin function whose body is native code (METH_FASTCALL).

    Args:
        address: of the native code.
        name: its ``__name__``.
        doc: its ``__doc__``.
        keywords: the code takes the names of keyword arguments; else there can be none.
        state: an integer that the code gets as ``self``; the description of such functions is never
            freed, and their ``__module__`` holds `keep`.
        keep: kept alive with the builtin, e.g. the module that holds the code.

    Raises:
        ArgumentError: the address is 0.
    """
    if address <= 0:
        raise ArgumentError("there is no native code at this address", code="OC2170", found=address)
    flags = _FASTCALL | (_KEYWORDS if keywords else 0)
    if state is None:
        definition = _MethodDef(name.encode(), address, flags, doc.encode() if doc else None)
        return _new_builtin(ctypes.addressof(definition), _Keeper(definition, keep), None)
    definition = _shared_definition(address, name, flags, doc)
    owner = _Module("opencute")
    owner.keep = keep
    return _new_builtin(ctypes.addressof(definition), state, id(owner))


@functools.cache
def _shared_definition(address: int, name: str, flags: int, doc: str | None) -> _MethodDef:
    """The description of functions that differ in their state only; it is never freed."""
    return _MethodDef(name.encode(), address, flags, doc.encode() if doc else None)


def native_method(cls: type, address: int, name: str, doc: str | None = None) -> Any:
    """A method whose body is native code (METH_FASTCALL with keywords), to be set on a class.

    Args:
        cls: the class; the code gets instances of it, and of its subclasses, as ``self``.
        address: of the native code, which must stay for as long as the process runs.
        name: its ``__name__``.
        doc: its ``__doc__``.
    """
    flags = _FASTCALL | _KEYWORDS
    definition = _MethodDef(name.encode(), address, flags, doc.encode() if doc else None)
    _forever.append(definition)
    return _new_method(cls, ctypes.addressof(definition))
