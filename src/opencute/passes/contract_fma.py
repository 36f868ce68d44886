# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""contract_fma: a product that is only added to something is added with one rounding.

Before::

    %p = arith.mulf %a, %b : f32
    %s = arith.addf %p, %c : f32

After::

    %s = math.fma %a, %b, %c : f32

Why: it is faster and more accurate, and people expect it. It is done here, where the simulator
sees it, and nowhere else: LLVM gets no ``contract`` flags and ptxas ``--fmad=false``. A function
with the attribute ``cute.no_contract`` is left alone. If both addends are such products, the
first is merged.

Cost: linear.
"""

from __future__ import annotations

from collections.abc import Iterable

from opencute.arch.target import Target
from opencute.dialects import arith, math
from opencute.ir.builder import at_loc, insert_at
from opencute.ir.cleanup import erase_dead
from opencute.ir.core import Block, Op, Value
from opencute.ir.types import BF16, F16, F32, F64, element_type

__all__ = ["contract_fma"]

_SUMS = frozenset({"arith.addf", "arith.subf"})
_TYPES = (F16, BF16, F32, F64)


def contract_fma(function: Op, target: Target) -> None:
    """Contract the sums of products of one function."""
    if "cute.no_contract" in function.attributes:
        return
    uses: dict[Value, int] = {}  # of products
    sums: list[Op] = []
    for op in function.walk():
        if uses and not uses.keys().isdisjoint(op.operands):
            for v in op.operands:
                if v in uses:
                    uses[v] += 1
            if op.name in _SUMS and element_type(op.results[0].type) in _TYPES:
                sums.append(op)
        if op.name == "arith.mulf":
            uses[op.results[0]] = 0
    gone: set[Op] = {v.owner for v, n in uses.items() if n == 0}  # type: ignore[attr-defined]
    instead: dict[Op, list[Op]] = {}
    for op in sums:
        place = next((i for i, v in enumerate(op.operands) if uses.get(v) == 1), None)
        if place is not None:
            product = op.operands[place].op
            assert product is not None
            instead[op] = _contracted(op, product, place)
            gone.add(product)
    if instead or gone:
        changed = {op.parent: None for op in (*instead, *gone)}
        _replace((b for b in changed if b is not None), instead, gone)
    # What nobody uses would be what later equal operations are merged into, far from their use.
    erase_dead(function)


def _contracted(op: Op, product: Op, place: int) -> list[Op]:
    """What stands for a sum, one of whose operands is a product: it gives the same result."""
    a, b = product.operands
    other = op.operands[1 - place]
    made = Block()
    with insert_at(made), at_loc(op.loc):
        if op.name == "arith.subf":
            if place:
                a = arith.negf(a)
            else:
                other = arith.negf(other)
        math.fma(a, b, other)
    fma = made.ops[-1]
    fma.results = op.results
    fma.results[0].owner = fma
    return made.ops


def _replace(blocks: Iterable[Block], instead: dict[Op, list[Op]], gone: set[Op]) -> None:
    for block in blocks:
        ops: list[Op] = []
        for op in block.ops:
            if op in instead:
                ops += instead[op]
            elif op not in gone:
                ops.append(op)
        block.set_ops(ops)
