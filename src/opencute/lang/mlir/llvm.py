# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""``cutlass._mlir.dialects.llvm``: inline assembly, structs and pointers.

Scalars come back as numbers of the language, so that they can be computed with.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.dialects import arith, vector
from opencute.dialects import llvm as dialect
from opencute.dialects.llvm import LLVMPointerType, LLVMStructType
from opencute.ir.attributes import UNIT, Attribute, StringAttr
from opencute.ir.builder import build
from opencute.ir.core import Value
from opencute.ir.types import Type, VectorType
from opencute.lang.arguments.aggregates import Aggregate
from opencute.lang.mlir.values import as_number, as_type, as_value

__all__ = [
    "AsmDialect",
    "PointerType",
    "StructType",
    "addrspacecast",
    "bitcast",
    "extractvalue",
    "inline_asm",
    "inttoptr",
    "ptrtoint",
    "rebits",
]


class AsmDialect(enum.IntEnum):
    """How assembly is written; PTX has one way, which LLVM calls AT&T."""

    AD_ATT = 0
    AD_Intel = 1


class PointerType:
    """The type of llvm pointers."""

    @staticmethod
    def get(address_space: Any = 0, context: Any = None) -> LLVMPointerType:
        """The type of pointers into an address space (an int or an AddressSpace)."""
        return LLVMPointerType(int(address_space))


class StructType:
    """The type of llvm structs."""

    @staticmethod
    def get_literal(
        elements: Sequence[Any], *, packed: bool = False, loc: Any = None, context: Any = None
    ) -> LLVMStructType:
        """The type of structs with these members."""
        return LLVMStructType(tuple(as_type(e) for e in elements))


def inline_asm(
    res: Any,
    operands_: Sequence[Any],
    asm_string: str,
    constraints: str,
    *,
    has_side_effects: bool = False,
    is_align_stack: bool = False,
    asm_dialect: Any = 0,
    operand_attrs: Any = None,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """Inline PTX.

    Args:
        res: type of the result, a struct type for several, None for none.
        operands_: the inputs.
        asm_string: PTX; ``$0`` and so on are outputs, then inputs.
        constraints: a register class for each, see `opencute.dialects.asm.constraints`.
        has_side_effects: whether it does more than compute its results from its inputs.
        is_align_stack: without meaning in PTX.
        asm_dialect: without meaning in PTX.

    Returns:
        The result: a number, a struct to take apart with `extractvalue`, or None.

    Raises:
        VerificationError: OC1490, text, constraints and types do not fit together.
    """
    attrs: dict[str, Attribute] = {
        "asm_string": StringAttr(str(asm_string)),
        "constraints": StringAttr(str(constraints)),
    }
    if has_side_effects:
        attrs["has_side_effects"] = UNIT
    results = [] if res is None else [as_type(res)]
    op = build("llvm.inline_asm", [as_value(v) for v in operands_], results, attrs)
    op.verify()
    return as_number(op.results[0]) if op.results else None


def extractvalue(
    res: Any, container: Any, position: Sequence[int], *, loc: Any = None, ip: Any = None
) -> Any:
    """A member of a struct: a number for a scalar.

    Raises:
        TypeMismatchError: OC1215, the struct has no such member, or one of another type.
    """
    inner = getattr(container, "_value", container)
    value = inner if isinstance(inner, Aggregate) else as_value(container)
    where = [int(p) for p in position]
    type: Type = value.type
    for p in where:
        if not isinstance(type, LLVMStructType) or not 0 <= p < len(type.members):
            raise TypeMismatchError(
                "there is no such member", code="OC1215", expected=value.type, found=where
            )
        type = type.members[p]
    if res is not None and as_type(res) != type:
        raise TypeMismatchError(
            "the member has another type", code="OC1215", expected=as_type(res), found=type
        )
    if isinstance(value, Aggregate):
        return value.member(where)
    for p in where:
        value = dialect.extractvalue(value, p)
    return as_number(value)


def addrspacecast(res: Any, arg: Any, *, loc: Any = None, ip: Any = None) -> Value:
    """A pointer in another address space."""
    type = as_type(res)
    assert isinstance(type, LLVMPointerType)
    return dialect.addrspacecast(as_value(arg), type.space)


def bitcast(res: Any, arg: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """The same bits as another type.

    Raises:
        TypeMismatchError: OC1216, the types differ in size.
    """
    value, type = as_value(arg), as_type(res)
    return as_number(rebits(value, type))


def rebits(value: Value, type: Type) -> Value:
    """The bits of a scalar or vector as another scalar or vector."""
    if value.type == type:
        return value
    if _bits(value.type) != _bits(type) or _bits(type) == 0:
        raise TypeMismatchError(
            "a bitcast keeps the number of bits", code="OC1216", expected=type, found=value.type
        )
    if isinstance(type, VectorType):
        source = value if isinstance(value.type, VectorType) else vector.broadcast(value, 1)
        return source if source.type == type else vector.bitcast(source, type)
    if isinstance(value.type, VectorType):
        return vector.extract(vector.bitcast(value, VectorType(1, type)), 0)
    return arith.cast("bitcast", value, type)


def _bits(type: Type) -> int:
    if isinstance(type, VectorType):
        return type.length * _bits(type.element)
    return int(getattr(type, "width", 0))


def inttoptr(res: Any, arg: Any, *, loc: Any = None, ip: Any = None) -> Value:
    """An integer as a pointer."""
    type = as_type(res)
    assert isinstance(type, LLVMPointerType)
    return dialect.inttoptr(as_value(arg), type.space)


def ptrtoint(res: Any, arg: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """A pointer as an integer."""
    return as_number(dialect.ptrtoint(as_value(arg), as_type(res)))
