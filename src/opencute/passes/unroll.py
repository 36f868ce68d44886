# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""unroll: loops that index a register fragment disappear, others are unrolled as they ask.

Before::

    scf.for %i = 0 to 4 step 1 { %p = cute.ptr_add %frag, %i ; ... }

After::

    %p0 = cute.ptr_add %frag, 0 ; ... ; %p3 = cute.ptr_add %frag, 3 ; ...

Which loops: those with constant bounds in which a pointer into registers differs from turn to turn
and would be constant without the loop (`loops.varying`); those with the attribute
``cute.unroll_full``, or ``cute.vectorize`` and few turns; and, by ``cute.unroll = n``, n copies of
the body with a loop for the rest. A loop that asks for full unrolling but has dynamic bounds stays
a loop. Indices of shared or global memory are no reason.

Why: registers have no addresses. A fragment that is indexed by a variable would live in local
memory.

Cost: one walk, in which the copies are cleaned at once, so that bounds of inner loops are known
when it comes to them; what is not copied is left alone. What it makes of a function is capped at
`MAX_SIZE` instructions.
"""

from __future__ import annotations

from opencute.arch.target import Target
from opencute.base.errors import CompileError
from opencute.dialects import arith, scf
from opencute.dialects.cute import LayoutAttr
from opencute.dialects.tiled import GemmOp, extents
from opencute.ir.attributes import IntAttr
from opencute.ir.builder import insert_at, new_block
from opencute.ir.cleanup import Cleaner
from opencute.ir.core import Block, Op, Value
from opencute.ir.rewrite import Replacement, Rewriter, Rule, inline_block
from opencute.passes.folding import int_of
from opencute.passes.loops.requests import VECTOR_TURNS
from opencute.passes.loops.varying import indexes_registers
from opencute.passes.simplify import UNSHARED, clean, rules_for, turns_of

__all__ = ["MAX_SIZE", "unroll"]

MAX_SIZE = 50_000
"""Instructions, roughly. ptxas takes about a second for ten thousand, and more than in proportion;
the instruction cache holds fewer."""


def unroll(function: Op, target: Target) -> None:
    """Unroll the loops of one function that have to be, or ask to be, unrolled."""
    # Loops that come to have constant bounds are inside of loops that are unrolled.
    loops = [op for op in function.walk() if _unrolls(op)]
    if not loops:
        return
    rule = _Unroll()
    _Copier(rule, loops, function).run(function)
    if rule.partial:
        clean(function)  # their bounds were computed on the way


class _Copier(Cleaner):
    """The walk that unrolls: what is copied is cleaned, the rest of the function as it was.

    Args:
        rule: for loops.
        loops: those to unroll, and perhaps loops in them.
        function: what they are in.
    """

    def __init__(self, rule: Rule, loops: list[Op], function: Op) -> None:
        super().__init__(arith.constant_of, rules_for(function, {"scf.for": rule}), UNSHARED)
        self._loops = set(loops)
        self._holders = {op for loop in loops for op in _around(loop, function)}
        self._copying = False

    def block(self, block: Block) -> None:
        if self._copying:
            super().block(block)
            return
        before = self.enter()
        ops = block.ops
        block.ops = kept = []
        values = self.values
        with insert_at(block):
            for op in ops:
                if op in self._loops:
                    self._copying = True
                    self._visit(op, block)
                    self._copying = False
                    continue
                if values and not values.keys().isdisjoint(op.operands):
                    op.operands = [values.get(v, v) for v in op.operands]
                op.parent = block
                kept.append(op)
                if op.regions and (values or op in self._holders):
                    self.regions(op)
        self.leave(before)


def _around(op: Op, function: Op) -> list[Op]:
    """The operations around one, up to the function."""
    out: list[Op] = []
    while op is not function and op.parent is not None and op.parent.parent is not None:
        owner = op.parent.parent.parent
        if owner is None:
            break
        out.append(owner)
        op = owner
    return out


def _unrolls(op: Op) -> bool:
    if op.name != "scf.for":
        return False
    if "cute.unroll" in op.attributes:
        return True
    return turns_of(op) is not None and (_asks(op) or indexes_registers(op))


def _asks(op: Op) -> bool:
    """Whether all turns are to stand side by side."""
    if "cute.unroll_full" in op.attributes:
        return True
    return "cute.vectorize" in op.attributes and (turns_of(op) or MAX_SIZE) <= VECTOR_TURNS


class _Unroll:
    """The rule for loops of one function."""

    def __init__(self) -> None:
        self.size = 0
        self.partial = False

    def __call__(self, op: Op, rw: Rewriter) -> Replacement:
        turns = turns_of(op)
        factor = op.attributes.pop("cute.unroll", None)
        full = _asks(op)
        if turns is not None and (full or indexes_registers(op)):
            self._count(op, turns, full)
            lower, step = int_of(op.operands[0]) or 0, int_of(op.operands[2]) or 0
            return _copies(op, rw, [lower + i * step for i in range(turns)])
        if isinstance(factor, IntAttr) and factor.value > 1:
            self._count(op, factor.value, True)
            self.partial = True
            return _partial(op, rw, factor.value)
        return None

    def _count(self, op: Op, copies: int, asked: bool) -> None:
        size = copies * _size(op)
        self.size += size
        if self.size > MAX_SIZE:
            why = "it asks for that" if asked else "its turns index registers"
            raise CompileError(
                f"unrolling this loop {copies} times ({why}) gives about {size} instructions",
                code="OC1064",
                loc=op.loc,
                expected=f"at most {MAX_SIZE} in a kernel",
                hint="unroll in part, make the tile smaller, or index memory other than registers",
            )


def _size(op: Op) -> int:
    """About how many instructions come of an operation and of what is in it."""
    if op.regions:
        return 2 + sum(_size(o) for r in op.regions for b in r.blocks for o in b.ops)
    if isinstance(op, GemmOp):
        return extents(op.d_layout)[1] * extents(op.d_layout)[2] * extents(op.a_layout)[2]
    if op.name == "cute.wgmma":
        return 4  # its registers stay what they are
    if op.name == "cute.copy":
        layout = op.attributes["src_layout"]
        assert isinstance(layout, LayoutAttr)
        return max((layout.static_size() or 1) // 4, 1)
    return 1


def _copies(op: Op, rw: Rewriter, indices: list[int]) -> list[Value]:
    assert isinstance(rw, Cleaner)
    type, carried = op.operands[0].type, op.operands[3:]
    for i in indices:
        index = rw.constant(IntAttr(i, type), type)
        carried = rw.inline(op.regions[0].block, [index, *carried], clone=True)
    return carried


def _partial(op: Op, rw: Rewriter, factor: int) -> Replacement:
    """A loop over groups of `factor` iterations, then the loop itself for what is left."""
    lower, upper, step, *inits = op.operands
    body = op.regions[0].block
    wide = arith.binary("muli", step, arith.constant(factor, step.type))
    span = arith.binary("maxsi", arith.binary("subi", upper, lower), _zero(step))
    # The groups end where less than a whole one is left.
    middle = arith.binary("addi", lower, _multiple_below(span, step, factor))
    region, block = new_block([a.type for a in body.args])
    with insert_at(block):
        index: Value = block.args[0]
        carried: list[Value] = list(block.args[1:])
        for i in range(factor):
            if i:
                index = arith.binary("addi", index, step)
            carried = inline_block(body, [index, *carried])
        scf.yield_(carried)
    main = scf.for_(lower, middle, wide, inits, region)
    op.operands = [middle, upper, step, *main.results]
    return rw.keep(op)


def _zero(like: Value) -> Value:
    return arith.constant(0, like.type)


def _multiple_below(span: Value, step: Value, factor: int) -> Value:
    """``floor(ceil(span / step) / factor) * factor * step`` for a span of at least 0."""
    one = arith.constant(1, step.type)
    several = arith.constant(factor, step.type)
    trips = arith.binary("divsi", arith.binary("addi", span, arith.binary("subi", step, one)), step)
    whole = arith.binary("muli", arith.binary("divsi", trips, several), several)
    return arith.binary("muli", whole, step)
