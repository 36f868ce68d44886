# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Division by a number that stays the same: a multiplication and a shift.

In: a divisor, a Python int or a 32-bit number of the running function. Out: a `FastDivmodDivisor`::

    tiles = cute.fast_divmod_create_divisor(num_tiles)     # on the host, once
    row, column = divmod(block, tiles)                     # in the kernel; block // tiles works too

Method ("Division by invariant integers using multiplication", Granlund and Montgomery, PLDI 1994,
figure 4.1): with ``l = ceil(log2 d)`` and ``m = floor(2^32 (2^l - d) / d) + 1``, the quotient of an
unsigned 32-bit n is ``(t + ((n - t) >> min(l, 1))) >> max(l - 1, 0)`` for ``t = (m n) >> 32``.
It is exact for each n and d. A signed n is floored, as Python does: ``~(~n // d)`` where negative.
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects are of any type; annotations cannot say more.

from __future__ import annotations

from typing import Any

from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.lang.block.arithmetic import clz
from opencute.lang.mathfns import max as max_
from opencute.lang.mathfns import min as min_
from opencute.lang.numbers import Int32, Integer, Numeric, Uint32, Uint64, as_numeric
from opencute.lang.vectors import where

__all__ = ["FastDivmodDivisor", "fast_divmod_create_divisor"]


class FastDivmodDivisor:
    """A positive 32-bit divisor with what makes division by it cheap.

    Args:
        divisor: an int or a 32-bit integer; at least 1.
        is_power_of_2: accepted; divisors that are known are looked at.

    Raises:
        ArgumentError: a known divisor that is not positive or does not fit in 32 bits.
        TypeMismatchError: no integer.
    """

    def __init__(
        self, divisor: Any, is_power_of_2: Any = None, *, loc: Any = None, ip: Any = None
    ) -> None:
        kind = as_numeric(divisor)
        if not isinstance(kind, Integer):
            raise TypeMismatchError(
                "a divisor is an integer", code="OC1247", found=repr(divisor),
                hint="convert it: fast_divmod_create_divisor(n.to(Int32))",
            )  # fmt: skip
        self._signed = bool(kind.dtype.signed)
        known = kind.value if not kind.is_dynamic else None
        if known is not None and not 1 <= known < 1 << (31 if self._signed else 32):
            raise ArgumentError(
                "a divisor is a positive 32-bit number", code="OC2023", found=known,
                expected="1 to 2147483647",
            )  # fmt: skip
        self.divisor = kind
        if known is not None:
            bits = (known - 1).bit_length()
            magic = ((1 << 32) * ((1 << bits) - known)) // known + 1
            self._parts = tuple(Uint32(v) for v in (known, magic, min(bits, 1), max(bits - 1, 0)))
        else:
            self._parts = _dynamic_parts(kind.to(Uint32))

    # ---- crossing regions and calls
    def __extract_mlir_values__(self) -> list[Any]:
        return [p.ir_value() for p in self._parts]

    def __new_from_mlir_values__(self, values: Any) -> FastDivmodDivisor:
        return self._with(tuple(Uint32(_plain(v)) for v in values))

    def _with(self, parts: Any) -> FastDivmodDivisor:
        out = object.__new__(type(self))
        out._signed = self._signed
        out._parts = parts
        out.divisor = parts[0].to(Int32 if self._signed else Uint32)
        return out

    def __get_mlir_types__(self) -> list[Any]:
        return [p.type for p in self._parts]

    def __c_pointers__(self) -> list[Any]:
        import ctypes

        self._kept = [ctypes.c_uint32(int(p)) for p in self._parts]
        return [ctypes.addressof(c) for c in self._kept]

    def __str__(self) -> str:
        return f"FastDivmodDivisor({self.divisor})"

    __repr__ = __str__

    # ---- division
    def divmod(self, dividend: Any) -> tuple[Any, Any]:
        """Quotient and remainder of a 32-bit integer, floored as Python's.

        Args:
            dividend: the integer.

        Raises:
            TypeMismatchError: no integer of at most 32 bits.
        """
        n = self._dividend(dividend)
        quotient = self._quotient(n)
        rest = n - quotient * self._parts[0].to(type(n))
        rest.nonneg = True
        quotient.nonneg = quotient.nonneg or n.nonneg
        return quotient, rest

    def _dividend(self, x: Any) -> Any:
        n = as_numeric(x)
        if not isinstance(n, Integer) or n.dtype.width > 32:
            raise TypeMismatchError(
                "fast division is of 32-bit integers", code="OC1247", found=repr(x),
                hint="convert the dividend: n.to(Int32), or use the plain operators // and %",
            )  # fmt: skip
        return n.to(Uint32 if n.dtype.width == 32 and not n.dtype.signed else Int32)

    def _quotient(self, n: Any) -> Any:
        if not n.dtype.signed:
            return self._unsigned(n)
        if n.nonneg or (not n.is_dynamic and n.value >= 0):
            return self._unsigned(n.to(Uint32)).to(Int32)
        flip = where(n < 0, Int32(-1), Int32(0))
        return self._unsigned((n ^ flip).to(Uint32)).to(Int32) ^ flip

    def _unsigned(self, n: Any) -> Any:
        _, magic, first, second = self._parts
        high = ((magic.to(Uint64) * n.to(Uint64)) >> 32).to(Uint32)
        return (high + ((n - high) >> first)) >> second

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return self.divmod(other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self.divmod(other)[0]

    def __rmod__(self, other: Any) -> Any:
        return self.divmod(other)[1]


def _plain(value: Any) -> Any:
    return value.ir_value() if isinstance(value, Numeric) else value


def _dynamic_parts(d: Any) -> tuple[Any, ...]:
    """The numbers of the method for a divisor that is only known at run time."""
    bits = Uint32(32) - clz(d - 1).to(Uint32)  # ceil(log2 d)
    wide = d.to(Uint64)
    excess = (Uint64(1) << bits.to(Uint64)) - wide
    magic = ((excess << 32) // wide).to(Uint32) + 1
    one = Uint32(1)
    return d, magic, min_(bits, one), max_(bits, one) - one


def fast_divmod_create_divisor(
    divisor: Any, *, loc: Any = None, ip: Any = None
) -> FastDivmodDivisor:
    """A divisor for ``//``, ``%`` and ``divmod`` by multiplication; see `FastDivmodDivisor`."""
    return FastDivmodDivisor(divisor)
