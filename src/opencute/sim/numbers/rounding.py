# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.convert`: float conversions with other roundings, saturation, or narrow types.

The conversion is that of `opencute.numeric`, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.ir.types import FloatType, Type, element_type
from opencute.numeric.convert import convert
from opencute.numeric.dtypes import DTYPES, DType
from opencute.numeric.rounding import Rounding
from opencute.sim.values import Array

__all__ = ["convert_floats", "convert_randomly"]

_ROUNDINGS: dict[str, Rounding] = {
    "rn": "rne", "rz": "rtz", "rna": "rna", "rm": "rd", "rp": "ru",
}  # fmt: skip


def _dtype(op: Op, type: Type) -> DType:
    element = element_type(type)
    for known in DTYPES.values():
        if isinstance(element, FloatType) and known.is_float and known.mlir == element.name:
            return known
    raise SimulationError(f"cute.convert: no float type {element}", code="OC3001", loc=op.loc)


def convert_floats(
    op: Op, source: Type, target: Type, rounding: str, saturate: bool
) -> Callable[[Array], Array]:
    """A function from an array of one float type to an array of another.

    Raises:
        SimulationError: the rounding is not one the simulator knows.
    """
    mode = _ROUNDINGS.get(rounding)
    if mode is None:
        raise SimulationError(
            f"cute.convert: rounding {rounding} is not simulated",
            code="OC3001",
            loc=op.loc,
            expected=", ".join(_ROUNDINGS),
        )
    src, dst = _dtype(op, source), _dtype(op, target)
    return lambda x: convert(x, src, dst, mode, saturate)


def convert_randomly(op: Op, source: Type, target: Type, saturate: bool) -> Callable[..., Array]:
    """A function of numbers and of random bits, 32 for each number: stochastic rounding.

    As many low bits of them as the format drops are added to the significand, and the sum is cut.
    """
    src, dst = _dtype(op, source), _dtype(op, target)

    def run(x: Array, random: Array) -> Array:
        wide = np.float64 if src.width == 64 else np.float32
        fraction, kind = (52, np.uint64) if src.width == 64 else (23, np.uint32)
        bits = convert(x, src, DTYPES["f64" if src.width == 64 else "f32"]).view(kind)
        with np.errstate(invalid="ignore"):
            size = np.abs(bits.view(wide)).astype(np.float64)
        exponent = np.frexp(size)[1].astype(np.int64) - 1
        exponent = np.maximum(exponent, -1022 if src.width == 64 else -126)
        lowest = 1 - dst.bias if dst.has_zero else -dst.bias
        drop = fraction - dst.mantissa_bits + np.maximum(lowest - exponent, 0)
        drop = np.minimum(drop, fraction + 2)
        low = random.astype(np.uint32).astype(np.int64) & ((np.int64(1) << drop) - 1)
        finite = np.isfinite(size)
        step = np.exp2((exponent - fraction).astype(np.float64))
        # The sum is exact: it is cut to the bits of the significand before it is put together.
        units = np.where(finite, np.where(finite, size, 0) / step, 0).astype(np.int64)
        cut = ((units + low) >> drop << drop).astype(np.float64) * step
        near = np.where(finite, np.copysign(cut, bits.view(wide)), bits.view(wide))
        mode: Rounding = "rne"  # exact, but for what is too large, which becomes infinity
        return convert(near, DTYPES["f64"], dst, mode, saturate)

    return run
