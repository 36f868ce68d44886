# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The one way in which passes here change operations: a forward walk with a substitution.

In: a block, and a table from operation names to handlers. A handler builds what replaces an
operation (builders append to the block being written) and returns the replacement of each result,
or None to keep the operation as it is::

    def lower(rw: Rewriter, op: Op) -> list[Value] | None:
        return [arith.binary("addi", rw.get(op.operands[0]), one)]

    Rewriter({"my.inc": lower}).block(func.regions[0].block)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from opencute.ir.builder import at_loc, insert_at
from opencute.ir.core import Block, BlockArgument, Op, Value
from opencute.ir.types import Type

__all__ = ["Handler", "Rewriter", "host_functions", "kernels", "walk_blocks"]

Handler = Callable[["Rewriter", Op], "Sequence[Value] | None"]


class Rewriter:
    """Rewrites blocks in order.

    Args:
        handlers: operation name to handler.
        convert: new type of a value that is not replaced; None keeps types.
    """

    def __init__(
        self, handlers: Mapping[str, Handler], convert: Callable[[Type], Type] | None = None
    ) -> None:
        self.handlers = handlers
        self.convert = convert
        self.values: dict[Value, Value] = {}

    def get(self, value: Value) -> Value:
        """What `value` is now."""
        return self.values.get(value, value)

    def get_all(self, values: Sequence[Value]) -> list[Value]:
        """What each of `values` is now."""
        return [self.values.get(v, v) for v in values]

    def block(self, block: Block) -> None:
        """Rewrite a block and all that is nested in it, in place."""
        self.arguments(block)
        old, block.ops = block.ops, []
        with insert_at(block):
            for op in old:
                self._op(block, op)

    def inline(self, ops: Sequence[Op], out: Block) -> None:
        """Rewrite `ops`, appending to `out`."""
        with insert_at(out):
            for op in ops:
                self._op(out, op)

    def arguments(self, block: Block) -> None:
        """Convert the types of a block's arguments."""
        if self.convert is None:
            return
        for i, arg in enumerate(block.args):
            type = self.convert(arg.type)
            if type != arg.type:
                new = BlockArgument(type, block, i, arg.hint)
                self.values[arg] = block.args[i] = new

    def _op(self, out: Block, op: Op) -> None:
        handler = self.handlers.get(op.name)
        if handler is not None:
            with at_loc(op.loc):
                replacement = handler(self, op)
            if replacement is not None:
                for result, value in zip(op.results, replacement, strict=True):
                    self.values[result] = value
                    if result.hint and not value.hint:
                        value.hint = result.hint
                return
        self.keep(out, op)

    def keep(self, out: Block, op: Op) -> None:
        """Append `op` itself, with its operands and nested code rewritten."""
        values = self.values
        op.operands = [values.get(v, v) for v in op.operands]
        convert = self.convert
        if convert is not None and any(convert(r.type) != r.type for r in op.results):
            types = [convert(r.type) for r in op.results]
            new = Op.make(op.name, op.operands, types, op.attributes, op.regions, op.loc)
            for old_result, result in zip(op.results, new.results, strict=True):
                values[old_result] = result
                result.hint = old_result.hint
            op = new
        out.append(op)
        for region in op.regions:
            for nested in region.blocks:
                self.block(nested)


def walk_blocks(op: Op) -> Iterator[Block]:
    """All blocks nested in `op`, outer ones first."""
    for region in op.regions:
        for block in region.blocks:
            yield block
            for inner in block.ops:
                if inner.regions:
                    yield from walk_blocks(inner)


def kernels(module: Op) -> list[Op]:
    """The kernels of a module, in order."""
    out: list[Op] = []
    for op in module.regions[0].block.ops:
        if op.name == "gpu.module":
            out += [f for f in op.regions[0].block.ops if f.name == "gpu.func"]
    return out


def host_functions(module: Op) -> list[Op]:
    """The host functions of a module, in order."""
    return [op for op in module.regions[0].block.ops if op.name == "func.func"]
