# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The operations that an operator builds, on SSA values: scalars or vectors of one element type.

In: values and their element type. Out: the value of the result::

    emit_binary("add", a, b, DTYPES["f16"])       # arith.addf
    emit_binary("add", a, b, DTYPES["f8e5m2"])    # to f32, arith.addf, and back

No machine computes in the formats below 16 bits or in tf32: their operations are those of f32 with
the result rounded to the format.
"""

from __future__ import annotations

from collections.abc import Callable

from opencute.base.errors import TypeMismatchError
from opencute.dialects import arith, cute
from opencute.dialects import math as math_dialect
from opencute.ir.core import Value
from opencute.ir.types import with_lanes
from opencute.lang.numeric_meta import ir_type
from opencute.lang.values.conversion import exact_float
from opencute.numeric.dtypes import DTYPES, DType

__all__ = [
    "convert_value",
    "emit_binary",
    "emit_compare",
    "emit_fma",
    "emit_math",
    "emit_minmax",
    "emit_negate",
    "emit_reciprocal",
    "emit_remainder",
]

_INT = {
    "add": "addi", "sub": "subi", "mul": "muli", "and": "andi", "or": "ori", "xor": "xori",
    "shl": "shli",
}  # fmt: skip
_FLOAT = {"add": "addf", "sub": "subf", "mul": "mulf", "truediv": "divf"}


def emit_binary(name: str, a: Value, b: Value, dtype: DType, *, nonneg: bool = False) -> Value:
    """Build `name` on two values (scalars or vectors) of element type `dtype`."""
    if dtype.is_float:
        return _through_f32(lambda x, y: _emit_float(name, x, y), dtype, a, b)
    if name in _INT:
        return arith.binary(_INT[name], a, b)
    signed = dtype.signed and not nonneg and not dtype.is_bool
    if name == "shr":
        return arith.binary("shrsi" if dtype.signed else "shrui", a, b)
    if name == "floordiv":
        return arith.binary("floordivsi" if signed else "divui", a, b)
    if name == "mod":
        if not signed:
            return arith.binary("remui", a, b)
        q = arith.binary("floordivsi", a, b)
        return arith.binary("subi", a, arith.binary("muli", q, b))
    raise TypeMismatchError(f"{dtype.display} has no operator {name!r}", code="OC1206")


def _emit_float(name: str, a: Value, b: Value) -> Value:
    if name in _FLOAT:
        return arith.binary(_FLOAT[name], a, b)
    if name == "floordiv":
        return math_dialect.unary("floor", arith.binary("divf", a, b))
    if name == "mod":
        # CPython: the result has the sign of the divisor.
        r = arith.binary("remf", a, b)
        zero = arith.constant(0.0, a.type)
        wrong = arith.binary(
            "andi",
            arith.cmpf("une", r, zero),
            arith.cmpi("ne", _negative(r), _negative(b)),
        )
        return arith.select(wrong, arith.binary("addf", r, b), r)
    raise TypeMismatchError(f"floats have no operator {name!r}", code="OC1206")


def _negative(v: Value) -> Value:
    return arith.cmpf("olt", v, arith.constant(0.0, v.type))


def emit_compare(name: str, a: Value, b: Value, dtype: DType) -> Value:
    """Build a comparison of two values of element type `dtype`."""
    if dtype.is_float:
        x, y = _plain(a, dtype), _plain(b, dtype)
        return arith.cmpf("une" if name == "ne" else f"o{name}", x, y)
    if name in ("eq", "ne"):
        return arith.cmpi(name, a, b)
    return arith.cmpi(("s" if dtype.signed and not dtype.is_bool else "u") + name, a, b)


def emit_minmax(name: str, a: Value, b: Value, dtype: DType) -> Value:
    """Build the lesser or greater of two values; for floats a number wins over NaN."""
    if dtype.is_float:
        return _through_f32(lambda x, y: arith.binary(f"{name}numf", x, y), dtype, a, b)
    return arith.binary(f"{name}{'s' if dtype.signed and not dtype.is_bool else 'u'}i", a, b)


def emit_negate(value: Value, dtype: DType) -> Value:
    """Build the negative of a float."""
    return _through_f32(arith.negf, dtype, value)


def emit_math(name: str, operands: tuple[Value, ...], dtype: DType, *, fast: bool = False) -> Value:
    """Build `math.<name>` of one or two floats of element type `dtype`."""

    def build(*values: Value) -> Value:
        if len(values) == 1:
            return math_dialect.unary(name, values[0], fast=fast)
        return math_dialect.binary(name, *values, fast=fast)

    return _through_f32(build, dtype, *operands)


def emit_remainder(a: Value, b: Value, dtype: DType) -> Value:
    """Build the remainder of a truncated quotient of floats."""
    return _through_f32(lambda x, y: arith.binary("remf", x, y), dtype, a, b)


def emit_reciprocal(value: Value, dtype: DType) -> Value:
    """Build ``1 / value`` with the hardware's approximation where there is one."""

    def build(x: Value) -> Value:
        return arith.binary("divf", arith.constant(1.0, x.type), x, fast=True)

    return _through_f32(build, dtype, value)


