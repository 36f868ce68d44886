# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Host functions, as in MLIR's `func` dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opencute.base.errors import VerificationError
from opencute.ir.attributes import StringAttr, SymbolAttr, TypeAttr
from opencute.ir.builder import build, new_block
from opencute.ir.core import Block, Op, OpResult, Value
from opencute.ir.declare import Trait, attr, op, region, variadic
from opencute.ir.types import FunctionType, Type

__all__ = [
    "CallOp",
    "FuncOp",
    "ReturnOp",
    "call",
    "check_call",
    "check_return",
    "check_signature",
    "func",
    "return_",
]


@op("func.func", Trait.ISOLATED)
class FuncOp(Op):
    """A host function."""

    sym_name = attr(StringAttr)
    function_type = attr(TypeAttr)
    body = region()

    def verify(self) -> None:
        check_signature(self)


@op("func.return", Trait.TERMINATOR)
class ReturnOp(Op):
    """Leave the function with values."""

    values = variadic()

    def verify(self) -> None:
        check_return(self, "func.func")


@op("func.call", Trait.WRITES | Trait.READS, variadic_results=True)
class CallOp(Op):
    """Call a function by its symbol."""

    args = variadic()
    callee = attr(SymbolAttr)

    def verify_symbols(self, lookup: Callable[[SymbolAttr], Op | None]) -> None:
        check_call(self, lookup(self.callee), "func.func", self.args)


def _signature(op: Op) -> FunctionType:
    type = op.attributes["function_type"]
    assert isinstance(type, TypeAttr)
    if not isinstance(type.value, FunctionType):
        raise VerificationError(
            f"{op.name}: function_type is not a function type",
            code="OC1415",
            loc=op.loc,
            found=type.value,
        )
    return type.value


def check_signature(op: Op) -> None:
    """Raise VerificationError unless a function's entry block has the arguments of its type."""
    inputs = _signature(op).inputs
    found = tuple(a.type for a in op.regions[0].block.args)
    if found != inputs:
        raise VerificationError(
            f"{op.name}: the entry block's arguments are not those of the function's type",
            code="OC1415",
            loc=op.loc,
            expected=FunctionType(inputs, ()),
            found=FunctionType(found, ()),
        )


def check_return(op: Op, function: str) -> None:
    """Raise VerificationError unless `op` returns what the `function` around it promises."""
    parent = op.parent.parent.parent if op.parent and op.parent.parent else None
    if parent is None or parent.name != function:
        where = parent.name if parent else "nothing"
        raise VerificationError(
            f"{op.name} must stand in the block of a {function}",
            code="OC1416",
            loc=op.loc,
            expected=function,
            found=where,
        )
    results = _signature(parent).results
    found = tuple(v.type for v in op.operands)
    if found != results:
        raise VerificationError(
            f"{op.name}: values differ from the function's results",
            code="OC1417",
            loc=op.loc,
            expected=FunctionType((), results),
            found=FunctionType((), found),
        )


def check_call(op: Op, callee: Op | None, function: str, args: Sequence[Value]) -> None:
    """Raise VerificationError unless `callee` is a `function` that takes `args`."""
    if callee is None or callee.name != function:
        raise VerificationError(
            f"{op.name}: the symbol does not name a {function}",
            code="OC1418",
            loc=op.loc,
            expected=function,
            found=callee.name if callee else "nothing",
        )
    type = _signature(callee)
    found = FunctionType(tuple(a.type for a in args), tuple(r.type for r in op.results))
    if found != type:
        raise VerificationError(
            f"{op.name}: arguments or results differ from the function's type",
            code="OC1419",
            loc=op.loc,
            expected=type,
            found=found,
        )


def func(name: str, inputs: Sequence[Type], results: Sequence[Type] = ()) -> tuple[Op, Block]:
    """A function at the insertion point, and its entry block."""
    reg, block = new_block(inputs)
    type = FunctionType(tuple(inputs), tuple(results))
    attributes = {"sym_name": StringAttr(name), "function_type": TypeAttr(type)}
    return build("func.func", (), (), attributes, (reg,)), block


def return_(values: Sequence[Value] = ()) -> Op:
    """Leave the function."""
    return build("func.return", values)


def call(callee: str, args: Sequence[Value], results: Sequence[Type]) -> list[OpResult]:
    """Call `callee`."""
    return build("func.call", args, results, {"callee": SymbolAttr((callee,))}).results
