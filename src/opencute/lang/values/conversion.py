# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Conversions that say how they round and whether they saturate.

In: a value (a scalar or a vector in SSA form, or a Python number) and two element types. Out: the
value in the other type, rounded once::

    x.to(Float16, rounding="rz")               # toward zero
    x.to(Int32, rounding="rn")                 # nearest even, instead of cut
    i.to(Int8, saturate=True)                  # clamped, instead of wrapped
    x.to(Float8E4M3FN, rounding="rs", rbits=r) # stochastic, with random bits
"""

from __future__ import annotations

import math
from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.dialects import arith, cute
from opencute.dialects import math as math_dialect
from opencute.ir.core import Value
from opencute.ir.types import F32, F64, I32, element_type, with_lanes
from opencute.lang.numeric_meta import ir_type
from opencute.numeric.dtypes import DTYPES, DType
from opencute.numeric.rounding import Rounding
from opencute.numeric.scalars import coerce_scalar, decode_scalar, encode_scalar

__all__ = [
    "ROUNDINGS",
    "convert_concrete",
    "convert_rounded",
    "exact_float",
    "random_bits",
    "rounding_of",
]

ROUNDINGS: dict[str, Rounding | None] = {
    "rn": "rne", "rz": "rtz", "rna": "rna", "rm": "rd", "rp": "ru", "rs": None,
}  # fmt: skip
"""PTX's names of roundings: nearest even, toward zero, nearest with ties away from zero, down, up,
and stochastic."""

_ALIASES = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp", "rne": "rn", "rtz": "rz",
            "rd": "rm", "ru": "rp"}  # fmt: skip
_TO_WHOLE = {"rn": "roundeven", "rz": "trunc", "rna": "round", "rm": "floor", "rp": "ceil"}
_IEEE = ("f64", "f32", "f16", "bf16")


def rounding_of(name: Any, dst: DType, rbits: Any) -> str | None:
    """PTX's name of a rounding; None where the conversion's own is meant.

    Args:
        name: what the user wrote: a name, or a member of an enumeration of that name.
        dst: the type converted to.
        rbits: random bits, which ``rs`` needs and nothing else takes.

    Raises:
        TypeMismatchError: no such rounding, or random bits where none belong.
    """
    if name is None and rbits is None:
        return None
    text = str(getattr(name, "name", name)).lower()
    text = _ALIASES.get(text, text)
    if text not in ROUNDINGS:
        raise TypeMismatchError(
            f"no rounding is called {name!r}", code="OC1246", expected=", ".join(ROUNDINGS)
        )
    if (text == "rs") != (rbits is not None):
        raise TypeMismatchError(
            "stochastic rounding and random bits go together", code="OC1246",
            expected="rounding='rs', rbits=<32 random bits for each number>", found=text,
        )  # fmt: skip
    if text == "rs" and (not dst.is_float or dst.width > 32):
        raise TypeMismatchError(
            f"there is no stochastic rounding to {dst.display}", code="OC1246",
            expected="a float of at most 32 bits",
        )  # fmt: skip
    return text


def convert_concrete(
    value: Any, src: DType, dst: DType, rounding: str | None, saturate: bool | None, rbits: Any
) -> Any:
    """A Python number of one type as one of another."""
    if rounding == "rs":
        return _stochastic(value, dst, int(rbits), bool(saturate or dst.width <= 8))
    if dst.is_bool:
        return value != 0
    if dst.is_float:
        mode = ROUNDINGS[rounding] if rounding else None
        return decode_scalar(encode_scalar(value, dst, mode, saturate), dst)
    if src.is_float:
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return dst.max if value > 0 else dst.min
        whole = _whole(value, rounding or "rz")
        return max(min(whole, dst.max), dst.min)
    if saturate:
        value = max(min(value, dst.max), dst.min)
    return coerce_scalar(value, dst)


def _whole(value: float, rounding: str) -> int:
    if rounding == "rna":
        return int(math.copysign(math.floor(abs(value) + 0.5), value))
    fn: Any = {"rn": round, "rz": math.trunc, "rm": math.floor, "rp": math.ceil}[rounding]
    return int(fn(value))


def _stochastic(value: Any, dst: DType, rbits: int, saturate: bool) -> Any:
    """The neighbour toward zero, or the next one if the random bits carry (`cute.convert`)."""
    low = decode_scalar(encode_scalar(value, dst, "rtz", saturate), dst)
    if low == value or not math.isfinite(value) or not math.isfinite(low):
        return low
    away: Rounding = "ru" if value > 0 else "rd"
    high = decode_scalar(encode_scalar(value, dst, away, saturate), dst)
    exponent = math.frexp(value)[1] - 1
    lowest = 1 - dst.bias if dst.has_zero else -dst.bias
    drop = min(23 - dst.mantissa_bits + max(lowest - exponent, 0), 25)
    scaled = abs(value) * 2.0 ** (23 - exponent)
    rest = int(scaled) & ((1 << drop) - 1)
    return high if rest + (rbits & ((1 << drop) - 1)) >= 1 << drop else low


def convert_rounded(
    value: Value,
    src: DType,
    dst: DType,
    rounding: str | None,
    saturate: bool | None,
    random: Value | None = None,
) -> Value:
    """Build a conversion; `convert_value` does those that choose nothing.

    Args:
        value: scalar or vector of element type `src`.
        src, dst: element types that differ.
        rounding: PTX's name, None for the conversion's own.
        saturate: clamp to the finite range; None for the conversion's own.
        random: an i32 for each element, for ``rs``.
    """
    if src.is_float and dst.is_float:
        return _float_to_float(value, src, dst, rounding, saturate, random)
    if src.is_float:
        wide = value if src.name in _IEEE else cute.convert(value, with_lanes(F32, value.type))
        whole = math_dialect.unary(_TO_WHOLE[rounding or "rz"], wide)
        return arith.cast("fptosi" if dst.signed else "fptoui", whole, ir_type(dst))
    if dst.is_float:
        exact = exact_float(value, src, dst)
        middle = DTYPES["f64" if element_type(exact.type) == F64 else "f32"]
        if middle is dst:
            return exact
        return _float_to_float(exact, middle, dst, rounding, saturate, random)
    return _clamped(value, src, dst) if saturate else value


def _float_to_float(
    value: Value, src: DType, dst: DType, rounding: str | None, saturate: bool | None,
    random: Value | None,
) -> Value:  # fmt: skip
    own = "rna" if dst.name == "tf32" else "rn"
    clamp = dst.width <= 8 if saturate is None else saturate
    to = with_lanes(ir_type(dst), value.type)
    return cute.convert(value, to, rounding or own, saturate=clamp, random=random)


def exact_float(value: Value, src: DType, dst: DType) -> Value:
    """An integer as a float that rounds to `dst` as the integer itself would.

    Up to 24 bits are exact in f32, up to 53 in f64. Of more bits the last ones become one bit that
    says whether any was set, which is all that rounding asks for.

    Raises:
        TypeMismatchError: more than 53 bits to f64, which is to round another way than `arith`.
    """
    word = "sitofp" if src.signed and not src.is_bool else "uitofp"
    if src.width <= 16:
        return arith.cast(word, value, F32)
    if src.width <= 32:
        return arith.cast(word, value, F64)
    if dst.name == "f64":
        raise TypeMismatchError(
            f"{src.display} is converted to {dst.display} in its own rounding only", code="OC1246",
            hint="convert without rounding=",
        )  # fmt: skip
    like = value.type
    zero = arith.constant(0, like)
    size = value
    if src.signed:
        negative = arith.cmpi("slt", value, zero)
        size = arith.select(negative, arith.binary("subi", zero, value), value)
    if src.width <= 64:
        kept = _cut(value, 11)
    else:  # each cut leaves more bits than any float but f64 has, and one for those below
        kept = _cut(value, 81)
        for low, limit in ((54, 107), (27, 80)):
            below = arith.cmpi("ult", size, arith.constant(1 << limit, like))
            kept = arith.select(below, _cut(value, low), kept)
    small = arith.cmpi("ult", size, arith.constant(1 << 53, like))
    return arith.cast(word, arith.select(small, value, kept), F64)


def _cut(value: Value, count: int) -> Value:
    """An integer whose low bits have become one that says whether any of them was set."""
    like, element = value.type, element_type(value.type)
    low = arith.constant((1 << count) - 1, like)
    some = arith.cmpi("ne", arith.binary("andi", value, low), arith.constant(0, like))
    sticky = arith.binary("shli", arith.cast("extui", some, element), arith.constant(count, like))
    high = arith.binary("andi", value, arith.constant(-(1 << count), like))
    return arith.binary("ori", high, sticky)


def _clamped(value: Value, src: DType, dst: DType) -> Value:
    """An integer limited to what another integer type holds, in its own type."""
    signed = src.signed and not src.is_bool
    if src.min < dst.min:
        value = arith.binary("maxsi", value, arith.constant(int(dst.min), value.type))
    if src.max > dst.max:
        most = arith.constant(int(dst.max), value.type)
        value = arith.binary("minsi" if signed else "minui", value, most)
    return value


def random_bits(bits: Any, like: Value) -> Value:
    """Random bits as the i32 (or vector of i32) that ``cute.convert`` takes."""
    value: Value = bits.ir_value()
    width = getattr(element_type(value.type), "width", 0)
    if width != 32 or with_lanes(I32, value.type) != with_lanes(I32, like.type):
        raise TypeMismatchError(
            "random bits are one 32-bit integer for each number", code="OC1246",
            expected=with_lanes(I32, like.type), found=value.type,
        )  # fmt: skip
    return value
