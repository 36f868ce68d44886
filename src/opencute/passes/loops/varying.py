# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which values in a loop differ from turn to turn, and which of them unrolling makes constant.

In: a ``scf.for``. Out: `indexes_registers`: whether a pointer into a register fragment differs
from turn to turn and is known once the loop is unrolled::

    scf.for %i = 0 to 4 iter_args(%j = 0) {
      %a = cute.ptr_add %frag, %i          differs, known: the loop has to be unrolled
      %b = cute.ptr_add %smem, %j          memory has addresses: no reason to
      %c = cute.ptr_add %frag, %loaded     not known either way: no reason to
      scf.for %k = 0 to 8 { %d = cute.ptr_add %frag, %k }     the same in each turn of this loop
    }

Cost: a few walks over the loop's body: both sets only grow.
"""

from __future__ import annotations

from collections.abc import Sequence

from opencute.dialects.cute import PtrType
from opencute.ir.cleanup import FOLDERS
from opencute.ir.core import Block, Op, Value
from opencute.passes.folding import int_of

__all__ = ["indexes_registers"]

_MOVES = frozenset({"cute.ptr_add", "cute.recast", "cute.assume"})
"""Known if their operands are, besides what folds."""


def indexes_registers(loop: Op) -> bool:
    """Whether registers that the body uses depend on the turn and are known once unrolled."""
    block = loop.regions[0].block
    # Most loops use no pointer into registers that could depend on anything.
    if not any(_in_registers(op.results) for op in _inside(block)) and not _in_registers(
        block.args
    ):
        return False
    return _Turns(loop).moving()


def _inside(block: Block) -> list[Op]:
    return [nested for op in block.ops for nested in op.walk()]


def _in_registers(values: Sequence[Value]) -> bool:
    return any(isinstance(v.type, PtrType) and v.type.space == "rmem" for v in values)


class _Turns:
    """The analysis of one loop.

    Attributes:
        turn: values that differ from turn to turn.
        unknown: values of the body that stay unknown when this loop and those in it are unrolled.
    """

    def __init__(self, loop: Op) -> None:
        self.turn: set[Value] = set()
        self.unknown: set[Value] = set()
        self._block = loop.regions[0].block
        self._inside: set[Value] = set(self._block.args)
        self.turn.add(self._block.args[0])
        ops = _inside(self._block)
        for op in ops:
            self._inside.update(op.results)
            self._inside.update(a for r in op.regions for b in r.blocks for a in b.args)
        before = -1
        while len(self.turn) + len(self.unknown) > before:
            before = len(self.turn) + len(self.unknown)
            self._carried(self._block, loop.operands[3:], ())
            for op in ops:
                self._visit(op)
        self._ops = ops

    def moving(self) -> bool:
        """Whether a pointer into registers differs and is known."""
        values: list[Value] = [*self._block.args]
        for op in self._ops:
            values += op.results
            values += [a for r in op.regions for b in r.blocks for a in b.args]
        return any(_in_registers((v,)) and v in self.turn and v not in self.unknown for v in values)

    def _known(self, value: Value) -> bool:
        if value in self._inside:
            return value not in self.unknown
        return int_of(value) is not None or isinstance(value.type, PtrType)

    def _flow(self, into: Value, *sources: Value) -> None:
        """`into` is computed from some values, or is one of them."""
        if not self.turn.isdisjoint(sources):
            self.turn.add(into)
        if not all(map(self._known, sources)):
            self.unknown.add(into)

    def _carried(self, body: Block, inits: Sequence[Value], results: Sequence[Value]) -> None:
        """The values that a loop hands from turn to turn."""
        for i, (arg, init, end) in enumerate(
            zip(body.args[1:], inits, body.terminator.operands, strict=True)
        ):
            if end is not arg:
                self._flow(arg, init, end)
                if body is self._block:
                    self.turn.add(arg)
            else:
                self._flow(arg, init)
            if results:
                self._flow(results[i], arg, end)

    def _visit(self, op: Op) -> None:
        if op.name == "scf.for":
            body = op.regions[0].block
            self._flow(body.args[0], *op.operands[:3])
            self._carried(body, op.operands[3:], op.results)
            for result in op.results:
                self._flow(result, *op.operands[:3])
        elif op.name == "scf.if":
            ends = [r.block.terminator.operands for r in op.regions]
            for i, result in enumerate(op.results):
                self._flow(result, op.operands[0], *(e[i] for e in ends))
        elif op.regions:
            # Loops with a condition are not unrolled: nothing in them is known.
            for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
                self.unknown.add(value)
        elif op.name in FOLDERS or op.name in _MOVES:
            for result in op.results:
                self._flow(result, *op.operands)
        elif op.name != "cute.alloca" and not any(int_of(r) is not None for r in op.results):
            # What is loaded, converted or read from a register of the machine.
            self.unknown.update(op.results)
