# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Host functions, as in MLIR's `func` dialect."""

from __future__ import annotations

from collections.abc import Sequence

from opencute.ir.attributes import StringAttr, SymbolAttr, TypeAttr
from opencute.ir.builder import build, new_block
from opencute.ir.core import Block, Op, OpResult, Value
from opencute.ir.declare import Trait, attr, op, region, variadic
from opencute.ir.types import FunctionType, Type

__all__ = ["CallOp", "FuncOp", "ReturnOp", "call", "func", "return_"]


@op("func.func", Trait.ISOLATED)
class FuncOp(Op):
    """A host function."""

    sym_name = attr(StringAttr)
    function_type = attr(TypeAttr)
    body = region()


@op("func.return", Trait.TERMINATOR)
class ReturnOp(Op):
    """Leave the function with values."""

    values = variadic()


@op("func.call", Trait.WRITES | Trait.READS, variadic_results=True)
class CallOp(Op):
    """Call a function by its symbol."""

    args = variadic()
    callee = attr(SymbolAttr)


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
