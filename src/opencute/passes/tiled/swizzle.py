# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Addresses of pointers with a swizzle.

A swizzle changes an address by bits of itself, with a period P = 2^(bits + base + shift). So what
is added to the address in multiples of P can be added after the swizzle, as an immediate offset,
and places that are equal modulo P share the rest::

    swizzle(p + 9 * 1024 + 32)  ==  swizzle(p + 32) + 9 * 1024
"""

from __future__ import annotations

from opencute.dialects import arith, llvm
from opencute.dialects.cute import PtrType
from opencute.ir.core import Value
from opencute.ir.types import I8, I32

__all__ = ["Swizzles", "swizzled"]


def swizzled(address: Value, swizzle: tuple[int, ...]) -> Value:
    """An address in shared memory with its swizzle put on."""
    bits, base, shift = swizzle
    number = llvm.ptrtoint(address, I32)
    read = arith.binary("andi", number, _int(((1 << bits) - 1) << (base + shift)))
    change = arith.binary("shrui", read, _int(shift))
    return llvm.inttoptr(arith.binary("xori", number, change), llvm.SHARED)


def _int(value: int) -> Value:
    return arith.constant(value, I32)


class Swizzles:
    """The swizzled addresses of a function, while lowering walks on."""

    def __init__(self) -> None:
        self._roots: dict[Value, tuple[Value, int]] = {}

    def moved(self, base: Value, offset: int, result: Value) -> None:
        """Remember that `result` is `base` moved by a constant number of bytes."""
        root, start = self._roots.get(base, (base, 0))
        self._roots[result] = (root, start + offset)

    def address(self, base: Value, offset: int, type: PtrType) -> Value:
        """Where the access to `offset` bytes behind a swizzled pointer goes."""
        place, rest = self.split_address(base, offset, type)
        return _moved(place, rest)

    def split_address(self, base: Value, offset: int, type: PtrType) -> tuple[Value, int]:
        """The same as a base and an immediate offset in bytes."""
        bits, low, shift = type.swizzle
        root, start = self._roots.get(base, (base, 0))
        period = 1 << (bits + low + shift)
        offset += start
        inner = offset % period
        return swizzled(_moved(root, inner), type.swizzle), offset - inner


def _moved(base: Value, offset: int) -> Value:
    return llvm.gep(base, offset, I8) if offset else base
