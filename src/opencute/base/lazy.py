# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Public modules that load what they name when it is first used.

A public module is a table from name to where it lives::

    __getattr__, __dir__, __all__ = lazy_names(__name__, {"Layout": "opencute.layout"})

An entry ``module:name`` takes another name there, ``module:`` is the module itself. An unknown name
answers with the closest known ones, also to ``from module import name``. `PATCHES` counts how often
a name of such a module has been given another value, as programs do that patch a function for a
test or a measurement.
"""

from __future__ import annotations

import ctypes
import importlib
import opcode
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from opencute.base.coming import not_yet
from opencute.base.errors import UnknownNameError
from opencute.base.suggest import did_you_mean

__all__ = ["PATCHES", "lazy_names"]

_IMPORT_FROM = opcode.opmap["IMPORT_FROM"]

PATCHES = (ctypes.c_int64 * 1)(0)
"""One number; native code reads it where it is."""


class _Public(types.ModuleType):
    """A public module, which notices when one of its names gets another value."""

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__dict__.get(name, value) is not value:
            PATCHES[0] += 1
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        PATCHES[0] += 1
        super().__delattr__(name)


def lazy_names(
    module: str, table: Mapping[str, str], renamed: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a public module.

    Args:
        module: the module's `__name__`.
        table: name to `module` or `module:attribute`.
        renamed: spellings from elsewhere, and what to write instead, for the error.
    """

    sys.modules[module].__class__ = _Public
    messages: dict[str, str] = {}  # tools that look into modules ask for the same names again

    def load(name: str) -> Any:
        where = table.get(name)
        if where is None:
            message = messages.get(name)
            if message is None:
                message = messages[name] = _message(module, name, table, renamed or {})
            caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
            if f"{module}.{name}" not in sys.modules and _is_import(caller):
                raise ImportError(message, name=module)
            raise UnknownNameError(message, name, code="OC1143")
        path, _, attribute = where.partition(":")
        found = importlib.import_module(path)
        if where.endswith(":"):
            value: Any = found
        else:
            value = getattr(found, attribute or name)
        setattr(sys.modules[module], name, value)
        return value

    def names() -> list[str]:
        return sorted({*table, *vars(sys.modules[module])})

    return load, names, sorted(table)


def _is_import(caller: types.FrameType) -> bool:
    """Whether a name is asked for by ``from module import name``.

    That statement puts its own words in place of an AttributeError's; an ImportError it lets pass.
    """
    at, code = caller.f_lasti, caller.f_code.co_code
    return 0 <= at < len(code) and code[at] == _IMPORT_FROM


def _message(module: str, name: str, table: Mapping[str, str], renamed: Mapping[str, str]) -> str:
    shown = module.replace("opencute", "cutlass", 1)
    if name in renamed:
        there = f"{module.partition('.')[0]}.{renamed[name]}".rpartition(".")
        yet = ", which is not in OpenCuTe yet" if there[2] in not_yet(there[0]) else ""
        return f"module {shown!r} has no attribute {name!r}; it is {renamed[name]}{yet}"
    if name in not_yet(module):
        return f"{shown}.{name} is not in OpenCuTe yet; docs/compatibility.md says what is"
    hint = did_you_mean(name, table)
    return f"module {shown!r} has no attribute {name!r}{hint and '; ' + hint}"
