# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""spread: asynchronous copies that a thread starts at once are started apart, between products.

Before::

    cp.async [a], .. ; cp.async [b], .. ; commit ; mma ; mma ; mma ; mma ; wait

After::

    cp.async [a], .. ; mma ; cp.async [b], .. ; commit ; mma ; mma ; mma ; wait

Why: copies are answered one after the other, and what all warps read from shared memory waits
behind them; eight at once cost the loop of an attention kernel 7 % on an H200.

A copy may start later, as nobody may rely on what it writes, or change what it reads, before a wait
for it: the program could not know when it happens. So it moves over products, reads of matrices and
arithmetic, never over waits, barriers, other reads and writes, or control flow. Copies under a
condition of their own become copies with a predicate; then an empty group is committed where the
condition does not hold, which makes a wait for all but some groups wait for older ones at most.

Cost: linear.
"""

from __future__ import annotations

from opencute.arch.target import Target
from opencute.dialects.llvm import inline_asm
from opencute.ir.builder import at_loc, insert_at
from opencute.ir.core import Block, Op, Value
from opencute.ir.declare import Trait, traits_of

__all__ = ["spread"]

_EFFECTS = Trait.READS | Trait.WRITES
_OVER = ("ptx.mma", "ptx.ldmatrix", "ptx.shfl_sync")
_FEWEST_COPIES, _FEWEST_PRODUCTS = 4, 32  # where it pays


def spread(function: Op, target: Target) -> None:
    """Start the copies of one function apart."""
    for op in [function, *function.walk()]:
        for region in op.regions:
            for block in region.blocks:
                if any(o.name == "ptx.mma" for o in block.ops):
                    _block(block)


def _block(block: Block) -> None:
    ops = [new for op in block.ops for new in _without_condition(op)]
    at, out = 0, []
    while at < len(ops):
        end = _group(ops, at) if _is_copy(ops[at]) else at
        copies = sum(_is_copy(op) for op in ops[at:end])
        if copies < _FEWEST_COPIES:
            out += ops[at : max(end, at + 1)]
            at = max(end, at + 1)
            continue
        stop = _stop(ops, end)
        if sum(op.name == "ptx.mma" for op in ops[end:stop]) < _FEWEST_PRODUCTS:
            stop = end
        out += _woven(ops[at:end], ops[end:stop], copies)
        at = stop
    if len(out) != len(block.ops) or any(a is not b for a, b in zip(out, block.ops, strict=True)):
        block.set_ops(out)


def _woven(group: list[Op], others: list[Op], copies: int) -> list[Op]:
    """Copies, with what their addresses need, over the first half of other operations."""
    moved = [op for op in group if _is_copy(op) or op.name == "ptx.cp_async_commit"]
    out = [op for op in group if op not in moved]
    each = len(others) // 2 // copies
    for i, op in enumerate(moved):
        out.append(op)
        if _is_copy(op):
            out += others[i * each : (i + 1) * each]
    return out + others[copies * each :]


def _group(ops: list[Op], start: int) -> int:
    """Where a run of copies ends that nothing but arithmetic interrupts; it may be committed."""
    end = start
    for i in range(start, len(ops)):
        op = ops[i]
        if op.name == "ptx.cp_async_commit":
            return i + 1
        if _is_copy(op):
            end = i + 1
        elif op.regions or traits_of(op) & (_EFFECTS | Trait.TERMINATOR):
            break
    return end


def _stop(ops: list[Op], start: int) -> int:
    """The first operation that copies do not move over."""
    for i in range(start, len(ops)):
        op = ops[i]
        blocks = op.regions or traits_of(op) & (_EFFECTS | Trait.TERMINATOR)
        if blocks and op.name not in _OVER:
            return i
    return len(ops)


def _is_copy(op: Op) -> bool:
    return op.name == "llvm.inline_asm" and "cp.async.c" in op.attributes["asm_string"].value


def _without_condition(op: Op) -> list[Op]:
    """What replaces copies, and nothing else, that are started where a condition holds."""
    if op.name != "scf.if" or op.results:
        return [op]
    inside, otherwise = (r.block.ops[:-1] if r.blocks else [] for r in op.regions)
    copies = [o for o in inside if _is_copy(o)]
    if otherwise or len(copies) < _FEWEST_COPIES:
        return [op]
    out: list[Op] = []
    for o in inside:
        if _is_copy(o):
            out.append(_under(o, op.operands[0]))
        elif o.name == "ptx.cp_async_commit" or not (
            o.regions or traits_of(o) & _EFFECTS or "div" in o.name or "rem" in o.name
        ):
            out.append(o)
        else:
            return [op]
    return out


def _under(copy: Op, condition: Value) -> Op:
    text, constraints = (copy.attributes[n].value for n in ("asm_string", "constraints"))
    args = [*copy.operands, condition]
    with insert_at(Block()), at_loc(copy.loc):
        return inline_asm(
            f"@${len(copy.operands)} {text}", constraints.replace(",~", ",b,~"), args, ()
        )
