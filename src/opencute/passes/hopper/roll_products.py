# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""roll_products: products that are seldom run are written once, with how often to repeat them.

Before::

    %d = "ptx.wgmma"(%d0, %a, %b, %true, %a2, %b2, %true, ...)        %a2 is %a + 2, and so on

After::

    %d = "ptx.wgmma"(%d0, %a, %b, %true) {turns = array<i32: 4, 2, 2>}

Why: ptxas takes longer for a product of warpgroups than for a hundred other instructions, and the
first and last products of a pipeline stand beside its loop as often as in it. Where they are run
once for many turns of that loop, a loop of their own costs nothing that can be measured. Products
in the innermost loop with products stay side by side (rolled, those of a GEMM take 1.02 to 1.06
times as long, even of 256 columns), and so do all where there is no such loop.
So do those that read with a descriptor of one in that loop, such as the queries of attention: side
by side, they leave it in the uniform registers where the loop's products want it, and ptxas moves
it there before each product otherwise (9 % of a whole kernel's time).

Cost: linear.
"""

from __future__ import annotations

from opencute.arch.target import Target
from opencute.arch.wgmma import wgmma_atom
from opencute.dialects.hopper.wgmma import WgmmaOp
from opencute.ir.attributes import DenseI32Attr
from opencute.ir.core import Op, Value
from opencute.passes.folding import int_of

__all__ = ["roll_products"]

_FEWEST = 3  # products that are worth a loop
_MOST_PARTS = 32  # of the sum that a descriptor is
_LOOPS = ("scf.for", "scf.while")

_Step = tuple[Value, Value, Value]


def roll_products(function: Op, target: Target) -> None:
    """Roll the products of one function that are not in its innermost loops."""
    for op in _seldom([op for op in function.walk() if isinstance(op, WgmmaOp)], function):
        _roll(op)


def _seldom(products: list[WgmmaOp], function: Op) -> list[WgmmaOp]:
    """The products that are run less often than others."""
    around = {op: _loop_around(op, function) for op in products}
    hot = {loop for loop in around.values() if loop is not None}
    # A loop around a loop with products has fewer turns than that one.
    hot -= {outer for loop in hot for outer in _around(loop, function)}
    often = {v for op in products if around[op] in hot for v in _descriptors(op)}
    return [
        op for op in products
        if hot and around[op] not in hot and often.isdisjoint(_descriptors(op))
    ]  # fmt: skip


def _descriptors(op: WgmmaOp) -> list[Value]:
    """The descriptors of a product's operands in shared memory."""
    steps = op.steps
    return [v for i, v in enumerate(steps) if i % 3 < 2]


def _around(op: Op, function: Op) -> list[Op]:
    """The operations around one, innermost first."""
    out: list[Op] = []
    block = op.parent
    while block is not None and block.parent is not None and block.parent.parent is not None:
        owner = block.parent.parent
        if owner is function:
            break
        out.append(owner)
        block = owner.parent
    return out


def _loop_around(op: Op, function: Op) -> Op | None:
    """The innermost loop around an operation that may have more than one turn."""
    loops = (o for o in _around(op, function) if o.name in _LOOPS and not _runs_once(o))
    return next(loops, None)


def _runs_once(loop: Op) -> bool:
    """Whether a loop has at most one turn: it goes to the lesser of something and one step."""
    if loop.name != "scf.for":
        return False
    lower, upper, step = int_of(loop.operands[0]), loop.operands[1].op, int_of(loop.operands[2])
    if lower is None or step is None or upper is None or upper.name != "arith.minsi":
        return False
    return any(n is not None and n <= lower + step for n in map(int_of, upper.operands))


def _roll(op: WgmmaOp) -> None:
    atom = wgmma_atom(op.atom.value)
    if atom.a_in_registers or atom.sparse:
        return
    values = op.steps
    steps: list[_Step] = [
        (values[i], values[i + 1], values[i + 2]) for i in range(0, len(values), 3)
    ]
    kept: list[Value] = []
    turns: list[int] = []
    at = 0
    while at < len(steps):
        count, a, b = _run(steps, at)
        if count < _FEWEST:
            count, a, b = 1, 0, 0
        kept += steps[at]
        turns += (count, a, b)
        at += count
    if len(kept) < len(values):
        op.operands = [op.accumulator, *kept]
        op.attributes["turns"] = DenseI32Attr(tuple(turns))


def _run(steps: list[_Step], first: int) -> tuple[int, int, int]:
    """How many products from one on differ by the same steps of both descriptors, and these."""
    adds = int_of(steps[first][2])
    count, a, b = 1, 0, 0
    for before, after in zip(steps[first:], steps[first + 1 :], strict=False):
        moved = _distance(before[0], after[0]), _distance(before[1], after[1])
        if adds is None or int_of(after[2]) != adds or moved[0] is None or moved[1] is None:
            break
        if count == 1:
            a, b = moved[0], moved[1]
        elif moved != (a, b):
            break
        count += 1
    return count, a, b


def _distance(first: Value, second: Value) -> int | None:
    """How far two descriptors are apart, if that is known."""
    a, b = _place(first), _place(second)
    return b[1] - a[1] if a is not None and b is not None and a[0] == b[0] else None


def _place(descriptor: Value) -> tuple[tuple[int, list[Value]], int] | None:
    """What a descriptor is made from (an upper half, and what is added up for the lower one), and
    the constant in that sum."""
    both = descriptor.op
    if both is None or both.name != "arith.ori":
        return None
    high, wide = int_of(both.operands[1]), both.operands[0].op
    if high is None or wide is None or wide.name != "arith.extui":
        return None
    parts, constant = _sum(wide.operands[0])
    return (high, sorted(parts, key=id)), constant


def _sum(value: Value) -> tuple[list[Value], int]:
    """The values that are added up for one, and the sum of those that are constants."""
    parts: list[Value] = []
    constant = 0
    queue = [value]
    while queue:
        part = queue.pop()
        known = int_of(part) if len(parts) < _MOST_PARTS else None
        if known is not None:
            constant += known
        elif part.op is not None and part.op.name == "arith.addi" and len(parts) < _MOST_PARTS:
            queue += part.op.operands
        else:
            parts.append(part)
    return parts, constant
