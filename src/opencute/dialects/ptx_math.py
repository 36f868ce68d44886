# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""PTX arithmetic that `arith` and `math` cannot state: a rounding mode, an approximation, bytes."""

from __future__ import annotations

from opencute.dialects.ptx import check_word
from opencute.ir.attributes import UNIT, Attribute, StringAttr, UnitAttr
from opencute.ir.builder import build1
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import SCALAR_INT, Constraint, Trait, attr, op, operand, optional, result
from opencute.ir.types import F32, I32, VectorType

__all__ = [
    "ROUNDED",
    "ROUNDINGS",
    "PrmtOp",
    "RcpApproxOp",
    "RoundedOp",
    "prmt",
    "rcp_approx",
    "rounded",
]

ROUNDED = ("add", "sub", "mul", "fma")
ROUNDINGS = ("rn", "rz", "rm", "rp")
_FLOATS = Constraint("f32 or vector<2xf32>", lambda t: t in (F32, VectorType(2, F32)))
_F32 = Constraint("f32", lambda t: t == F32)


@op("ptx.rounded", Trait.PURE | Trait.SAME_TYPE)
class RoundedOp(Op):
    """`a op b`, or `a * b + c` for fma, element by element, rounded once: to nearest (rn), to zero
    (rz), down (rm), up (rp). `ftz`: subnormal operands and results count as zero. It is never
    combined with another operation."""

    a = operand(_FLOATS)
    b = operand(_FLOATS)
    c = optional(_FLOATS)
    op = attr(StringAttr)
    rnd = attr(StringAttr)
    ftz = attr(UnitAttr, required=False)
    out = result(_FLOATS)

    def verify(self) -> None:
        words = ROUNDED[-1:] if len(self.operands) == 3 else ROUNDED[:-1]
        check_word(self, "op", words)
        check_word(self, "rnd", ROUNDINGS)


@op("ptx.rcp_approx", Trait.PURE)
class RcpApproxOp(Op):
    """About ``1 / value`` (PTX ISA, "rcp.approx.ftz.f32"): off by at most one unit in the last
    place; subnormal operands and results count as zero."""

    value = operand(_F32)
    out = result(_F32)


@op("ptx.prmt", Trait.PURE | Trait.SAME_TYPE)
class PrmtOp(Op):
    """Four bytes picked from the eight of `b:a`; nibble i of `selector` picks byte i, its top bit
    spreads that byte's sign (PTX ISA, "prmt")."""

    a = operand(SCALAR_INT)
    b = operand(SCALAR_INT)
    selector = operand(SCALAR_INT)
    out = result(SCALAR_INT)


def rounded(op: str, rnd: str, *values: Value, ftz: bool = False) -> OpResult:
    """Two or three f32 (or pairs of them) combined with a rounding mode."""
    attrs: dict[str, Attribute] = {"op": StringAttr(op), "rnd": StringAttr(rnd)}
    if ftz:
        attrs["ftz"] = UNIT
    return build1("ptx.rounded", values, values[0].type, attrs)


def rcp_approx(value: Value) -> OpResult:
    """About the reciprocal of an f32."""
    return build1("ptx.rcp_approx", (value,), F32)


def prmt(a: Value, b: Value, selector: Value) -> OpResult:
    """Bytes of two words picked by a selector, all i32."""
    return build1("ptx.prmt", (a, b, selector), I32)
