# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`math`: elementary functions, computed in f64 and rounded to the type.

`opencute.arch.mathfns` states how far a GPU may be from this. A function called with fast math
means the same here: the approximation is the hardware's licence, not the definition.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opencute.ir.core import Op
from opencute.ir.types import element_type
from opencute.sim.numbers.exact import fma as exact_fma
from opencute.sim.numbers.exact import narrow
from opencute.sim.registry import Function, semantics
from opencute.sim.semantics.casts import on_arrays
from opencute.sim.values import (
    Array,
    dtype_of,
    int_width,
    scalar_of,
    unsigned_dtype,
    wrap,
    wrap_array,
)

__all__ = ["FUNCTIONS"]

nd = np.ndarray


def _each(fn: Any) -> Any:
    """A function of Python floats on every element."""
    ufunc = np.frompyfunc(fn, 1, 1)
    return lambda x: np.asarray(ufunc(x)).astype(np.float64)


def _round_away(x: Array) -> Array:
    t = np.trunc(x)
    return t + np.where(np.abs(x - t) >= 0.5, np.copysign(1.0, x), np.copysign(0.0, x))


def _cbrt(x: Array) -> Array:
    """NumPy's may be off by 2 ulp; a step of Newton's method mends that."""
    y = np.cbrt(x)
    step = (y * y * y - x) / (3 * y * y)
    return np.where(np.isfinite(step), y - step, y)


FUNCTIONS: dict[str, Any] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "cbrt": _cbrt, "erf": _each(math.erf),
    "erfc": _each(math.erfc), "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "round": _round_away, "roundeven": np.rint,
}  # fmt: skip
"""Functions of one f64 array."""

_SECOND: dict[str, Any] = {"atan2": np.arctan2, "powf": np.power}


@semantics(*(f"math.{n}" for n in FUNCTIONS))
def unary(op: Op) -> Function:
    """One operand, in f64, rounded once more to the type."""
    fn = FUNCTIONS[op.name[5:]]
    dtype = dtype_of(op.results[0].type, op.loc)
    if op.name == "math.sqrt" and dtype == np.float32:
        return np.sqrt
    return on_arrays(op, lambda x: narrow(fn(x.astype(np.float64)), dtype))


@semantics("math.atan2", "math.powf")
def binary(op: Op) -> Function:
    """Two operands, in f64, rounded once more to the type."""
    fn = _SECOND[op.name[5:]]
    dtype = dtype_of(op.results[0].type, op.loc)

    def run(a: Any, b: Any) -> Any:
        r = fn(np.asarray(a).astype(np.float64), np.asarray(b).astype(np.float64))
        r = narrow(np.asarray(r), dtype)
        return r if r.ndim else scalar_of(r[()], dtype)

    return run


def _bits(op: Op) -> tuple[np.dtype[Any], np.dtype[Any], int]:
    dtype = dtype_of(op.results[0].type, op.loc)
    width = int(getattr(element_type(op.results[0].type), "width", 32))
    return dtype, unsigned_dtype(dtype), 1 << (width - 1)


@semantics("math.absf")
def absf(op: Op) -> Function:
    """Clear the sign bit."""
    dtype, bits, sign = _bits(op)
    return on_arrays(op, lambda x: (x.view(bits) & bits.type(sign - 1)).view(dtype))


@semantics("math.copysign")
def copysign(op: Op) -> Function:
    """The magnitude of one and the sign of another."""
    dtype, bits, sign = _bits(op)

    def run(a: Any, b: Any) -> Any:
        a, b = (np.asarray(v, dtype) for v in (a, b))
        r = (a.view(bits) & bits.type(sign - 1)) | (b.view(bits) & bits.type(sign))
        r = np.asarray(r).view(dtype)
        return r if r.ndim else r[()]

    return run


@semantics("math.fma")
def fma(op: Op) -> Function:
    """`a * b + c` with one rounding."""
    dtype = dtype_of(op.results[0].type, op.loc)

    def run(a: Any, b: Any, c: Any) -> Any:
        r = exact_fma(a, b, c, dtype)
        return r if r.ndim else r[()]

    return run


def _count_ones(x: Array, width: int) -> Array:
    u = x.view(np.uint8) if x.dtype.kind == "b" else x.view(unsigned_dtype(x.dtype))
    if width < x.dtype.itemsize * 8:
        u = u & u.dtype.type((1 << width) - 1)
    total = np.zeros(u.shape, np.uint8)
    table = np.array([bin(i).count("1") for i in range(256)], np.uint8)
    for byte in range(u.dtype.itemsize):
        total += table[(u >> u.dtype.type(8 * byte)).astype(np.uint8)]
    return total


def _leading_zeros(x: Array, width: int) -> Array:
    u = x.view(np.uint8) if x.dtype.kind == "b" else x.view(unsigned_dtype(x.dtype))
    if width < x.dtype.itemsize * 8:
        u = u & u.dtype.type((1 << width) - 1)
    for step in (1, 2, 4, 8, 16, 32):
        if step < u.dtype.itemsize * 8:
            u = u | (u >> u.dtype.type(step))
    return (width - _count_ones(u, width).astype(np.int64)).astype(np.uint8)


def _trailing_zeros(x: Array, width: int) -> Array:
    u = x.view(np.uint8) if x.dtype.kind == "b" else x.view(unsigned_dtype(x.dtype))
    one = u.dtype.type(1)
    below = ~u & (u - one)
    return _count_ones(below, width)


@semantics("math.ctpop", "math.ctlz", "math.cttz")
def count_bits(op: Op) -> Function:
    """How many bits are set, are zero above the first set one, or below the last."""
    width = int_width(op.results[0].type)
    dtype = dtype_of(op.results[0].type, op.loc)
    fn = {"ctpop": _count_ones, "ctlz": _leading_zeros, "cttz": _trailing_zeros}[op.name[5:]]
    if width == 1:
        return on_arrays(op, lambda x: (fn(x, 1) & 1).astype(np.bool_))
    return on_arrays(op, lambda x: wrap_array(fn(x, width).astype(dtype), width))


@semantics("math.absi")
def absi(op: Op) -> Function:
    """The magnitude; the smallest integer stays itself."""
    width = int_width(op.results[0].type)
    if width == 1:
        return lambda x: x
    return lambda x: wrap_array(np.abs(x), width) if type(x) is nd else wrap(abs(x), width)
