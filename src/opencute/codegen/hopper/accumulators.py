# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Accumulators of products of warpgroups that LLVM does not see: registers that PTX declares.

A main loop carries a hundred registers that its products change in place. As values each of them is
a phi for each loop, an operand and a result of each product, for LLVM and ptxas to find out at the
end that they are one register: a third of LLVM's time. Where that is plain from the start they are
declared once, and assembly names them::

    .reg .f32 %acca<128>;
    mov.b32 %acca0, 0; ...                                  the loop's first value
    wgmma.mma_async... {%acca0, %acca1, ...}, $0, $1, 1, 1, 1, 0, 0;
    mov.b32 $0, %acca5;                                     vector.extract

In: a function. Out: for each value that stands in such registers, which ones they are. The values
of one accumulator are those that products, waits, loops and branches give on to each other. They
share registers if a walk in the order of execution finds that nothing reads one of them after the
next one has taken its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opencute.dialects.hopper.wgmma import WgmmaOp
from opencute.ir.attributes import DenseAttr, FloatAttr, IntAttr
from opencute.ir.cleanup import constant_of
from opencute.ir.core import Block, Op, Value
from opencute.ir.types import F32, VectorType

__all__ = ["Bank", "banks_of", "is_zero"]

_IN_PLACE = ("ptx.wgmma_fence", "ptx.wgmma_wait")  # give back what they take
_READS = "vector.extract"
_MOST = 26  # letters


@dataclass(frozen=True)
class Bank:
    """Registers of one accumulator.

    Args:
        name: of the registers, before their numbers.
        kind: their type in PTX.
        count: how many there are.
    """

    name: str
    kind: str
    count: int

    def registers(self) -> list[str]:
        """Their names."""
        return [f"{self.name}{i}" for i in range(self.count)]


def is_zero(value: Value) -> bool:
    """Whether all elements of a vector are the constant zero, whose bits are zero too."""
    op = value.op
    if op is not None and op.name == "vector.from_elements":
        return all(_is_zero(constant_of(v)) for v in dict.fromkeys(op.operands))
    known = constant_of(value)
    return isinstance(known, DenseAttr) and all(map(_is_zero, known.items))


def _is_zero(attr: object) -> bool:
    if isinstance(attr, FloatAttr):
        return str(attr.value) == "0.0"
    return isinstance(attr, IntAttr) and attr.value == 0


def banks_of(function: Op) -> dict[Value, Bank]:
    """The values of a function that stand in registers which PTX declares, with these.

    Only accumulators that a loop carries: of others LLVM has little to find out.
    """
    ops = list(function.walk())
    if not any(op.name == "ptx.wgmma" for op in ops):
        return {}
    groups = _Groups(ops)
    state = _Order(groups.kept())
    if state.left:
        state.block(function.regions[0].block)
    out: dict[Value, Bank] = {}
    names: dict[int, Bank] = {}
    for value, group in state.left.items():
        if group not in names:
            if len(names) == _MOST:
                break
            assert isinstance(value.type, VectorType)
            kind = "f32" if value.type.element is F32 else "b32"
            letter = chr(ord("a") + len(names))
            names[group] = Bank(f"%acc{letter}", kind, value.type.length)
        out[value] = names[group]
    return out


class _Groups:
    """Values that operations give on to each other.

    Args:
        ops: the operations of a function.
    """

    def __init__(self, ops: Sequence[Op]) -> None:
        self._next: dict[Value, Value] = {}
        self._products: list[Value] = []
        self._carried: list[Value] = []
        for op in ops:
            if isinstance(op, WgmmaOp):
                self._products.append(op.results[0])
                if not _starts(op):
                    self._join(op.accumulator, op.results[0])
            elif op.name in _IN_PLACE:
                for a, b in zip(op.operands, op.results, strict=True):
                    self._join(a, b)
            elif op.name == "scf.for":
                self._loop(op)
            elif op.name == "scf.if":
                for region in op.regions:
                    for a, b in zip(region.block.ops[-1].operands, op.results, strict=True):
                        self._join(a, b)

    def _loop(self, op: Op) -> None:
        body = op.regions[0].block
        last = body.ops[-1].operands
        for first, arg, out, end in zip(
            op.operands[3:], body.args[1:], op.results, last, strict=True
        ):
            if isinstance(arg.type, VectorType):
                self._carried.append(arg)
                self._join(arg, out)
                self._join(end, out)
                if not is_zero(first):
                    self._join(first, out)

    def _find(self, value: Value) -> Value:
        while (following := self._next.get(value, value)) is not value:
            value = following
        return value

    def _join(self, a: Value, b: Value) -> None:
        if isinstance(a.type, VectorType):
            a, b = self._find(a), self._find(b)
            self._next.setdefault(b, b)
            self._next[a] = b

    def kept(self) -> dict[Value, int]:
        """The values with the number of their group, of groups with a product and a loop."""
        wanted = {*map(self._find, self._products)} & {*map(self._find, self._carried)}
        numbers: dict[Value, int] = {}
        out: dict[Value, int] = {}
        for value in self._next:
            root = self._find(value)
            if root in wanted:
                out[value] = numbers.setdefault(root, len(numbers))
        return out


