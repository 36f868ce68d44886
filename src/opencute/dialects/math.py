# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Elementary functions, as in MLIR's `math` dialect, on scalars or vectors of floats.

``fastmath = #arith.fastmath<fast>`` asks for the hardware's approximation. Accuracy of each
function and variant is a row of the table in the documentation.
"""

from __future__ import annotations

from opencute.dialects.arith import FAST
from opencute.ir.attributes import DialectAttr
from opencute.ir.builder import build1
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import FLOAT, INT, Trait, attr, op, operand, result

__all__ = ["BINARY", "INT_UNARY", "UNARY", "binary", "fma", "int_unary", "unary"]

UNARY = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "erf",
    "erfc", "absf", "floor", "ceil", "trunc", "round", "roundeven",
)  # fmt: skip
BINARY = ("atan2", "copysign", "powf")
INT_UNARY = ("absi", "ctlz", "cttz", "ctpop")

for _name in UNARY:
    op(f"math.{_name}", Trait.PURE | Trait.SAME_TYPE)(
        type(
            f"{_name}Op",
            (Op,),
            {
                "value": operand(FLOAT),
                "fastmath": attr(DialectAttr, required=False),
                "out": result(FLOAT),
            },
        )
    )
for _name in INT_UNARY:
    op(f"math.{_name}", Trait.PURE | Trait.SAME_TYPE)(
        type(f"{_name}Op", (Op,), {"value": operand(INT), "out": result(INT)})
    )
for _name in BINARY:
    op(f"math.{_name}", Trait.PURE | Trait.SAME_TYPE)(
        type(
            f"{_name}Op",
            (Op,),
            {
                "lhs": operand(FLOAT),
                "rhs": operand(FLOAT),
                "fastmath": attr(DialectAttr, required=False),
                "out": result(FLOAT),
            },
        )
    )


@op("math.fma", Trait.PURE | Trait.SAME_TYPE)
class FmaOp(Op):
    """`a * b + c` with one rounding."""

    a = operand(FLOAT)
    b = operand(FLOAT)
    c = operand(FLOAT)
    out = result(FLOAT)


def unary(name: str, value: Value, *, fast: bool = False) -> OpResult:
    """`math.<name>`, one of UNARY."""
    return build1(f"math.{name}", (value,), value.type, {"fastmath": FAST} if fast else None)


def int_unary(name: str, value: Value) -> OpResult:
    """`math.<name>`, one of INT_UNARY."""
    return build1(f"math.{name}", (value,), value.type)


def binary(name: str, lhs: Value, rhs: Value, *, fast: bool = False) -> OpResult:
    """`math.<name>`, one of BINARY."""
    return build1(f"math.{name}", (lhs, rhs), lhs.type, {"fastmath": FAST} if fast else None)


def fma(a: Value, b: Value, c: Value) -> OpResult:
    """`a * b + c` with one rounding."""
    return build1("math.fma", (a, b, c), a.type)
