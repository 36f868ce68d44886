# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Addresses of pointers with a swizzle.

A swizzle changes an address by bits of itself, with a period P = 2^(bits + base + shift). So what
is added to the address in multiples of P can be added after the swizzle, as an immediate offset,
and places that are equal modulo P share the rest::

    swizzle(p + 9 * 1024 + 32)  ==  swizzle(p + 32) + 9 * 1024

Where the bits of such a rest are known to be zero in p, adding is an xor, and the swizzle is put on
once for all places::

    swizzle(p + 32)  ==  swizzle(p) ^ swizzle(32)
"""

from __future__ import annotations

from opencute.dialects import arith, llvm
from opencute.dialects.cute import PtrType, storage_bits
from opencute.ir.core import Value
from opencute.ir.types import I8, I32
from opencute.passes.memory import advance
from opencute.passes.tiled.bits import known_zeros

__all__ = ["Swizzles", "swizzled"]


def swizzled(address: Value, swizzle: tuple[int, ...]) -> Value:
    """An address in shared memory with its swizzle put on."""
    return llvm.inttoptr(_number(address, swizzle), llvm.SHARED)


def _number(address: Value, swizzle: tuple[int, ...]) -> Value:
    bits, base, shift = swizzle
    number = llvm.ptrtoint(address, I32)
    read = arith.binary("andi", number, _int(((1 << bits) - 1) << (base + shift)))
    return arith.binary("xori", number, arith.binary("shrui", read, _int(shift)))


def _int(value: int) -> Value:
    return arith.constant(value, I32)


class Swizzles:
    """The swizzled addresses of a function, while lowering walks on."""

    def __init__(self) -> None:
        self._made: dict[tuple[Value, tuple[int, ...]], Value] = {}
        self._zeros: dict[Value, int] = {}

    def advanced(self, base: Value, offset: Value, type: PtrType) -> Value:
        """`base` moved by a number of elements that varies.

        Constants that have been added before are added after it, where they become immediates; the
        swizzle is put on here, where all uses of the result see it.
        """
        root, start = _split(base)
        moved = advance(root, offset, type.element)
        if type.swizzle:
            self._made[moved, type.swizzle] = _number(moved, type.swizzle)
        return _moved(moved, start)

    def address(self, base: Value, offset: int, type: PtrType) -> Value:
        """Where the access to `offset` bytes behind a swizzled pointer goes."""
        place, rest = self.split_address(base, offset, type)
        return _moved(place, rest)

    def split_address(self, base: Value, offset: int, type: PtrType) -> tuple[Value, int]:
        """The same as a base and an immediate offset in bytes."""
        bits, low, shift = type.swizzle
        root, start = _split(base)
        offset += start
        inner = offset % (1 << (bits + low + shift))
        if inner and root not in self._zeros:
            self._zeros[root] = known_zeros(root)
        if inner and inner & ~self._zeros[root]:
            return swizzled(_moved(root, inner), type.swizzle), offset - inner
        # Without a carry the swizzle of a sum is the xor of swizzles.
        number = self._made.get((root, type.swizzle)) or _number(root, type.swizzle)
        if inner:
            change = inner ^ (inner >> shift & ((1 << bits) - 1) << low)
            number = arith.binary("xori", number, _int(change))
        return llvm.inttoptr(number, llvm.SHARED), offset - inner


def _split(pointer: Value) -> tuple[Value, int]:
    """An address as one that varies and a constant number of bytes after it."""
    total = 0
    while isinstance(pointer.op, llvm.GepOp) and not pointer.op.indices:
        (index,) = pointer.op.rawConstantIndices.values
        total += index * storage_bits(pointer.op.elem_type.value) // 8
        pointer = pointer.op.base
    return pointer, total


def _moved(base: Value, offset: int) -> Value:
    return llvm.gep(base, offset, I8) if offset else base
