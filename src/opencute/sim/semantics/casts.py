# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`arith`: conversions between integers and floats, and of bits.

Every conversion to a float rounds once, to nearest even. ``fptosi`` and ``fptoui`` truncate, clamp
to the range and turn NaN into 0, as PTX's ``cvt.rzi`` does.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.ir.core import Op
from opencute.ir.types import IntegerType, VectorType, element_type
from opencute.sim.numbers.exact import narrow, round_to_odd_f64
from opencute.sim.numbers.wide import is_wide, resized, to_float
from opencute.sim.registry import Function, semantics
from opencute.sim.values import (
    Array,
    as_array,
    dtype_of,
    int_width,
    scalar_of,
    unsigned_dtype,
    wrap_array,
)

__all__ = ["on_arrays"]

nd = np.ndarray


def on_arrays(op: Op, fn: Any) -> Function:
    """`fn`, which maps an array to an array, on scalars too."""
    source, target = (dtype_of(v.type, op.loc) for v in (op.operands[0], op.results[0]))

    def run(x: Any) -> Any:
        if type(x) is nd:
            return fn(x)
        return scalar_of(fn(as_array(x, source))[0, 0], target)

    return run


def _unsigned(x: Array, width: int) -> Array:
    """An array of signed integers (or bools) read as unsigned."""
    if x.dtype.kind == "b":
        return x.view(np.uint8)
    u = x.view(unsigned_dtype(x.dtype))
    return u if width == x.dtype.itemsize * 8 else u & u.dtype.type((1 << width) - 1)


def _signed(x: Array) -> Array:
    return -x.view(np.int8) if x.dtype.kind == "b" else x


def _to_int(x: Array, dtype: np.dtype[Any], width: int) -> Array:
    """Integers cut to a width."""
    if width == 1:
        return (x & x.dtype.type(1)).astype(np.bool_)
    out = x.astype(unsigned_dtype(dtype), copy=False).view(dtype)
    return wrap_array(out, width)


@semantics("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast")
def resize(op: Op) -> Function:
    """An integer at another width."""
    width = int_width(op.operands[0].type)
    new = int_width(op.results[0].type)
    dtype = dtype_of(op.results[0].type, op.loc)
    if is_wide(width) or is_wide(new):
        return resized(width, new, dtype, zero=op.name == "arith.extui")
    if op.name == "arith.extui":
        return on_arrays(op, lambda x: _to_int(_unsigned(x, width), dtype, new))
    return on_arrays(op, lambda x: _to_int(_signed(x), dtype, new))


@semantics("arith.extf", "arith.truncf")
def refloat(op: Op) -> Function:
    """A float at another precision."""
    dtype = dtype_of(op.results[0].type, op.loc)
    return on_arrays(op, lambda x: narrow(x, dtype))


@semantics("arith.sitofp", "arith.uitofp")
def int_to_float(op: Op) -> Function:
    """The nearest float."""
    width = int_width(op.operands[0].type)
    dtype = dtype_of(op.results[0].type, op.loc)
    signed = op.name == "arith.sitofp"
    if is_wide(width):
        return on_arrays(op, to_float(op.results[0].type, width, dtype, signed=signed))

    def convert(x: Array) -> Array:
        i = _signed(x) if signed else _unsigned(x, width)
        if dtype == np.float32 or dtype == np.float64:
            return i.astype(dtype)
        return narrow(round_to_odd_f64(i), dtype)

    return on_arrays(op, convert)


@semantics("arith.fptosi", "arith.fptoui")
def float_to_int(op: Op) -> Function:
    """Truncated and clamped."""
    width = int_width(op.results[0].type)
    dtype = dtype_of(op.results[0].type, op.loc)
    signed = op.name == "arith.fptosi"
    low = -(1 << (width - 1)) if signed else 0
    high = (1 << (width - 1)) - 1 if signed else (1 << width) - 1
    if is_wide(width):
        each = np.frompyfunc(lambda x: _clamped_whole(x, low, high), 1, 1)
        return on_arrays(op, lambda x: each(x.astype(np.float64)))
    wide = np.dtype(np.int64) if signed else np.dtype(np.uint64)

    def convert(x: Array) -> Array:
        t = np.trunc(x.astype(np.float64))
        # float(high) may round up past the range, so its neighbours are compared, not converted.
        big, small = t >= float(high), t <= float(low)
        inside = np.where(big | small | np.isnan(t), 0.0, t).astype(wide)
        out = np.where(big, wide.type(high), np.where(small, wide.type(low), inside))
        return _to_int(out, dtype, width)

    return on_arrays(op, convert)


def _clamped_whole(x: float, low: int, high: int) -> int:
    """A float as a Python int in a range; NaN gives 0."""
    if x != x:
        return 0
    return high if x >= high else low if x <= low else int(x)


@semantics("arith.bitcast")
def bitcast(op: Op) -> Function:
    """The same bits as another type of the same width."""
    target = dtype_of(op.results[0].type, op.loc)
    if target == dtype_of(op.operands[0].type, op.loc):
        return lambda x: x
    kept = isinstance(element_type(op.results[0].type), IntegerType)
    width = int_width(op.results[0].type) if kept else 0

    def view(x: Array) -> Array:
        out = (x if x.dtype.kind != "b" else x.view(np.uint8)).view(target)
        return wrap_array(out, width) if width > 1 else out

    if isinstance(op.results[0].type, VectorType):
        return on_arrays(op, lambda x: view(np.ascontiguousarray(x)))
    return on_arrays(op, view)
