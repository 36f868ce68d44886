# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""``cutlass._mlir.dialects.vector``: vectors of one dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.dialects import vector as dialect
from opencute.ir.core import Value
from opencute.ir.types import VectorType
from opencute.lang.mlir.llvm import rebits
from opencute.lang.mlir.values import as_number, as_type, as_value

__all__ = ["bitcast", "broadcast", "extract", "from_elements", "insert"]


def _vector(item: Any) -> Value:
    value = as_value(item)
    if not isinstance(value.type, VectorType):
        raise TypeMismatchError("this is no vector", code="OC1217", found=value.type)
    return value


def _position(static: Sequence[int], dynamic: Sequence[Any]) -> int:
    if len(static) != 1 or dynamic:
        raise TypeMismatchError(
            "a position is one static number here", code="OC1217", found=list(static)
        )
    return int(static[0])


def extract(
    source: Any,
    dynamic_position: Sequence[Any] = (),
    static_position: Sequence[int] = (),
    *,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """One element, as a number."""
    return as_number(dialect.extract(_vector(source), _position(static_position, dynamic_position)))


def insert(
    value: Any,
    dest: Any,
    dynamic_position: Sequence[Any] = (),
    static_position: Sequence[int] = (),
    *,
    loc: Any = None,
    ip: Any = None,
) -> Value:
    """A vector with one element replaced."""
    where = _position(static_position, dynamic_position)
    return dialect.insert(as_value(value), _vector(dest), where)


def from_elements(res: Any, elements: Sequence[Any], *, loc: Any = None, ip: Any = None) -> Value:
    """A vector of scalars.

    Raises:
        TypeMismatchError: OC1217, the scalars do not make that type.
    """
    values = [as_value(e) for e in elements]
    type = as_type(res)
    want = VectorType(len(values), values[0].type) if values else None
    if want != type or any(v.type != values[0].type for v in values):
        raise TypeMismatchError(
            "the elements do not make this vector", code="OC1217", expected=type, found=want
        )
    return dialect.from_elements(values)


def bitcast(res: Any, source: Any, *, loc: Any = None, ip: Any = None) -> Value:
    """The same bits as a vector of another type."""
    return rebits(_vector(source), as_type(res))


def broadcast(res: Any, source: Any, *, loc: Any = None, ip: Any = None) -> Value:
    """A scalar in every element."""
    type = as_type(res)
    assert isinstance(type, VectorType)
    return dialect.broadcast(as_value(source), type.length)
