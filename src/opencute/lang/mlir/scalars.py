# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""``cutlass._mlir.dialects.math`` and ``arith``: elementwise functions and arithmetic.

The functions take numbers, vectors and SSA values. A vector (`TensorSSA`) comes back as an SSA
vector, a scalar as a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opencute.dialects import arith as arith_dialect
from opencute.dialects import math as math_dialect
from opencute.ir.builder import build1
from opencute.lang.mlir.values import as_number, as_type, as_value

__all__ = ["arith_function", "math_function"]


def _fast(fastmath: Any) -> bool:
    return bool(fastmath) and str(fastmath).lower() not in ("none", "false")


def math_function(name: str) -> Callable[..., Any] | None:
    """``math.<name>`` of the bindings, None if the dialect has no such operation."""
    if name in math_dialect.UNARY:

        def unary(operand: Any, *, fastmath: Any = None, loc: Any = None, ip: Any = None) -> Any:
            return as_number(math_dialect.unary(name, as_value(operand), fast=_fast(fastmath)))

        return unary
    if name in math_dialect.INT_UNARY:

        def bits(operand: Any, *, loc: Any = None, ip: Any = None) -> Any:
            return as_number(math_dialect.int_unary(name, as_value(operand)))

        return bits
    if name in math_dialect.BINARY:

        def binary(
            lhs: Any, rhs: Any, *, fastmath: Any = None, loc: Any = None, ip: Any = None
        ) -> Any:
            left, right = as_value(lhs), as_value(rhs)
            return as_number(math_dialect.binary(name, left, right, fast=_fast(fastmath)))

        return binary
    if name == "fma":

        def fma(
            a: Any, b: Any, c: Any, *, fastmath: Any = None, loc: Any = None, ip: Any = None
        ) -> Any:
            return as_number(math_dialect.fma(as_value(a), as_value(b), as_value(c)))

        return fma
    return None


_BINARY = (
    "addi", "subi", "muli", "andi", "ori", "xori", "shli", "shrsi", "shrui", "divsi", "divui",
    "remsi", "remui", "maxsi", "maxui", "minsi", "minui", "addf", "subf", "mulf", "divf", "remf",
    "maximumf", "minimumf", "maxnumf", "minnumf",
)  # fmt: skip
_CASTS = (
    "bitcast", "extf", "extsi", "extui", "fptosi", "fptoui", "sitofp", "truncf", "trunci", "uitofp",
)  # fmt: skip


def arith_function(name: str) -> Callable[..., Any] | None:
    """``arith.<name>`` of the bindings, None if it is not here."""
    if name in _BINARY:

        def binary(
            lhs: Any, rhs: Any, *, fastmath: Any = None, loc: Any = None, ip: Any = None
        ) -> Any:
            left, right = as_value(lhs), as_value(rhs)
            return as_number(arith_dialect.binary(name, left, right, fast=_fast(fastmath)))

        return binary
    if name in _CASTS:

        def cast(out: Any, in_: Any, *, loc: Any = None, ip: Any = None) -> Any:
            return as_number(build1(f"arith.{name}", (as_value(in_),), as_type(out)))

        return cast
    return _OTHERS.get(name)


def _constant(result: Any, value: Any, *, loc: Any = None, ip: Any = None) -> Any:
    return as_number(arith_dialect.constant(value, as_type(result)))


def _negf(operand: Any, *, fastmath: Any = None, loc: Any = None, ip: Any = None) -> Any:
    return as_number(arith_dialect.negf(as_value(operand)))


def _select(
    condition: Any, true_value: Any, false_value: Any, *, loc: Any = None, ip: Any = None
) -> Any:
    values = (as_value(v) for v in (condition, true_value, false_value))
    return as_number(arith_dialect.select(*values))


_OTHERS: dict[str, Callable[..., Any]] = {
    "constant": _constant, "negf": _negf, "select": _select,
}  # fmt: skip
