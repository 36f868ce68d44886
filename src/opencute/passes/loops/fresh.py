# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""fresh: registers that a loop makes and hands to its next turns get room for each that may live.

Before::

    scf.for ... iter_args(%a = %first) {
      %b = cute.alloca {count = 4}          the same four registers in each turn,
      ... uses of %a and %b ...             so that %a would be %b
      scf.yield %b
    }

After::

    %all = cute.alloca {count = 8} ; %b = whichever half %a does not point into

Why: room in registers is set aside once for a kernel, but each turn makes a tensor of its own. If n
carried pointers may still lead to those of earlier turns, one of n + 1 places is free.

Cost: two walks; of kernels without carried pointers, one.
"""

from __future__ import annotations

from collections.abc import Sequence

from opencute.arch.target import Target
from opencute.dialects import arith, cute
from opencute.dialects.cute import AllocaOp, PtrType, storage_bits
from opencute.ir.core import Block, Op, Value
from opencute.ir.rewrite import Replacement, Rewriter
from opencute.ir.types import I64

__all__ = ["fresh"]

_LOOPS = ("scf.for", "scf.while")
_ALIGN = 16  # bytes; what a register tensor promises


def fresh(function: Op, target: Target) -> None:
    """Give allocations in loops as many places as carried pointers need."""
    allocas = [op for op in function.walk() if op.name == "cute.alloca"]
    carried = {op: found for op in allocas if (found := _carried(op, function))}
    if not carried:
        return
    ways, used = _ways(function)
    rivals = {op: found for op in carried if (found := _rivals(op, carried[op], ways, used))}
    if not rivals:
        return

    def rule(op: Op, rw: Rewriter) -> Replacement:
        return _chosen(op, rivals[op]) if isinstance(op, AllocaOp) and op in rivals else None

    Rewriter(rule).run(function)


def _pointers(block: Block) -> list[Value]:
    """Pointers into registers that a block is handed."""
    return [a for a in block.args if isinstance(a.type, PtrType) and a.type.space == "rmem"]


def _carried(op: Op, function: Op) -> list[Value]:
    """The pointers that the loops around an allocation carry."""
    carried: list[Value] = []
    block = op.parent
    while block is not None and block.parent is not None:
        owner = block.parent.parent
        if owner is None or owner is function:
            break
        if owner.name in _LOOPS:
            carried += _pointers(block)
        block = owner.parent
    return carried


def _rivals(
    op: Op, carried: list[Value], ways: dict[Value, list[Value]], used: set[Value]
) -> list[Value]:
    """Carried pointers that may lead into what an earlier turn got from this allocation."""
    reached: set[Value] = {op.results[0]}
    queue = list(reached)
    while queue:
        fresh = [v for v in ways.get(queue.pop(), ()) if v not in reached]
        reached.update(fresh)
        queue += fresh
    return [a for a in carried if a in reached and a in used]


def _ways(function: Op) -> tuple[dict[Value, list[Value]], set[Value]]:
    """What each pointer may become, by arithmetic, and by entering and leaving blocks; and all
    values that are used."""
    ways: dict[Value, list[Value]] = {}
    used: set[Value] = set()
    for op in function.walk():
        used.update(op.operands)
        if op.name in ("cute.ptr_add", "cute.recast", "arith.select"):
            pairs = [(v, r) for v in op.operands for r in op.results]
        elif op.name in ("scf.if", *_LOOPS):
            pairs = _flow(op)
        else:
            continue
        for source, target in pairs:
            ways.setdefault(source, []).append(target)
    return ways, used


def _flow(op: Op) -> list[tuple[Value, Value]]:
    """From what enters a branch or loop to its blocks' arguments and its results."""
    blocks = [b for r in op.regions for b in r.blocks]
    ends = [b.terminator.operands for b in blocks]
    pairs: list[tuple[Sequence[Value], Sequence[Value]]]
    if op.name == "scf.if":
        pairs = [(end, op.results) for end in ends]
    elif op.name == "scf.for":
        inside = blocks[0].args[1:]
        pairs = [(op.operands[3:], inside), (ends[0], inside), (ends[0], op.results),
                 (op.operands[3:], op.results)]  # fmt: skip
    else:
        passed = ends[0][1:]  # without the condition
        pairs = [(op.operands, blocks[0].args), (ends[1], blocks[0].args),
                 (passed, blocks[1].args), (passed, op.results)]  # fmt: skip
    return [p for sources, targets in pairs for p in zip(sources, targets, strict=True)]


def _chosen(op: AllocaOp, rivals: list[Value]) -> Value:
    """The allocation, many times as large, and the first place in it that no rival is in."""
    type = op.result.type
    assert isinstance(type, PtrType)
    bits, align = storage_bits(type.element), max(type.align, _ALIGN)
    size = -(-op.count.value * bits // (align * 8)) * align  # bytes of one place
    step = size * 8 // bits
    base = cute.alloca(type.element, step * (len(rivals) + 1), type.align)
    start = cute.ptr_to_int(base)
    places = [
        arith.binary(
            "divui", arith.binary("subi", cute.ptr_to_int(r), start), arith.constant(size, I64)
        )
        for r in rivals
    ]
    chosen: Value = arith.constant(len(rivals), I64)
    for i in reversed(range(len(rivals))):
        taken: Value | None = None
        for place in places:
            here = arith.cmpi("eq", place, arith.constant(i, I64))
            taken = here if taken is None else arith.binary("ori", taken, here)
        assert taken is not None
        chosen = arith.select(taken, chosen, arith.constant(i, I64))
    offset = arith.binary("muli", chosen, arith.constant(step, I64))
    return cute.ptr_add(base, offset, type.align)
