# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Declaring operations: what a dialect file looks like.

A declaration names operands, attributes and results in order, with a constraint for each::

    @op("arith.addi", PURE | SAME_TYPE)
    class AddI(Op):
        lhs = operand(INT)
        rhs = operand(INT)
        result_ = result(INT)

From it follow the accessors (``AddI(...).lhs``), the checks of the verifier, and the table in the
documentation. Several variadic operands in one operation need ``operandSegmentSizes``, as in MLIR.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast, overload

from opencute.base.errors import VerificationError
from opencute.ir.attributes import Attribute, DenseI32Attr
from opencute.ir.core import Block, Op, OpResult, Value, register
from opencute.ir.types import (
    FloatType,
    IndexType,
    IntegerType,
    Type,
    element_type,
)

__all__ = [
    "ANY",
    "BOOL",
    "FLOAT",
    "INT",
    "SCALAR_INT",
    "Constraint",
    "Declaration",
    "Trait",
    "attr",
    "declaration",
    "declaration_of",
    "declarations",
    "has_trait",
    "op",
    "operand",
    "optional",
    "region",
    "result",
    "traits_of",
    "type_is",
    "variadic",
]


class Trait(enum.Flag):
    """What an operation promises."""

    NONE = 0
    PURE = enum.auto()
    """No effect: may be removed when unused and merged with an equal one."""
    READS = enum.auto()
    """Reads memory."""
    WRITES = enum.auto()
    """Writes memory, or has another effect that must be kept."""
    TERMINATOR = enum.auto()
    """Ends a block."""
    SAME_TYPE = enum.auto()
    """All operands and results have one type."""
    BLOCKING = enum.auto()
    """May have to wait for another thread."""
    CONVERGENT = enum.auto()
    """Must not be moved into or out of divergent control flow."""
    ISOLATED = enum.auto()
    """Its regions use no value defined outside."""
    SYMBOL_TABLE = enum.auto()
    """Its one block lists symbols, and has no terminator."""
    ALLOCATES = enum.auto()
    """Makes fresh memory: may be removed when unused, never merged."""
    REGION_EFFECTS = enum.auto()
    """Always ends, and has no effect but those of the operations in its regions."""
    CONSTANT = enum.auto()
    """A constant; its value is the attribute ``value``."""


@dataclass(frozen=True)
class Constraint:
    """A named predicate on types."""

    name: str
    accepts: Callable[[Type], bool]


def type_is(cls: type[Type], name: str) -> Constraint:
    """A constraint that accepts instances of a type class."""
    return Constraint(name, lambda t: isinstance(t, cls))


_INTEGERS = (IntegerType, IndexType)
ANY = Constraint("any type", lambda t: True)
INT = Constraint(
    "integer or vector of integers",
    lambda t: isinstance(element_type(t), _INTEGERS),
)
SCALAR_INT = Constraint("integer", lambda t: isinstance(t, _INTEGERS))
FLOAT = Constraint("float or vector of floats", lambda t: isinstance(element_type(t), FloatType))
BOOL = Constraint("i1 or vector of i1", lambda t: element_type(t) == IntegerType(1))

A = TypeVar("A", bound=Attribute)


@dataclass
class _Slot:
    constraint: Constraint
    kind: str = "one"  # one | optional | variadic
    index: int = 0
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class OperandSlot(_Slot):
    """An operand; reading it from an operation gives a Value."""

    @overload
    def __get__(self, obj: None, owner: type) -> OperandSlot: ...
    @overload
    def __get__(self, obj: Op, owner: type) -> Value: ...
    def __get__(self, obj: Op | None, owner: type) -> OperandSlot | Value:
        if obj is None:
            return self
        return obj.operands[declaration_of(obj).start(obj, self.index)]


class VariadicSlot(_Slot):
    """Any number of operands; reading it gives a list."""

    @overload
    def __get__(self, obj: None, owner: type) -> VariadicSlot: ...
    @overload
    def __get__(self, obj: Op, owner: type) -> list[Value]: ...
    def __get__(self, obj: Op | None, owner: type) -> VariadicSlot | list[Value]:
        if obj is None:
            return self
        decl = declaration_of(obj)
        start = decl.start(obj, self.index)
        return obj.operands[start : start + decl.sizes(obj)[self.index]]


class OptionalSlot(_Slot):
    """An operand that may be missing; reading it gives a Value or None."""

    @overload
    def __get__(self, obj: None, owner: type) -> OptionalSlot: ...
    @overload
    def __get__(self, obj: Op, owner: type) -> Value | None: ...
    def __get__(self, obj: Op | None, owner: type) -> OptionalSlot | Value | None:
        if obj is None:
            return self
        decl = declaration_of(obj)
        if decl.sizes(obj)[self.index] == 0:
            return None
        return obj.operands[decl.start(obj, self.index)]


