# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Packed pairs: two elements narrower than a byte in one byte, as one value.

In: a pair of numbers, or the byte. Out: a number of 8 bits that knows its halves::

    p = Float4E2M1FNx2((1.5, -6.0))      # 0xf3: the first element is in the low bits
    p.lo, p.hi                           # Float4E2M1FN numbers
    p.unpack()                           # a TensorSSA of two Float4E2M1FN
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# Users' objects are of any type; annotations cannot say more.

from __future__ import annotations

from typing import Any, ClassVar

from opencute.base.errors import TypeMismatchError
from opencute.dialects import vector
from opencute.lang.numbers import (
    Float4E2M1FN,
    Float6E3M2FN,
    Numeric,
    NumericMeta,
    Uint4,
    Uint8,
    as_numeric,
)
from opencute.lang.vectors import TensorSSA
from opencute.numeric.dtypes import DTYPES

__all__ = ["Float4E2M1FNx2", "Float6E3M2FNx4"]


class Float4E2M1FNx2(Numeric):
    """Two Float4E2M1FN in one byte, the first in the low bits.

    Args:
        value: a pair of numbers, which are rounded; a byte as an integer; or an SSA value.

    Raises:
        TypeMismatchError: something else, such as a single float.
    """

    __slots__ = ()
    __hash__ = object.__hash__
    dtype = DTYPES["u8"]
    element: ClassVar[NumericMeta] = Float4E2M1FN
    lanes: ClassVar[int] = 2

    def __init__(self, value: Any = 0, *, loc: Any = None, ip: Any = None) -> None:
        if isinstance(value, tuple | list):
            value = _byte(value)
        elif isinstance(value, float) or (isinstance(value, Numeric) and value.dtype.is_float):
            raise TypeMismatchError(
                "a pair is made of two numbers", code="OC1205", found=repr(value),
                expected="(low, high), or a byte",
            )  # fmt: skip
        super().__init__(value)

    def _half(self, shift: int) -> Any:
        return ((Uint8(self) >> shift) & 15).to(Uint4).bitcast(Float4E2M1FN)

    @property
    def lo(self) -> Any:
        """The first element."""
        return self._half(0)

    @property
    def hi(self) -> Any:
        """The second element."""
        return self._half(4)

    def unpack(self) -> TensorSSA:
        """Both elements as a vector."""
        halves = [self.lo.ir_value(), self.hi.ir_value()]
        return TensorSSA(vector.from_elements(halves), 2, Float4E2M1FN)


def _byte(pair: Any) -> Any:
    if len(pair) != 2:
        raise TypeMismatchError(
            "a pair is made of two numbers", code="OC1205", found=f"{len(pair)} numbers"
        )
    low, high = (as_numeric(x).to(Float4E2M1FN).bitcast(Uint4).to(Uint8) for x in pair)
    both = low | (high << 4)
    return both.value


class Float6E3M2FNx4:
    """Four Float6E3M2FN in three bytes: elements of tensor maps, which no register holds.

    Args:
        args: none can be given.

    Raises:
        TypeMismatchError: one is made.
    """

    element: ClassVar[NumericMeta] = Float6E3M2FN
    lanes: ClassVar[int] = 4
    width: ClassVar[int] = 24

    def __init__(self, *args: Any) -> None:
        raise TypeMismatchError(
            "four packed elements are no value of their own", code="OC1205", found=str(args),
            expected="Float6E3M2FN for each",
        )  # fmt: skip