def _starts(op: WgmmaOp) -> bool:
    """Whether nothing reads what was in a product's accumulator."""
    known = constant_of(op.steps[2])
    return isinstance(known, IntAttr) and not known.value & 1


class _Order:
    """The walk that finds out which groups cannot share registers; `left` has those that can.

    Args:
        left: values with the numbers of their groups.
    """

    def __init__(self, left: dict[Value, int]) -> None:
        self.left = left
        self._now: dict[int, Value | None] = {}

    def _drop(self, group: int) -> None:
        self.left = {v: g for v, g in self.left.items() if g != group}

    def _read(self, value: Value) -> None:
        group = self.left.get(value)
        if group is not None and self._now.get(group) is not value:
            self._drop(group)

    def _write(self, value: Value) -> None:
        group = self.left.get(value)
        if group is not None:
            self._now[group] = value

    def block(self, block: Block) -> None:
        """Follow the operations of a block, without the last one, which ends it."""
        for op in block.ops[:-1]:
            if op.regions:
                self._around(op)
            elif op.name == "ptx.wgmma" or op.name in _IN_PLACE:
                assert not isinstance(op, WgmmaOp) or len(op.results) == 1
                taken = op.operands if not isinstance(op, WgmmaOp) else (
                    () if _starts(op) else (op.accumulator,)
                )  # fmt: skip
                for value in taken:
                    self._read(value)
                for value in op.results:
                    self._write(value)
            elif not self.left.keys().isdisjoint((*op.operands, *op.results)):
                self._other(op)

    def _other(self, op: Op) -> None:
        for value in op.operands:
            if op.name == _READS:
                self._read(value)
            elif value in self.left:
                self._drop(self.left[value])
        for value in op.results:  # of what leaves its result elsewhere
            if value in self.left:
                self._drop(self.left[value])

    def _around(self, op: Op) -> None:
        if op.name == "scf.for":
            self._for(op)
        elif op.name == "scf.if":
            self._if(op)
        else:
            given = [a for region in op.regions for b in region.blocks for a in b.args]
            ends = [v for region in op.regions for b in region.blocks for v in b.ops[-1].operands]
            for value in (*op.operands, *op.results, *given, *ends):
                if value in self.left:
                    self._drop(self.left[value])
            self._turns(op, {})

    def _turns(self, op: Op, carried: dict[int, Value]) -> None:
        """The body of what may run more than once: what it leaves is what its next turn finds."""
        before = dict(self._now)
        for _ in range(2):
            self._now.update(carried)
            start = dict(self._now)
            for region in op.regions:
                for block in region.blocks:
                    self.block(block)
            changed = {
                g for g in self._now if g not in carried and self._now[g] is not start.get(g)
            }
            if not changed:
                break
            self._now = {**before, **dict.fromkeys(changed)}
        self._now.update(dict.fromkeys(changed))

    def _for(self, op: Op) -> None:
        body = op.regions[0].block
        inits, args, ends = op.operands[3:], body.args[1:], body.ops[-1].operands
        carried: dict[int, Value] = {}
        for first, arg in zip(inits, args, strict=True):
            if first in self.left:
                self._read(first)
            group = self.left.get(arg)
            if group is not None:
                if group in carried or self.left.get(first, group) != group:
                    self._drop(group)
                carried[group] = arg
        self._turns(op, carried)
        for end, arg, out in zip(ends, args, op.results, strict=True):
            group = self.left.get(arg)
            if group is not None and self._now.get(group) is not end:
                self._drop(group)
            elif group is not None:
                self._now[group] = out

    def _if(self, op: Op) -> None:
        before = dict(self._now)
        after: list[dict[int, Value | None]] = []
        for region in op.regions:
            self._now = dict(before)
            self.block(region.block)
            for value in region.block.ops[-1].operands:
                self._read(value)
            after.append(self._now)
        first, second = after
        self._now = {
            g: first.get(g) if first.get(g) is second.get(g) else None for g in {**first, **second}
        }
        for value in op.results:
            self._write(value)
