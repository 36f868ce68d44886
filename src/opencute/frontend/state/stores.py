# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attributes of objects whose state is not joined: modules, enumerations and their members,
exceptions, frozen objects, subclasses of numbers and tuples. A change of one is noticed.

In: functions, and the objects that they can get at. Out: which attributes they may assign, and what
these are now::

    stored_names(f.__code__)        # {"scale"}: it says `config.scale = 3`
    is_odd(config)                  # True: a module of the user's
    attributes(config, {"scale"})   # compares unequal once config.scale is another object
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects are of any type; annotations cannot say more.

from __future__ import annotations

import dis
import enum
import functools
import sys
import types
from collections.abc import Iterable
from typing import Any

from opencute.frontend.state.objects import is_users

__all__ = [
    "STORE_ATTR", "CodeFacts", "attributes", "codes_in", "facts_of", "has_opcode", "is_odd",
    "is_odd_kind", "stored_names",
]  # fmt: skip

_BY_NAME = frozenset(
    {"setattr", "delattr", "__setattr__", "__delattr__", "__dict__", "vars", "globals"}
)
_PLAIN = (
    int, float, str, bytes, bool, type(None), tuple, list, dict, set, frozenset, slice, range,
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.CellType,
)  # fmt: skip


def codes_in(code: types.CodeType) -> Iterable[types.CodeType]:
    """Code, and that of the functions in it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes_in(const)


_STORE_GLOBAL = frozenset({dis.opmap["STORE_GLOBAL"]})
STORE_ATTR = frozenset(dis.opmap[n] for n in ("STORE_ATTR", "DELETE_ATTR"))


def has_opcode(code: types.CodeType, which: frozenset[int]) -> bool:
    """Whether one of some opcodes may be in code (not that of functions in it); a look at bytes,
    where `dis` makes an object of each instruction."""
    return not which.isdisjoint(code.co_code[::2])


class CodeFacts:
    """What is asked about code at each branch and loop that can reach it."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code  # which keeps its identity its own
        self.stored = _stored_names(code)
        # Sorted, as what is found by names shall not depend on how strings are hashed.
        self.mentioned = sorted({n for one in codes_in(code) for n in one.co_names})
        self.globals_set = tuple(
            {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_GLOBAL"}
            if has_opcode(code, _STORE_GLOBAL)
            else ()
        )
        self.names = code.co_names
        # What was carried by name is not one of the variables that a function shares with others.
        self.shared = tuple([not n.startswith("__oc") for n in code.co_freevars])


# By identity: hashing code means hashing everything in it.
_facts: dict[int, CodeFacts] = {}
_REMEMBERED = 1 << 14  # code made in a loop is not to fill memory


def facts_of(code: types.CodeType) -> CodeFacts:
    """The facts about code, which are found once."""
    found = _facts.get(id(code))
    if found is None:
        if len(_facts) > _REMEMBERED:
            _facts.clear()
        found = _facts[id(code)] = CodeFacts(code)
    return found


def stored_names(code: types.CodeType) -> frozenset[str]:
    """The attributes that code may assign on something else than its own object (`self`)."""
    return facts_of(code).stored


def _stored_names(code: types.CodeType) -> frozenset[str]:
    found: set[str] = set()
    for one in codes_in(code):
        own: bool = False
        before: Any = None
        for i in dis.get_instructions(one) if has_opcode(one, STORE_ATTR) else ():
            if i.opname in ("STORE_ATTR", "DELETE_ATTR"):
                # `self.x = ...` loads it just before, `self.x += ...` copies it first.
                if not _is_self(before) and not (own and before.opname in ("SWAP", "ROT_TWO")):
                    found.add(i.argval)
                own = False
            elif i.opname in ("COPY", "DUP_TOP") and _is_self(before):
                own = True
            before = i
        if not _BY_NAME.isdisjoint(one.co_names):
            found.update(c for c in one.co_consts if isinstance(c, str) and c.isidentifier())
    return frozenset(found)


def _is_self(instruction: Any) -> bool:
    if instruction is None or not instruction.opname.startswith(("LOAD_FAST", "LOAD_DEREF")):
        return False
    value = instruction.argval
    return (value[-1] if type(value) is tuple else value) == "self"


@functools.lru_cache(maxsize=4096)
def is_odd_kind(kind: type) -> bool:
    """Whether `is_odd` has to look at an object of a class."""
    return is_users(kind) or issubclass(kind, BaseException)


def is_odd(obj: Any) -> bool:
    """Whether an object without `kept_state` has attributes that can change."""
    kind = type(obj)
    if kind in _PLAIN:
        return False
    if kind is types.ModuleType:
        top = obj.__name__.split(".")[0]
        return top not in sys.stdlib_module_names and is_users(_Named(obj.__name__))
    if isinstance(obj, type):
        return is_users(obj) and issubclass(obj, enum.Enum | BaseException)
    return is_odd_kind(kind) and kind.__dictoffset__ != 0


class _Named:
    """Something of a module, as `is_users` looks at it."""

    def __init__(self, module: str) -> None:
        self.__module__ = module


class _Attributes:
    """Some attributes of an object, by identity."""

    def __init__(self, obj: Any, names: frozenset[str]) -> None:
        inside = vars(obj)
        self.values = {n: inside[n] for n in names if n in inside}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Attributes):
            return NotImplemented
        a, b = self.values, other.values
        return a.keys() == b.keys() and all(a[n] is b[n] for n in a)

    __hash__ = None  # type: ignore[assignment]


def attributes(obj: Any, names: frozenset[str]) -> _Attributes:
    """What tells whether one of some attributes of an object has been assigned."""
    return _Attributes(obj, names)
