# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""One object for all that are equal, so that native code can tell them by their address.

What a kernel is compiled for is often a frozen object that is made anew at each call. Equal ones
are the same to a trace; to see that at a call takes Python, unless they are one object::

    plan = interned(Plan(threads=256))
    assert interned(Plan(threads=256)) is plan

Those that were asked for last are kept. Threads may share them.

Equality does not see all that a trace may: fields with ``compare=False``, and whether a field is 1,
1.0 or True. `unequal_parts` gives that::

    unequal_parts(Scaled(factor=2.0))      # ``factor: float = field(compare=False)``: its value
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, TypeVar

from opencute.base.bounded import Recent

__all__ = ["interned", "is_interned", "same_constant", "unequal_parts"]

T = TypeVar("T")

_MOST = 4096
_known: Recent[Any, Any] = Recent(_MOST)


def interned(obj: T) -> T:
    """The first object that was equal to this one, a frozen dataclass; of very many different ones
    not all are kept."""
    fixed = getattr(type(obj), "__dataclass_params__", None)
    if fixed is None or not fixed.frozen:
        return obj
    key = (obj, unequal_parts(obj))
    try:
        return _known.setdefault(key, obj)  # type: ignore[no-any-return]
    except TypeError:  # one of these parts has no hash
        return obj


def is_interned(obj: Any) -> bool:
    """Whether all that is equal to an object, and was asked for by `interned`, is this one."""
    try:
        return _known.get((obj, unequal_parts(obj))) is obj
    except TypeError:  # it has no hash, and was not
        return False


def same_constant(a: Any, b: Any) -> bool:
    """Whether two objects of a class, a frozen dataclass, are the same to a trace."""
    try:
        return bool(a == b) and unequal_parts(a) == unequal_parts(b)
    except Exception:  # what a user's comparison raises; Python then goes its usual way
        return False


def unequal_parts(value: Any) -> tuple[Any, ...]:
    """What may differ between equal dataclasses: values of fields that are not compared, and types
    of numbers, also of dataclasses and tuples in its fields."""
    parts: list[Any] = []
    _collect(value, parts)
    return tuple(parts)


_EXACT = frozenset({int, str, type(None)})  # what is equal to one of another kind is no other


def _collect(value: Any, parts: list[Any]) -> None:
    kind = type(value)
    if kind is tuple:
        for item in value:
            _collect(item, parts)
    elif kind is bool:
        parts.append(kind)
    elif kind is float:
        parts.append((kind, math.copysign(1.0, value)))
    elif (names := _fields(kind)) is None:
        if kind not in _EXACT:
            parts.append(kind)
    else:
        compared, others = names
        for name in others:
            part = getattr(value, name, None)
            parts.append((type(part), part))
            _collect(part, parts)
        for name in compared:
            _collect(getattr(value, name, None), parts)


@functools.lru_cache(1024)
def _fields(kind: type) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Names of a dataclass's fields: those that are compared, and others."""
    if not dataclasses.is_dataclass(kind):
        return None
    fields = dataclasses.fields(kind)
    return tuple(f.name for f in fields if f.compare), tuple(
        f.name for f in fields if not f.compare
    )
