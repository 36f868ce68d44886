# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What of a loop that waits for memory can end it, besides memory.

In: an ``scf.while``. Out: which of the values that its turns hand on decide, directly or not,
whether there is another turn::

    while flag[0] == 0: i += 1                  # none: only another thread can end it
    while flag[0] == 0 and i < 100: i += 1      # i

A loop none of whose deciding values change, while nobody writes memory, never ends.
"""

from __future__ import annotations

from collections.abc import Iterable

from opencute.dialects.cute import PtrType
from opencute.ir.core import Block, Op, Value

__all__ = ["counts_in_registers", "deciding"]


def deciding(loop: Op) -> list[int]:
    """The positions among the values of a turn of those that its end depends on."""
    before, after = (r.block for r in loop.regions)
    makers: dict[Value, Op] = {
        v: op for b in (before, after) for op in _inside(b) for v in op.results
    }
    needed: set[Value] = {before.terminator.operands[0]}
    size = -1
    while size != len(needed):
        size = len(needed)
        for value in tuple(needed):
            op = makers.get(value)
            if op is not None:
                needed.update(_sources(op, value))
        _back(before.terminator.operands[1:], after.args, needed)
        _back(after.terminator.operands, before.args, needed)
        for op in makers.values():  # loops inside: what enters their turns
            for region in op.regions:
                for block in region.blocks:
                    if not needed.isdisjoint(block.args):
                        needed.update(op.operands)
    return [i for i, a in enumerate(before.args) if a in needed]


def _back(sources: Iterable[Value], targets: Iterable[Value], needed: set[Value]) -> None:
    needed.update(s for s, t in zip(sources, targets, strict=True) if t in needed)


def _inside(block: Block) -> list[Op]:
    return [o for op in block.ops for o in op.walk()]


def _sources(op: Op, value: Value) -> list[Value]:
    """What one result of an operation is made of."""
    if op.name == "scf.if":
        at = op.results.index(value)  # type: ignore[arg-type]
        ends = [r.block.terminator.operands for r in op.regions]
        return [op.operands[0], *(e[at] for e in ends)]
    inner = (o for r in op.regions for b in r.blocks for o in _inside(b))
    return [*op.operands, *(v for o in inner for v in o.operands)]


def counts_in_registers(loop: Op) -> bool:
    """Whether a loop reads and writes registers by pointer, as a counter in a register tensor: its
    turns then differ where no value does."""
    ops = [o for r in loop.regions for b in r.blocks for o in _inside(b)]

    def touches(names: tuple[str, ...], place: int) -> bool:
        return any(
            op.name in names and _in_registers(op.operands[place]) for op in ops
        )  # fmt: skip

    return touches(("cute.load", "cute.tile_load", "cute.copy"), 0) and (
        touches(("cute.store", "cute.tile_store", "cute.copy"), 1)
    )


def _in_registers(value: Value) -> bool:
    return isinstance(value.type, PtrType) and value.type.space == "rmem"
