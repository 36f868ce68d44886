# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The folders of integer arithmetic: constants, and identities that always hold.

In: an operation whose operands are already folded. Out: an `Attribute` (the constant it becomes), a
Value (one of its operands), or None; `opencute.ir.cleanup.fold` asks them by name::

    arith.addi 3, 4   ->   IntAttr(7)          arith.muli %x, 1   ->   %x

Integer folds follow the semantics of `arith`: they wrap at the width. Floats are not folded:
``x + 0.0`` may change the sign of a zero, and other folds would have to round as each type does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opencute.dialects import arith
from opencute.dialects.arith import CMPI
from opencute.ir.attributes import Attribute, DenseAttr, IntAttr
from opencute.ir.cleanup import Folder, constant_of, folder
from opencute.ir.core import Op, Value
from opencute.ir.types import IntegerType, Type, VectorType, element_type

__all__ = ["int_of", "split_constant", "wrap"]

_CMPI_NAMES = {v: k for k, v in CMPI.items()}


def int_of(value: Value) -> int | None:
    """The integer that a scalar or splat constant is; None for anything else."""
    return _int(constant_of(value))


def split_constant(value: Value) -> tuple[Value | None, int]:
    """An index as what is only known at run time (None: nothing) and a constant to add to it.

    Index arithmetic is taken not to overflow, so that a constant may leave an extension.
    """
    known = int_of(value)
    if known is not None:
        return None, known
    op = value.op
    if op is not None and op.name == "arith.addi":
        (a, x), (b, y) = map(split_constant, op.operands)
        if a is None or b is None:
            return (b if a is None else a), x + y
        return (arith.binary("addi", a, b), x + y) if x or y else (value, 0)
    if op is not None and op.name == "arith.extsi":
        inner, x = split_constant(op.operands[0])
        if x and inner is not None:
            return arith.cast("extsi", inner, value.type), x
    return value, 0


def _int(attr: Attribute | None) -> int | None:
    if isinstance(attr, DenseAttr) and len(attr.items) == 1:
        attr = attr.items[0]
    return attr.value if isinstance(attr, IntAttr) else None


def wrap(value: int, type: Type) -> int:
    """`value` in the signed range of an integer type; i1 is 0 or 1."""
    width = type.width if isinstance(type, IntegerType) else 64
    if width == 1:
        return value & 1
    half = 1 << (width - 1)
    return ((value + half) & ((1 << width) - 1)) - half


