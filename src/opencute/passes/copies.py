# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How `tiles` lowers ``cute.copy``: unpredicated, predicated by group, predicated by element.

==================================== =========================================================
copy                                 becomes
==================================== =========================================================
no predicate                         loads and stores as wide as each side allows
one predicate per coordinate of rest one ``scf.if`` per coordinate, wide accesses inside
one predicate per element            if all hold (and addresses are aligned): wide accesses;
                                     else one ``scf.if`` per element
==================================== =========================================================

The last row is what keeps ``elementwise_add`` at full width: predicates of a tile that lies
inside of the tensor all hold, and a tensor's rows are aligned more often than its type can say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from opencute.arch.copies import copy_atom
from opencute.arch.hints import AccessHints
from opencute.arch.target import Target
from opencute.base.errors import CompileError
from opencute.dialects import arith, llvm, scf
from opencute.dialects.cute import CopyOp, LayoutAttr, PtrType, storage_bits
from opencute.ir.builder import current_block, insert_at, new_block
from opencute.ir.core import Region, Value
from opencute.ir.rewrite import Rewriter
from opencute.ir.types import I1, I32, Type
from opencute.passes.fragments import FragmentAccess, Fragments
from opencute.passes.offsets import flatten
from opencute.passes.tile_access import Lane, TileAccess, gather
from opencute.passes.tiled.hinted import Hinted, relevant
from opencute.passes.tiled.matrices import lower_by_instruction
from opencute.passes.tiled.swizzle import Swizzles

__all__ = ["lower_copy"]

NONE = AccessHints()
Side = TileAccess | FragmentAccess
Loader = Callable[[], "dict[int, Lane]"]


def lower_copy(
    op: CopyOp, rw: Rewriter, target: Target, fragments: Fragments, swizzles: Swizzles
) -> None:
    """Build what replaces `op`."""
    atom = copy_atom(op.atom.value)

    def side(place: int, layout: LayoutAttr, dyns: Sequence[Value]) -> Side:
        ptr, type = op.operands[place], rw.source_type(place)
        if fragments.forwarded(ptr):
            return fragments.access(ptr, layout)
        assert isinstance(type, PtrType)
        hints = relevant(op.access_hints() if place < 2 else NONE, type.space, loads=place == 0)
        return TileAccess(
            ptr, type, layout, dyns, _bits(op, type, target), swizzles,
            Hinted(hints, type.space, target) if hints else None,
        )  # fmt: skip

    src = side(0, op.src_layout, op.src_dyns)
    dst = side(1, op.dst_layout, op.dst_dyns)
    size = op.src_layout.static_size() or 0
    if atom.spaces:
        guards = None
        if op.pred is not None:
            places = range(op.pred_layout.static_size() or 0)
            lanes = side(2, op.pred_layout, op.pred_dyns).load(places)
            guards = {i: lane.scalar() for i, lane in lanes.items()}
        lower_by_instruction(op, atom, src, dst, guards)
        return
    if op.pred is None:
        _move(src, dst, range(size))
        return
    pred = side(2, op.pred_layout, op.pred_dyns)
    count = op.pred_layout.static_size() or 0
    group = _group(op, size, count)
    guards = {i: lane.scalar() for i, lane in pred.load(range(count)).items()}
    if group == 1 and _worth_widening(src, dst, size):
        _versioned(guards, src, dst, size)
        return
    for i in range(count):
        _guarded(guards[i], src, dst, range(i * group, (i + 1) * group))


def _bits(op: CopyOp, type: PtrType, target: Target) -> int:
    widest = copy_atom(op.atom.value).max_bits(target, type.space, op.bits.value)
    return max(widest, storage_bits(type.element))


def _group(op: CopyOp, size: int, count: int) -> int:
    """How many elements one predicate guards."""
    value = 1
    shape: Any = op.src_layout.shape
    first: Any = cast("tuple[Any, ...]", shape)[0] if isinstance(shape, tuple) else shape
    for leaf in flatten(first):
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


def _move(src: Side, dst: Side, elements: Sequence[int]) -> None:
    dst.store(src.load(elements))


def _region(build: Callable[[], None]) -> Region:
    region, block = new_block()
    with insert_at(block):
        build()
        scf.yield_()
    return region


