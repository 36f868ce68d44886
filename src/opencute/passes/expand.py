# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""expand: operations that no instruction computes become ones that do.

Before::

    %q = arith.floordivsi %a, %b : i32
    %e = math.exp %x : vector<8xf16>
    %f = math.exp %y fastmath<fast> : f32

After::

    %q = truncating quotient, corrected by one where the signs differ
    %e = arith.truncf (math.exp (arith.extf %x : vector<8xf32>))
    %f = math.exp2 (arith.mulf %y, log2(e)) fastmath<fast>

Why: what is left has one instruction, intrinsic or library function each, by the table of
`opencute.arch.mathfns`; and the simulator can run the result.

Cost: linear.
"""

from __future__ import annotations

import math as pymath
import struct

from opencute.arch.mathfns import math_fn
from opencute.arch.target import Target
from opencute.dialects import arith, math
from opencute.ir.builder import build1
from opencute.ir.core import Op, Value
from opencute.ir.rewrite import Replacement, Rewriter, Rule, Rules
from opencute.ir.types import BF16, F32, I32, I64, FloatType, Type, element_type, with_lanes
from opencute.passes.converts import expand_convert
from opencute.passes.folding import int_of
from opencute.passes.host_floats import HOST_RULES
from opencute.passes.narrow import integer_to_bf16
from opencute.passes.ranges import is_nonnegative
from opencute.passes.substitutes import substitute_rules

__all__ = ["expand"]

_RULES = Rules()


def expand(function: Op, target: Target) -> None:
    """Expand the operations of one function."""
    on_gpu = function.name != "func.func"  # the host's CPU has no instructions of PTX

    def convert(op: Op, rw: Rewriter) -> Replacement:
        return expand_convert(op, target if on_gpu else None)

    rules = _RULES | {"cute.convert": convert}
    if not target.has_bf16_cvt:
        own: dict[str, Rule] = {"arith.sitofp": _to_bf16, "arith.uitofp": _to_bf16}
        rules = rules | own
    (rules | substitute_rules(target) if on_gpu else rules | HOST_RULES).apply(function)


# ---------------------------------------------------------------- integers
@_RULES.on("arith.floordivsi")
def _floordiv(op: Op, rw: Rewriter) -> Replacement:
    a, b = op.operands
    known = int_of(b)
    if known is not None and known > 0 and known & (known - 1) == 0:
        return arith.binary("shrsi", a, _int(known.bit_length() - 1, a))
    if is_nonnegative(a) and is_nonnegative(b):
        return arith.binary("divui", a, b)
    q = arith.binary("divsi", a, b)
    r = arith.binary("subi", a, arith.binary("muli", q, b))
    if is_nonnegative(b):
        below = arith.cmpi("slt", r, _int(0, a))
    else:
        differ = arith.cmpi("slt", arith.binary("xori", r, b), _int(0, a))
        below = arith.binary("andi", differ, arith.cmpi("ne", r, _int(0, a)))
    return arith.binary("subi", q, _as_int(below, a))


@_RULES.on("arith.ceildivsi")
def _ceildivsi(op: Op, rw: Rewriter) -> Replacement:
    a, b = op.operands
    q = arith.binary("divsi", a, b)
    r = arith.binary("subi", a, arith.binary("muli", q, b))
    same = arith.cmpi("sge", arith.binary("xori", r, b), _int(0, a))
    above = arith.binary("andi", same, arith.cmpi("ne", r, _int(0, a)))
    return arith.binary("addi", q, _as_int(above, a))


@_RULES.on("arith.ceildivui")
def _ceildivui(op: Op, rw: Rewriter) -> Replacement:
    a, b = op.operands
    q = arith.binary("divui", a, b)
    r = arith.binary("subi", a, arith.binary("muli", q, b))
    return arith.binary("addi", q, _as_int(arith.cmpi("ne", r, _int(0, a)), a))


def _divide_nonnegative(unsigned: str) -> Rule:
    """Unsigned division is cheaper, and the same for operands that are not negative."""

    def rule(op: Op, rw: Rewriter) -> Replacement:
        a, b = op.operands
        if is_nonnegative(a) and is_nonnegative(b):
            return arith.binary(unsigned, a, b)
        return None

    return rule


def _int(value: int, like: Value) -> Value:
    return arith.constant(value, like.type)


def _as_int(flag: Value, like: Value) -> Value:
    return arith.cast("extui", flag, element_type(like.type))


_RULES.on("arith.divsi")(_divide_nonnegative("divui"))
_RULES.on("arith.remsi")(_divide_nonnegative("remui"))


# ---------------------------------------------------------------- floats
def _to_bf16(op: Op, rw: Rewriter) -> Replacement:
    src = element_type(op.operands[0].type)
    if element_type(op.results[0].type) != BF16 or src not in (I32, I64):
        return None
    return integer_to_bf16(op.operands[0], op.name == "arith.sitofp")


def _float(value: float, like: Value) -> Value:
    return arith.constant(value, like.type)


def _widen(value: Value) -> Value:
    return arith.cast("extf", value, F32)


def _rebuild(op: Op, operands: list[Value], type: Type) -> Value:
    return build1(op.name, operands, type, op.attributes)


@_RULES.on("arith.divf", "arith.remf", *(f"math.{f}" for f in (*math.UNARY, *math.BINARY)))
def _function(op: Op, rw: Rewriter) -> Replacement:
    element = element_type(op.results[0].type)
    assert isinstance(element, FloatType)
    row = math_fn(op.name, element.name, fast="fastmath" in op.attributes)
    if row is None:
        return None
    operands = op.operands
    if row.kind == "via_f32":
        wide = [_widen(v) for v in operands]
        like = with_lanes(F32, op.results[0].type)
        inner = _steps(op, wide) or _rebuild(op, wide, like)
        return arith.cast("truncf", inner, element)
    if row.kind == "steps":
        made = _steps(op, operands)
        assert made is not None
        return made
    return None


def _steps(op: Op, x: list[Value]) -> Value | None:
    """A fast function composed of others, on f32; None if this one is not composed."""
    if "fastmath" not in op.attributes:
        return None
    if op.name == "math.exp":
        return _exp2(_mul(x[0], pymath.log2(pymath.e)))
    if op.name == "math.log":
        return _mul(_log2(x[0]), pymath.log(2))
    if op.name == "math.log10":
        return _mul(_log2(x[0]), pymath.log10(2))
    if op.name == "math.tan":
        sin, cos = (math.unary(f, x[0], fast=True) for f in ("sin", "cos"))
        return arith.binary("divf", sin, cos, fast=True)
    if op.name == "math.powf":
        return _exp2(arith.binary("mulf", x[1], _log2(x[0])))
    return None


def _exp2(x: Value) -> Value:
    return math.unary("exp2", x, fast=True)


def _log2(x: Value) -> Value:
    return math.unary("log2", x, fast=True)


def _mul(x: Value, factor: float) -> Value:
    return arith.binary("mulf", x, _float(_as_f32(factor), x))


def _as_f32(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])
