# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What is known of an integer's range, from how it was computed.

In: a value. Out: the smallest interval that these rules give, as signed numbers::

    bounds(ptx.sreg tid.x)             -> (0, 1023)
    bounds(arith.remui %x, 32)         -> (0, 31)

An operation that may wrap has the full range of its type; nothing is assumed not to overflow.
"""

from __future__ import annotations

from opencute.arch.sregs import SREG_BOUNDS
from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op, Value
from opencute.ir.types import IntegerType, element_type
from opencute.passes.folding import int_of

__all__ = ["bounds", "is_nonnegative"]

_DEPTH = 12

Interval = tuple[int, int]


def is_nonnegative(value: Value) -> bool:
    """Whether a value is known not to be negative."""
    return bounds(value)[0] >= 0


def bounds(value: Value, depth: int = _DEPTH) -> Interval:
    """Smallest and largest value that `value` may have."""
    type = element_type(value.type)
    width = type.width if isinstance(type, IntegerType) else 64
    full = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if width > 1 else (0, 1)
    known = int_of(value)
    if known is not None:
        return known, known
    op = value.op
    if op is None or depth == 0:
        return full
    found = _of_op(op, depth - 1, full)
    return found if full[0] <= found[0] and found[1] <= full[1] else full


def _of_op(op: Op, depth: int, full: Interval) -> Interval:
    if op.name == "ptx.sreg":
        reg = op.attributes["reg"]
        assert isinstance(reg, StringAttr)
        return SREG_BOUNDS.get(reg.value, full)
    dialect, _, name = op.name.partition(".")
    if dialect == "cute" and name == "assume":
        return bounds(op.operands[0], depth)
    if dialect != "arith" or name not in _RULES:
        return full
    return _RULES[name](op, depth, full)


def _pair(op: Op, depth: int) -> tuple[Interval, Interval]:
    return bounds(op.operands[0], depth), bounds(op.operands[1], depth)


def _add(op: Op, depth: int, full: Interval) -> Interval:
    a, b = _pair(op, depth)
    return a[0] + b[0], a[1] + b[1]


def _sub(op: Op, depth: int, full: Interval) -> Interval:
    a, b = _pair(op, depth)
    return a[0] - b[1], a[1] - b[0]


def _mul(op: Op, depth: int, full: Interval) -> Interval:
    a, b = _pair(op, depth)
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _quotient(op: Op, depth: int, full: Interval) -> Interval:
    a, b = _pair(op, depth)
    if a[0] < 0 or b[0] < 0:
        return full
    return a[0] // max(b[1], 1), a[1] // max(b[0], 1)


def _remainder(op: Op, depth: int, full: Interval) -> Interval:
    a, b = _pair(op, depth)
    if a[0] < 0 or b[0] < 0:
        return full
    return 0, min(a[1], max(b[1] - 1, 0))


def _and(op: Op, depth: int, full: Interval) -> Interval:
    a, b = _pair(op, depth)
    tops = [i[1] for i in (a, b) if i[0] >= 0]
    return (0, min(tops)) if tops else full


def _min(op: Op, depth: int, full: Interval) -> Interval:
    a, b = _pair(op, depth)
    return min(a[0], b[0]), min(a[1], b[1])


def _max(op: Op, depth: int, full: Interval) -> Interval:
    a, b = _pair(op, depth)
    return max(a[0], b[0]), max(a[1], b[1])


def _shift_right(op: Op, depth: int, full: Interval) -> Interval:
    a, b = _pair(op, depth)
    if a[0] < 0 or b[0] < 0 or b[1] > 63:
        return full
    return a[0] >> b[1], a[1] >> b[0]


def _extui(op: Op, depth: int, full: Interval) -> Interval:
    inner = bounds(op.operands[0], depth)
    if inner[0] >= 0:
        return inner
    type = element_type(op.operands[0].type)
    return 0, (1 << getattr(type, "width", 63)) - 1


def _extsi(op: Op, depth: int, full: Interval) -> Interval:
    if element_type(op.operands[0].type) == IntegerType(1):
        return -1, 0
    return bounds(op.operands[0], depth)


def _select(op: Op, depth: int, full: Interval) -> Interval:
    a, b = bounds(op.operands[1], depth), bounds(op.operands[2], depth)
    return min(a[0], b[0]), max(a[1], b[1])


_RULES = {
    "addi": _add,
    "subi": _sub,
    "muli": _mul,
    "divsi": _quotient,
    "divui": _quotient,
    "floordivsi": _quotient,
    "remsi": _remainder,
    "remui": _remainder,
    "andi": _and,
    "minsi": _min,
    "maxsi": _max,
    "shrsi": _shift_right,
    "shrui": _shift_right,
    "extui": _extui,
    "extsi": _extsi,
    "select": _select,
}
