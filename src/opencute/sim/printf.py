# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""C's printf for `cute.print`: text from a format and one value for each conversion."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.ir.types import FloatType, IndexType, IntegerType, Type, VectorType

__all__ = ["Format"]

_SPEC = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+)?)?"
    r"(?P<length>hh|h|ll|l|z|j|t|L)?(?P<kind>[diuoxXfFeEgGaAcsp%])|%"
)


class Format:
    """A format, checked once against the types of its operands.

    Args:
        op: the print, for messages.
        text: the C format.
        types: types of the operands.

    Raises:
        SimulationError: the format and the operands do not fit together.
    """

    def __init__(self, op: Op, text: str, types: Sequence[Type]) -> None:
        self.op = op
        self.pieces: list[str | re.Match[str]] = []
        self.widths = [self._width(t) for t in types]
        used, last = 0, 0
        for match in _SPEC.finditer(text):
            self.pieces.append(text[last : match.start()])
            last = match.end()
            if match["kind"] is None:
                raise self._error(f"unknown conversion in {text!r}")
            if match["kind"] == "%":
                self.pieces.append("%")
                continue
            if match["width"] == "*" or match["precision"] == "*":
                raise self._error("a width or precision of * is not supported on a GPU")
            self.pieces.append(match)
            used += 1
        self.pieces.append(text[last:])
        if used != len(types):
            raise self._error(f"{used} conversions for {len(types)} values in {text!r}")

    def _width(self, type: Type) -> int:
        if isinstance(type, IntegerType):
            return type.width
        if isinstance(type, VectorType):
            raise self._error(f"cannot print a value of type {type}")
        return 64 if isinstance(type, IndexType) or not isinstance(type, FloatType) else 0

    def _error(self, what: str) -> SimulationError:
        return SimulationError(f"cute.print: {what}", code="OC3007", loc=self.op.loc)

    def __call__(self, values: Sequence[Any]) -> str:
        """The text for one thread."""
        out: list[str] = []
        it = iter(zip(values, self.widths, strict=True))
        for piece in self.pieces:
            if isinstance(piece, str):
                out.append(piece)
            else:
                value, width = next(it)
                out.append(self._one(piece, value, width))
        return "".join(out)

    def _one(self, spec: re.Match[str], value: Any, width: int) -> str:
        kind, flags = spec["kind"], spec["flags"]
        precision = spec["precision"]
        if precision is None and "." in spec.group(0):
            precision = "0"
        if kind in "di":
            text = _integer(str(abs(int(value))), precision, flags, int(value) < 0, signed=True)
        elif kind in "uoxX":
            # What does not fit the length is cut, as C's variadic call would.
            bits = max(width, 32) if width > 1 else 1
            n = int(value) & ((1 << bits) - 1)
            digits = {"u": "d", "o": "o", "x": "x", "X": "X"}[kind]
            text = _integer(format(n, digits), precision, flags, False, signed=False)
            if "#" in flags and n and kind in "xX":
                text = "0" + kind + text
        elif kind in "fFeEgGaA":
            return _float(spec, float(value), precision)
        elif kind == "c":
            text = chr(int(value) & 0xFF)
        elif kind == "p":
            text = f"{int(value) & ((1 << 64) - 1):#x}"
        else:
            text = str(value)[: int(precision)] if precision is not None else str(value)
        zero = "0" in flags and "-" not in flags and kind in "diuoxX" and precision is None
        return _padded(text, spec["width"], flags, zero)


def _integer(
    digits: str, precision: str | None, flags: str, negative: bool, *, signed: bool
) -> str:
    if precision is not None:
        digits = "" if int(precision) == 0 and digits == "0" else digits.rjust(int(precision), "0")
    if not signed:
        return digits
    sign = "-" if negative else "+" if "+" in flags else " " if " " in flags else ""
    return sign + digits


def _float(spec: re.Match[str], value: float, precision: str | None) -> str:
    kind, flags = spec["kind"], spec["flags"]
    finite = value == value and value not in (float("inf"), float("-inf"))
    if not finite:
        text = "nan" if value != value else "-inf" if value < 0 else "inf"
        if text[0] != "-":
            text = ("+" if "+" in flags else " " if " " in flags else "") + text
        text = text.upper() if kind.isupper() else text
        return _padded(text, spec["width"], flags, False)
    if kind in "aA":
        text = _hex_float(value)
        text = text.upper() if kind == "A" else text
        if text[0] != "-":
            text = ("+" if "+" in flags else " " if " " in flags else "") + text
    else:
        keep = "".join(f for f in flags if f in "+ #")
        text = f"%{keep}.{6 if precision is None else precision}{kind}" % value
    return _padded(text, spec["width"], flags, "0" in flags and "-" not in flags)


def _hex_float(value: float) -> str:
    sign, rest = ("-", value.hex()[1:]) if value.hex()[0] == "-" else ("", value.hex())
    mantissa, exponent = rest.split("p")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{sign}{mantissa}p{exponent}"


def _padded(text: str, width: str | None, flags: str, zero: bool) -> str:
    n = int(width) if width else 0
    if "-" in flags:
        return text.ljust(n)
    if not zero:
        return text.rjust(n)
    at = 1 if text[:1] in "+- " else 0
    if text[at : at + 2] in ("0x", "0X"):
        at += 2
    return text[:at] + text[at:].rjust(n - at, "0")
