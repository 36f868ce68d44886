# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.math`: elementary functions on numbers and vectors.

``fastmath=True`` uses the hardware's approximation where there is one; the documentation has a
table
of the accuracy of each function and variant in ulp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opencute.lang import number_ops as ops
from opencute.lang.emission import emit_fma
from opencute.lang.numbers import as_numeric
from opencute.lang.vectors import TensorSSA, common, elementwise, where

__all__ = [
    "absf",
    "acos",
    "asin",
    "atan",
    "atan2",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "fma",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "min",
    "pow",
    "rcp",
    "relu",
    "round",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]


def _unary(name: str, what: str, op: str | None = None) -> Callable[..., Any]:
    def apply(a: Any, fastmath: bool = False, *, loc: Any = None, ip: Any = None) -> Any:
        return elementwise(op or name, a, fast=fastmath)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"{what} of a number or vector; integers are taken as Float32."
    return apply


exp = _unary("exp", "e to the power")
exp2 = _unary("exp2", "2 to the power")
expm1 = _unary("expm1", "e to the power, minus 1,")
log = _unary("log", "Natural logarithm")
log2 = _unary("log2", "Logarithm to base 2")
log10 = _unary("log10", "Logarithm to base 10")
log1p = _unary("log1p", "Natural logarithm of 1 plus the value")
sqrt = _unary("sqrt", "Square root")
rsqrt = _unary("rsqrt", "Reciprocal square root")
sin = _unary("sin", "Sine")
cos = _unary("cos", "Cosine")
tan = _unary("tan", "Tangent")
asin = _unary("asin", "Inverse sine")
acos = _unary("acos", "Inverse cosine")
atan = _unary("atan", "Inverse tangent")
sinh = _unary("sinh", "Hyperbolic sine")
cosh = _unary("cosh", "Hyperbolic cosine")
tanh = _unary("tanh", "Hyperbolic tangent")
erf = _unary("erf", "Error function")
absf = _unary("absf", "Absolute value")
floor = _unary("floor", "Largest whole number not above")
ceil = _unary("ceil", "Smallest whole number not below")
trunc = _unary("trunc", "Whole part")
round = _unary("round", "Nearest whole number (ties to even)", "roundeven")


def _binary(name: str, a: Any, b: Any) -> Any:
    if isinstance(a, TensorSSA) or isinstance(b, TensorSSA):
        x, y, cls = common(a, b, true_division=True)
        return TensorSSA(ops.emit_math(name, (x.value, y.value), cls.dtype), x.shape, cls)
    number: Any = ops.promoted(as_numeric(a), as_numeric(b), true_division=True)
    return number(ops.emit_math(name, (number(a).ir_value(), number(b).ir_value()), number.dtype))


def atan2(a: Any, b: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """Angle of the point (b, a)."""
    return _binary("atan2", a, b)


def copysign(a: Any, b: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """The magnitude of `a` with the sign of `b`."""
    return _binary("copysign", a, b)


def pow(a: Any, b: Any, fastmath: bool = False, *, loc: Any = None, ip: Any = None) -> Any:
    """`a` to the power `b`."""
    return _binary("powf", a, b)


def fma(a: Any, b: Any, c: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """``a * b + c`` with one rounding."""
    if any(isinstance(v, TensorSSA) for v in (a, b, c)):
        x, y, _ = common(a, b, true_division=True) if isinstance(a, TensorSSA) or isinstance(
            b, TensorSSA
        ) else (as_numeric(a), as_numeric(b), None)  # fmt: skip
        x, z, cls = common(x, c, true_division=True)
        y, z, cls = common(y, z, true_division=True)
        x = x.to(cls).broadcast_to(z.shape)
        y = y.broadcast_to(z.shape)
        return TensorSSA(emit_fma(x.value, y.value, z.value, cls.dtype), z.shape, cls)
    number: Any = ops.promoted(a, b, true_division=True)
    number = ops.promoted(number(0), c, true_division=True)
    x, y, z = (number(v).ir_value() for v in (a, b, c))
    return number(emit_fma(x, y, z, number.dtype))


def _minmax(name: str, a: Any, b: Any) -> Any:
    if isinstance(a, TensorSSA) or isinstance(b, TensorSSA):
        x, y, cls = common(a, b)
        return TensorSSA(ops.emit_minmax(name, x.value, y.value, cls.dtype), x.shape, cls)
    return ops.minmax(name, a, b)


def max(a: Any, b: Any, *more: Any, loc: Any = None, ip: Any = None) -> Any:
    """The greatest; a number wins over NaN."""
    out = _minmax("max", a, b)
    for x in more:
        out = _minmax("max", out, x)
    return out


def min(a: Any, b: Any, *more: Any, loc: Any = None, ip: Any = None) -> Any:
    """The least; a number wins over NaN."""
    out = _minmax("min", a, b)
    for x in more:
        out = _minmax("min", out, x)
    return out


def rcp(a: Any, approx: bool = False, ftz: bool = False, *, loc: Any = None, ip: Any = None) -> Any:
    """``1 / a``."""
    return 1.0 / a


def relu(a: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """The value where it is positive, else 0."""
    return where(a > 0, a, 0)


def sigmoid(a: Any, fastmath: bool = False, *, loc: Any = None, ip: Any = None) -> Any:
    """``1 / (1 + exp(-a))``; f16 and bf16 are computed in f32."""
    x = a if isinstance(a, TensorSSA) else as_numeric(a)
    cls = x.dtype if isinstance(x, TensorSSA) else type(x)
    if not cls.dtype.is_float:
        x, cls = x.to(float), float
    wide = x.to(float) if getattr(cls, "width", 32) < 32 else x
    out = 1.0 / (1.0 + elementwise("exp", -wide, fast=fastmath))
    return out.to(cls) if out is not wide and cls is not float else out
