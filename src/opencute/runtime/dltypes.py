# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Element types as DLPack describes them, and their names in NumPy, ml_dtypes and torch.

In: a dtype of one of those libraries. Out: a `DLType`, e.g. ``DLType(4, 16, 1)``, whose ``name`` is
``"bfloat16"``.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# NumPy's own annotations have unknown parameters.

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from opencute.base.errors import ArgumentError

__all__ = ["TYPES", "DLType", "from_numpy_dtype", "from_torch_dtype", "to_numpy_dtype"]


class DLType(NamedTuple):
    """An element type.

    Args:
        code: DLPack's kind of number: 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool, 7 to 17
            the narrow floats.
        bits: width of one lane.
        lanes: numbers per element, above 1 for packed vectors.
    """

    code: int
    bits: int
    lanes: int = 1

    @property
    def name(self) -> str:
        """``"float32"``, ``"bfloat16"``, ``"float8_e4m3fn"``, ``"float4_e2m1fn_x2"``, ..."""
        scalar = _NAMES.get((self.code, self.bits), f"code{self.code}_{self.bits}")
        return scalar if self.lanes == 1 else f"{scalar}_x{self.lanes}"

    @property
    def itemsize(self) -> int:
        """Bytes of one element in memory, rounded up."""
        return (self.bits * self.lanes + 7) // 8


TYPES: dict[str, DLType] = {
    "bool": DLType(6, 8),
    **{f"int{n}": DLType(0, n) for n in (2, 4, 8, 16, 32, 64)},
    **{f"uint{n}": DLType(1, n) for n in (2, 4, 8, 16, 32, 64)},
    **{f"float{n}": DLType(2, n) for n in (16, 32, 64)},
    "bfloat16": DLType(4, 16),
    "complex32": DLType(5, 32),
    "complex64": DLType(5, 64),
    "complex128": DLType(5, 128),
    "float8_e3m4": DLType(7, 8),
    "float8_e4m3": DLType(8, 8),
    "float8_e4m3b11fnuz": DLType(9, 8),
    "float8_e4m3fn": DLType(10, 8),
    "float8_e4m3fnuz": DLType(11, 8),
    "float8_e5m2": DLType(12, 8),
    "float8_e5m2fnuz": DLType(13, 8),
    "float8_e8m0fnu": DLType(14, 8),
    "float6_e2m3fn": DLType(15, 6),
    "float6_e3m2fn": DLType(16, 6),
    "float4_e2m1fn": DLType(17, 4),
}

_NAMES = {(t.code, t.bits): name for name, t in TYPES.items()}
_from_numpy: dict[np.dtype[Any], DLType] = {}
_from_torch: dict[object, DLType] = {}

_HINTS = {
    "O": "arrays of Python objects have no fixed-size elements",
    "M": "view dates as int64: array.view('int64')",
    "m": "view time spans as int64: array.view('int64')",
}


def from_numpy_dtype(dtype: np.dtype[Any]) -> DLType:
    """The element type of a NumPy dtype, those of ml_dtypes included.

    Raises:
        ArgumentError: structured, big-endian and non-numeric types.
    """
    found = _from_numpy.get(dtype)
    if found is not None:
        return found
    if not dtype.isnative:
        raise ArgumentError(
            f"the array's byte order is not this machine's: {dtype!r}",
            code="OC2011",
            hint="array.astype(array.dtype.newbyteorder('='))",
        )
    if dtype.fields is not None or dtype.subdtype is not None:
        raise ArgumentError(
            f"structured arrays have no numeric elements: {dtype!r}",
            code="OC2011",
            hint="pass one field: array['name']",
        )
    found = TYPES.get(dtype.name)
    if found is None:
        raise ArgumentError(
            f"no element type for NumPy's {dtype!r}",
            code="OC2011",
            expected="bool, an integer, a float, a complex type, or a type of ml_dtypes",
            hint=_HINTS.get(dtype.kind),
        )
    _from_numpy[dtype] = found
    return found


def from_torch_dtype(dtype: object) -> DLType:
    """The element type of a ``torch.dtype``.

    Raises:
        ArgumentError: quantised, bit and shell types.
    """
    found = _from_torch.get(dtype)
    if found is not None:
        return found
    name = str(dtype).removeprefix("torch.")
    if name == "float4_e2m1fn_x2":
        found = DLType(17, 4, 2)
    elif name[0] in "iu" and TYPES.get(name, DLType(0, 8)).bits < 8:
        found = None  # torch's shell types: how many numbers share a byte is not defined
    else:
        found = TYPES.get(name)
    if found is None:
        raise ArgumentError(
            f"no element type for {dtype}",
            code="OC2011",
            hint="pass the stored bytes: tensor.view(torch.uint8)",
        )
    _from_torch[dtype] = found
    return found


def to_numpy_dtype(dtype: DLType) -> np.dtype[Any]:
    """The NumPy dtype of an element type; sub-byte types are ml_dtypes' byte-sized ones.

    Raises:
        ArgumentError: NumPy has no such type.
    """
    name = dtype.name
    try:
        return np.dtype(getattr(ml_dtypes, name) if hasattr(ml_dtypes, name) else name)
    except TypeError:
        raise ArgumentError(f"NumPy has no {name}", code="OC2011", found=tuple(dtype)) from None
