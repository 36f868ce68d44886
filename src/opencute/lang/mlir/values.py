# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""SSA values from what users hold, and numbers of the language from SSA values.

>>> as_value(Int32(5))         # in a traced function: the SSA value       # doctest: +SKIP
>>> as_number(value)           # an i32 becomes an Int32                    # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.dialects import arith, interop
from opencute.dialects.cute import PtrType
from opencute.ir.core import Value
from opencute.ir.types import FloatType, IntegerType, Type
from opencute.lang.arguments.aggregates import Aggregate
from opencute.lang.numbers import NUMERIC_CLASSES, Numeric, as_numeric
from opencute.lang.pointers import Pointer
from opencute.lang.vectors import TensorSSA

__all__ = ["Wrapped", "as_number", "as_type", "as_value"]


class Wrapped:
    """A value in a class of its own, as users derive them from ``ir.Value``.

    Args:
        value: what it stands for.
    """

    def __init__(self, value: Any) -> None:
        value = getattr(value, "_value", value) if isinstance(value, Wrapped) else value
        # A structure that the host function was called with is a value of several.
        self._value: Any = value if isinstance(value, Aggregate) else as_value(value)

    @property
    def type(self) -> Type:
        """The value's type."""
        return self._value.type

    @property
    def __opencute_value__(self) -> Value:
        """What numbers are made from."""
        return self._value

    @property
    def owner(self) -> Any:
        """The operation that makes the value."""
        return self._value.op


def as_value(item: Any, type: Type | None = None) -> Value:
    """The SSA value of a number, pointer, vector, Python number or wrapped value.

    Args:
        item: what the user has.
        type: the type that a Python number is to have.

    Raises:
        TypeMismatchError: OC1212, it is none of these.
    """
    if isinstance(item, Value):
        return interop.to_llvm(item) if isinstance(item.type, PtrType) else item
    if isinstance(item, Wrapped):
        return item._value  # pyright: ignore[reportPrivateUsage]
    if isinstance(item, Numeric | TensorSSA):
        return item.ir_value()
    if isinstance(item, Pointer):
        return interop.to_llvm(item.value)
    if isinstance(item, bool | int | float):
        return as_numeric(item).ir_value() if type is None else arith.constant(item, type)
    raise TypeMismatchError(
        "this is no value of compiled code", code="OC1212", found=repr(item)[:80],
        expected="a number, a pointer, a vector or an SSA value",
    )  # fmt: skip


_BY_TYPE = {
    str(c.mlir_type): c for c in NUMERIC_CLASSES.values() if c.dtype.signed or c.dtype.is_bool
}


def as_number(value: Value) -> Any:
    """A scalar as a number of the language (integers are signed); anything else as it is."""
    if not isinstance(value.type, IntegerType | FloatType):
        return value
    cls: Any = _BY_TYPE.get(str(value.type))
    return cls(value) if cls is not None else value


def as_type(item: Any) -> Type:
    """A type from itself or from a numeric class.

    Raises:
        TypeMismatchError: OC1213, it is no type.
    """
    if isinstance(item, Type):
        return item
    found = getattr(item, "mlir_type", None)
    if isinstance(found, Type):
        return found
    raise TypeMismatchError("this is no type of the IR", code="OC1213", found=repr(item)[:80])
