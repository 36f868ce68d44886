# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`ptx` arithmetic: directed rounding, byte permutation, the approximate reciprocal."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op
from opencute.sim.registry import Function, semantics
from opencute.sim.values import as_array, dtype_of, scalar_of

__all__: list[str] = []

_TINY = np.float32(2.0**-126)


def _on_arrays(op: Op, fn: Any) -> Function:
    """`fn`, which maps arrays to an array, on scalars too."""
    dtypes = [dtype_of(v.type, op.loc) for v in op.operands]
    target = dtype_of(op.results[0].type, op.loc)

    def run(*values: Any) -> Any:
        arrays = [as_array(v, t) for v, t in zip(values, dtypes, strict=True)]
        out = fn(*arrays)
        if any(type(v) is np.ndarray for v in values):
            return out
        return scalar_of(out[0, 0], target)

    return run


def _flush(x: Any) -> Any:
    """Subnormal numbers as zeros of their sign."""
    return np.where(np.abs(x) < _TINY, np.copysign(np.float32(0), x), x)


def _sum(a: Any, b: Any) -> tuple[Any, Any]:
    """a + b as the nearest double and the exact rest."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _directed(high: Any, low: Any, rnd: str) -> Any:
    """The exact number ``high + low`` rounded to float32."""
    near = high.astype(np.float32)
    rest = (high - near.astype(np.float64)) + low
    if rnd == "rn":
        # Halfway in high is not halfway if low is not zero.
        up, down = np.nextafter(near, np.float32(np.inf)), np.nextafter(near, -np.float32(np.inf))
        wide = near.astype(np.float64)
        above = (up.astype(np.float64) - wide) / 2
        below = (wide - down.astype(np.float64)) / 2
        tie_up = (high - wide == above) & (low > 0)
        tie_down = (high - wide == -below) & (low < 0)
        return np.where(tie_up, up, np.where(tie_down, down, near))
    low_side = (rnd == "rm") | ((rnd == "rz") & (high > 0))
    down = np.nextafter(near, -np.float32(np.inf))
    up = np.nextafter(near, np.float32(np.inf))
    out = np.where(low_side, np.where(rest < 0, down, near), np.where(rest > 0, up, near))
    return np.where(np.isfinite(high), out, near)


def _rounded(op: str, rnd: str, a: Any, b: Any, c: Any) -> Any:
    a, b = a.astype(np.float64), b.astype(np.float64)
    if op == "mul":  # exact in a double
        out = _directed(a * b, np.zeros_like(a * b), rnd)
        zero = a * b == 0
        sign: Any = a * b
    else:
        x, y = (a * b, c.astype(np.float64)) if op == "fma" else (a, -b if op == "sub" else b)
        high, low = _sum(x, y)
        low = np.where(np.isfinite(high), low, 0.0)
        out = _directed(high, low, rnd)
        zero = high == 0
        # Opposite zeros, and numbers that cancel, give -0 only when rounding down.
        both = np.signbit(x) & np.signbit(y)
        either = np.signbit(x) | np.signbit(y)
        sign = np.where(either if rnd == "rm" else both, -0.0, 0.0)
    return np.where(zero, sign.astype(np.float32), out.astype(np.float32))


@semantics("ptx.rounded")
def rounded(op: Op) -> Function:
    """One rounding, in the direction that is asked for."""
    word, rnd = op.attributes["op"], op.attributes["rnd"]
    assert isinstance(word, StringAttr) and isinstance(rnd, StringAttr)
    ftz = "ftz" in op.attributes

    def run(a: Any, b: Any, c: Any = None) -> Any:
        with np.errstate(all="ignore"):
            if ftz:
                a, b, c = _flush(a), _flush(b), None if c is None else _flush(c)
            out = _rounded(word.value, rnd.value, a, b, c)
            return _flush(out).astype(np.float32) if ftz else out

    return _on_arrays(op, run)


@semantics("ptx.rcp_approx")
def rcp_approx(op: Op) -> Function:
    """The nearest reciprocal, which the hardware's is at most one step from."""

    def run(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return _flush(np.float32(1) / _flush(x)).astype(np.float32)

    return _on_arrays(op, run)


@semantics("ptx.prmt")
def prmt(op: Op) -> Function:
    """Bytes picked from two words."""

    def run(a: Any, b: Any, selector: Any) -> Any:
        a, b, s = (v.astype(np.uint64) & np.uint64(0xFFFFFFFF) for v in (a, b, selector))
        both = a | (b << np.uint64(32))
        out = np.zeros(np.broadcast_shapes(both.shape, s.shape), np.uint64)
        for i in range(4):
            nibble = (s >> np.uint64(4 * i)) & np.uint64(15)
            byte = (both >> ((nibble & np.uint64(7)) * np.uint64(8))) & np.uint64(255)
            sign = np.where(byte >> np.uint64(7), np.uint64(255), np.uint64(0))
            byte = np.where(nibble & np.uint64(8), sign, byte)
            out |= byte << np.uint64(8 * i)
        return out.astype(np.uint32).view(np.int32)

    return _on_arrays(op, run)
