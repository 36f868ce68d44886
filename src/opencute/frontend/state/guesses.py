# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a loop will be found to carry, before its body is traced.

A loop has to be traced with what changes in it as its variables, and what that is only its trace
tells. A right guess saves a trace, for nested loops one at each level; a wrong one is found out
and costs one. What is guessed must not show in the outcome, so that nothing is guessed where code
asks what kind of object a value is: a number that is carried is none of Python's any more, and code
that asks could itself make the guess come true.

In: the functions that the body was made into, and the watched objects. Out: keys of items, and
numbers of variables that get another object::

    guess = guessed((body,), watch)      # Guess([(3, "_index")]): advance() sets it
    settled((body,), watch, guess)       # the next trace of this code begins with it
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from opencute.base.bounded import Recent
from opencute.frontend.carried import Built, Parts, Plan, Static, items_of
from opencute.frontend.state.stores import STORE_ATTR, codes_in, has_opcode
from opencute.frontend.state.watch import Key, Watch
from opencute.lang.numbers import Numeric
from opencute.lang.pointers import Pointer
from opencute.lang.vectors import TensorSSA

__all__ = ["Guess", "guessed", "settled"]


@dataclass
class Guess:
    """What a loop carries besides numbers in variables."""

    keys: list[Key] = field(default_factory=list[Key])
    """Items of watched objects, in the order of these."""
    rebound: dict[int, Any] | None = field(default_factory=dict[int, Any])
    """Variables with a watched object that get another one, and which of its parts are other ones,
    as `carried_parts` says it; None: all."""
    flags: bool = False
    """Whether some items are bools that are known while tracing."""


@dataclass
class _Settled:
    """What a loop was found to carry."""

    items: tuple[tuple[int, Any, type, Any], ...]
    """Object, key, the object's class, and the item's value if that is a bool."""
    rebound: dict[int, Any]


# By the code of a body.
_SETTLED = Recent[types.CodeType, _Settled](4096)
_NO_FLAG = object()
_CONSTRUCTORS = ("__init__", "__new__", "__post_init__")
_ASKING = frozenset(("isinstance", "issubclass", "type", "callable", "hasattr", "id"))
# By the identities of the codes of a body and of all functions that it may call, which are kept:
# hashing code means hashing everything in it.
_ASKED = Recent[tuple[int, ...], tuple[list[types.CodeType], bool]](4096)


def guessed(parts: Sequence[Any], watch: Watch) -> Guess:
    """What a loop is taken to carry.

    Args:
        parts: the functions that the loop was made into, the body last.
        watch: what it can reach.
    """
    code = _code(parts)
    if code is None or _asks(parts, watch):
        return Guess()
    known = _SETTLED.get(code)
    if known is None:
        return Guess(_called(parts, watch), None)
    guess = Guess(rebound=known.rebound)
    for i, key, kind, flag in known.items:
        if i >= len(watch.objects) or type(watch.objects[i]) is not kind:
            return Guess(rebound=known.rebound)
        value = watch.before[i].get(key)
        if not _at_run_time(value):
            # That a bool changes once more, from the same value, is all but certain.
            if value is not flag:
                return Guess(rebound=known.rebound)
            guess.flags = True
        guess.keys.append((i, key))
    return guess


def settled(
    parts: Sequence[Any], watch: Watch, keys: Sequence[Key], rebound: dict[int, Any]
) -> None:
    """Remember what a loop has been found to carry.

    Args:
        parts, watch: as for `guessed`.
        keys: the items.
        rebound: the variables that get another object, as in a guess.
    """
    code = _code(parts)
    if code is not None:
        items = (
            (i, key, type(watch.objects[i]), _flag(watch.before[i].get(key))) for i, key in keys
        )
        _SETTLED[code] = _Settled(tuple(items), rebound)


def _flag(value: Any) -> Any:
    return value if value is True or value is False else _NO_FLAG


def _code(parts: Sequence[Any]) -> types.CodeType | None:
    body = parts[-1] if parts else None
    return body.__code__ if isinstance(body, types.FunctionType) else None


def _at_run_time(value: Any) -> bool:
    """Whether carrying an item does not make it a run-time value, which could change the trace."""
    return (isinstance(value, Numeric) and value.is_dynamic) or isinstance(
        value, Pointer | TensorSSA
    )


def carried_parts(plan: Plan) -> Any:
    """Which parts of an object a plan carries: for an object with parts a tuple, for others True;
    None for those that stay what they are."""
    if isinstance(plan, Static):
        return None
    return tuple(map(carried_parts, plan.plans)) if isinstance(plan, Built | Parts) else True