def emit_fma(a: Value, b: Value, c: Value, dtype: DType) -> Value:
    """Build ``a * b + c`` with one rounding (after that of f32, for formats without arithmetic)."""
    return _through_f32(math_dialect.fma, dtype, a, b, c)


def _through_f32(fn: Callable[..., Value], dtype: DType, *operands: Value) -> Value:
    if dtype.name in _ARITH_FLOATS:
        return fn(*operands)
    wide = [_float_to_float(v, dtype, _f32()) for v in operands]
    return _float_to_float(fn(*wide), _f32(), dtype)


def convert_value(value: Value, src: DType, dst: DType) -> Value:
    """Build the conversion of a scalar or vector from one element type to another."""
    if src is dst:
        return value
    to = ir_type(dst)
    if dst.is_bool:
        value = _plain(value, src) if src.is_float else value
        zero = arith.constant(0, value.type)
        return arith.cmpf("une", value, zero) if src.is_float else arith.cmpi("ne", value, zero)
    if src.is_float and dst.is_float:
        return _float_to_float(value, src, dst)
    if src.is_float:
        return arith.cast("fptosi" if dst.signed else "fptoui", _plain(value, src), to)
    unsigned = src.is_bool or not src.signed
    if dst.is_float:
        if dst.name in _ARITH_FLOATS:
            return arith.cast("uitofp" if unsigned else "sitofp", value, to)
        out = exact_float(value, src, dst)  # so that there is one rounding
        rounding, saturate = _how(dst)
        return cute.convert(out, with_lanes(to, out.type), rounding, saturate=saturate)
    if src.width == dst.width:
        return value
    if src.width > dst.width:
        return arith.cast("trunci", value, to)
    return arith.cast("extui" if unsigned else "extsi", value, to)


_ARITH_FLOATS = ("f16", "bf16", "f32", "f64")


def _f32() -> DType:
    return DTYPES["f32"]


def _plain(value: Value, src: DType) -> Value:
    return value if src.name in _ARITH_FLOATS else _float_to_float(value, src, _f32())


def _float_to_float(value: Value, src: DType, dst: DType) -> Value:
    if src.name in _ARITH_FLOATS and dst.name in _ARITH_FLOATS:
        if src.width == dst.width:  # f16 and bf16: through f32, which holds both
            value, src = arith.cast("extf", value, ir_type(_f32())), _f32()
        return arith.cast("extf" if src.width < dst.width else "truncf", value, ir_type(dst))
    to = with_lanes(ir_type(dst), value.type)
    rounding, saturate = _how(dst)
    return cute.convert(value, to, rounding, saturate=saturate)


def _how(dst: DType) -> tuple[str, bool]:
    """How a conversion that says nothing rounds, and whether it saturates."""
    return ("rna" if dst.name == "tf32" else "rn"), dst.width < 16
