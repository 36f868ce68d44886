# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Structured control flow, as in MLIR's `scf` dialect.

``scf.for`` counts from `lower` up by a positive `step` while below `upper` (signed). ``scf.while``
runs its `before` region, which ends in ``scf.condition``, and while that is true its `after`
region.
"""

from __future__ import annotations

from collections.abc import Sequence

from opencute.base.errors import VerificationError
from opencute.ir.builder import build
from opencute.ir.core import Op, Region, Value
from opencute.ir.declare import BOOL, SCALAR_INT, Trait, op, operand, region, variadic
from opencute.ir.types import Type

__all__ = [
    "ConditionOp",
    "ForOp",
    "IfOp",
    "WhileOp",
    "YieldOp",
    "condition",
    "for_",
    "if_",
    "while_",
    "yield_",
]


def _check_yield(op: Op, region_: Region, name: str, types: list[Type]) -> None:
    block = region_.blocks[0] if region_.blocks else None
    if block is None or not block.ops or block.ops[-1].name != name:
        raise VerificationError(f"{op.name}: region must end in {name}", code="OC1410", loc=op.loc)
    values = block.ops[-1].operands[1 if name == "scf.condition" else 0 :]
    found = [v.type for v in values]
    if found != types:
        raise VerificationError(
            f"{op.name}: {name} passes values of the wrong types",
            code="OC1411",
            loc=op.loc,
            expected=[str(t) for t in types],
            found=[str(t) for t in found],
        )


@op("scf.yield", Trait.TERMINATOR)
class YieldOp(Op):
    """End a region with values."""

    values = variadic()


@op("scf.condition", Trait.TERMINATOR)
class ConditionOp(Op):
    """End the `before` region of a while loop."""

    condition = operand(BOOL)
    args = variadic()


@op("scf.if", Trait.REGION_EFFECTS, variadic_results=True)
class IfOp(Op):
    """Run one of two regions."""

    condition = operand(BOOL)
    then = region()
    orelse = region()

    def verify(self) -> None:
        types = [r.type for r in self.results]
        for r in self.regions:
            _check_yield(self, r, "scf.yield", types)


@op("scf.for", Trait.REGION_EFFECTS, variadic_results=True)
class ForOp(Op):
    """Run a region for each value of an induction variable, carrying values."""

    lower = operand(SCALAR_INT)
    upper = operand(SCALAR_INT)
    step = operand(SCALAR_INT)
    inits = variadic()
    body = region()

    def verify(self) -> None:
        types = [r.type for r in self.results]
        _check_yield(self, self.regions[0], "scf.yield", types)
        args = [a.type for a in self.body.args]
        index = self.lower.type
        same_index = self.upper.type == index == self.step.type
        if [v.type for v in self.inits] != types or args != [index, *types] or not same_index:
            raise VerificationError(
                "scf.for: types of bounds, initial values, arguments and results differ",
                code="OC1412",
                loc=self.loc,
            )


@op("scf.while", variadic_results=True)
class WhileOp(Op):
    """Run `after` while `before` passes true."""

    inits = variadic()
    before = region()
    after = region()

    def verify(self) -> None:
        _check_yield(self, self.regions[0], "scf.condition", [r.type for r in self.results])
        _check_yield(self, self.regions[1], "scf.yield", [v.type for v in self.inits])
        before = [a.type for a in self.before.args]
        after = [a.type for a in self.after.args]
        if before != [v.type for v in self.inits] or after != [r.type for r in self.results]:
            raise VerificationError(
                "scf.while: the regions' arguments differ from initial values or results",
                code="OC1413",
                loc=self.loc,
            )


def if_(condition: Value, types: Sequence[Type], then: Region, orelse: Region) -> Op:
    """An `scf.if` at the insertion point."""
    return build("scf.if", (condition,), types, None, (then, orelse))


def for_(lower: Value, upper: Value, step: Value, inits: Sequence[Value], body: Region) -> Op:
    """An `scf.for` at the insertion point."""
    return build("scf.for", (lower, upper, step, *inits), [v.type for v in inits], None, (body,))


def while_(inits: Sequence[Value], types: Sequence[Type], before: Region, after: Region) -> Op:
    """An `scf.while` at the insertion point."""
    return build("scf.while", inits, types, None, (before, after))


def yield_(values: Sequence[Value] = ()) -> Op:
    """End a region."""
    return build("scf.yield", values)


def condition(value: Value, args: Sequence[Value]) -> Op:
    """End a `before` region."""
    return build("scf.condition", (value, *args))
