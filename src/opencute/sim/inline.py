# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Calls put in place: a function without `func.call`, so that waiting and taint pass through calls.

IR before::

    %r = func.call @square(%a)

IR after::

    %r = arith.muli %a, %a
"""

from __future__ import annotations

from collections.abc import Callable

from opencute.base.errors import SimulationError
from opencute.ir.attributes import SymbolAttr
from opencute.ir.core import Block, Op, Region, Value

__all__ = ["inline_calls"]

Find = Callable[[str], Op]


def inline_calls(function: Op, find: Find) -> Op:
    """The function itself if it calls nothing, else a copy with its calls in place.

    Args:
        function: a `func.func` or `gpu.func`.
        find: gives the function with a name.

    Raises:
        SimulationError: a function calls itself.
    """
    if not any(op.name == "func.call" for op in function.walk()):
        return function
    return _Inliner(find).copy(function, {})


class _Inliner:
    def __init__(self, find: Find) -> None:
        self.find = find
        self.stack: list[str] = []

    def copy(self, op: Op, values: dict[Value, Value]) -> Op:
        """A copy of an operation, with calls nested in it in place."""
        out = Op.make(
            op.name,
            [values.get(v, v) for v in op.operands],
            [r.type for r in op.results],
            op.attributes,
            (),
            op.loc,
        )
        values.update(zip(op.results, out.results, strict=True))
        for region in op.regions:
            copied = Region()
            for block in region.blocks:
                new = Block()
                for arg in block.args:
                    values[arg] = new.add_argument(arg.type, arg.hint)
                copied.blocks.append(new)
                new.parent = copied
                self.block(block, new, values)
            copied.parent = out
            out.regions.append(copied)
        return out

    def block(self, source: Block, target: Block, values: dict[Value, Value]) -> None:
        """Copy all operations of a block."""
        for op in source.ops:
            if op.name == "func.call":
                self.call(op, target, values)
            else:
                target.append(self.copy(op, values))

    def call(self, op: Op, target: Block, values: dict[Value, Value]) -> None:
        """Copy the callee's body in place of a call."""
        callee = op.attributes["callee"]
        assert isinstance(callee, SymbolAttr)
        name = callee.path[-1]
        if name in self.stack:
            raise SimulationError(f"{name} calls itself", code="OC3006", loc=op.loc)
        body = self.find(name).regions[0].block
        inner: dict[Value, Value] = dict(
            zip(body.args, (values.get(v, v) for v in op.operands), strict=True)
        )
        self.stack.append(name)
        for inside in body.ops[:-1]:
            if inside.name == "func.call":
                self.call(inside, target, inner)
            else:
                target.append(self.copy(inside, inner))
        self.stack.pop()
        for mine, theirs in zip(op.results, body.terminator.operands, strict=True):
            values[mine] = inner.get(theirs, theirs)
