# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Integer and float arithmetic, as in MLIR's `arith` dialect, on scalars or vectors.

Integers wrap at their width. ``divsi``/``remsi`` truncate, ``floordivsi`` floors.
Floats round to nearest even; no operation is ever contracted, except by our own pass.
``fptosi``/``fptoui`` truncate, clamp to the range and turn NaN into 0, as PTX's cvt does
(PTX ISA, "cvt"), where MLIR leaves those cases open.
"""

from __future__ import annotations

from opencute.base.errors import VerificationError
from opencute.ir.attributes import (
    Attribute,
    DenseAttr,
    DialectAttr,
    FloatAttr,
    IntAttr,
    round_float,
)
from opencute.ir.builder import build1, known_here
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import ANY, BOOL, FLOAT, INT, Trait, attr, op, operand, result
from opencute.ir.types import (
    I1,
    I64,
    FloatType,
    IntegerType,
    Type,
    VectorType,
    element_type,
    lanes,
    with_lanes,
)

__all__ = [
    "CASTS",
    "CMPF",
    "CMPI",
    "FAST",
    "FLOAT_BINARY",
    "INT_BINARY",
    "binary",
    "cast",
    "cmpf",
    "cmpi",
    "constant",
    "constant_of",
    "negf",
    "select",
]

PURE = Trait.PURE
INT_BINARY = (
    "addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi",
    "ceildivui", "andi", "ori", "xori", "shli", "shrsi", "shrui", "maxsi", "maxui", "minsi",
    "minui",
)  # fmt: skip
FLOAT_BINARY = (
    "addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf",
)  # fmt: skip
CMPI = {
    "eq": 0,
    "ne": 1,
    "slt": 2,
    "sle": 3,
    "sgt": 4,
    "sge": 5,
    "ult": 6,
    "ule": 7,
    "ugt": 8,
    "uge": 9,
}
CMPF = {
    "false": 0, "oeq": 1, "ogt": 2, "oge": 3, "olt": 4, "ole": 5, "one": 6, "ord": 7,
    "ueq": 8, "ugt": 9, "uge": 10, "ult": 11, "ule": 12, "une": 13, "uno": 14, "true": 15,
}  # fmt: skip
CASTS = (
    "extsi", "extui", "trunci", "extf", "truncf", "sitofp", "uitofp", "fptosi", "fptoui", "bitcast",
    "index_cast",
)  # fmt: skip
FAST = DialectAttr("arith", "fastmath<fast>")


@op("arith.constant", PURE | Trait.CONSTANT)
class ConstantOp(Op):
    """A constant scalar or vector."""

    value = attr(Attribute)
    out = result(ANY)

    def verify(self) -> None:
        type = getattr(self.attributes["value"], "type", None)
        if type != self.result.type:
            raise VerificationError(
                "arith.constant: value and result differ in type",
                code="OC1420", loc=self.loc, expected=self.result.type, found=type,
            )  # fmt: skip


class _IntBinary(Op):
    lhs = operand(INT)
    rhs = operand(INT)
    out = result(INT)


class _FloatBinary(Op):
    lhs = operand(FLOAT)
    rhs = operand(FLOAT)
    fastmath = attr(DialectAttr, required=False)
    out = result(FLOAT)


def _declare() -> None:
    for base, names in ((_IntBinary, INT_BINARY), (_FloatBinary, FLOAT_BINARY)):
        for name in names:
            members = {k: v for k, v in vars(base).items() if not k.startswith("__")}
            copies = {k: type(v)(**_fields(v)) for k, v in members.items()}
            op(f"arith.{name}", PURE | Trait.SAME_TYPE)(type(f"{name}Op", (Op,), copies))


def _fields(slot: object) -> dict[str, object]:
    if hasattr(slot, "constraint"):
        return {"constraint": slot.constraint, "kind": slot.kind}  # type: ignore[attr-defined]
    return {"cls": slot.cls, "required": slot.required, "key": slot.key}  # type: ignore[attr-defined]


_declare()


@op("arith.negf", PURE | Trait.SAME_TYPE)
class NegFOp(Op):
    """Flip the sign bit."""

    value = operand(FLOAT)
    out = result(FLOAT)


def _check_compare(op_: Op, predicates: int) -> None:
    predicate = op_.attributes["predicate"]
    assert isinstance(predicate, IntAttr)
    if not 0 <= predicate.value < predicates:
        raise VerificationError(
            f"{op_.name}: there is no predicate {predicate.value}", code="OC1423", loc=op_.loc
        )
    lhs, rhs, out = op_.operands[0].type, op_.operands[1].type, op_.results[0].type
    if lhs != rhs or out != with_lanes(I1, lhs):
        raise VerificationError(
            f"{op_.name}: operands must have one type, the result its lanes",
            code="OC1424", loc=op_.loc, expected=f"{lhs}, {lhs} -> {with_lanes(I1, lhs)}",
            found=f"{lhs}, {rhs} -> {out}",
        )  # fmt: skip


@op("arith.cmpi", PURE)
class CmpIOp(Op):
    """Compare integers; `predicate` is a value of CMPI."""

    lhs = operand(INT)
    rhs = operand(INT)
    predicate = attr(IntAttr)
    out = result(BOOL)

    def verify(self) -> None:
        _check_compare(self, len(CMPI))


@op("arith.cmpf", PURE)
class CmpFOp(Op):
    """Compare floats; `predicate` is a value of CMPF."""

    lhs = operand(FLOAT)
    rhs = operand(FLOAT)
    predicate = attr(IntAttr)
    out = result(BOOL)

    def verify(self) -> None:
        _check_compare(self, len(CMPF))


@op("arith.select", PURE)
class SelectOp(Op):
    """`true_value` where the condition holds, else `false_value`; a scalar picks the whole."""

    condition = operand(BOOL)
    true_value = operand(ANY)
    false_value = operand(ANY)
    out = result(ANY)

    def verify(self) -> None:
        kinds = {self.operands[1].type, self.operands[2].type, self.result.type}
        n = lanes(self.operands[0].type)
        if len(kinds) != 1 or n not in (None, lanes(self.result.type)):
            raise VerificationError("arith.select: types differ", code="OC1421", loc=self.loc)


def _widths(op_: Op) -> tuple[Type, Type]:
    return element_type(op_.operands[0].type), element_type(op_.results[0].type)


class _Cast(Op):
    def verify(self) -> None:
        src, dst = _widths(self)
        name = self.name.split(".")[1]
        i, f = IntegerType, FloatType
        ok = {
            "extsi": lambda: isinstance(src, i) and isinstance(dst, i) and src.width < dst.width,
            "extui": lambda: isinstance(src, i) and isinstance(dst, i) and src.width < dst.width,
            "trunci": lambda: isinstance(src, i) and isinstance(dst, i) and src.width > dst.width,
            "extf": lambda: isinstance(src, f) and isinstance(dst, f) and src.width < dst.width,
            "truncf": lambda: isinstance(src, f) and isinstance(dst, f) and src.width > dst.width,
            "sitofp": lambda: isinstance(src, i) and isinstance(dst, f),
            "uitofp": lambda: isinstance(src, i) and isinstance(dst, f),
            "fptosi": lambda: isinstance(src, f) and isinstance(dst, i),
            "fptoui": lambda: isinstance(src, f) and isinstance(dst, i),
            "bitcast": lambda: getattr(src, "width", 0) == getattr(dst, "width", 1),
            "index_cast": lambda: True,
        }[name]
        if not ok() or lanes(self.operands[0].type) != lanes(self.results[0].type):
            raise VerificationError(
                f"{self.name}: cannot go from {src} to {dst}", code="OC1422", loc=self.loc
            )


for _name in CASTS:
    op(f"arith.{_name}", PURE)(
        type(f"{_name}Op", (_Cast,), {"value": operand(ANY), "out": result(ANY)})
    )


def constant(value: int | float | bool, type: Type) -> OpResult:
    """A constant of a scalar or vector type: integers wrap at the width, floats are rounded."""
    known = known_here()
    key = None
    if known is not None:
        key = (type, value or str(value))  # -0.0 == 0.0
        found = known.get(key)
        if found is not None:
            return found
    element = element_type(type)
    if isinstance(element, FloatType):
        item: Attribute = FloatAttr(round_float(float(value), element), element)
    else:
        item = IntAttr(_wrap(int(value), element), element)
    if isinstance(type, VectorType):
        item = DenseAttr((item,), type)
    made = build1("arith.constant", (), type, {"value": item})
    if known is not None:
        known[key] = made
    return made


def constant_of(value: Attribute, type: Type) -> OpResult:
    """A constant of an attribute: what `ir.cleanup.fold_and_merge` builds."""
    return build1("arith.constant", (), type, {"value": value})


def _wrap(value: int, type: Type) -> int:
    width = type.width if isinstance(type, IntegerType) else 64
    if width == 1:
        return value & 1
    half = 1 << (width - 1)
    return ((value + half) & ((1 << width) - 1)) - half


def binary(name: str, lhs: Value, rhs: Value, *, fast: bool = False) -> OpResult:
    """`arith.<name>` of two operands of one type."""
    return build1(f"arith.{name}", (lhs, rhs), lhs.type, {"fastmath": FAST} if fast else None)


def negf(value: Value) -> OpResult:
    """The negative of a float."""
    return build1("arith.negf", (value,), value.type)


def cmpi(predicate: str, lhs: Value, rhs: Value) -> OpResult:
    """Compare integers; `predicate` is a key of CMPI."""
    attrs = {"predicate": IntAttr(CMPI[predicate], I64)}
    return build1("arith.cmpi", (lhs, rhs), with_lanes(I1, lhs.type), attrs)


def cmpf(predicate: str, lhs: Value, rhs: Value) -> OpResult:
    """Compare floats; `predicate` is a key of CMPF."""
    attrs = {"predicate": IntAttr(CMPF[predicate], I64)}
    return build1("arith.cmpf", (lhs, rhs), with_lanes(I1, lhs.type), attrs)


def select(condition: Value, true_value: Value, false_value: Value) -> OpResult:
    """`true_value` where `condition` holds, else `false_value`."""
    return build1("arith.select", (condition, true_value, false_value), true_value.type)


def cast(name: str, value: Value, element: Type) -> OpResult:
    """`arith.<name>` (one of CASTS) to a new element type."""
    return build1(f"arith.{name}", (value,), with_lanes(element, value.type))
