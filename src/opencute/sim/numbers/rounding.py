# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.convert`: float conversions with other roundings, saturation, or narrow types.

The conversion is that of `opencute.numeric`, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable

from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.ir.types import FloatType, Type, element_type
from opencute.numeric.convert import convert
from opencute.numeric.dtypes import DTYPES, DType
from opencute.numeric.rounding import Rounding
from opencute.sim.values import Array

__all__ = ["convert_floats"]

_ROUNDINGS: dict[str, Rounding] = {"rn": "rne", "rz": "rtz", "rna": "rna"}


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
        SimulationError: the rounding is not one the simulator knows (``rs`` depends on random bits
            that the operation does not have).
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
