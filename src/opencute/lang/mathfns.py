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

from opencute.base.errors import TypeMismatchError
from opencute.ir.builder import current_block
from opencute.lang import number_ops as ops
from opencute.lang.emission import emit_fma, emit_reciprocal, emit_remainder
from opencute.lang.numbers import Integer, Numeric, as_numeric, class_of
from opencute.lang.values.eager_math import eager
from opencute.lang.vectors import TensorSSA, common, elementwise

__all__ = [
    "absf",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "fma",
    "fmod",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "min",
    "pow",
    "powi",
    "rcp",
    "rint",
    "round",
    "roundeven",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]


_ARGS = """

Args:
    a: a number, or a vector, of which each element is meant.
    fastmath: take the hardware's approximation where there is one.

Source: docs/reference/math_accuracy.md has how far each function is off.
"""


def _unary(name: str, what: str, op: str | None = None) -> Callable[..., Any]:
    def apply(a: Any, fastmath: bool = False, *, loc: Any = None, ip: Any = None) -> Any:
        known = _eager(op or name, a)
        return elementwise(op or name, a, fast=fastmath) if known is None else known

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"{what} of a number or vector; integers are taken as Float32.{_ARGS}"
    return apply


def _eager(name: str, *operands: Any) -> Any:
    """The function of numbers that are known, outside of compiled code; None anywhere else."""
    if current_block() is not None or any(isinstance(x, TensorSSA) for x in operands):
        return None
    numbers = [as_numeric(x) for x in operands]
    if any(x.is_dynamic for x in numbers):
        return None
    cls: Any = type(numbers[0])
    for x in numbers[1:]:
        cls = ops.promoted(cls(0), x)
    cls = cls if cls.dtype.is_float else class_of(float)
    return cls(eager(name, [float(x.value) for x in numbers]))


exp = _unary("exp", "e to the power")
exp2 = _unary("exp2", "2 to the power")
expm1 = _unary("expm1", "e to the power, minus 1,")
log = _unary("log", "Natural logarithm")
log2 = _unary("log2", "Logarithm to base 2")
log10 = _unary("log10", "Logarithm to base 10")
log1p = _unary("log1p", "Natural logarithm of 1 plus the value")
sqrt = _unary("sqrt", "Square root")
rsqrt = _unary("rsqrt", "Reciprocal square root")
cbrt = _unary("cbrt", "Cube root")
sin = _unary("sin", "Sine")
cos = _unary("cos", "Cosine")
tan = _unary("tan", "Tangent")
asin = _unary("asin", "Inverse sine")
acos = _unary("acos", "Inverse cosine")
atan = _unary("atan", "Inverse tangent")
sinh = _unary("sinh", "Hyperbolic sine")
cosh = _unary("cosh", "Hyperbolic cosine")
tanh = _unary("tanh", "Hyperbolic tangent")
asinh = _unary("asinh", "Inverse hyperbolic sine")
acosh = _unary("acosh", "Inverse hyperbolic cosine")
atanh = _unary("atanh", "Inverse hyperbolic tangent")
erf = _unary("erf", "Error function")
erfc = _unary("erfc", "1 minus the error function")
absf = _unary("absf", "Absolute value")
floor = _unary("floor", "Largest whole number not above")
ceil = _unary("ceil", "Smallest whole number not below")
trunc = _unary("trunc", "Whole part")
round = _unary("round", "Nearest whole number (ties to even)", "roundeven")
roundeven = round
rint = round
fabs = absf


