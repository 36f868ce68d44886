# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What an SSA value is while the simulator runs.

A scalar that is the same for all lanes is a Python ``int``/``bool`` or a NumPy scalar (floats). A
scalar that differs is an array whose two axes broadcast to (blocks, threads); a vector is an array
with a third axis for its elements, also when all lanes agree. Integers are kept in the signed range
of their width. A pointer is a buffer and a byte offset, which may be an array. Values are
immutable: nothing writes into an array once it is a value.

>>> dtype_of(IntegerType(4)), wrap(9, 4)
(dtype('int8'), -7)
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from opencute.base.errors import SimulationError
from opencute.base.location import Location
from opencute.ir.attributes import Attribute, DenseAttr, FloatAttr, IntAttr
from opencute.ir.types import FloatType, IndexType, IntegerType, Type, VectorType, element_type

__all__ = [
    "Array",
    "as_array",
    "constant_value",
    "dtype_of",
    "int_width",
    "is_array",
    "scalar_of",
    "to_dtype",
    "unsigned_dtype",
    "wrap",
    "wrap_array",
]

Array = NDArray[Any]

_FLOATS: dict[str, Any] = {
    "f16": np.float16,
    "f32": np.float32,
    "tf32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}


def is_array(value: object) -> bool:
    """Whether a value is an array (of its own for each lane, or a vector)."""
    return type(value) is np.ndarray


def int_width(type: Type) -> int:
    """Bits of an integer (or of `index`, which is 64 bits wide), element-wise."""
    element = element_type(type)
    return element.width if isinstance(element, IntegerType) else 64


def dtype_of(type: Type, loc: Location | None = None) -> np.dtype[Any]:
    """The NumPy type that carries elements of `type`.

    Raises:
        SimulationError: no NumPy type is wide enough, or the type is unknown.
    """
    element = element_type(type)
    found = _dtype(element)
    if found is None:
        raise SimulationError(
            f"the simulator has no values of type {element}", code="OC3001", loc=loc
        )
    return found


@lru_cache(maxsize=1024)
def _dtype(element: Type) -> np.dtype[Any] | None:
    if isinstance(element, IndexType):
        return np.dtype(np.int64)
    if isinstance(element, IntegerType) and element.width <= 64:
        if element.width == 1:
            return np.dtype(np.bool_)
        bits = max(8, 1 << (element.width - 1).bit_length())
        return np.dtype(f"i{bits // 8}")
    if isinstance(element, IntegerType) and element.width <= 128:
        return np.dtype(object)  # Python ints
    if isinstance(element, FloatType) and element.name in _FLOATS:
        return np.dtype(_FLOATS[element.name])
    return None


def unsigned_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The unsigned integer type of the same size."""
    return np.dtype(f"u{dtype.itemsize}")


def wrap(value: int, width: int) -> int:
    """`value` in the signed range of `width` bits."""
    half = 1 << (width - 1)
    return ((value + half) & ((half << 1) - 1)) - half


def wrap_array(value: Array, width: int) -> Array:
    """An array of integers brought into the signed range of `width`; full widths already are."""
    spare = value.dtype.itemsize * 8 - width
    return value if spare == 0 else (value << spare) >> spare


def scalar_of(value: Any, dtype: np.dtype[Any]) -> Any:
    """An element of an array as the value that all lanes share."""
    if dtype.kind == "b":
        return bool(value)
    return int(value) if dtype.kind in "iO" else dtype.type(value)


def as_array(value: Any, dtype: np.dtype[Any]) -> Array:
    """A scalar value as an array with two axes; arrays as they are."""
    return value if type(value) is np.ndarray else np.array([[value]], dtype)


def to_dtype(type: Type, loc: Location | None = None) -> tuple[np.dtype[Any], int | None]:
    """The element's NumPy type and the vector's length, None for a scalar."""
    return dtype_of(type, loc), type.length if isinstance(type, VectorType) else None


def constant_value(attribute: Attribute, type: Type) -> Any:
    """The value of `arith.constant`: a scalar, or an array of shape (1, 1, length)."""
    dtype = dtype_of(type)
    if isinstance(attribute, DenseAttr):
        assert isinstance(type, VectorType)
        items = [constant_value(i, type.element) for i in attribute.items]
        row = np.array(items, dtype)
        return np.ascontiguousarray(np.broadcast_to(row, (1, 1, type.length)))
    if isinstance(attribute, IntAttr):
        if dtype.kind == "b":
            return bool(attribute.value)
        return wrap(attribute.value, int_width(type))
    assert isinstance(attribute, FloatAttr)
    return dtype.type(attribute.value)
