# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Float formats in integer arithmetic: any conversion, on a processor that has no instruction.

In: an SSA value (scalar or vector) and a format. Out: the value in the format, bit for bit as
`opencute.numeric.convert` defines it::

    decode(x, DTYPES["f4e2m1fn"])                        # f4 to f32, exact
    encode(y, DTYPES["f8e5m2"], "rn", saturate=True)     # f32 or f64 to f8, one rounding

Encoding shifts the significand right by as many bits as the format drops (more for subnormal
results), after adding what makes the shift round; a carry runs into the exponent by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from opencute.dialects import arith
from opencute.ir.core import Value
from opencute.ir.types import BF16, F32, F64, I32, I64, FloatType, IntegerType, element_type
from opencute.numeric.dtypes import DTYPES, DType

__all__ = ["decode", "dtype_of", "encode", "integer_to_bf16"]

_BY_MLIR = {t.mlir: t for t in DTYPES.values() if t.is_float}


def dtype_of(type: FloatType) -> DType:
    """The record of a float type."""
    return _BY_MLIR[type.name]


@dataclass(frozen=True)
class _Ints:
    """Integer operations on values of one type, with Python ints as constants."""

    like: Value

    def const(self, value: int) -> Value:
        return arith.constant(value, self.like.type)

    def __call__(self, name: str, a: Value, b: Value | int) -> Value:
        return arith.binary(name, a, self.const(b) if isinstance(b, int) else b)

    def cmp(self, name: str, a: Value, b: int) -> Value:
        return arith.cmpi(name, a, self.const(b))

    def select(self, flag: Value, a: Value | int, b: Value | int) -> Value:
        x, y = (self.const(v) if isinstance(v, int) else v for v in (a, b))
        return arith.select(flag, x, y)


def decode(value: Value, src: DType) -> Value:
    """A float of at most 8 bits as f32; exact.

    The exponent and fraction fields are put where f32 has its own, and a product with a power of
    two mends the bias, for subnormal numbers too.
    """
    raw = arith.cast("bitcast", value, IntegerType(src.width))
    bits = arith.cast("extui", raw, I32)
    ints = _Ints(bits)
    if not src.has_zero:  # e8m0: the exponent field of an f32
        out = ints.select(ints.cmp("eq", bits, 0), 1 << 22, ints("shli", bits, 23))
        nan = ints.cmp("eq", bits, src.nan_bits or 0)
        return arith.cast("bitcast", ints.select(nan, 0x7FFFFFFF, out), F32)
    field = src.exponent_bits + src.mantissa_bits
    size = ints("andi", bits, (1 << field) - 1)
    moved = arith.cast("bitcast", ints("shli", size, 23 - src.mantissa_bits), F32)
    scale = arith.constant(2.0 ** (127 - src.bias), moved.type)
    out = arith.cast("bitcast", arith.binary("mulf", moved, scale), I32)
    if src.has_inf:
        out = ints.select(ints.cmp("eq", size, src.max_code + 1), 0x7F800000, out)
    sign = ints("shli", ints("andi", bits, 1 << field), 31 - field)
    out = ints("ori", out, sign)
    if src.unsigned_zero:
        out = ints.select(ints.cmp("eq", bits, 1 << field), 0x7FFFFFFF, out)
    elif src.has_nan:
        nan = ints.cmp("ugt", size, src.max_code + src.has_inf)
        out = ints.select(nan, 0x7FFFFFFF, out)
    return arith.cast("bitcast", out, F32)


def encode(
    value: Value, dst: DType, rounding: str, *, saturate: bool, random: Value | None = None
) -> Value:
    """An f32 or f64 as a float of fewer bits, rounded once.

    Args:
        value: f32 or f64.
        dst: the format.
        rounding: ``rn``, ``rna``, ``rz``, ``rm``, ``rp``, or ``rs``, which adds random bits.
        saturate: give the largest finite value instead of infinity or NaN.
        random: for ``rs``: an i32, of which as many low bits are used as are dropped.
    """
    wide = element_type(value.type)
    assert wide in (F32, F64)
    fraction, bias, kind = (23, 127, I32) if wide == F32 else (52, 1023, I64)
    bits = arith.cast("bitcast", value, kind)
    ints = _Ints(bits)
    size = ints("andi", bits, (1 << kind.width - 1) - 1)
    negative = ints.cmp("slt", bits, 0)
    code = _rounded(ints, size, negative, dst, rounding, fraction, bias, random)

    infinity = ((1 << kind.width - 1 - fraction) - 1) << fraction
    nan = ints.cmp("ugt", size, infinity)
    code, bad = _limited(ints, code, negative, dst, rounding, saturate)
    if rounding in ("rz", "rm", "rp") and not saturate and (dst.has_inf or dst.has_nan):
        # An infinity stays one, whichever way numbers are rounded.
        endless = ints.cmp("eq", size, infinity)
        if dst.has_inf:
            code = ints.select(endless, dst.max_code + 1, code)
        else:
            bad = endless if bad is None else arith.binary("ori", bad, endless)
    if bad is not None:
        nan = arith.binary("ori", nan, bad)
    if not dst.signed:
        nan = arith.binary("ori", nan, negative)
    if not dst.has_zero:
        nan = arith.binary("ori", nan, ints.cmp("eq", size, 0))
    out = _signed(ints, code, bits, dst, kind.width)
    if dst.pad_bits:
        out = ints("shli", out, dst.pad_bits)
    pattern = dst.max_code if dst.nan_bits is None else dst.nan_bits
    out = ints.select(nan, pattern, out)
    if dst.width < kind.width:
        out = arith.cast("trunci", out, IntegerType(dst.width))
    return arith.cast("bitcast", out, FloatType(dst.mlir, dst.width))


