# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What one PTX instruction without effects computes, by its name.

The simulator makes these of inline assembly: registers are integers of their width, whatever the
instruction reads in them; predicates are i1::

    %d = "ptx.compute"(%a, %b) {instruction = "add.rz.f32"} : (i32, i32) -> i32
"""

from __future__ import annotations

from collections.abc import Sequence

from opencute.ir.attributes import StringAttr
from opencute.ir.builder import build1
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import SCALAR_INT, Trait, attr, op, result, variadic
from opencute.ir.types import Type

__all__ = ["ComputeOp", "compute"]


@op("ptx.compute", Trait.PURE)
class ComputeOp(Op):
    """One PTX instruction on registers, such as ``prmt.b32``; only the simulator runs it."""

    args = variadic(SCALAR_INT)
    instruction = attr(StringAttr)
    out = result(SCALAR_INT)


def compute(instruction: str, args: Sequence[Value], type: Type) -> OpResult:
    """What `instruction` computes from registers."""
    return build1("ptx.compute", args, type, {"instruction": StringAttr(instruction)})