def _guarded(guard: Value, src: Side, dst: Side, elements: Sequence[int]) -> None:
    """Move elements where `guard` holds; the others of the destination stay as they are."""
    # Addresses are made outside, where several guarded accesses share them.
    for side in (src, dst):
        side.prepare(elements)
    if isinstance(dst, FragmentAccess):
        _choose(guard, lambda: src.load(elements), lambda: dst.load(elements), dst, elements)
        return
    then = _region(lambda: _move(src, dst, elements))
    scf.if_(guard, (), then, _region(lambda: None))


def _choose(
    guard: Value, then: Loader, orelse: Loader, dst: FragmentAccess, elements: Sequence[int]
) -> None:
    """Elements of a fragment from one of two places."""
    types: list[Type] = []

    def side(load: Loader) -> Region:
        region, block = new_block()
        with insert_at(block):
            lanes = load()
            value = gather([lanes[i] for i in elements])
            types[:] = [value.type]
            scf.yield_([value])
        return region

    regions = side(then), side(orelse)
    value = scf.if_(guard, types, *regions).results[0]
    one = len(elements) == 1
    dst.store({e: Lane(value, None if one else i) for i, e in enumerate(elements)})


def _worth_widening(src: Side, dst: Side, size: int) -> bool:
    """Whether aligned addresses would save at least half of the memory accesses."""
    outside = [s for s in (src, dst) if isinstance(s, TileAccess) and s.space != "rmem"]
    return bool(outside) and all(
        2 * side.aligned().instructions(range(size)) <= size for side in outside
    )


def _versioned(guards: dict[int, Value], src: Side, dst: Side, size: int) -> None:
    """Wide accesses if nothing is masked and the addresses allow it, else one by one."""
    for side in (src, dst):
        side.prepare(range(size))
    wide_src, wide_dst = src.aligned(), dst.aligned()
    conditions = _conjuncts([guards[i] for i in range(size)])
    for side, wide in ((src, wide_src), (dst, wide_dst)):
        if isinstance(wide, TileAccess) and wide.space != "rmem" and wide.align > side.align:
            conditions.append(_is_aligned(wide, size))
    ok = conditions[0]
    for condition in conditions[1:]:
        ok = arith.binary("andi", ok, condition)

    def one_by_one() -> None:
        copies: dict[Value, Value] = {}
        for i in range(size):
            _guarded(_remake(guards[i], copies), src, dst, range(i, i + 1))

    if isinstance(dst, FragmentAccess):
        fragment = dst

        def narrow() -> dict[int, Lane]:
            before = fragment.load(range(size))
            one_by_one()
            after = fragment.load(range(size))
            fragment.store(before)
            return after

        _choose(ok, lambda: wide_src.load(range(size)), narrow, fragment, range(size))
        return
    wide = _region(lambda: _move(wide_src, wide_dst, range(size)))
    scf.if_(ok, (), wide, _region(one_by_one))


def _remake(value: Value, copies: dict[Value, Value]) -> Value:
    """Compute a condition again here, from integers: there are too few predicate registers."""
    op = value.op
    if op is None or value.type != I1 or op.name not in ("arith.andi", "arith.cmpi"):
        return value
    if value not in copies:
        inner = dict(zip(op.operands, [_remake(v, copies) for v in op.operands], strict=True))
        block = current_block()
        assert block is not None
        copies[value] = block.append(op.clone(inner)).result
    return copies[value]


def _conjuncts(values: list[Value]) -> list[Value]:
    """What has to hold so that all of `values` do, each part once: rows and columns repeat."""
    out: dict[Value, None] = {}
    seen: set[Value] = set()
    stack = values[::-1]
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        op = value.op
        if op is not None and op.name == "arith.andi":
            stack += reversed(op.operands)
        else:
            out[value] = None
    return list(out)


def _is_aligned(wide: TileAccess, size: int) -> Value:
    """Whether the accesses that are planned are aligned, from the low bits of their addresses."""
    bits: Value | None = None
    most = 1
    seen: set[object] = set()
    for a in wide.accesses(range(size)):
        most = max(most, a.align)
        place = (a.terms, a.static * wide.bits // 8 % wide.align)
        if place in seen:
            continue
        seen.add(place)
        low = arith.cast("trunci", llvm.ptrtoint(wide.address(a)), I32)
        bits = low if bits is None else arith.binary("ori", bits, low)
    assert bits is not None
    rest = arith.binary("andi", bits, arith.constant(most - 1, I32))
    return arith.cmpi("eq", rest, arith.constant(0, I32))
