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

from opencute.ir.types import BF16, F64, I1, I64, FloatType, FunctionType, Type

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


_IEEE = {"f64": ("<d", "<Q"), "f32": ("<f", "<I"), "f16": ("<e", "<H")}
_SPECIAL: dict[str, tuple[int | None, int | None, int]] = {
    "tf32": (0x3FC00, 0x3FE00, 19),
    "f8E5M2": (0x7C, 0x7E, 8),
    "f8E4M3": (0x78, 0x7C, 8),
    "f8E4M3FN": (None, 0x7F, 8),
    "f8E4M3B11FNUZ": (None, 0x80, 8),
    "f8E8M0FNU": (None, 0xFF, 8),
}
"""Bits of infinity, bits of NaN, and the number of bits in MLIR's literal."""


def _float_bits(value: float, type: FloatType) -> str | None:
    """The bits of an infinity or NaN; None for a finite value, which decimal text carries."""
    if math.isfinite(value):
        return None
    if type.name in _IEEE or type == BF16:
        write, read = _IEEE.get(type.name, _IEEE["f32"])
        bits = struct.unpack(read, struct.pack(write, value))[0]
        return f"0x{bits >> 16:04X}" if type == BF16 else f"0x{bits:0{type.width // 4}X}"
    inf, nan, width = _SPECIAL.get(type.name, (None, None, 0))
    special = nan if math.isnan(value) else inf
    if special is None:
        raise ValueError(f"{type} has no {value}")
    if math.copysign(1.0, value) < 0 and math.isinf(value):
        special |= 1 << (width - 1)
    return f"0x{special:0{(width + 3) // 4}X}"


def float_from_bits(bits: int, type: FloatType) -> float:
    """The inverse of a literal in bits; raises ValueError where the type has no such literal."""
    if type.name in _IEEE or type == BF16:
        write, read = _IEEE.get(type.name, _IEEE["f32"])
        if bits >> type.width:
            raise ValueError(f"0x{bits:X} is wider than {type}")
        bits = bits << 16 if type == BF16 else bits
        value: float = struct.unpack(write, struct.pack(read, bits))[0]
        return value
    inf, nan, width = _SPECIAL.get(type.name, (None, None, 0))
    known = {inf: math.inf, nan: math.nan}
    if inf is not None:
        known[inf | 1 << (width - 1)] = -math.inf
    if bits not in known:
        raise ValueError(f"0x{bits:X} is not an infinity or NaN of {type}")
    return known[bits]


@dataclass(frozen=True)
class FloatAttr(Attribute):
    """A float of a type; `value` is exactly representable in it."""

    value: float
    type: FloatType = F64

    def text(self) -> str:
        """The literal without its type."""
        bits = _float_bits(self.value, self.type)
        if bits is not None:
            return bits
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