def _pair(a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    """Two operands as SSA values of one float type, its class, and their shape if they have one."""
    if isinstance(a, TensorSSA) or isinstance(b, TensorSSA):
        x, y, cls = common(a, b, true_division=True)
        return x.value, y.value, cls, x.shape
    number: Any = ops.promoted(as_numeric(a), as_numeric(b), true_division=True)
    return number(a).ir_value(), number(b).ir_value(), number, None


def _result(value: Any, cls: Any, shape: Any) -> Any:
    return cls(value) if shape is None else TensorSSA(value, shape, cls)


def _binary(name: str, a: Any, b: Any, fast: bool = False) -> Any:
    known = _eager(name, a, b)
    if known is not None:
        return known
    x, y, cls, shape = _pair(a, b)
    return _result(ops.emit_math(name, (x, y), cls.dtype, fast=fast), cls, shape)


def atan2(a: Any, b: Any, fastmath: bool = False, *, loc: Any = None, ip: Any = None) -> Any:
    """Angle of the point (b, a), in radians.

    Args:
        a: the second coordinate, a number or vector.
        b: the first coordinate, likewise; both become one float type.
        fastmath: take the hardware's approximation where there is one.
    """
    return _binary("atan2", a, b, fastmath)


def copysign(a: Any, b: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """The magnitude of `a` with the sign of `b`, numbers or vectors of one float type."""
    return _binary("copysign", a, b)


def fmod(a: Any, b: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """The remainder of a truncated quotient, with the sign of `a`; that of ``%`` has `b`'s.

    Args:
        a: the dividend, a number or vector.
        b: the divisor, likewise; both become one float type.

    Example:
        >>> cute.math.fmod(-5.0, 3.0)
        Float32(-2.0)
    """
    known = _eager("fmod", a, b)
    if known is not None:
        return known
    x, y, cls, shape = _pair(a, b)
    return _result(emit_remainder(x, y, cls.dtype), cls, shape)


def pow(a: Any, b: Any, fastmath: bool = False, *, loc: Any = None, ip: Any = None) -> Any:
    """`a` to the power `b`.

    Args:
        a: a number or vector.
        b: the exponent, likewise; both become one float type.
        fastmath: take the hardware's approximations.

    Example:
        >>> cute.math.pow(2.0, 0.5)
        Float32(1.4142135381698608)
    """
    return _binary("powf", a, b, fastmath)


def powi(a: Any, n: Any, fastmath: bool = False, *, loc: Any = None, ip: Any = None) -> Any:
    """`a` to a whole power; one that is known and not large is multiplied.

    Args:
        a: a number or vector.
        n: the exponent, an integer.
        fastmath: take the hardware's approximations.

    Raises:
        TypeMismatchError: the exponent is no integer.
    """
    if not isinstance(n, TensorSSA) and not isinstance(as_numeric(n), Integer):
        raise TypeMismatchError("powi() takes a whole exponent", code="OC1245", found=repr(n),
                                hint="use cute.math.pow")  # fmt: skip
    x = a if isinstance(a, TensorSSA | Numeric) else as_numeric(a)
    cls: Any = x.dtype if isinstance(x, TensorSSA) else type(x)
    count = ops.whole_exponent(n, cls.dtype)
    if count is not None:
        return x**count
    if not cls.dtype.is_float:
        x = x.to(float)
    exponent = n.to(float) if isinstance(n, TensorSSA | Numeric) else float(n)
    return _binary("powf", x, exponent, fastmath)


def fma(a: Any, b: Any, c: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """``a * b + c`` with one rounding; numbers or vectors, which become one float type."""
    if any(isinstance(v, TensorSSA) for v in (a, b, c)):
        x, y, _ = common(a, b, true_division=True) if isinstance(a, TensorSSA) or isinstance(
            b, TensorSSA
        ) else (as_numeric(a), as_numeric(b), None)  # fmt: skip
        x, z, cls = common(x, c, true_division=True)
        y, z, cls = common(y, z, true_division=True)
        x = x.to(cls).broadcast_to(z.shape)
        y = y.broadcast_to(z.shape)
        return TensorSSA(emit_fma(x.value, y.value, z.value, cls.dtype), z.shape, cls)
    number: Any = ops.promoted(as_numeric(a), as_numeric(b), true_division=True)
    number = ops.promoted(number(0), as_numeric(c), true_division=True)
    x, y, z = (number(v).ir_value() for v in (a, b, c))
    return number(emit_fma(x, y, z, number.dtype))


def _as_float(a: Any) -> Any:
    """A number or vector, of floats."""
    x = a if isinstance(a, TensorSSA) else as_numeric(a)
    cls: Any = x.dtype if isinstance(x, TensorSSA) else type(x)
    return x if cls.dtype.is_float else x.to(float)


def isnan(a: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """Whether `a`, a number or each element of a vector, is NaN."""
    x = _as_float(a)
    return x != x


def isinf(a: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """Whether `a`, a number or each element of a vector, is infinite."""
    return abs(_widest(a)) == float("inf")


def isfinite(a: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """Whether `a`, a number or each element of a vector, is neither infinite nor NaN."""
    return abs(_widest(a)) < float("inf")


def _widest(a: Any) -> Any:
    """Floats of at most 8 bits as Float32: many of them have no infinity to compare with."""
    x = _as_float(a)
    cls: Any = x.dtype if isinstance(x, TensorSSA) else type(x)
    return x.to(float) if cls.dtype.width <= 8 else x


def _minmax(name: str, a: Any, b: Any) -> Any:
    if isinstance(a, TensorSSA) or isinstance(b, TensorSSA):
        x, y, cls = common(a, b)
        return TensorSSA(ops.emit_minmax(name, x.value, y.value, cls.dtype), x.shape, cls)
    return ops.minmax(name, a, b)


def max(a: Any, b: Any, *more: Any, loc: Any = None, ip: Any = None) -> Any:
    """The greatest of `a`, `b` and `more`; a number wins over NaN.

    They are numbers or vectors and become one type, as operands of ``+`` do.

    Example:
        >>> cute.math.max(1, 2.5)
        Float32(2.5)
    """
    out = _minmax("max", a, b)
    for x in more:
        out = _minmax("max", out, x)
    return out


def min(a: Any, b: Any, *more: Any, loc: Any = None, ip: Any = None) -> Any:
    """The least of `a`, `b` and `more`; a number wins over NaN.

    They are numbers or vectors and become one type, as operands of ``+`` do.

    Example:
        >>> cute.math.min(1, 2.5)
        Float32(1.0)
    """
    out = _minmax("min", a, b)
    for x in more:
        out = _minmax("min", out, x)
    return out


def rcp(
    a: Any,
    approx: bool = False,
    ftz: bool = False,
    fastmath: bool = False,
    *,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """``1 / a``.

    Args:
        a: a number or vector; integers are taken as Float32.
        approx: one instruction, at most 1 ulp off, that takes subnormal numbers as zero.
        ftz: accepted; the approximation always flushes, the division never does.
        fastmath: the same as `approx`.
    """
    known = _eager("rcp", a)
    if known is not None:
        return known
    x = _as_float(a)
    if not (approx or fastmath):
        return 1.0 / x
    cls: Any = x.dtype if isinstance(x, TensorSSA) else type(x)
    shape = x.shape if isinstance(x, TensorSSA) else None
    return _result(emit_reciprocal(x.ir_value(), cls.dtype), cls, shape)
