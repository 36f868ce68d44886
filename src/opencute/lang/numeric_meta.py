# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a numeric class knows of itself: width, kind, limits, and the type of its SSA values.

Float16.width, Int8.min, Uint8.signed       # 16, -128, False
"""

from __future__ import annotations

import math
from typing import Any

from opencute.ir import types as ir_types
from opencute.numeric.dtypes import DType

__all__ = ["NumericMeta", "ir_type"]


class NumericMeta(type):
    """The type of `Int32` and its like; a numeric class describes itself."""

    dtype: DType

    @property
    def width(cls) -> int:
        """Bits of the value (Boolean: 1)."""
        return cls.dtype.width

    @property
    def is_integer(cls) -> bool:
        """Whether this is an integer type; Boolean counts as one, as it does in Python."""
        return cls.dtype.is_integer or cls.dtype.is_bool

    @property
    def is_float(cls) -> bool:
        """Whether this is a floating-point type."""
        return cls.dtype.is_float

    @property
    def signed(cls) -> bool:
        """Whether negative values exist."""
        return cls.dtype.signed

    @property
    def mlir_type(cls) -> ir_types.Type:
        """The type of SSA values of this class."""
        return ir_type(cls.dtype)

    @property
    def min(cls) -> int | float:
        """The lowest finite value."""
        return cls.dtype.min

    @property
    def max(cls) -> int | float:
        """The largest finite value."""
        return cls.dtype.max

    @property
    def inf(cls) -> float:
        """Positive infinity."""
        return math.inf

    @property
    def nan(cls) -> float:
        """Not a number."""
        return math.nan

    @property
    def bytes(cls) -> int:
        """Bytes of one element on its own, rounded up."""
        return cls.dtype.bytes

    @property
    def numpy_dtype(cls) -> Any:
        """The NumPy type of arrays of such elements (of `ml_dtypes` where NumPy has none)."""
        return cls.dtype.numpy_dtype

    @property
    def exponent_width(cls) -> int:
        """Bits of the exponent; 0 for integers."""
        return cls.dtype.exponent_bits

    @property
    def mantissa_width(cls) -> int:
        """Bits of the fraction; 0 for integers."""
        return cls.dtype.mantissa_bits

    @property
    def one(cls) -> Any:
        """One of this type as a Python number."""
        return 1.0 if cls.dtype.is_float else 1

    def is_same_kind(cls, other: Any) -> bool:
        """Whether both are floats, or both integers (Boolean counts as one)."""
        return cls.is_float == getattr(other, "is_float", None)

    @property
    def zero(cls) -> Any:
        """Zero of this type as a Python number."""
        return 0.0 if cls.dtype.is_float else 0

    def __str__(cls) -> str:
        return cls.__name__

    def __repr__(cls) -> str:
        return cls.__name__


_IR_TYPES: dict[str, ir_types.Type] = {}


def ir_type(dtype: DType) -> ir_types.Type:
    """The IR type of an element type; integers are signless there."""
    known = _IR_TYPES.get(dtype.name)
    if known is None:
        if dtype.is_float:
            known = ir_types.FloatType(dtype.mlir, dtype.width)
        else:
            known = ir_types.IntegerType(dtype.width)
        _IR_TYPES[dtype.name] = known
    return known
