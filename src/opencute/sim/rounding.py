# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.convert`: float conversions with other roundings, saturation, or narrow types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.ir.types import FloatType, Type, element_type
from opencute.sim.exact import narrow
from opencute.sim.values import Array, dtype_of, unsigned_dtype

__all__ = ["convert_floats"]


def _mantissa(type: FloatType) -> int:
    """Explicit bits of the mantissa."""
    if type.name == "tf32":
        return 10
    return int(ml_dtypes.finfo(dtype_of(type)).nmant)


def _largest(type: FloatType) -> float:
    if type.name == "tf32":
        return float(np.array(0x7F7FE000, np.uint32).view(np.float32))
    return float(ml_dtypes.finfo(dtype_of(type)).max)


def _to_tf32(x: Array, rounding: str) -> Array:
    """f32 with 10 bits of mantissa, as PTX's cvt.<rounding>.tf32.f32."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    special = (bits & 0x7F800000) == 0x7F800000
    if rounding == "rna":
        moved = bits + 0x1000
    elif rounding == "rn":
        moved = bits + 0xFFF + ((bits >> 13) & 1)
    else:
        moved = bits
    out = np.where(special, bits, moved) & 0xFFFFE000
    out = np.where(np.isnan(x), np.uint64(0x7FFFE000), out)
    return out.astype(np.uint32).view(np.float32)


def _toward_zero(x: Array, dtype: np.dtype[Any]) -> Array:
    """Rounded to nearest, then one step back where that went away from zero."""
    out = narrow(x, dtype)
    wide = out.astype(np.float64)
    over = np.abs(wide) > np.abs(x.astype(np.float64))
    bits = unsigned_dtype(dtype)
    back = (out.view(bits) - over.astype(bits)).view(dtype)
    return np.where(over, back, out)


def _away(x: Array, dtype: np.dtype[Any]) -> Array:
    """To nearest, ties away from zero."""
    low = _toward_zero(x, dtype)
    bits = unsigned_dtype(dtype)
    high = (low.view(bits) + bits.type(1)).view(dtype)
    wide = np.abs(x.astype(np.float64))
    down = wide - np.abs(low.astype(np.float64))
    up = np.abs(high.astype(np.float64)) - wide
    take = (down > 0) & (down >= up)
    return np.where(take, high, low)


def convert_floats(
    op: Op, source: Type, target: Type, rounding: str, saturate: bool
) -> Callable[[Array], Array]:
    """A function from an array of one float type to an array of another.

    Raises:
        SimulationError: the rounding is not one the simulator knows.
    """
    element = element_type(target)
    assert isinstance(element, FloatType)
    dtype = dtype_of(target, op.loc)
    if rounding not in ("rn", "rz", "rna"):
        raise SimulationError(
            f"cute.convert: rounding {rounding} is not simulated", code="OC3001", loc=op.loc
        )
    if element.name == "tf32":
        base: Callable[[Array], Array] = lambda x: _to_tf32(x, rounding)  # noqa: E731
    elif rounding == "rn":
        base = lambda x: narrow(x, dtype)  # noqa: E731
    else:
        base = (
            (lambda x: _toward_zero(x, dtype)) if rounding == "rz" else (lambda x: _away(x, dtype))
        )
    if not saturate:
        return base
    limit = _largest(element)

    def clamped(x: Array) -> Array:
        limited = np.where(np.isnan(x), x, np.clip(x, x.dtype.type(-limit), x.dtype.type(limit)))
        return base(limited.astype(x.dtype))

    return clamped
