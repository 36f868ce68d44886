# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Patterns of `match` statements: the run-time half of `rewrite.matches`.

In: an object and a description of a pattern. Out: whether it fits, which may be known at run time
only, and what its names stand for::

    match((x, 2), ("sequence", ("as", ("any",), "a"), ("value", 2)))    # holds; a is x
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opencute.frontend.control import if_
from opencute.frontend.expressions import and_, equal, or_
from opencute.lang.numbers import Boolean, Numeric

__all__ = ["Found", "match"]

# Classes whose positional pattern is the object itself, as the Python reference lists them.
_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple, Numeric)


@dataclass
class Found:
    """Whether a pattern fits, and the values of its names."""

    holds: Any
    values: dict[str, Any] = field(default_factory=dict)

    def take(self, names: tuple[str, ...]) -> tuple[Any, ...]:
        """The values of names, in order."""
        return tuple(self.values[n] for n in names)


def match(subject: Any, pattern: tuple[Any, ...]) -> Found:
    """Whether `subject` fits `pattern`: ("any",), ("value", x), ("is", x), ("as", pattern, name),
    ("or", *patterns), ("sequence", *patterns), ("mapping", keys, patterns, rest), or
    ("class", class, patterns, names, patterns)."""
    kind, *parts = pattern
    return _KINDS[kind](subject, *parts)


def _value(subject: Any, value: Any) -> Found:
    return Found(equal(subject, value))


def _is(subject: Any, value: Any) -> Found:
    if isinstance(subject, Boolean) and isinstance(value, bool):
        return Found(equal(subject, value))
    return Found(subject is value)


def _as(subject: Any, pattern: tuple[Any, ...], name: str) -> Found:
    found = match(subject, pattern)
    if found.holds is not False:
        found.values[name] = subject
    return found


def _all(pairs: list[tuple[Any, Any]]) -> Found:
    out = Found(True)
    for subject, pattern in pairs:
        found = match(subject, pattern)
        out.holds = and_(lambda a=out.holds: a, lambda b=found.holds: b)
        if out.holds is False:
            return Found(False)
        out.values.update(found.values)
    return out


def _or(subject: Any, *patterns: Any) -> Found:
    out = match(subject, patterns[0])
    if len(patterns) == 1 or out.holds is True:
        return out
    rest = _or(subject, *patterns[1:])
    if out.holds is False or rest.holds is False:
        return out if rest.holds is False else rest
    names = tuple(out.values)
    values = if_(out.holds, lambda *_: out.take(names), lambda *_: rest.take(names), names,
                 (None,) * len(names))  # fmt: skip
    holds = or_(lambda: out.holds, lambda: rest.holds)
    return Found(holds, dict(zip(names, values, strict=True)))


def _sequence(subject: Any, *patterns: Any) -> Found:
    if not isinstance(subject, Sequence) or isinstance(subject, str | bytes | bytearray):
        return Found(False)
    star = next((i for i, p in enumerate(patterns) if p[0] == "star"), None)
    if star is None:
        if len(subject) != len(patterns):
            return Found(False)
        return _all(list(zip(subject, patterns, strict=True)))
    if len(subject) < len(patterns) - 1:
        return Found(False)
    end = len(subject) - (len(patterns) - star - 1)
    pairs = [*zip(subject[:star], patterns[:star], strict=True),
             *zip(subject[end:], patterns[star + 1 :], strict=True)]  # fmt: skip
    out = _all(pairs)
    if out.holds is not False and patterns[star][1] is not None:
        out.values[patterns[star][1]] = list(subject[star:end])
    return out


def _mapping(subject: Any, keys: Any, patterns: Any, rest: str | None) -> Found:
    if not isinstance(subject, Mapping) or any(k not in subject for k in keys):
        return Found(False)
    out = _all([(subject[k], p) for k, p in zip(keys, patterns, strict=True)])
    if out.holds is not False and rest is not None:
        out.values[rest] = {k: v for k, v in subject.items() if k not in keys}
    return out


def _class(subject: Any, cls: Any, patterns: Any, names: Any, by_name: Any) -> Found:
    if not isinstance(subject, cls):
        return Found(False)
    if patterns and issubclass(cls, _WHOLE) and not hasattr(cls, "__match_args__"):
        pairs = [(subject, patterns[0])]
    else:
        own = getattr(cls, "__match_args__", ())
        if len(patterns) > len(own):
            raise TypeError(
                f"{cls.__name__}() accepts {len(own)} positional sub-patterns "
                f"({len(patterns)} given)"
            )
        names = (*own[: len(patterns)], *names)
        pairs = []
        for name, p in zip(names, (*patterns, *by_name), strict=True):
            if not hasattr(subject, name):
                return Found(False)
            pairs.append((getattr(subject, name), p))
    return _all(pairs)


_KINDS: dict[str, Any] = {
    "any": lambda _: Found(True), "as": _as, "class": _class, "is": _is, "mapping": _mapping,
    "or": _or, "sequence": _sequence, "value": _value,
}  # fmt: skip
