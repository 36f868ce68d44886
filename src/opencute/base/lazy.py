# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Public modules that load what they name when it is first used.

A public module is a table from name to where it lives::

    __getattr__, __dir__, __all__ = lazy_names(__name__, {"Layout": "opencute.layout"})

An entry ``module:name`` takes another name there, ``module:`` is the module itself. An unknown name
answers with the closest known ones.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from opencute.base.coming import not_yet
from opencute.base.errors import UnknownNameError
from opencute.base.suggest import did_you_mean

__all__ = ["lazy_names"]


def lazy_names(
    module: str, table: Mapping[str, str], renamed: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a public module.

    Args:
        module: the module's `__name__`.
        table: name to `module` or `module:attribute`.
        renamed: spellings from elsewhere, and what to write instead, for the error.
    """

    def load(name: str) -> Any:
        where = table.get(name)
        if where is None:
            message = _message(module, name, table, renamed or {})
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