def _unsigned(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


def _quotient(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def _divide(f: Callable[[int, int], int]) -> Callable[[int, int, int], int | None]:
    return lambda a, b, w: f(a, b) if b != 0 else None


def _shift(f: Callable[[int, int, int], int]) -> Callable[[int, int, int], int | None]:
    return lambda a, b, w: f(a, b, w) if 0 <= b < w else None


_INT: dict[str, Callable[[int, int, int], int | None]] = {
    "addi": lambda a, b, w: a + b,
    "subi": lambda a, b, w: a - b,
    "muli": lambda a, b, w: a * b,
    "andi": lambda a, b, w: a & b,
    "ori": lambda a, b, w: a | b,
    "xori": lambda a, b, w: a ^ b,
    "maxsi": lambda a, b, w: max(a, b),
    "minsi": lambda a, b, w: min(a, b),
    "maxui": lambda a, b, w: max(_unsigned(a, w), _unsigned(b, w)),
    "minui": lambda a, b, w: min(_unsigned(a, w), _unsigned(b, w)),
    "divsi": _divide(_quotient),
    "remsi": _divide(lambda a, b: a - b * _quotient(a, b)),
    "floordivsi": _divide(lambda a, b: a // b),
    "ceildivsi": _divide(lambda a, b: -(-a // b)),
    "divui": lambda a, b, w: _unsigned(a, w) // _unsigned(b, w) if b else None,
    "remui": lambda a, b, w: _unsigned(a, w) % _unsigned(b, w) if b else None,
    "ceildivui": lambda a, b, w: -(-_unsigned(a, w) // _unsigned(b, w)) if b else None,
    "shli": _shift(lambda a, b, w: a << b),
    "shrsi": _shift(lambda a, b, w: a >> b),
    "shrui": _shift(lambda a, b, w: _unsigned(a, w) >> b),
}

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def _int_attr(value: int, type: Type) -> Attribute | None:
    element = element_type(type)
    if not isinstance(element, IntegerType):
        return None
    item = IntAttr(wrap(value, element), element)
    return DenseAttr((item,), type) if isinstance(type, VectorType) else item


Constants = Sequence[Attribute | None]


def _binary(name: str) -> Folder:
    compute = _INT[name]

    def fold(op: Op, constants: Constants) -> Attribute | Value | None:
        lhs, rhs = op.operands
        a, b = map(_int, constants)
        if a is None and b is None and lhs is not rhs:
            return None
        type = op.results[0].type
        element = element_type(type)
        if not isinstance(element, IntegerType):
            return None
        if a is not None and b is not None:
            value = compute(a, b, element.width)
            return None if value is None else _int_attr(value, type)
        return _identity(name, lhs, rhs, a, b, type, element.width)

    return fold


_RIGHT_ZERO = ("addi", "subi", "ori", "xori", "shli", "shrsi", "shrui")
_RIGHT_ONE = ("muli", "divsi", "divui", "floordivsi", "ceildivsi", "ceildivui")


def _identity(
    name: str, lhs: Value, rhs: Value, a: int | None, b: int | None, type: Type, width: int
) -> Attribute | Value | None:
    if width == 1:  # 1 is also -1 there
        if name == "andi":
            return rhs if a == 1 else lhs if b == 1 else _int_attr(0, type) if 0 in (a, b) else None
        if name == "ori":
            return rhs if a == 0 else lhs if b == 0 else _int_attr(1, type) if 1 in (a, b) else None
        return None
    if b == 0 and name in _RIGHT_ZERO:
        return lhs
    if b == 1 and name in _RIGHT_ONE:
        return lhs
    if (a == 0 and name in ("addi", "ori", "xori")) or (a == 1 and name == "muli"):
        return rhs
    if name in ("muli", "andi") and 0 in (a, b):
        return _int_attr(0, type)
    if b == 1 and name in ("remsi", "remui"):
        return _int_attr(0, type)
    if lhs is rhs and name in ("andi", "ori", "maxsi", "minsi", "maxui", "minui"):
        return lhs
    if lhs is rhs and name in ("subi", "xori"):
        return _int_attr(0, type)
    return None


@folder("arith.cmpi")
def _cmpi(op: Op, constants: Constants) -> Attribute | None:
    predicate = op.attributes["predicate"]
    assert isinstance(predicate, IntAttr)
    name = _CMPI_NAMES[predicate.value]
    a, b = map(_int, constants)
    if a is None or b is None:
        if op.operands[0] is op.operands[1]:
            return _int_attr(int(name[-2:] in ("eq", "le", "ge")), op.results[0].type)
        return None
    if name.startswith("u"):
        width = getattr(element_type(op.operands[0].type), "width", 64)
        a, b = _unsigned(a, width), _unsigned(b, width)
    return _int_attr(int(_COMPARE[name[-2:]](a, b)), op.results[0].type)


@folder("arith.select")
def _select(op: Op, constants: Constants) -> Value | None:
    _, a, b = op.operands
    if a is b:
        return a
    known = _int(constants[0])
    return None if known is None else a if known else b


@folder("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast")
def _cast(op: Op, constants: Constants) -> Attribute | Value | None:
    value, type = op.operands[0], op.results[0].type
    known = _int(constants[0])
    source = element_type(value.type)
    if known is None or not isinstance(source, IntegerType):
        return value if value.type == type else None
    if source.width == 1 and op.name == "arith.extsi":
        known = -known
    unsigned = op.name == "arith.extui"
    return _int_attr(_unsigned(known, source.width) if unsigned else known, type)


for _name in _INT:
    folder(f"arith.{_name}")(_binary(_name))
