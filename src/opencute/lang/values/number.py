# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a number is, before there is arithmetic: its value, its type and what is known of it.

In: a type of Python, NumPy or the language. Out: the class that stands for it::

    class_of(float)             # Float32
    class_of(np.int8)           # Int8

`lang.facts` says what is known of results, `lang.number_ops` what operators do, and `lang.numbers`
has the classes.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from opencute.base.errors import LanguageError, TypeMismatchError
from opencute.dialects import arith
from opencute.ir import types as ir_types
from opencute.ir.core import Value
from opencute.lang.numeric_meta import NumericMeta, ir_type
from opencute.numeric.dtypes import DType, from_numpy_dtype

__all__ = ["NUMERIC_CLASSES", "Number", "class_of", "number_in", "numeric_class"]


class Number(metaclass=NumericMeta):
    """What a number holds, without a way to make one: `numbers.Numeric` has arithmetic."""

    __slots__ = ("div", "is_index", "nonneg", "rest", "value")
    __hash__ = object.__hash__
    dtype: ClassVar[DType]
    value: Any
    div: int
    nonneg: bool
    is_index: bool
    rest: tuple[int, int] | None

    # ---- facts
    @property
    def is_dynamic(self) -> bool:
        """Whether the value is only known at run time."""
        return isinstance(self.value, Value)

    @property
    def type(self) -> ir_types.Type:
        """The IR type."""
        return ir_type(self.dtype)

    def ir_value(self, *, loc: Any = None, ip: Any = None) -> Value:
        """The SSA value; a concrete number becomes a constant."""
        if isinstance(self.value, Value):
            return self.value
        return arith.constant(self.value, ir_type(self.dtype))

    def __c_pointers__(self) -> list[Any]:
        return [self]

    __get_mlir_types__ = __c_pointers__

    def __extract_mlir_values__(self) -> list[Value]:
        return [self.ir_value()]

    def __new_from_mlir_values__(self, values: Any) -> Any:
        cls: Any = type(self)
        return cls(values[0])

    # ---- protocols of Python that need a value now
    def _concrete(self, what: str) -> Any:
        if self.is_dynamic:
            raise LanguageError(
                f"a run-time {type(self).__name__} has no value while the kernel is traced",
                code="OC1101",
                found=what,
                hint="use it in a dynamic `if`, `for` or `while` of a @jit or @kernel function; "
                "const_expr() and range_constexpr() need values known at compile time",
            )
        return self.value

    def __bool__(self) -> bool:
        return bool(self._concrete("bool()"))

    def __index__(self) -> int:
        if self.dtype.is_float:
            raise TypeError(f"{type(self).__name__} cannot be used as an index")
        return int(self._concrete("an index"))

    def __int__(self) -> int:
        return int(self._concrete("int()"))

    def __float__(self) -> float:
        return float(self._concrete("float()"))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'?' if self.is_dynamic else self.value})"

    def __str__(self) -> str:
        if not self.is_dynamic:
            return str(self.value)
        return "?" if self.div <= 1 else f"?{{div={self.div}}}"

    def __format__(self, spec: str) -> str:
        if not self.is_dynamic:
            return format(self.value, spec)
        try:
            return format(str(self), spec)
        except ValueError:  # digits, a sign: what only a known number has
            return str(self)


NUMERIC_CLASSES: dict[str, NumericMeta] = {}
"""The language's classes by element type, as `numbers` defines them."""


def numeric_class(dtype: DType) -> NumericMeta:
    """The language's class for an element type.

    Raises:
        TypeMismatchError: the language has no such type.
    """
    found = NUMERIC_CLASSES.get(dtype.name)
    if found is None:
        raise TypeMismatchError(
            f"element type {dtype.display} is not part of the language", code="OC1202"
        )
    return found


def class_of(dtype: Any) -> NumericMeta:
    """A numeric class from itself, `int`, `float`, `bool`, an element type or a NumPy type."""
    if isinstance(dtype, NumericMeta):
        return dtype
    if isinstance(dtype, DType):
        return numeric_class(dtype)
    plain: Any = None
    if isinstance(dtype, type):
        plain = {int: "i32", float: "f32", bool: "i1"}.get(dtype)
        if plain is None and issubclass(dtype, np.generic):
            return numeric_class(from_numpy_dtype(dtype))
    if plain is None:
        raise TypeMismatchError(
            f"{dtype!r} is not a numeric type",
            code="OC1203",
            hint="use cutlass.Float32, cutlass.Int32, ...",
        )
    return NUMERIC_CLASSES[plain]


def number_in(x: Any) -> Any:
    """The number that an object stands for, such as a member of a struct in memory; else `x`."""
    if isinstance(x, Number) or type(x) is int:
        return x
    found = getattr(x, "__opencute_value__", x)
    return found if isinstance(found, Number) else x
