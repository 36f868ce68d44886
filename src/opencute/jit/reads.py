# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What the byte code of a function reads from outside: names with their attributes, and imports.

In: a code object, those inside of it included. Out::

    reads(code)      # (("SCALE", ()), ("config", ("inner", "scale")))
    imports(code)    # (Import("settings", 0, ("SCALE",)),)
    mentioned(code, names)      # adds every attribute's name, and every text: getattr(x, "name")
"""

from __future__ import annotations

import dis
import types
from typing import NamedTuple

__all__ = ["Import", "imports", "mentioned", "reads"]

_Reads = tuple[tuple[str, tuple[str, ...]], ...]
# By the identity of code, which is kept alive: to hash code is to hash everything in it.
_known_reads: dict[int, tuple[types.CodeType, _Reads, tuple[Import, ...]]] = {}
_REMEMBERED = 1 << 14  # code made in a loop is not to fill memory


class Import(NamedTuple):
    """An import statement: the module, how many dots are before it, and what is taken from it."""

    module: str
    level: int
    parts: tuple[str, ...]


def mentioned(code: types.CodeType, names: set[str]) -> None:
    """Add the names of attributes that code may read."""
    names.update(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            mentioned(inner, names)
        elif isinstance(inner, str):  # getattr(x, "name")
            names.add(inner)


def reads(code: types.CodeType) -> _Reads:
    """Names that code reads from outside, each with the attributes that are read from it."""
    return _looked_at(code)[1]


def imports(code: types.CodeType) -> tuple[Import, ...]:
    """What code imports when it runs."""
    return _looked_at(code)[2]


def _looked_at(code: types.CodeType) -> tuple[types.CodeType, _Reads, tuple[Import, ...]]:
    known = _known_reads.get(id(code))
    if known is None:
        found: dict[tuple[str, tuple[str, ...]], None] = {}
        taken: list[Import] = []
        _collect(code, frozenset(code.co_freevars), found, taken)
        if len(_known_reads) > _REMEMBERED:
            _known_reads.clear()
        known = _known_reads[id(code)] = (code, tuple(found), tuple(taken))
    return known


def _collect(
    code: types.CodeType,
    outer: frozenset[str],
    found: dict[tuple[str, tuple[str, ...]], None],
    taken: list[Import],
) -> None:
    name: str | None = None
    chain: tuple[str, ...] = ()
    steps = list(dis.get_instructions(code))
    for i, step in enumerate(steps):
        if name is not None:
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                chain += (str(step.argval),)
                continue
            if step.opname not in ("PRECALL", "CACHE", "PUSH_NULL"):
                found.setdefault((name, chain))
                name, chain = None, ()
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") or (
            step.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE")
            and step.argval in outer
        ):
            name, chain = str(step.argval), ()
        elif step.opname == "IMPORT_NAME":  # the number of dots and the parts come before it
            parts = steps[i - 1].argval
            taken.append(Import(str(step.argval), int(steps[i - 2].argval or 0), parts or ()))
    if name is not None:
        found.setdefault((name, chain))
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            _collect(inner, outer & frozenset(inner.co_freevars), found, taken)
