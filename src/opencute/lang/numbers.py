# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The scalar types of the language: `Int32`, `Float16`, `Boolean`, ...

A number is *concrete* (it holds a Python value; this is what exists outside of compiled code) or
*dynamic* (it holds an SSA value of the function being traced). Both follow the same rules: operands
are promoted by `opencute.numeric.promote`, integers wrap at their width, ``//`` and ``%`` floor.

    >>> Int8(100) + Int8(100)
    Int8(-56)

Dynamic integers carry facts that the layout algebra and the address code use (`lang.facts`): what
divides them, that they are not negative, and that they are made of indices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opencute.base.errors import TypeMismatchError
from opencute.dialects import arith
from opencute.ir.builder import current_block
from opencute.ir.core import Value
from opencute.lang import facts
from opencute.lang import number_ops as ops
from opencute.lang.numeric_meta import NumericMeta, ir_type
from opencute.lang.values.number import (
    NUMERIC_CLASSES,
    Number,
    class_of,
    number_in,
    numeric_class,
)
from opencute.numeric.dtypes import DTYPES
from opencute.numeric.literals import plain_type

__all__ = [
    "NUMERIC_CLASSES",
    "BFloat16",
    "Boolean",
    "Float",
    "Float4E2M1FN",
    "Float6E2M3FN",
    "Float6E3M2FN",
    "Float8E3M4",
    "Float8E4M3",
    "Float8E4M3B11FNUZ",
    "Float8E4M3FN",
    "Float8E4M3FNUZ",
    "Float8E5M2",
    "Float8E5M2FNUZ",
    "Float8E8M0FNU",
    "Float16",
    "Float32",
    "Float64",
    "Int4",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Int128",
    "Integer",
    "Numeric",
    "NumericMeta",
    "TFloat32",
    "Uint4",
    "Uint8",
    "Uint16",
    "Uint32",
    "Uint64",
    "Uint128",
    "as_numeric",
    "class_of",
    "ir_type",
    "number_in",
    "numeric_class",
]


