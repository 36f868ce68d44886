# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Addresses and memory after lowering, as in MLIR's `llvm` dialect.

Only what `arith`, `vector` and `scf` cannot say: pointers with address spaces, loads and stores
with an alignment, stack slots, inline assembly. Address spaces are NVPTX's: 0 generic, 1 global,
3 shared, 4 constant, 5 local.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opencute.base.errors import VerificationError
from opencute.dialects.asm.constraints import check_asm
from opencute.ir.attributes import UNIT, Attribute, DenseI32Attr, IntAttr, StringAttr, TypeAttr
from opencute.ir.builder import build, build1
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import ANY, SCALAR_INT, Trait, attr, op, operand, result, type_is, variadic
from opencute.ir.syntax import Syntax, register_type_parser
from opencute.ir.types import I32, I64, Type

__all__ = [
    "CLUSTER",
    "GENERIC",
    "GLOBAL",
    "LOCAL",
    "PTR",
    "SHARED",
    "LLVMPointerType",
    "LLVMStructType",
    "addrspacecast",
    "alloca",
    "asm_results",
    "extractvalue",
    "gep",
    "inline_asm",
    "inttoptr",
    "load",
    "ptrtoint",
    "store",
]

GENERIC, GLOBAL, SHARED, CONSTANT, LOCAL, CLUSTER = 0, 1, 3, 4, 5, 7
_DYNAMIC = -(1 << 31)


@dataclass(frozen=True, eq=False)
class LLVMPointerType(Type):
    """An untyped pointer into an address space."""

    space: int = 0

    def __str__(self) -> str:
        return f"!llvm.ptr<{self.space}>" if self.space else "!llvm.ptr"


PTR = type_is(LLVMPointerType, "llvm pointer")


def _parse_pointer(s: Syntax) -> LLVMPointerType:
    if not s.accept("<"):
        return LLVMPointerType()
    space = s.integer()
    s.expect(">")
    if not 0 <= space < 1 << 24:
        raise ValueError(f"{space} is no address space")
    return LLVMPointerType(space)


register_type_parser("llvm.ptr", _parse_pointer)


@dataclass(frozen=True, eq=False)
class LLVMStructType(Type):
    """Several values as one: what inline assembly with several outputs gives."""

    members: tuple[Type, ...]

    def __str__(self) -> str:
        return f"!llvm.struct<({', '.join(map(str, self.members))})>"


def _parse_struct(s: Syntax) -> LLVMStructType:
    s.expect("<")
    members = s.types_in_parentheses()
    s.expect(">")
    return LLVMStructType(members)


register_type_parser("llvm.struct", _parse_struct)


@op("llvm.getelementptr", Trait.PURE)
class GepOp(Op):
    """`base + index * sizeof(elem_type)`; the index is dynamic or in `rawConstantIndices`."""

    base = operand(PTR)
    indices = variadic(SCALAR_INT)
    rawConstantIndices = attr(DenseI32Attr)
    elem_type = attr(TypeAttr)
    out = result(PTR)

    def verify(self) -> None:
        if self.rawConstantIndices.values.count(_DYNAMIC) != len(self.indices):
            raise VerificationError(
                f"llvm.getelementptr: {len(self.indices)} dynamic indices",
                code="OC1449",
                loc=self.loc,
                expected=self.rawConstantIndices.values.count(_DYNAMIC),
            )


def _check_alignment(op_: Op) -> None:
    alignment = op_.attributes["alignment"]
    assert isinstance(alignment, IntAttr)
    if alignment.value < 1 or alignment.value & (alignment.value - 1):
        raise VerificationError(
            f"{op_.name}: alignment {alignment.value} is no power of two",
            code="OC1449",
            loc=op_.loc,
        )


@op("llvm.load", Trait.READS)
class LoadOp(Op):
    """Read a scalar or vector; `invariant`: nothing writes it while the kernel runs."""

    addr = operand(PTR)
    alignment = attr(IntAttr)
    out = result(ANY)

    def verify(self) -> None:
        _check_alignment(self)


@op("llvm.store", Trait.WRITES)
class StoreOp(Op):
    """Write a scalar or vector."""

    value = operand(ANY)
    addr = operand(PTR)
    alignment = attr(IntAttr)

    def verify(self) -> None:
        _check_alignment(self)


@op("llvm.alloca", Trait.ALLOCATES)
class AllocaOp(Op):
    """Room for `array_size` elements, per thread, for the whole function."""

    array_size = operand(SCALAR_INT)
    elem_type = attr(TypeAttr)
    alignment = attr(IntAttr)
    out = result(PTR)

    def verify(self) -> None:
        _check_alignment(self)


@op("llvm.addrspacecast", Trait.PURE)
class AddrSpaceCastOp(Op):
    """The same address in another space."""

    value = operand(PTR)
    out = result(PTR)


@op("llvm.ptrtoint", Trait.PURE)
class PtrToIntOp(Op):
    """An address as an integer."""

    value = operand(PTR)
    out = result(SCALAR_INT)


@op("llvm.inttoptr", Trait.PURE)
class IntToPtrOp(Op):
    """An integer as an address."""

    value = operand(SCALAR_INT)
    out = result(PTR)