class ResultSlot(_Slot):
    """A result; reading it gives the OpResult."""

    @overload
    def __get__(self, obj: None, owner: type) -> ResultSlot: ...
    @overload
    def __get__(self, obj: Op, owner: type) -> OpResult: ...
    def __get__(self, obj: Op | None, owner: type) -> ResultSlot | OpResult:
        if obj is None:
            return self
        return obj.results[self.index]


class AttrSlot(Generic[A]):
    """An attribute; reading it gives the Attribute, or None when it is optional and absent."""

    def __init__(self, cls: type[A], required: bool, key: str | None) -> None:
        self.cls = cls
        self.required = required
        self.key = key or ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = self.key or name

    @overload
    def __get__(self, obj: None, owner: type) -> AttrSlot[A]: ...
    @overload
    def __get__(self, obj: Op, owner: type) -> A: ...
    def __get__(self, obj: Op | None, owner: type) -> AttrSlot[A] | A:
        if obj is None:
            return self
        return cast("A", obj.attributes.get(self.key))


class RegionSlot:
    """A region; reading it gives its only block."""

    def __init__(self) -> None:
        self.index = 0

    @overload
    def __get__(self, obj: None, owner: type) -> RegionSlot: ...
    @overload
    def __get__(self, obj: Op, owner: type) -> Block: ...
    def __get__(self, obj: Op | None, owner: type) -> RegionSlot | Block:
        if obj is None:
            return self
        return obj.regions[self.index].block


def operand(constraint: Constraint = ANY) -> OperandSlot:
    """Declare one operand."""
    return OperandSlot(constraint)


def variadic(constraint: Constraint = ANY) -> VariadicSlot:
    """Declare any number of operands."""
    return VariadicSlot(constraint, "variadic")


def optional(constraint: Constraint = ANY) -> OptionalSlot:
    """Declare an operand that may be missing."""
    return OptionalSlot(constraint, "optional")


def result(constraint: Constraint = ANY) -> ResultSlot:
    """Declare one result."""
    return ResultSlot(constraint)


def attr(cls: type[A], *, required: bool = True, key: str | None = None) -> AttrSlot[A]:
    """Declare an attribute of a class; `key` is its name in the IR when it differs."""
    return AttrSlot(cls, required, key)


def region() -> RegionSlot:
    """Declare a region of one block."""
    return RegionSlot()


@dataclass
class Declaration:
    """What an operation's class declares."""

    name: str
    traits: Trait
    operands: list[_Slot] = field(default_factory=list[_Slot])
    results: list[_Slot] = field(default_factory=list[_Slot])
    attributes: list[AttrSlot[Any]] = field(default_factory=list[AttrSlot[Any]])
    regions: list[RegionSlot] = field(default_factory=list[RegionSlot])
    variadic_results: bool = False
    fixed: bool = True
    """Whether each operand slot stands for one operand."""
    own_traits: Callable[[Any], Trait] | None = None

    def __post_init__(self) -> None:
        self._same_type = Trait.SAME_TYPE in self.traits
        self._accepted: set[Any] = set()
        self.terminates = Trait.TERMINATOR in self.traits

    @property
    def segmented(self) -> bool:
        """Whether `operandSegmentSizes` is needed to tell the operands apart."""
        return sum(s.kind != "one" for s in self.operands) > 1

    def sizes(self, op: Op) -> list[int]:
        """Number of operands that belong to each declared slot."""
        if self.segmented:
            sizes = op.attributes.get("operandSegmentSizes")
            if not isinstance(sizes, DenseI32Attr) or len(sizes.values) != len(self.operands):
                raise VerificationError(
                    f"{op.name}: operandSegmentSizes is missing or has the wrong length",
                    code="OC1401",
                    loc=op.loc,
                )
            return list(sizes.values)
        fixed = sum(s.kind == "one" for s in self.operands)
        rest = len(op.operands) - fixed
        return [1 if s.kind == "one" else rest for s in self.operands]

    def start(self, op: Op, index: int) -> int:
        """Position of the first operand of a slot."""
        if not self.segmented and all(s.kind == "one" for s in self.operands[:index]):
            return index
        return sum(self.sizes(op)[:index])

    def check(self, op: Op) -> None:
        """Raise VerificationError unless `op` is as declared."""
        if not self.fixed or op.regions:
            self._check(op)
            return
        # Nothing but types, and names and classes of attributes, decides about these.
        attributes, results = op.attributes, op.results
        first = results[0].type if len(results) == 1 else tuple([r.type for r in results])
        types = tuple([v.type for v in op.operands])
        if attributes:
            key = types, first, *attributes, *map(type, attributes.values())
        else:
            key = types, first
        if key not in self._accepted:
            self._check(op)
            if len(self._accepted) < _REMEMBERED:
                self._accepted.add(key)

    def _check(self, op: Op) -> None:
        if not self.fixed:
            self._check_segments(op)
        elif len(op.operands) != len(self.operands):
            raise _wrong(op, f"has {len(op.operands)} operands", "OC1402", len(self.operands))
        else:
            for slot, v in zip(self.operands, op.operands, strict=True):
                if not slot.constraint.accepts(v.type):
                    raise _wrong_operand(op, slot, v)
        self._check_rest(op)
        if self._same_type and (op.operands or op.results):
            values = [*op.operands, *op.results]
            first = values[0].type
            for v in values:
                if v.type is not first and v.type != first:
                    raise VerificationError(
                        f"{op.name}: operands and results must have one type",
                        code="OC1403", loc=op.loc, expected=first, found=v.type,
                    )  # fmt: skip

    def _check_segments(self, op: Op) -> None:
        sizes = self.sizes(op)
        if sum(sizes) != len(op.operands) or any(n < 0 for n in sizes):
            raise _wrong(op, f"has {len(op.operands)} operands", "OC1402", len(self.operands))
        start = 0
        for slot, n in zip(self.operands, sizes, strict=True):
            if (slot.kind == "one" and n != 1) or (slot.kind == "optional" and n > 1):
                raise _wrong(op, f"operand {slot.name!r} stands for {n} values", "OC1402", 1)
            for i in range(start, start + n):
                v = op.operands[i]
                if not slot.constraint.accepts(v.type):
                    raise _wrong_operand(op, slot, v)
            start += n

    def _check_rest(self, op: Op) -> None:
        if not self.variadic_results:
            if len(op.results) != len(self.results):
                raise _wrong(op, f"has {len(op.results)} results", "OC1405", len(self.results))
            for slot, r in zip(self.results, op.results, strict=True):
                if not slot.constraint.accepts(r.type):
                    raise _wrong(op, f"result has type {r.type}", "OC1406", slot.constraint.name)
        for a in self.attributes:
            value = op.attributes.get(a.key)
            if value is None:
                if a.required:
                    raise _wrong(op, f"attribute {a.key!r} is missing", "OC1407", a.cls.__name__)
            elif not isinstance(value, a.cls):
                raise _wrong(op, f"attribute {a.key} = {value}", "OC1407", a.cls.__name__)
        if len(op.regions) != len(self.regions):
            raise _wrong(op, f"has {len(op.regions)} regions", "OC1408", len(self.regions))
        for r in op.regions:
            if len(r.blocks) != 1:
                raise _wrong(op, f"region has {len(r.blocks)} blocks", "OC1409", 1)


