# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How `tiles` lowers ``cute.copy``: unpredicated, predicated by group, predicated by element.

==================================== =========================================================
copy                                 becomes
==================================== =========================================================
no predicate                         loads and stores as wide as each side allows
one predicate per coordinate of rest one ``scf.if`` per coordinate, wide accesses inside
one predicate per element            one ``scf.if`` per element
==================================== =========================================================
"""

from __future__ import annotations

from collections.abc import Sequence

from opencute.arch.copies import copy_atom
from opencute.arch.target import Target
from opencute.base.errors import CompileError
from opencute.dialects import scf
from opencute.dialects.cute import CopyOp, LayoutAttr, PtrType
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Value
from opencute.passes.offsets import flatten
from opencute.passes.rewriter import Rewriter
from opencute.passes.tile_access import TileAccess

__all__ = ["lower_copy"]


def lower_copy(rw: Rewriter, op: CopyOp, target: Target) -> None:
    """Build what replaces `op`."""
    src = _side(rw, op, op.src, op.src_layout, op.src_dyns, target)
    dst = _side(rw, op, op.dst, op.dst_layout, op.dst_dyns, target)
    size = op.src_layout.static_size() or 0
    if op.pred is None:
        _move(src, dst, range(size))
        return
    pred = TileAccess(
        rw.get(op.pred), _pointer(op.pred), op.pred_layout, rw.get_all(op.pred_dyns), 128
    )
    count = op.pred_layout.static_size() or 0
    group = _group(op, size, count)
    guards = {i: lane.scalar() for i, lane in pred.load(range(count)).items()}
    for i in range(count):
        _guarded(guards[i], src, dst, range(i * group, (i + 1) * group))


def _pointer(value: Value) -> PtrType:
    assert isinstance(value.type, PtrType)
    return value.type


def _side(
    rw: Rewriter, op: CopyOp, ptr: Value, layout: LayoutAttr, dyns: Sequence[Value], target: Target
) -> TileAccess:
    atom = copy_atom(op.atom.value)
    type = _pointer(ptr)
    bits = atom.max_bits(target, type.space, op.bits.value)
    return TileAccess(rw.get(ptr), type, layout, rw.get_all(dyns), bits)


def _group(op: CopyOp, size: int, count: int) -> int:
    """How many elements one predicate guards."""
    value = 1
    shape = op.src_layout.shape
    for leaf in flatten(shape[0] if isinstance(shape, tuple) else shape):
        assert isinstance(leaf, int)
        value *= leaf
    if count == size:
        return 1
    if count * value == size:
        return value
    raise CompileError(
        "cute.copy: the predicate tensor fits neither the elements nor the rest modes",
        code="OC1063",
        loc=op.loc,
        expected=f"{size} or {size // value} predicates",
        found=f"{count} in {op.pred_layout.text()}",
    )


def _move(src: TileAccess, dst: TileAccess, elements: Sequence[int]) -> None:
    dst.store(src.load(elements))


def _guarded(guard: Value, src: TileAccess, dst: TileAccess, elements: Sequence[int]) -> None:
    """Move elements where `guard` holds; the others of the destination stay as they are."""
    # Addresses are made outside, where several guarded accesses share them.
    for side in (src, dst):
        side.prepare(elements)
    then, block = new_block()
    with insert_at(block):
        _move(src, dst, elements)
        scf.yield_()
    orelse, empty = new_block()
    with insert_at(empty):
        scf.yield_()
    scf.if_(guard, (), then, orelse)
