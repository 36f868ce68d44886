# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How `expand` splits ``cute.convert`` into conversions that exist.

============================= ==============================================================
conversion                    becomes
============================= ==============================================================
f16, bf16, f64 to f8 or tf32  a conversion to f32 (from f64: rounded to odd) and then the rest
f8 to f32, bf16, f64          a conversion to f16, which holds it exactly, and then the rest
f32 to f8, f8 to f16          left alone where the target has the instruction (two lanes each);
                              before sm_89 the same in integer arithmetic
tf32 to f32                   nothing: a tf32 is an f32 whose last 13 bits are 0
============================= ==============================================================
"""

from __future__ import annotations

from dataclasses import dataclass

from opencute.arch.target import Target
from opencute.base.errors import CompileError
from opencute.dialects import arith, cute
from opencute.ir.attributes import IntAttr, StringAttr
from opencute.ir.core import Op, Value
from opencute.ir.rewrite import Replacement
from opencute.ir.types import F16, F32, F64, I8, I16, I32, I64, FloatType, Type, element_type

__all__ = ["expand_convert"]


@dataclass(frozen=True)
class _F8:
    """What rounding to an 8-bit float needs.

    Args:
        mantissa: explicit bits.
        bias: of the exponent.
        largest: largest finite value.
    """

    mantissa: int
    bias: int
    largest: float


_F8S = {"f8E4M3FN": _F8(3, 7, 448.0), "f8E5M2": _F8(2, 15, 57344.0)}


def expand_convert(op: Op, target: Target) -> Replacement:
    """What replaces a ``cute.convert``; None keeps it."""
    value = op.operands[0]
    src, dst = element_type(value.type), element_type(op.results[0].type)
    assert isinstance(src, FloatType) and isinstance(dst, FloatType)
    rounding, saturate = op.attributes["rounding"], op.attributes["saturate"]
    assert isinstance(rounding, StringAttr) and isinstance(saturate, IntAttr)
    if src.name in _F8S:
        half = value if src == F16 else _to_f16(value, src, target)
        return _plain(half, dst) if dst.name != "tf32" else _as_tf32(_plain(half, F32))
    if src.name == "tf32":
        return _again(
            op, arith.cast("bitcast", value, F32), F32, dst, rounding.value, saturate.value, target
        )
    if dst.name in _F8S or dst.name == "tf32":
        wide = _to_f32(value)
        if dst.name == "tf32" and src.width < 32:
            return _as_tf32(wide)  # exact
        if dst.name in _F8S and not (rounding.value == "rn" and saturate.value):
            raise CompileError(
                f"conversion to {dst} rounds to nearest and saturates; no other way exists",
                code="OC1065", loc=op.loc,
            )  # fmt: skip
        if dst.name in _F8S and not target.has_f8_cvt:
            return _round_to_f8(wide, dst)
        return cute.convert(wide, _like(dst, wide), rounding.value, saturate=bool(saturate.value))
    if rounding.value == "rn" and not saturate.value:
        return _plain(value, dst)
    return None


def _again(
    op: Op,
    value: Value,
    src: FloatType,
    dst: FloatType,
    rounding: str,
    saturate: int,
    target: Target,
) -> Value:
    if src == dst:
        return value
    if dst.name in _F8S and not target.has_f8_cvt:
        return _round_to_f8(value, dst)
    if rounding == "rn" and not saturate:
        return _plain(value, dst)
    return cute.convert(value, _like(dst, value), rounding, saturate=bool(saturate))


def _like(element: Type, value: Value) -> Type:
    from opencute.ir.types import with_lanes

    return with_lanes(element, value.type)


def _plain(value: Value, dst: FloatType) -> Value:
    """A conversion that arith has, through f32 between formats of equal width."""
    src = element_type(value.type)
    assert isinstance(src, FloatType)
    if src == dst:
        return value
    if src.width == dst.width:
        return arith.cast("truncf", arith.cast("extf", value, F32), dst)
    return arith.cast("extf" if src.width < dst.width else "truncf", value, dst)


def _to_f32(value: Value) -> Value:
    src = element_type(value.type)
    if src != F64:
        return value if src == F32 else arith.cast("extf", value, F32)
    # Rounded to odd, so that rounding once more is as if it were done at once.
    near = arith.cast("truncf", value, F32)
    exact = arith.cmpf("ueq", arith.cast("extf", near, F64), value)
    bits = arith.cast("bitcast", near, I32)
    size = math_abs(arith.cast("extf", near, F64))
    over = arith.cmpf("ogt", size, math_abs(value))
    down = arith.binary("subi", bits, arith.cast("extui", over, I32))
    odd = arith.binary("ori", down, _i32(1, bits))
    return arith.cast("bitcast", arith.select(exact, bits, odd), F32)


def math_abs(value: Value) -> Value:
    """The magnitude of an f64, by its bits."""
    bits = arith.cast("bitcast", value, I64)
    mask = arith.constant((1 << 63) - 1, bits.type)
    return arith.cast("bitcast", arith.binary("andi", bits, mask), F64)


def _as_tf32(value: Value) -> Value:
    return arith.cast("bitcast", value, FloatType("tf32", 32))


def _i32(value: int, like: Value) -> Value:
    return arith.constant(value, _like(I32, like))


def _round_to_f8(value: Value, dst: FloatType) -> Value:
    """f32 to f8 to nearest even, clamped to the largest finite value."""
    f8 = _F8S[dst.name]
    drop = 23 - f8.mantissa
    bits = arith.cast("bitcast", value, I32)
    size = arith.binary("andi", bits, _i32(0x7FFFFFFF, bits))
    magnitude = arith.cast("bitcast", size, F32)
    limit = arith.constant(f8.largest, magnitude.type)
    clamped = arith.binary("minnumf", magnitude, limit)
    small_bits = arith.cast("bitcast", clamped, I32)
    # Normal numbers: add just under half of the last place kept, and one more if that place is odd.
    odd = arith.binary("andi", arith.binary("shrui", small_bits, _i32(drop, bits)), _i32(1, bits))
    half = _i32((1 << (drop - 1)) - 1, bits)
    rounded = arith.binary("addi", arith.binary("addi", small_bits, half), odd)
    normal = arith.binary("shrui", rounded, _i32(drop, bits))
    normal = arith.binary("subi", normal, _i32((127 - f8.bias) << f8.mantissa, bits))
    # Subnormal ones: the sum with a number whose last place is theirs rounds by itself.
    magic = arith.constant(2.0 ** (23 + 1 - f8.bias - f8.mantissa), magnitude.type)
    shifted = arith.cast("bitcast", arith.binary("addf", clamped, magic), I32)
    subnormal = arith.binary("subi", shifted, arith.cast("bitcast", magic, I32))
    least = arith.constant(2.0 ** (1 - f8.bias), magnitude.type)
    out = arith.select(arith.cmpf("olt", clamped, least), subnormal, normal)
    nan = arith.cmpf("uno", value, value)
    out = arith.select(nan, _i32(0x7F, bits), out)
    sign = arith.binary("andi", arith.binary("shrui", bits, _i32(24, bits)), _i32(0x80, bits))
    return arith.cast("bitcast", arith.cast("trunci", arith.binary("ori", out, sign), I8), dst)


def _to_f16(value: Value, src: FloatType, target: Target) -> Value:
    if target.has_f8_cvt:
        return cute.convert(value, _like(F16, value))
    bits = arith.cast("extui", arith.cast("bitcast", value, I8), I16)

    def const(v: int) -> Value:
        return arith.constant(v, bits.type)

    if src.name == "f8E5M2":  # the upper half of an f16
        return arith.cast("bitcast", arith.binary("shli", bits, const(8)), F16)
    size = arith.binary("andi", bits, const(0x7F))
    sign = arith.binary("shli", arith.binary("andi", bits, const(0x80)), const(8))
    moved = arith.binary("ori", sign, arith.binary("shli", size, const(7)))
    small = arith.cast("bitcast", moved, F16)
    scaled = arith.binary("mulf", small, arith.constant(256.0, small.type))
    nan = arith.constant(float("nan"), small.type)
    return arith.select(arith.cmpi("eq", size, const(0x7F)), nan, scaled)
