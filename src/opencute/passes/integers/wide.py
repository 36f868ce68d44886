# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""wide: conversions between 128-bit integers and floats, through two 64-bit halves.

Before::

    %f = arith.uitofp %x : i128 to f32
    %i = arith.fptosi %y : f64 to i128

After::

    %f = the 64 bits from the first one set, with a bit for whether any below is, as f32, times 2^n
    %i = the high half of |%y| and what is left of it, joined, limited, and given the sign of %y

Why: there is no instruction, and no library for LLVM to call. The bit that stands for those below
makes the one rounding that is left the right one.

Cost: a walk; functions without such integers stay as they are.
"""

from __future__ import annotations

from opencute.arch.target import Target
from opencute.dialects import arith, math
from opencute.ir.core import Op, Value
from opencute.ir.rewrite import Replacement, Rewriter, Rules
from opencute.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I32,
    I64,
    FloatType,
    IntegerType,
    Type,
    element_type,
    with_lanes,
)

__all__ = ["wide"]

_RULES = Rules()
_I128 = IntegerType(128)


def wide(function: Op, target: Target) -> None:
    """Replace the conversions of one function."""
    if any(_converts(op) for op in function.walk()):
        _RULES.apply(function)


def _converts(op: Op) -> bool:
    if op.name in ("arith.sitofp", "arith.uitofp"):
        return element_type(op.operands[0].type) == _I128
    return op.name in ("arith.fptosi", "arith.fptoui") and (
        element_type(op.results[0].type) == _I128
    )


def _const(value: float, like: Value, element: Type) -> Value:
    return arith.constant(value, with_lanes(element, like.type))


def _bits(name: str, a: Value, b: Value | int) -> Value:
    other = b if isinstance(b, Value) else _const(b, a, element_type(a.type))
    return arith.binary(name, a, other)


def _is_less(a: Value, b: int) -> Value:
    return arith.cmpi("slt", a, _const(b, a, element_type(a.type)))


def _is_zero(a: Value) -> Value:
    return arith.cmpi("eq", a, _const(0, a, element_type(a.type)))


def _power(exponent: Value, element: FloatType) -> Value:
    """2^exponent (i64, within the range of normal numbers) as f32 or f64."""
    bias, mantissa = (1023, 52) if element == F64 else (127, 23)
    whole = _bits("shli", _bits("addi", exponent, bias), mantissa)
    if element == F32:
        whole = arith.cast("trunci", whole, I32)
    return arith.cast("bitcast", whole, element)


# ---------------------------------------------------------------- integers to floats
@_RULES.on("arith.sitofp", "arith.uitofp")
def _to_float(op: Op, rw: Rewriter) -> Replacement:
    if not _converts(op):
        return None
    value, to = op.operands[0], element_type(op.results[0].type)
    assert isinstance(to, FloatType)
    if op.name == "arith.uitofp":
        return _magnitude_to_float(value, to)
    negative = _is_less(value, 0)
    size = arith.select(negative, _bits("subi", _const(0, value, _I128), value), value)
    out = _magnitude_to_float(size, to)
    return arith.select(negative, arith.negf(out), out)


def _magnitude_to_float(value: Value, to: FloatType) -> Value:
    high = arith.cast("trunci", _bits("shrui", value, 64), I64)
    low = arith.cast("trunci", value, I64)
    small = arith.cast("uitofp", low, to)
    zeros = math.int_unary("ctlz", high)  # 64 where `small` is taken
    left = _bits("shli", high, zeros)
    right = _bits("shrui", _bits("shrui", low, 1), _bits("subi", _const(63, zeros, I64), zeros))
    rest = arith.cmpi("ne", _bits("shli", low, zeros), _const(0, low, I64))
    top = _bits("ori", _bits("ori", left, right), arith.cast("extui", rest, I64))
    out = arith.cast("uitofp", top, to)  # of at least 2^63: an infinity in f16
    if to != F16:
        scale = _bits("subi", _const(64, zeros, I64), zeros)
        if to == BF16:
            product = arith.binary("mulf", arith.cast("extf", out, F32), _power(scale, F32))
            out = arith.cast("truncf", product, BF16)
        else:
            out = arith.binary("mulf", out, _power(scale, to))
    return arith.select(_is_zero(high), small, out)


# ---------------------------------------------------------------- floats to integers
@_RULES.on("arith.fptosi", "arith.fptoui")
def _to_integer(op: Op, rw: Rewriter) -> Replacement:
    if not _converts(op):
        return None
    value = op.operands[0]
    if element_type(value.type) in (F16, BF16):
        value = arith.cast("extf", value, F32)
    element = element_type(value.type)
    signed = op.name == "arith.fptosi"
    zero = _const(0.0, value, element)
    negative = arith.cmpf("olt", value, zero)
    size = arith.select(negative, arith.negf(value), value) if signed else value
    high = arith.cast("fptoui", _scaled(size, -64, element), I64)  # clamps, and makes NaN 0
    rest = arith.binary("subf", size, _scaled(arith.cast("uitofp", high, element), 64, element))
    low = arith.cast("fptoui", rest, I64)
    joined = _bits(
        "ori", _bits("shli", arith.cast("extui", high, _I128), 64), arith.cast("extui", low, _I128)
    )
    limit = 127 if signed else 128
    most = (1 << limit) - 1
    beyond = arith.cmpf("oge", size, _const(2.0**limit, value, element))
    if not signed:
        if element == F32:  # 2^128 is beyond f32
            beyond = arith.cmpf("oeq", size, _const(float("inf"), value, element))
        return arith.select(beyond, _const(most, joined, _I128), joined)
    minus = _bits("subi", _const(0, joined, _I128), joined)
    least = _const(-1 << 127, joined, _I128)
    return arith.select(
        negative,
        arith.select(beyond, least, minus),
        arith.select(beyond, _const(most, joined, _I128), joined),
    )


def _scaled(value: Value, exponent: int, element: Type) -> Value:
    return arith.binary("mulf", value, _const(2.0**exponent, value, element))