class Numeric(Number):
    """Base of all numbers.

    Args:
        value: a Python number, another number of the language (converted), or an SSA value.

    Raises:
        TypeMismatchError: `value` is none of these.
        ValueError, OverflowError: NaN or infinity given to an integer type.
    """

    __slots__ = ()
    __hash__ = object.__hash__
    # NumPy's scalars leave operators to this class, which knows their types.
    __array_ufunc__ = None

    def __init__(self, value: Any = 0, *, loc: Any = None, ip: Any = None) -> None:
        self.div = 1
        self.nonneg = False
        self.is_index = False
        self.rest = None
        if not isinstance(value, Value):
            value = getattr(value, "__opencute_value__", value)
        if isinstance(value, Value):
            expected = ir_type(self.dtype)
            if value.type is not expected:
                raise TypeMismatchError(
                    f"{type(self).__name__} cannot hold this SSA value",
                    code="OC1201", expected=expected, found=value.type,
                )  # fmt: skip
            self.value = value
        elif isinstance(value, Numeric):
            other = value.to(type(self))
            self.value, self.div = other.value, other.div
            self.nonneg, self.is_index, self.rest = other.nonneg, other.is_index, other.rest
        else:
            constant = ops.coerce(value, self.dtype)
            self.value = constant
            if current_block() is not None:
                self.is_index = not self.dtype.is_float and facts.is_index(self)
                self.value = arith.constant(constant, ir_type(self.dtype))
                if not self.dtype.is_float:
                    width = self.dtype.width
                    self.nonneg = width == 1 or 0 <= constant < 1 << (width - 1)
                    self.div = abs(int(constant)) or 1
                    facts.bound_div(self)

    def to(
        self,
        dtype: Any,
        *,
        rounding: Any = None,
        saturate: bool | None = None,
        rbits: Any = None,
        loc: Any = None,
        ip: Any = None,
    ) -> Any:
        """This number converted to another type.

        Args:
            dtype: a numeric class, or `int`, `float`, `bool`.
            rounding: ``rn`` (nearest even), ``rz`` (toward zero), ``rna`` (nearest, ties away from
                zero), ``rm`` (down), ``rp`` (up), ``rs`` (stochastic); if omitted, floats become
                integers by ``rz``, TFloat32 by ``rna``, other floats by ``rn``.
            saturate: clamp to the finite range. If omitted, so do floats to integers and to floats
                of at most 8 bits; integers wrap at the new width.
            rbits: 32 random bits, for ``rs``.

        Floats to integers always clamp, NaN becomes 0; Boolean is "not zero".

        Raises:
            TypeMismatchError: no such rounding.

        Example:
            >>> cutlass.Float32(2.7).to(cutlass.Int32)
            Int32(2)
        """
        if rbits is not None and (self.is_dynamic or getattr(rbits, "is_dynamic", False)):
            rbits = as_numeric(rbits)
        return ops.convert_as(self, class_of(dtype), rounding, saturate, rbits)

    def bitcast(self, dtype: NumericMeta) -> Any:
        """The same bits as another type of the same width.

        Args:
            dtype: its numeric class.
        """
        return ops.bitcast(self, dtype)

    # ---- arithmetic
    def __add__(self, other: Any) -> Any:
        return ops.binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return ops.binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return ops.binary("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return ops.binary("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return ops.binary("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return ops.binary("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return ops.binary("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return ops.binary("truediv", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return ops.binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return ops.binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return ops.binary("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return ops.binary("mod", other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            raise TypeMismatchError("pow() of numbers takes no modulus", code="OC1603",
                                    found=repr(modulus), hint="write x ** n % m")  # fmt: skip
        return ops.power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return ops.power(other, self)

    def __and__(self, other: Any) -> Any:
        return ops.binary("and", self, other)

    def __rand__(self, other: Any) -> Any:
        return ops.binary("and", other, self)

    def __or__(self, other: Any) -> Any:
        return ops.binary("or", self, other)

    def __ror__(self, other: Any) -> Any:
        return ops.binary("or", other, self)

    def __xor__(self, other: Any) -> Any:
        return ops.binary("xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return ops.binary("xor", other, self)

    def __lshift__(self, other: Any) -> Any:
        return ops.binary("shl", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return ops.binary("shl", other, self)

    def __rshift__(self, other: Any) -> Any:
        return ops.binary("shr", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return ops.binary("shr", other, self)

    def __neg__(self) -> Any:
        return ops.negate(self)

    def __round__(self, ndigits: int | None = None) -> Any:
        if not self.dtype.is_float and (ndigits is None or ndigits >= 0):
            return self
        if ndigits is not None:
            raise TypeError("round() with digits is not defined for run-time numbers")
        if not self.is_dynamic:
            return Int32(round(self.value))
        return ops.rounded(self).to(Int32)

    def __trunc__(self) -> Any:
        return self.to(int)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return ops.absolute(self)

    def __invert__(self) -> Any:
        return ops.invert(self)

    # ---- comparison
    def __eq__(self, other: object) -> Any:
        return ops.compare("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return ops.compare("ne", self, other)

    def __lt__(self, other: Any) -> Any:
        return ops.compare("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return ops.compare("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return ops.compare("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return ops.compare("ge", self, other)


class Float(Numeric):
    """Base of the floating-point types."""

    __slots__ = ()
    __hash__ = object.__hash__


class Integer(Numeric):
    """Base of the integer types; follows the layout algebra's protocol for dynamic integers."""

    __slots__ = ()
    __hash__ = object.__hash__
    __opencute_dynamic_int__ = True

    @property
    def divisibility(self) -> int:
        """What is known to divide the value."""
        return self.div if self.is_dynamic else abs(self.value) or 1

    @property
    def width(self) -> int:
        """Bits, as the layout algebra prints them."""
        return self.dtype.width

    def __offset_int__(self) -> Any:
        """As wide as addresses are."""
        return self.to(Int64) if self.dtype.width < 64 else self

    def __ceil_div__(self, other: Any) -> Any:
        return ops.ceil_div(self, other)

    def __rceil_div__(self, other: Any) -> Any:
        return ops.ceil_div(other, self)

    def __min__(self, other: Any) -> Any:
        return ops.minmax("min", self, other)

    def __max__(self, other: Any) -> Any:
        return ops.minmax("max", self, other)

    def __known_equal__(self, other: object) -> bool:
        if not isinstance(other, Integer):
            return not self.is_dynamic and self.value == other
        if self.is_dynamic and other.is_dynamic:
            return self.value is other.value
        return not self.is_dynamic and not other.is_dynamic and self.value == other.value


def _define(name: str, base: type = Numeric) -> Any:
    dtype = DTYPES[name]
    members: dict[str, Any] = {
        "dtype": dtype,
        "__slots__": (),
        "__doc__": dtype.described,
    }
    members["__hash__"] = object.__hash__
    members["__module__"] = __name__
    cls = NUMERIC_CLASSES[name] = NumericMeta(dtype.display, (base,), members)
    return cls


if TYPE_CHECKING:  # for type checkers these are classes, so that they can be annotations

    class Boolean(Numeric): ...

    class Int4(Integer): ...

    class Int8(Integer): ...

    class Int16(Integer): ...

    class Int32(Integer): ...

    class Int64(Integer): ...

    class Int128(Integer): ...

    class Uint4(Integer): ...

    class Uint8(Integer): ...

    class Uint16(Integer): ...

    class Uint32(Integer): ...

    class Uint64(Integer): ...

    class Uint128(Integer): ...

    class Float64(Float): ...

    class Float32(Float): ...

    class TFloat32(Float): ...

    class Float16(Float): ...

    class BFloat16(Float): ...

    class Float8E4M3FN(Float): ...

    class Float8E5M2(Float): ...

    class Float8E8M0FNU(Float): ...

    class Float4E2M1FN(Float): ...

    class Float8E4M3(Float): ...

    class Float8E3M4(Float): ...

    class Float8E4M3B11FNUZ(Float): ...

    class Float8E4M3FNUZ(Float): ...

    class Float8E5M2FNUZ(Float): ...

    class Float6E3M2FN(Float): ...

    class Float6E2M3FN(Float): ...
else:
    Boolean = _define("i1")
    Int4 = _define("i4", Integer)
    Int8 = _define("i8", Integer)
    Int16 = _define("i16", Integer)
    Int32 = _define("i32", Integer)
    Int64 = _define("i64", Integer)
    Int128 = _define("i128", Integer)
    Uint4 = _define("u4", Integer)
    Uint8 = _define("u8", Integer)
    Uint16 = _define("u16", Integer)
    Uint32 = _define("u32", Integer)
    Uint64 = _define("u64", Integer)
    Uint128 = _define("u128", Integer)
    Float64 = _define("f64", Float)
    Float32 = _define("f32", Float)
    TFloat32 = _define("tf32", Float)
    Float16 = _define("f16", Float)
    BFloat16 = _define("bf16", Float)
    Float8E4M3FN = _define("f8e4m3fn", Float)
    Float8E5M2 = _define("f8e5m2", Float)
    Float8E8M0FNU = _define("f8e8m0fnu", Float)
    Float4E2M1FN = _define("f4e2m1fn", Float)
    Float8E4M3 = _define("f8e4m3", Float)
    Float8E3M4 = _define("f8e3m4", Float)
    Float8E4M3B11FNUZ = _define("f8e4m3b11fnuz", Float)
    Float8E4M3FNUZ = _define("f8e4m3fnuz", Float)
    Float8E5M2FNUZ = _define("f8e5m2fnuz", Float)
    Float6E3M2FN = _define("f6e3m2fn", Float)
    Float6E2M3FN = _define("f6e2m3fn", Float)


def as_numeric(value: Any, like: NumericMeta | None = None) -> Numeric:
    """A number of the language; Python numbers become `like`, or Int32 (Int64 if they do not fit),
    Float32 or Boolean, and NumPy scalars what their dtype says.

    Raises:
        TypeMismatchError: `value` is not a number.
    """
    value = number_in(value)
    if isinstance(value, Numeric):
        return value
    kind = plain_type(value) if like is None else None
    if kind is not None:
        number: Any = numeric_class(kind)
        return number(value)
    if hasattr(value, "__index__") or hasattr(value, "__float__"):
        plain = int(value) if hasattr(value, "__index__") else float(value)
        number = like or class_of(type(plain))
        return number(plain)
    raise TypeMismatchError(
        f"{type(value).__name__} is not a number", code="OC1204", found=repr(value)[:80]
    )