def _rounded(
    ints: _Ints, size: Value, negative: Value, dst: DType, rounding: str, fraction: int, bias: int,
    random: Value | None,
) -> Value:  # fmt: skip
    """The code of a magnitude, without limits."""
    exponent = ints("shrui", size, fraction)
    if dst.has_zero:
        lowest = 1 - dst.bias + bias
        scale = ints("maxsi", exponent, 1)
        significand = ints("subi", size, ints("shli", ints("subi", scale, 1), fraction))
    else:  # e8m0 begins one exponent below f32's normal numbers
        lowest = bias - dst.bias
        scale = exponent
        low = ints("andi", size, (1 << fraction) - 1)
        normal = ints("ori", low, 1 << fraction)
        significand = ints.select(ints.cmp("eq", exponent, 0), ints("shli", low, 1), normal)
    drop = fraction - dst.mantissa_bits
    if lowest <= 1:
        shift: Value = ints.const(drop)
        above = ints("subi", scale, lowest) if lowest else scale
    else:
        below = ints("maxsi", ints("subi", ints.const(lowest), scale), 0)
        shift = ints("minsi", ints("addi", below, drop), fraction + 2)
        above = ints("maxsi", ints("subi", scale, lowest), 0)
    if rounding != "rz":
        addend = _addend(ints, significand, negative, rounding, shift, random)
        significand = ints("addi", significand, addend)
    code = ints("shrui", significand, shift)
    code = ints("addi", code, ints("shli", above, dst.mantissa_bits))
    return code if dst.has_zero else ints("maxsi", ints("subi", code, 1), 0)


def _addend(
    ints: _Ints, significand: Value, negative: Value, rounding: str, shift: Value,
    random: Value | None,
) -> Value:  # fmt: skip
    """What is added to a significand before its last `shift` bits are dropped."""
    one = ints.const(1)
    if rounding in ("rn", "rna"):
        half = ints("shli", one, ints("subi", shift, 1))
        if rounding == "rna":
            return half
        odd = ints("andi", ints("shrui", significand, shift), 1)
        return ints("addi", ints("subi", half, 1), odd)
    mask = ints("subi", ints("shli", one, shift), 1)
    if rounding == "rs":
        assert random is not None
        wide = element_type(ints.like.type)
        same = random if element_type(random.type) == wide else arith.cast("extui", random, wide)
        return ints("andi", same, mask)
    zero = ints.const(0)
    return (
        arith.select(negative, mask, zero)
        if rounding == "rm"
        else arith.select(negative, zero, mask)
    )


def _limited(
    ints: _Ints, code: Value, negative: Value, dst: DType, rounding: str, saturate: bool
) -> tuple[Value, Value | None]:
    """A code with what is too large put right, and where it became NaN."""
    if saturate or rounding == "rz" or not (dst.has_inf or dst.has_nan):
        return ints("minsi", code, dst.max_code), None
    over = ints.cmp("sgt", code, dst.max_code)
    if rounding in ("rm", "rp"):
        # The side that is rounded away from stops at the largest value.
        outward = negative if rounding == "rm" else arith.cmpi(
            "eq", negative, arith.constant(False, negative.type)
        )  # fmt: skip
        code = ints("minsi", code, dst.max_code + 1)
        clamped = ints("minsi", code, dst.max_code)
        if dst.has_inf:
            return arith.select(outward, code, clamped), None
        return clamped, arith.binary("andi", over, outward)
    if dst.has_inf:
        return ints("minsi", code, dst.max_code + 1), None
    return code, over


def _signed(ints: _Ints, code: Value, bits: Value, dst: DType, width: int) -> Value:
    if not dst.signed:
        return code
    field = dst.exponent_bits + dst.mantissa_bits
    sign = ints("andi", ints("shrui", bits, width - 1 - field), 1 << field)
    if dst.unsigned_zero:
        sign = ints.select(ints.cmp("eq", code, 0), 0, sign)
    return ints("ori", code, sign)


def integer_to_bf16(value: Value, signed: bool) -> Value:
    """An integer of more than 24 bits as bf16, where the hardware would go by way of f32.

    Two roundings are not one. So the bits that f32 (for 64 bits: f64) cannot hold become one bit
    that says whether any of them was set, which the rounding to bf16 sees.
    """
    ints = _Ints(value)
    wide = element_type(value.type) == I64
    drop, exact, middle = (11, 53, F64) if wide else (8, 24, F32)
    word = "sitofp" if signed else "uitofp"
    some = ints.cmp("ne", ints("andi", value, (1 << drop) - 1), 0)
    sticky = ints("shli", arith.cast("extui", some, element_type(value.type)), drop)
    cut = ints("ori", ints("andi", value, -(1 << drop)), sticky)
    size = value
    if signed:
        size = arith.select(ints.cmp("slt", value, 0), ints("subi", ints.const(0), value), value)
    kept = arith.select(ints.cmp("ult", size, 1 << exact), value, cut)
    out = arith.cast(word, kept, middle)
    if wide:
        return encode(out, DTYPES["bf16"], "rn", saturate=False)
    return arith.cast("truncf", out, BF16)
