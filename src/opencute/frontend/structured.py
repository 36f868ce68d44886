# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Objects to SSA values and back, for user classes that say how they are made of others.

>>> extract_mlir_values((Int32(x), 3))        # doctest: +SKIP
[<value>]
>>> extract_mlir_values(x, structured=True)   # the same, in the shape of `x`   # doctest: +SKIP
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, cast

from opencute.base.errors import TypeMismatchError
from opencute.frontend.carried import plan_for
from opencute.ir.core import Value
from opencute.lang.numbers import Numeric
from opencute.lang.pointers import Pointer
from opencute.lang.tensors import TracedTensor

__all__ = [
    "debug_print_mlir_values",
    "extract_mlir_values",
    "new_from_mlir_values",
    "set_dynamic_debug",
]


def extract_mlir_values(obj: Any, *, structured: bool = False) -> Any:
    """The SSA values that an object is made of.

    Args:
        obj: a number, tensor, pointer, tuple, list, dict, dataclass or class with the protocol.
        structured: keep tuples, lists and dicts, with values as their leaves; a dataclass is a
            dict of its fields.
    """
    if structured:
        return _structure(obj)
    return list(plan_for(obj).values(obj))


def _has_own(obj: Any) -> bool:
    """Whether an object is of a user's class that says what it consists of."""
    if isinstance(obj, type | Numeric | Pointer | TracedTensor):
        return False
    return hasattr(obj, "__extract_mlir_values__") and hasattr(obj, "__new_from_mlir_values__")


def _structure(obj: Any) -> Any:
    if isinstance(obj, dict):
        return {k: _structure(v) for k, v in obj.items()}
    if isinstance(obj, tuple | list) and not hasattr(obj, "_fields"):
        return type(obj)(_structure(v) for v in obj)
    if _has_own(obj):
        return cast("Any", obj).__extract_mlir_values__()
    if dataclasses.is_dataclass(obj) and not isinstance(obj, type):
        return {f.name: _structure(getattr(obj, f.name)) for f in dataclasses.fields(obj)}
    values = list(plan_for(obj).values(obj))
    return values[0] if len(values) == 1 else values


def _leaves(tree: Any) -> Iterator[Value]:
    if isinstance(tree, Value):
        yield tree
    elif isinstance(tree, dict):
        for item in tree.values():
            yield from _leaves(item)
    elif isinstance(tree, tuple | list):
        for item in tree:
            yield from _leaves(item)
    elif tree is not None:
        raise TypeMismatchError("not an SSA value", code="OC1218", found=repr(tree)[:80])


def new_from_mlir_values(obj: Any, values: Any, *, structured: bool = False) -> Any:
    """An object like `obj` around other values.

    Args:
        obj: the example.
        values: as many as `extract_mlir_values` gives for it, in the same shape if `structured`.

    Raises:
        TypeMismatchError: OC1218, their number is another.
    """
    if structured and _has_own(obj):
        return obj.__new_from_mlir_values__(values)
    flat = list(_leaves(values if structured else list(values)))
    plan = plan_for(obj)
    wanted = len(plan.types())
    if len(flat) != wanted:
        raise TypeMismatchError(
            "another number of values", code="OC1218", expected=wanted, found=len(flat)
        )
    return plan.rebuild(iter(flat))


def debug_print_mlir_values(obj: Any) -> str:
    """The tree of SSA values that an object is made of, as text.

    Args:
        obj: the object.
    """
    lines = [f"{type(obj).__name__}"]
    _draw(_structure(obj), "  ", lines)
    return "\n".join(lines)


def _draw(tree: Any, indent: str, lines: list[str]) -> None:
    if isinstance(tree, Value):
        lines.append(f"{indent}{tree.type}")
        return
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, item in items:
        if isinstance(item, Value):
            lines.append(f"{indent}{key}: {item.type}")
        else:
            lines.append(f"{indent}{key}:")
            _draw(item, indent + "  ", lines)


class _Debug:
    dynamic = False


def set_dynamic_debug(enabled: bool = True, max_depth: int | None = None) -> None:
    """Ask for reports on carried values; errors of joins say what differs in any case.

    Args:
        enabled: whether to report.
        max_depth: how deep in nested blocks; everywhere when omitted.
    """
    _Debug.dynamic = bool(enabled)
