# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Register fragments whose contents are known values at every point, so that they need no memory.

In: a function. Out: the results of ``cute.alloca`` that `tiles` may forward: all their offsets
are constant, every write stands in the block of the allocation and happens unconditionally, and
no element is read before it is written::

    %p = cute.alloca ; cute.store %ok, %p ; cute.copy ... pred %p     ->   the copy uses %ok itself

`FragmentAccess` then stands where a `TileAccess` stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opencute.dialects.cute import AllocaOp, CopyOp, LayoutAttr
from opencute.ir.core import Block, Op, Value
from opencute.passes.folding import int_of
from opencute.passes.offsets import element_offsets
from opencute.passes.tile_access import Lane

__all__ = ["FragmentAccess", "Fragments"]


class Fragments:
    """Which fragments of a function are forwarded, and, while lowering walks on, what they hold.

    Args:
        function: a kernel or host function, before `tiles`.
    """

    def __init__(self, function: Op) -> None:
        self._place: dict[Value, tuple[Value, int]] = {}
        self._home: dict[Value, Block] = {}
        self._count: dict[Value, int] = {}
        self._written: dict[Value, set[int]] = {}
        self._memory: set[Value] = set()
        self._walk(function.regions[0].block)
        self._lanes: dict[Value, dict[int, Lane]] = {
            a: {} for a in self._home if a not in self._memory
        }

    def forwarded(self, pointer: Value) -> bool:
        """Whether a pointer leads into a fragment that is no memory."""
        place = self._place.get(pointer)
        return place is not None and place[0] in self._lanes

    def access(self, pointer: Value, layout: LayoutAttr | None) -> FragmentAccess:
        """A tile of a forwarded fragment; `layout` None: one element."""
        fragment, start = self._place[pointer]
        return FragmentAccess(self._lanes[fragment], _offsets(start, layout))

    # ---------------------------------------------------------------- analysis
    def _walk(self, block: Block) -> None:
        for op in block.ops:
            visit = _VISIT.get(op.name)
            if visit is not None:
                visit(self, op, block)
            else:
                for v in op.operands:
                    self._keep(v)
            for region in op.regions:
                for nested in region.blocks:
                    self._walk(nested)

    def _keep(self, pointer: Value) -> None:
        if pointer in self._place:
            self._memory.add(self._place[pointer][0])

    def alloca(self, op: Op, block: Block) -> None:
        """A new fragment."""
        assert isinstance(op, AllocaOp)
        value = op.result
        self._place[value] = (value, 0)
        self._home[value] = block
        self._count[value] = op.count.value
        self._written[value] = set()

    def ptr_add(self, op: Op, block: Block) -> None:
        """A place in a fragment, if the offset is constant."""
        base, offset = op.operands
        if base in self._place:
            known = int_of(offset)
            if known is None:
                self._keep(base)
            else:
                fragment, start = self._place[base]
                self._place[op.result] = (fragment, start + known)

    def writes(self, pointer: Value, layout: LayoutAttr | None, block: Block) -> None:
        """Elements are written."""
        if pointer not in self._place:
            return
        fragment, start = self._place[pointer]
        if self._home[fragment] is not block or _is_dynamic(layout):
            self._memory.add(fragment)
            return
        offsets = _offsets(start, layout)
        if not all(0 <= o < self._count[fragment] for o in offsets):
            self._memory.add(fragment)
        self._written[fragment].update(offsets)

    def reads(self, pointer: Value, layout: LayoutAttr | None) -> None:
        """Elements are read."""
        if pointer not in self._place:
            return
        fragment, start = self._place[pointer]
        if _is_dynamic(layout) or not self._written[fragment].issuperset(_offsets(start, layout)):
            self._memory.add(fragment)

    def copy(self, op: Op, block: Block) -> None:
        """A copy reads its source and predicate and, without predicate, writes for sure."""
        assert isinstance(op, CopyOp)
        self.reads(op.src, op.src_layout)
        if op.pred is None:
            self.writes(op.dst, op.dst_layout, block)
        else:
            self.reads(op.pred, op.pred_layout)
            self._keep(op.dst)


def _layout(op: Op) -> LayoutAttr:
    layout = op.attributes["layout"]
    assert isinstance(layout, LayoutAttr)
    return layout


def _store(f: Fragments, op: Op, block: Block) -> None:
    f.writes(op.operands[1], None, block)


def _load(f: Fragments, op: Op, block: Block) -> None:
    f.reads(op.operands[0], None)


def _tile_store(f: Fragments, op: Op, block: Block) -> None:
    f.writes(op.operands[1], _layout(op), block)


def _tile_load(f: Fragments, op: Op, block: Block) -> None:
    f.reads(op.operands[0], _layout(op))


_VISIT: dict[str, Callable[[Fragments, Op, Block], None]] = {
    "cute.alloca": Fragments.alloca,
    "cute.ptr_add": Fragments.ptr_add,
    "cute.copy": Fragments.copy,
    "cute.store": _store,
    "cute.load": _load,
    "cute.tile_store": _tile_store,
    "cute.tile_load": _tile_load,
}


def _is_dynamic(layout: LayoutAttr | None) -> bool:
    return layout is not None and bool(layout.dyns())


def _offsets(start: int, layout: LayoutAttr | None) -> list[int]:
    if layout is None:
        return [start]
    return [start + o.static for o in element_offsets(layout)]


class FragmentAccess:
    """A tile of values: what `TileAccess` is for memory.

    Args:
        lanes: the fragment's contents by offset.
        offsets: the offset of each element of the tile.
    """

    space = "rmem"
    align = 16

    def __init__(self, lanes: dict[int, Lane], offsets: Sequence[int]) -> None:
        self._lanes = lanes
        self._offsets = offsets

    def load(self, wanted: Sequence[int]) -> dict[int, Lane]:
        """The wanted elements."""
        return {i: self._lanes[self._offsets[i]] for i in wanted}

    def store(self, values: dict[int, Lane]) -> None:
        """Remember elements."""
        for i, lane in values.items():
            self._lanes[self._offsets[i]] = lane

    def prepare(self, wanted: Sequence[int]) -> None:
        """Values need no address."""

    def aligned(self) -> FragmentAccess:
        """Values have no alignment."""
        return self
