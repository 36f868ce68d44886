# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Compile-time facts attached to operations. ``str(attribute)`` is MLIR's spelling.

>>> str(IntAttr(4, I32)), str(StringAttr("x"))
('4 : i32', '"x"')
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass

from opencute.ir.types import F32, F64, I1, I64, FloatType, FunctionType, Type
from opencute.numeric.dtypes import DTYPES, DType
from opencute.numeric.scalars import coerce_scalar, decode_scalar, encode_scalar

__all__ = [
    "UNIT",
    "ArrayAttr",
    "Attribute",
    "BoolAttr",
    "DenseAttr",
    "DenseI32Attr",
    "DialectAttr",
    "DictAttr",
    "FloatAttr",
    "IntAttr",
    "StringAttr",
    "SymbolAttr",
    "TypeAttr",
    "UnitAttr",
    "attribute_name",
    "float_from_bits",
    "quote",
    "round_float",
]


def quote(text: str) -> str:
    """`text` as an MLIR string literal."""
    out: list[str] = []
    for byte in text.encode("utf-8", "surrogatepass"):
        char = chr(byte)
        if char in '"\\':
            out.append("\\" + char)
        elif 0x20 <= byte < 0x7F:
            out.append(char)
        else:
            out.append(f"\\{byte:02X}")
    return '"' + "".join(out) + '"'


_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*\Z")


def attribute_name(text: str) -> str:
    """The name of an attribute or symbol as MLIR spells it: quoted unless it is an identifier."""
    return text if _BARE.match(text) else quote(text)


class Attribute:
    """Base of all attributes: immutable, hashable, compared by value."""

    __slots__ = ()


@dataclass(frozen=True)
class UnitAttr(Attribute):
    """Present or absent."""

    def __str__(self) -> str:
        return "unit"


UNIT = UnitAttr()


@dataclass(frozen=True, eq=False)
class IntAttr(Attribute):
    """An integer of a type; `value` is kept in the signed range of its width (i1: 0 or 1)."""

    value: int
    type: Type = I64

    def __str__(self) -> str:
        if self.type == I1:
            return "true" if self.value else "false"
        return f"{self.value} : {self.type}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IntAttr) and self.value == other.value and self.type == other.type

    def __hash__(self) -> int:
        return hash((self.value, self.type))


@dataclass(frozen=True, eq=False)
class BoolAttr(IntAttr):
    """``true`` or ``false``: an integer attribute of type i1, as in MLIR."""

    value: bool
    type: Type = I1


_DTYPES: dict[str, DType] = {t.mlir: t for t in DTYPES.values() if t.is_float}


def round_float(value: float, type: FloatType) -> float:
    """The value of `type` nearest to `value`, as a constant of that type would hold."""
    if type == F32:
        try:
            rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            rounded = math.copysign(math.inf, value)
        return rounded
    return value if type == F64 else float(coerce_scalar(value, _DTYPES[type.name]))


def _float_bits(value: float, type: FloatType) -> str:
    """The bits of a value as MLIR writes them, where decimal text cannot carry it."""
    dtype = _DTYPES[type.name]
    width = dtype.width - dtype.pad_bits
    bits = encode_scalar(value, dtype, saturate=False) >> dtype.pad_bits
    return f"0x{bits:0{(width + 3) // 4}X}"


def float_from_bits(bits: int, type: FloatType) -> float:
    """The value of a literal in bits; raises ValueError where it is too wide for the type."""
    dtype = _DTYPES[type.name]
    if bits >> (dtype.width - dtype.pad_bits):
        raise ValueError(f"0x{bits:X} is wider than {type}")
    return float(decode_scalar(bits << dtype.pad_bits, dtype))


@dataclass(frozen=True)
class FloatAttr(Attribute):
    """A float of a type; `value` is exactly representable in it."""

    value: float
    type: FloatType = F64

    def text(self) -> str:
        """The literal without its type."""
        if not math.isfinite(self.value):
            return _float_bits(self.value, self.type)
        text = repr(float(self.value))
        if "e" in text and "." not in text.split("e")[0]:
            head, exponent = text.split("e")
            text = f"{head}.0e{exponent}"
        return text

    def __str__(self) -> str:
        return f"{self.text()} : {self.type}"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FloatAttr) and self.type == other.type and self.text() == other.text()
        )

    def __hash__(self) -> int:
        return hash((self.text(), self.type))


@dataclass(frozen=True)
class StringAttr(Attribute):
    """Text."""

    value: str

    def __str__(self) -> str:
        return quote(self.value)


@dataclass(frozen=True)
class TypeAttr(Attribute):
    """A type as an attribute."""

    value: Type | FunctionType

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class SymbolAttr(Attribute):
    """A reference to a symbol: ``@kernels::@relu``."""

    path: tuple[str, ...]

    def __str__(self) -> str:
        return "::".join([f"@{attribute_name(p)}" for p in self.path])


@dataclass(frozen=True)
class ArrayAttr(Attribute):
    """A list of attributes."""

    items: tuple[Attribute, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.items))}]"


@dataclass(frozen=True)
class DenseI32Attr(Attribute):
    """``array<i32: ...>`` (or i64), as in operand segment sizes."""

    values: tuple[int, ...]
    width: int = 32

    def __str__(self) -> str:
        head = f"array<i{self.width}"
        return f"{head}: {', '.join(map(str, self.values))}>" if self.values else f"{head}>"


@dataclass(frozen=True)
class DictAttr(Attribute):
    """Named attributes, sorted by name."""

    items: tuple[tuple[str, Attribute], ...]

    def __str__(self) -> str:
        return "{" + ", ".join([f"{attribute_name(k)} = {v}" for k, v in self.items]) + "}"


@dataclass(frozen=True)
class DenseAttr(Attribute):
    """The value of a constant vector: ``dense<0.0> : vector<8xf16>``.

    Args:
        items: one IntAttr or FloatAttr per element, or a single one for a splat.
        type: the vector's type.
    """

    items: tuple[Attribute, ...]
    type: Type

    @staticmethod
    def _text(item: Attribute) -> str:
        if isinstance(item, FloatAttr):
            return item.text()
        if isinstance(item, IntAttr):
            return str(item) if item.type == I1 else str(item.value)
        raise TypeError(f"not a dense element: {item!r}")

    def __str__(self) -> str:
        texts = [self._text(i) for i in self.items]
        body = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        return f"dense<{body}> : {self.type}"


@dataclass(frozen=True)
class DialectAttr(Attribute):
    """An attribute of a dialect in its own syntax: ``#arith.fastmath<none>``."""

    dialect: str
    body: str

    def __str__(self) -> str:
        return f"#{self.dialect}.{self.body}"
