# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""unroll: loops that index a register fragment disappear, others are unrolled as they ask.

Before::

    scf.for %i = 0 to 4 step 1 { %p = cute.ptr_add %frag, %i ; ... }

After::

    %p0 = cute.ptr_add %frag, 0 ; ... ; %p3 = cute.ptr_add %frag, 3 ; ...

Which loops: those with constant bounds whose induction variable or carried values reach, through
arithmetic, an offset into an rmem pointer; those with the attribute ``cute.unroll_full``; and, by
``cute.unroll = n``, n copies of the body with a loop for the rest. A loop that asks for full
unrolling but has dynamic bounds stays a loop.

Why: registers have no addresses. A fragment that is indexed by a variable would live in local
memory.

Cost: proportional to the code it makes, which is capped at `MAX_OPS` operations per loop.
"""

from __future__ import annotations

from opencute.arch.target import Target
from opencute.base.errors import CompileError
from opencute.dialects import arith, scf
from opencute.dialects.cute import PtrType
from opencute.ir.attributes import IntAttr
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Op, Value
from opencute.ir.rewrite import Replacement, Rewriter, Rules, inline_block
from opencute.passes.folding import int_of
from opencute.passes.simplify import simplify

__all__ = ["MAX_OPS", "unroll"]

MAX_OPS = 100_000
_RULES = Rules()


def unroll(function: Op, target: Target) -> None:
    """Unroll the loops of one function that have to be, or ask to be, unrolled."""
    # Outer loops first: inner bounds may become constant.
    while _RULES.apply(function):
        simplify(function, target)


@_RULES.on("scf.for")
def _for(op: Op, rw: Rewriter) -> Replacement:
    trips = _trips(op)
    factor = op.attributes.pop("cute.unroll", None)
    full = "cute.unroll_full" in op.attributes
    if trips is not None and (full or _indexes_fragment(op)):
        _check_size(op, trips)
        lower, step = int_of(op.operands[0]) or 0, int_of(op.operands[2]) or 0
        return _copies(op, rw, [lower + i * step for i in range(trips)])
    if isinstance(factor, IntAttr) and factor.value > 1:
        _check_size(op, factor.value)
        return _partial(op, rw, factor.value)
    return None


def _trips(op: Op) -> int | None:
    bounds = [int_of(v) for v in op.operands[:3]]
    lower, upper, step = bounds
    if lower is None or upper is None or step is None or step <= 0:
        return None
    return max(0, -(-(upper - lower) // step))


def _indexes_fragment(op: Op) -> bool:
    """Whether something that varies with the loop is an offset into registers."""
    varying: set[Value] = set(op.regions[0].block.args)
    for inner in op.regions[0].block.ops:
        for nested in inner.walk():
            if not varying.isdisjoint(nested.operands):
                if nested.name == "cute.ptr_add" and nested.operands[1] in varying:
                    type = nested.operands[0].type
                    if isinstance(type, PtrType) and type.space == "rmem":
                        return True
                varying.update(nested.results)
                varying.update(a for r in nested.regions for b in r.blocks for a in b.args)
    return False


def _check_size(op: Op, copies: int) -> None:
    size = copies * sum(1 for _ in op.walk())
    if size > MAX_OPS:
        raise CompileError(
            f"unrolling this loop {copies} times gives {size} operations",
            code="OC1064",
            loc=op.loc,
            expected=f"at most {MAX_OPS}",
            hint="make the fragment or the tile smaller, or index memory other than registers",
        )


def _copies(op: Op, rw: Rewriter, indices: list[int]) -> list[Value]:
    carried = op.operands[3:]
    for index in [arith.constant(i, op.operands[0].type) for i in indices]:
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
