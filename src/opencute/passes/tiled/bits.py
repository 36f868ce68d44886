# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which bits of an integer or address are known to be zero, from how it was computed.

In: a value. Out: a mask of the bits that are 0 whatever happens at run time::

    known_zeros(arith.muli (arith.remui %tid, 8), 16)   ->   ...11111111_10001111

Nothing is assumed not to overflow; an address has the alignment of the memory that it leads into.
"""

from __future__ import annotations

from opencute.dialects import llvm
from opencute.dialects.cute import storage_bits
from opencute.dialects.smem import BASE_ALIGN
from opencute.ir.core import Op, Value
from opencute.ir.types import IntegerType, element_type
from opencute.passes.folding import int_of
from opencute.passes.ranges import bounds

__all__ = ["known_zeros"]

_ALL = (1 << 64) - 1
_DEPTH = 16


def known_zeros(value: Value, depth: int = _DEPTH) -> int:
    """A mask of 64 bits: those that are certainly zero in `value`, taken as unsigned.

    Beyond `depth` operations nothing is known.
    """
    known = int_of(value)
    if known is not None:
        return ~known & _ALL
    op = value.op
    if op is None or depth == 0:
        return 0
    rule = _RULES.get(op.name)
    mask = rule(op, depth - 1) if rule is not None else 0
    if isinstance(element_type(value.type), IntegerType):
        low, high = bounds(value)
        if low >= 0:
            mask |= _above(high)
    return mask


def _above(largest: int) -> int:
    return _ALL & ~((1 << largest.bit_length()) - 1)


def _low(zeros: int) -> int:
    """How many of the lowest bits are zero."""
    return (~zeros & (zeros + 1)).bit_length() - 1


def _sum(a: int, b: int) -> int:
    most, more = ~a & _ALL, ~b & _ALL
    carries = (most + more) ^ most ^ more  # where there is none for the largest, there is none
    return a & b & ~carries


def _shifted(zeros: int, places: int) -> int:
    return (zeros << places | (1 << places) - 1) & _ALL


def _scaled(zeros: int, factor: int) -> int:
    if factor > 0 and factor & (factor - 1) == 0:
        return _shifted(zeros, factor.bit_length() - 1)
    return (1 << min(_low(zeros) + _low(~factor & _ALL), 64)) - 1


def _add(op: Op, depth: int) -> int:
    a, b = (known_zeros(v, depth) for v in op.operands)
    return _sum(a, b)


def _mul(op: Op, depth: int) -> int:
    a, b = op.operands
    known = int_of(b)
    if known is None:
        a, known = b, int_of(a)
    if known is None:
        places = sum(_low(known_zeros(v, depth)) for v in op.operands)
        return (1 << min(places, 64)) - 1
    return _scaled(known_zeros(a, depth), known)


def _and(op: Op, depth: int) -> int:
    a, b = (known_zeros(v, depth) for v in op.operands)
    return a | b


def _or(op: Op, depth: int) -> int:
    a, b = (known_zeros(v, depth) for v in op.operands)
    return a & b


def _select(op: Op, depth: int) -> int:
    return known_zeros(op.operands[1], depth) & known_zeros(op.operands[2], depth)


def _shl(op: Op, depth: int) -> int:
    places = int_of(op.operands[1])
    return 0 if places is None else _shifted(known_zeros(op.operands[0], depth), places)


def _power(op: Op) -> int | None:
    """The exponent, where the right operand is a power of two and the left is not negative."""
    known = int_of(op.operands[1])
    if known is None or known <= 0 or known & (known - 1) or bounds(op.operands[0])[0] < 0:
        return None
    return known.bit_length() - 1


def _quotient(op: Op, depth: int) -> int:
    places = _power(op)
    if places is None:
        return 0
    return known_zeros(op.operands[0], depth) >> places | _ALL & ~(_ALL >> places)


def _remainder(op: Op, depth: int) -> int:
    places = _power(op)
    if places is None:
        return 0
    return known_zeros(op.operands[0], depth) | _ALL & ~((1 << places) - 1)


def _same(op: Op, depth: int) -> int:
    return known_zeros(op.operands[0], depth)


def _sign_extended(op: Op, depth: int) -> int:
    inner = known_zeros(op.operands[0], depth)
    if bounds(op.operands[0])[0] >= 0:
        return inner
    width = getattr(element_type(op.operands[0].type), "width", 64)
    return inner & ((1 << width - 1) - 1)


def _base(op: Op, depth: int) -> int:
    return BASE_ALIGN - 1


def _gep(op: Op, depth: int) -> int:
    assert isinstance(op, llvm.GepOp)
    base, size = known_zeros(op.base, depth), storage_bits(op.elem_type.value) // 8
    if not op.indices:
        return _sum(base, ~(op.rawConstantIndices.values[0] * size) & _ALL)
    return _sum(base, _scaled(known_zeros(op.indices[0], depth), size))


_RULES = {
    "arith.addi": _add,
    "arith.muli": _mul,
    "arith.andi": _and,
    "arith.ori": _or,
    "arith.xori": _or,
    "arith.select": _select,
    "arith.shli": _shl,
    "arith.divsi": _quotient,
    "arith.divui": _quotient,
    "arith.floordivsi": _quotient,
    "arith.remsi": _remainder,
    "arith.remui": _remainder,
    "arith.extui": _same,
    "arith.extsi": _sign_extended,
    "arith.index_cast": _same,
    "cute.assume": _same,
    "llvm.ptrtoint": _same,
    "llvm.getelementptr": _gep,
    "ptx.smem_base": _base,
}