_ASM = Trait.WRITES | Trait.READS | Trait.CONVERGENT
_EFFECTS = {
    "reads": Trait.READS,
    "writes": Trait.WRITES,
    "volatile": Trait.WRITES,
    "convergent": Trait.CONVERGENT,
}


@op("llvm.inline_asm", _ASM, variadic_results=True)
class InlineAsmOp(Op):
    """PTX text; without `has_side_effects` it may be moved and merged."""

    args = variadic()
    asm_string = attr(StringAttr)
    constraints = attr(StringAttr)

    def own_traits(self) -> Trait:
        """Pure, unless it says that it has side effects, or what they are in words."""
        effects = self.attributes.get("opencute.effects")
        if not isinstance(effects, StringAttr):
            return _ASM if "has_side_effects" in self.attributes else Trait.PURE
        words = effects.value.split()
        traits = Trait.NONE
        for word, trait in _EFFECTS.items():
            traits |= trait if word in words else Trait.NONE
        return traits or Trait.PURE

    def verify(self) -> None:
        operands = [(v.type, v.op is not None and v.op.name == "arith.constant") for v in self.args]
        try:
            check_asm(self.asm_string.value, self.constraints.value, operands, asm_results(self))
        except ValueError as e:
            raise VerificationError(
                f"inline assembly: {e}", code="OC1490", loc=self.loc,
                found=self.constraints.value,
            ) from None  # fmt: skip


def asm_results(op_: Op) -> list[Type]:
    """The types of the outputs of inline assembly; a struct stands for several."""
    types = [r.type for r in op_.results]
    if len(types) == 1 and isinstance(types[0], LLVMStructType):
        return list(types[0].members)
    return types


@op("llvm.extractvalue", Trait.PURE)
class ExtractValueOp(Op):
    """One member of a struct that inline assembly gave."""

    container = operand(type_is(LLVMStructType, "struct"))
    position = attr(DenseI32Attr)
    out = result(ANY)

    def verify(self) -> None:
        type, where = self.container.type, self.position.values
        assert isinstance(type, LLVMStructType)
        if len(where) != 1 or not 0 <= where[0] < len(type.members):
            raise VerificationError(
                f"llvm.extractvalue: there is no member {list(where)}",
                code="OC1491", loc=self.loc, expected=f"0 to {len(type.members) - 1}",
            )  # fmt: skip
        if self.out.type != type.members[where[0]]:
            raise VerificationError(
                "llvm.extractvalue: the result has another type than the member",
                code="OC1491", loc=self.loc, expected=type.members[where[0]], found=self.out.type,
            )  # fmt: skip


def gep(base: Value, index: Value | int, element: Type) -> OpResult:
    """The address `index` elements after `base`."""
    static = isinstance(index, int)
    attrs: dict[str, Attribute] = {
        "rawConstantIndices": DenseI32Attr((index if static else _DYNAMIC,)),
        "elem_type": TypeAttr(element),
    }
    return build1("llvm.getelementptr", (base,) if static else (base, index), base.type, attrs)


def load(addr: Value, type: Type, alignment: int, *, invariant: bool = False) -> OpResult:
    """Read a value of `type`; `alignment` in bytes."""
    attrs: dict[str, Attribute] = {"alignment": IntAttr(alignment, I64)}
    if invariant:
        attrs["invariant"] = UNIT
    return build1("llvm.load", (addr,), type, attrs)


def store(value: Value, addr: Value, alignment: int) -> Op:
    """Write a value; `alignment` in bytes."""
    return build("llvm.store", (value, addr), (), {"alignment": IntAttr(alignment, I64)})


def alloca(element: Type, count: int, alignment: int) -> OpResult:
    """A stack slot of `count` elements."""
    from opencute.dialects import arith

    attrs = {"elem_type": TypeAttr(element), "alignment": IntAttr(alignment, I64)}
    return build1("llvm.alloca", (arith.constant(count, I32),), LLVMPointerType(), attrs)


def addrspacecast(value: Value, space: int) -> OpResult:
    """The same address in another space."""
    return build1("llvm.addrspacecast", (value,), LLVMPointerType(space))


def ptrtoint(value: Value, type: Type = I64) -> OpResult:
    """The address as an integer."""
    return build1("llvm.ptrtoint", (value,), type)


def inttoptr(value: Value, space: int = 0) -> OpResult:
    """The integer as an address."""
    return build1("llvm.inttoptr", (value,), LLVMPointerType(space))


def extractvalue(struct: Value, position: int) -> OpResult:
    """One member of a struct."""
    assert isinstance(struct.type, LLVMStructType)
    where = DenseI32Attr((position,), 64)
    type = struct.type.members[position]
    return build1("llvm.extractvalue", (struct,), type, {"position": where})


def inline_asm(
    text: str,
    constraints: str,
    args: Sequence[Value],
    results: Sequence[Type],
    *,
    pure: bool = False,
) -> Op:
    """PTX text with operands `$0..`; LLVM's constraint syntax."""
    attrs: dict[str, Attribute] = {
        "asm_string": StringAttr(text),
        "constraints": StringAttr(constraints),
    }
    if not pure:
        attrs["has_side_effects"] = UNIT
    return build("llvm.inline_asm", args, results, attrs)
