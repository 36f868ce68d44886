# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Assertions at run time, as in MLIR's `cf` dialect.

``cf.assert %c, "n is not negative"`` in generic form: ``"cf.assert"(%c) {msg = "..."}``.
"""

from __future__ import annotations

from opencute.ir.attributes import StringAttr
from opencute.ir.builder import build
from opencute.ir.core import Op, Value
from opencute.ir.declare import Constraint, Trait, attr, op, operand
from opencute.ir.types import I1

__all__ = ["AssertOp", "assert_"]


@op("cf.assert", Trait.READS | Trait.WRITES)
class AssertOp(Op):
    """Stop the program with `msg` where the condition does not hold."""

    arg = operand(Constraint("i1", lambda t: t == I1))
    msg = attr(StringAttr)


def assert_(condition: Value, message: str) -> Op:
    """Stop with a message where `condition` does not hold."""
    return build("cf.assert", (condition,), (), {"msg": StringAttr(message)})