def like(plan: Plan, obj: Any, parts: Any) -> Plan:
    """A plan for one object, with those parts static that are not among the carried ones."""
    if parts is None or not isinstance(plan, Built | Parts) or len(parts) != len(plan.plans):
        return plan
    inside = items_of(plan, obj)
    for i, (part, inner) in enumerate(zip(parts, inside, strict=True)):
        if part is None:
            plan.plans[i] = Static(inner)
        elif part is not True:
            like(plan.plans[i], inner, part)
    return plan


# ---------------------------------------------------------------- code that asks
def _asks(parts: Sequence[Any], watch: Watch) -> bool:
    """Whether a body, or a function that it may call, asks what kind of object a value is."""
    codes = [fn.__code__ for fn in (*parts, *watch.functions) if hasattr(fn, "__code__")]
    key = tuple(map(id, codes))
    found = _ASKED.get(key)
    if found is None:
        asks = any(
            _asking(fn.__code__) for fn in _reached(parts, watch.functions)
            if fn in parts or not _ours(fn)
        )  # fmt: skip
        found = _ASKED[key] = codes, asks
    return found[1]


def _ours(fn: types.FunctionType) -> bool:
    """Whether a function is the library's, which asks only for what makes no difference."""
    return str(fn.__module__).partition(".")[0] in ("opencute", "cutlass")


@functools.lru_cache(maxsize=4096)
def _asking(code: types.CodeType) -> bool:
    """Whether code asks itself: by a function, `is True`, a `match`, or by catching what goes
    wrong with a value of another kind."""
    for one in codes_in(code):
        before = ""
        for i in dis.get_instructions(one):
            if i.opname.startswith("LOAD_") and i.argval in _ASKING and "ATTR" not in i.opname:
                return True
            if i.argval == "match" and i.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                return True  # what `match` statements are made into
            if i.opname in ("MATCH_CLASS", "CHECK_EXC_MATCH", "JUMP_IF_NOT_EXC_MATCH"):
                return True
            # Of numbers only True and False are known by what they are the same as.
            if i.opname == "IS_OP" and before in ("LOAD_CONST True", "LOAD_CONST False"):
                return True
            before = f"{i.opname} {i.argval}"
    return False


def _reached(parts: Sequence[Any], functions: Sequence[Any]) -> list[types.FunctionType]:
    """The functions of `parts`, those of `functions` with a name that one of them mentions, and so
    on."""
    named: dict[str, list[types.FunctionType]] = {}
    for fn in functions:
        named.setdefault(fn.__name__, []).append(fn)
    seen = {id(fn): fn for fn in parts if isinstance(fn, types.FunctionType)}
    queue = list(seen.values())
    while queue:
        names: set[str] = set().union(*(_assigned(fn.__code__)[0] for fn in queue))
        found = {id(fn): fn for name in names for fn in named.get(name, ())}
        queue = [fn for key, fn in found.items() if key not in seen]
        seen |= {id(fn): fn for fn in queue}
    return list(seen.values())


# ---------------------------------------------------------------- code not traced before
def _called(parts: Sequence[Any], watch: Watch) -> list[Key]:
    """The numbers in attributes that the body, or a function of a name that it mentions, assigns.
    Attributes of `self` are those of objects of the function's class."""
    # What constructors assign on is new.
    functions = [fn for fn in watch.functions if fn.__name__ not in _CONSTRUCTORS]
    own: set[tuple[str, str]] = set()
    others: set[str] = set()
    for fn in _reached(parts, functions):
        _, on_self, elsewhere = _assigned(fn.__code__)
        others |= elsewhere
        owner = fn.__qualname__.rpartition(".")[0].rpartition(".")[2]
        own.update((owner, name) for name in on_self)
    if not own and not others:
        return []
    return [
        (i, key)
        for i, (obj, state) in enumerate(zip(watch.objects, watch.before, strict=True))
        if not isinstance(obj, type)
        for key, value in state.items()
        if _at_run_time(value)
        and (key in others or any((k.__name__, key) in own for k in type(obj).__mro__))
    ]  # fmt: skip


@functools.lru_cache(maxsize=4096)
def _assigned(
    code: types.CodeType,
) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The names that code mentions, the attributes that it assigns on `self`, and on others."""
    names: set[str] = set()
    on_self: set[str] = set()
    others: set[str] = set()
    for one in codes_in(code):
        names.update(one.co_names)
        first = one.co_varnames[0] if one.co_argcount else None
        for i in dis.get_instructions(one) if has_opcode(one, STORE_ATTR) else ():
            if i.opname == "STORE_ATTR":
                (on_self if first == "self" else others).add(i.argval)
    return frozenset(names), frozenset(on_self), frozenset(others)
