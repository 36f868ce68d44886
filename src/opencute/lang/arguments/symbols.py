# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Symbolic integers: extents and strides that are known when a compiled function is called.

One symbol in two places means the same number in both, which a call checks::

    n = cute.sym_int(divisibility=16)
    a = make_fake_compact_tensor(cutlass.Float32, (n,))
    b = make_fake_compact_tensor(cutlass.Float32, (n, 4))       # as many rows as a has elements
"""

from __future__ import annotations

import operator
from typing import Any

from opencute.base.errors import ArgumentError

__all__ = ["SymInt", "sym_int", "sym_int32", "sym_int64"]


class SymInt:
    """An integer of a later call.

    Args:
        width: bits that compiled code passes it in, 32 or 64.
        divisibility: what divides it in every call.

    Raises:
        ArgumentError: another width, or a divisibility below 1.
    """

    __slots__ = ("divisibility", "width")

    def __init__(self, width: int = 32, *, divisibility: int = 1) -> None:
        if width not in (32, 64):
            raise ArgumentError("a symbolic integer has 32 or 64 bits", code="OC2117", found=width)
        if isinstance(divisibility, bool) or not hasattr(divisibility, "__index__"):
            raise ArgumentError(
                "divisibility is no integer", code="OC2115", found=repr(divisibility)
            )
        divisibility = operator.index(divisibility)
        if divisibility < 1:
            raise ArgumentError("divisibility is at least 1", code="OC2117", found=divisibility)
        self.width = width
        self.divisibility = divisibility

    def __str__(self) -> str:
        facts = ["i64"] * (self.width == 64)
        facts += [f"div={self.divisibility}"] * (self.divisibility > 1)
        return f"?{{{' '.join(facts)}}}" if facts else "?"

    __repr__ = __str__

    def _number(self, *_: Any) -> Any:
        raise ArgumentError(
            "a symbolic integer has no value before a call", code="OC2118", found=str(self),
            hint="compute with the tensor's shape inside the compiled function",
        )  # fmt: skip

    __index__ = __int__ = __bool__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = _number
    __rmul__ = __floordiv__ = __rfloordiv__ = __mod__ = __lt__ = __le__ = __gt__ = __ge__ = _number


def sym_int(width: int = 32, *, divisibility: int = 1) -> SymInt:
    """A symbolic integer; see `SymInt`.

    Args:
        width: bits that compiled code passes it in, 32 or 64.
        divisibility: what divides it in every call.

    Example:
        >>> from cutlass.cute.runtime import make_fake_compact_tensor
        >>> make_fake_compact_tensor(cutlass.Float32, (cute.sym_int(), 4)).shape[1]
        4
    """
    return SymInt(width, divisibility=divisibility)


def sym_int32(*, divisibility: int = 1) -> SymInt:
    """A symbolic integer of 32 bits.

    Args:
        divisibility: what divides it in every call.
    """
    return SymInt(32, divisibility=divisibility)


def sym_int64(*, divisibility: int = 1) -> SymInt:
    """A symbolic integer of 64 bits.

    Args:
        divisibility: what divides it in every call.
    """
    return SymInt(64, divisibility=divisibility)
