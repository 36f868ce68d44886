# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors in registers, as in MLIR's `vector` dialect (one dimension, static positions)."""

from __future__ import annotations

from collections.abc import Sequence

from opencute.base.errors import VerificationError
from opencute.ir.attributes import DenseI32Attr, DialectAttr
from opencute.ir.builder import build1
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import ANY, Trait, attr, op, operand, result, type_is, variadic
from opencute.ir.types import Type, VectorType, element_type

__all__ = [
    "REDUCTIONS",
    "VECTOR",
    "bitcast",
    "broadcast",
    "extract",
    "from_elements",
    "insert",
    "reduction",
    "shuffle",
]

VECTOR = type_is(VectorType, "vector")
REDUCTIONS = (
    "add", "mul", "minsi", "minui", "minnumf", "maxsi", "maxui", "maxnumf", "and", "or", "xor",
    "minimumf", "maximumf",
)  # fmt: skip
_KINDS = tuple(f"kind<{name}>" for name in REDUCTIONS)


def _check(op_: Op, found: object, expected: object) -> None:
    if found != expected:
        raise VerificationError(
            f"{op_.name}: types do not fit",
            code="OC1432",
            loc=op_.loc,
            expected=expected,
            found=found,
        )


@op("vector.broadcast", Trait.PURE)
class BroadcastOp(Op):
    """A scalar in every element."""

    source = operand(ANY)
    out = result(VECTOR)

    def verify(self) -> None:
        _check(self, self.source.type, element_type(self.out.type))


@op("vector.extract", Trait.PURE)
class ExtractOp(Op):
    """One element at a static position."""

    source = operand(VECTOR)
    dynamic_position = variadic()
    static_position = attr(DenseI32Attr)
    out = result(ANY)

    def verify(self) -> None:
        _check_position(self, self.operands[0].type)
        _check(self, self.out.type, element_type(self.operands[0].type))


@op("vector.insert", Trait.PURE)
class InsertOp(Op):
    """A vector with one element replaced."""

    value = operand(ANY)
    dest = operand(VECTOR)
    dynamic_position = variadic()
    static_position = attr(DenseI32Attr)
    out = result(VECTOR)

    def verify(self) -> None:
        _check_position(self, self.operands[1].type)
        _check(self, self.value.type, element_type(self.dest.type))
        _check(self, self.out.type, self.dest.type)


def _check_position(op_: Op, type: Type) -> None:
    position = op_.attributes["static_position"]
    assert isinstance(position, DenseI32Attr) and isinstance(type, VectorType)
    if len(position.values) != 1 or not 0 <= position.values[0] < type.length:
        raise VerificationError(
            f"{op_.name}: position {list(position.values)} is outside of {type}",
            code="OC1430",
            loc=op_.loc,
        )


@op("vector.from_elements", Trait.PURE)
class FromElementsOp(Op):
    """A vector of the given scalars."""

    elements = variadic()
    out = result(VECTOR)

    def verify(self) -> None:
        type = _vector(self.out)
        _check(self, [v.type for v in self.operands], [type.element] * type.length)


@op("vector.shuffle", Trait.PURE)
class ShuffleOp(Op):
    """Elements picked from the concatenation of two vectors; -1 leaves an element undefined."""

    v1 = operand(VECTOR)
    v2 = operand(VECTOR)
    mask = attr(DenseI32Attr)
    out = result(VECTOR)

    def verify(self) -> None:
        a, b = self.operands[0].type, self.operands[1].type
        mask = self.attributes["mask"]
        assert isinstance(mask, DenseI32Attr)
        assert isinstance(a, VectorType) and isinstance(b, VectorType)
        if any(not -1 <= i < a.length + b.length for i in mask.values):
            raise VerificationError(
                "vector.shuffle: mask out of range", code="OC1431", loc=self.loc
            )
        _check(self, b.element, a.element)
        _check(self, self.out.type, VectorType(len(mask.values), a.element))


@op("vector.reduction", Trait.PURE)
class ReductionOp(Op):
    """All elements combined, in ascending order, starting from `acc` if given."""

    vector = operand(VECTOR)
    acc = variadic()
    kind = attr(DialectAttr)
    out = result(ANY)

    def verify(self) -> None:
        element = element_type(self.vector.type)
        if self.kind.body not in _KINDS:
            raise VerificationError(
                f"vector.reduction: {self.kind} is no kind of reduction",
                code="OC1433",
                loc=self.loc,
                expected=", ".join(REDUCTIONS),
            )
        _check(self, [self.out.type, *(v.type for v in self.acc)], [element] * len(self.operands))


@op("vector.bitcast", Trait.PURE)
class BitcastOp(Op):
    """The same bits as elements of another width."""

    source = operand(VECTOR)
    out = result(VECTOR)

    def verify(self) -> None:
        _check(self, _bits(self.out), _bits(self.source))


def _bits(value: Value) -> int:
    type = _vector(value)
    width: int = getattr(type.element, "width", 0)
    return type.length * width


def broadcast(value: Value, length: int) -> OpResult:
    """`value` in each of `length` elements."""
    return build1("vector.broadcast", (value,), VectorType(length, value.type))


def _vector(value: Value) -> VectorType:
    assert isinstance(value.type, VectorType)
    return value.type


def extract(source: Value, position: int) -> Value:
    """Element `position` of a vector; of one that is made from elements, that one."""
    made = source.op
    if made is not None and made.name == "vector.from_elements":
        return made.operands[position]
    attrs = {"static_position": DenseI32Attr((position,), 64)}
    return build1("vector.extract", (source,), _vector(source).element, attrs)


def insert(value: Value, dest: Value, position: int) -> OpResult:
    """`dest` with element `position` replaced."""
    attrs = {"static_position": DenseI32Attr((position,), 64)}
    return build1("vector.insert", (value, dest), dest.type, attrs)


def from_elements(elements: Sequence[Value]) -> OpResult:
    """A vector of scalars of one type."""
    return build1("vector.from_elements", elements, VectorType(len(elements), elements[0].type))


def shuffle(v1: Value, v2: Value, mask: Sequence[int]) -> OpResult:
    """Elements of `v1` followed by `v2`, picked by `mask`."""
    type = VectorType(len(mask), _vector(v1).element)
    return build1("vector.shuffle", (v1, v2), type, {"mask": DenseI32Attr(tuple(mask), 64)})


def reduction(kind: str, vector: Value, acc: Value | None = None) -> OpResult:
    """All elements combined by `kind` (one of REDUCTIONS)."""
    operands = (vector,) if acc is None else (vector, acc)
    attrs = {"kind": DialectAttr("vector", f"kind<{kind}>")}
    return build1("vector.reduction", operands, _vector(vector).element, attrs)


def bitcast(source: Value, type: VectorType) -> OpResult:
    """The bits of `source` as another vector type of the same total width."""
    return build1("vector.bitcast", (source,), type)