_REMEMBERED = 1 << 12  # signatures of an operation


def _wrong(op: Op, what: str, code: str, expected: object) -> VerificationError:
    return VerificationError(f"{op.name}: {what}", code=code, loc=op.loc, expected=expected)


def _wrong_operand(op: Op, slot: _Slot, value: Value) -> VerificationError:
    return VerificationError(
        f"{op.name}: operand {slot.name!r} has the wrong type",
        code="OC1404",
        loc=op.loc,
        expected=slot.constraint.name,
        found=value.type,
    )


_DECLARATIONS: dict[str, Declaration] = {}
C = TypeVar("C", bound=type[Op])


def op(
    name: str, traits: Trait = Trait.NONE, *, variadic_results: bool = False
) -> Callable[[C], C]:
    """Class decorator: declare an operation and register its class."""

    def decorate(cls: C) -> C:
        decl = Declaration(name, traits, variadic_results=variadic_results)
        for slot in vars(cls).values():
            if isinstance(slot, ResultSlot):
                slot.index = len(decl.results)
                decl.results.append(slot)
            elif isinstance(slot, _Slot):
                slot.index = len(decl.operands)
                decl.operands.append(slot)
            elif isinstance(slot, AttrSlot):
                decl.attributes.append(cast("AttrSlot[Any]", slot))
            elif isinstance(slot, RegionSlot):
                slot.index = len(decl.regions)
                decl.regions.append(slot)
        decl.fixed = all(s.kind == "one" for s in decl.operands)
        decl.own_traits = getattr(cls, "own_traits", None)
        cls.ISOLATED = Trait.ISOLATED in traits
        _DECLARATIONS[name] = decl
        return register(name)(cls)

    return decorate


def declarations() -> dict[str, Declaration]:
    """All declarations by name; those of dialects once `opencute.dialects` is imported."""
    return dict(_DECLARATIONS)


def declaration(name: str) -> Declaration | None:
    """The declaration of an operation, None for an unknown name."""
    return _DECLARATIONS.get(name)


def declaration_of(op: Op) -> Declaration:
    """The declaration of an operation that is known to be declared."""
    return _DECLARATIONS[op.name]


def traits_of(op: Op) -> Trait:
    """The traits of an operation; an unknown one writes, so that it is kept.

    A class whose traits depend on the operation's attributes has a method ``own_traits``.
    """
    decl = _DECLARATIONS.get(op.name)
    if decl is None:
        return Trait.WRITES | Trait.READS
    if decl.own_traits is None:
        return decl.traits
    return decl.own_traits(op)


def has_trait(op: Op, trait: Trait) -> bool:
    """Whether an operation has a trait."""
    return trait in traits_of(op)
