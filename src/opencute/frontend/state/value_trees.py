# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What users' classes say they consist of: a list of values, or dicts and lists of such.

In: the result of ``__extract_mlir_values__``. Out: the values in order, the tree's form, and a tree
of the same form around other values::

    {"position": {"x": %a, "y": %b}, "count": %c}    ->    [%a, %b, %c]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opencute.ir.core import Value

__all__ = ["difference", "form", "leaves", "shaped"]


def _value(x: Any) -> Value:
    return x if isinstance(x, Value) else x.ir_value()


def _items(tree: Any) -> list[tuple[Any, Any]] | None:
    """The parts of a tree with their keys; None for a value."""
    if isinstance(tree, Mapping):
        named: Any = tree
        return list(named.items())
    if isinstance(tree, list | tuple):
        several: Any = tree
        return list(enumerate(several))
    return None


def leaves(tree: Any) -> Iterator[Value]:
    """The values in order."""
    items = _items(tree)
    if items is None:
        if tree is not None:
            yield _value(tree)
        return
    for _, item in items:
        yield from leaves(item)


def form(tree: Any) -> Any:
    """Keys and types: equal for trees that can stand for each other."""
    items = _items(tree)
    if items is not None:
        return tuple((key, form(item)) for key, item in items)
    return None if tree is None else _value(tree).type


def difference(a: Any, b: Any) -> tuple[str, str]:
    """The first place where the forms of two trees differ, with what each has there."""
    found = _difference(form(a), form(b), "")
    return found or ("", "")


def _difference(a: Any, b: Any, path: str) -> tuple[str, str] | None:
    if a == b:
        return None
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return tuple(f"{path or 'it'} is {_kind(x)}" for x in (a, b))  # type: ignore[return-value]
    left, right = dict(a), dict(b)
    for key in dict.fromkeys((*left, *right)):
        place = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}".lstrip(".")
        if key not in left or key not in right:
            return tuple(
                f"{place} is {_kind(side[key])}" if key in side else f"no {place}"
                for side in (left, right)
            )  # type: ignore[return-value]
        found = _difference(left[key], right[key], place)
        if found is not None:
            return found
    return None


def _kind(shape: Any) -> str:
    if isinstance(shape, tuple):
        parts: Any = shape
        return f"of {len(parts)} parts"
    return "None" if shape is None else str(shape)


def shaped(tree: Any, values: Iterator[Value]) -> Any:
    """A tree of the same form with other values."""
    items = _items(tree)
    if items is None:
        return None if tree is None else next(values)
    made = [(key, shaped(item, values)) for key, item in items]
    if isinstance(tree, Mapping):
        return dict(made)
    out = [item for _, item in made]
    return tuple(out) if isinstance(tree, tuple) else out
