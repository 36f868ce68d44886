# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Register fragments as SSA values, so that they need no memory.

In: a function. Out: for the results of ``cute.alloca`` whose offsets are all constant, and while
lowering walks on, what each element is::

    %p = cute.alloca ; cute.store %ok, %p ; cute.copy ... pred %p     ->   the copy uses %ok itself

`FragmentAccess` then stands where a `TileAccess` stands. Loops carry the elements that they
change, branches give them as results (`Fragments.rules`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opencute.dialects import arith, vector
from opencute.dialects.cute import LayoutAttr, PtrType, storage_bits
from opencute.ir.builder import current_block
from opencute.ir.core import Block, Op, Value
from opencute.ir.rewrite import Replacement, Rewriter, Rule
from opencute.ir.types import I1, FloatType, Type, VectorType, element_type
from opencute.passes.tile_access import Lane, gather, is_splat
from opencute.passes.tiled.liveness import Liveness, offsets_of

__all__ = ["FragmentAccess", "Fragments"]

Lanes = dict[int, Lane]
Chunk = tuple[Value, tuple[int, ...]]


class Fragments:
    """Which fragments of a function are values, and, while lowering walks on, what they hold.

    Args:
        function: a kernel or host function, before `tiles`.
    """

    def __init__(self, function: Op) -> None:
        self._live = Liveness(function)
        self._lanes: dict[Value, Lanes] = {a: {} for a in self._live.count}
        # Types are taken now: lowering changes those of the values that it keeps.
        self._elements = {p: _pointee(p) for p in self._live.place}
        self._ends: dict[Block, Callable[[Op], None]] = {}

    def forwarded(self, pointer: Value) -> bool:
        """Whether a pointer leads into a fragment that is no memory."""
        return self._live.is_value(pointer)

    def access(self, pointer: Value, layout: LayoutAttr | None) -> FragmentAccess:
        """A tile of a forwarded fragment; `layout` None: one element."""
        fragment, start = self._live.place[pointer]
        offsets = offsets_of(start, layout)
        return FragmentAccess(self._lanes[fragment], offsets, self._elements[pointer])

    def begin(self, fragment: Value) -> None:
        """The allocation is reached (again): nothing is written yet."""
        self._lanes[fragment].clear()

    def products(self, op: Op) -> list[tuple[Lanes, int, Type]]:
        """The fragments of products of warpgroups at a fence or wait: what they hold, which
        elements are used after it (one bit each), and the type of an element."""
        after = self._live.after.get(op, {})
        return [
            (self._lanes[f], after[f], self._elements[f])
            for f in self._live.products
            if f in self._lanes and after.get(f)
        ]

    # ---------------------------------------------------------------- control flow
    @property
    def rules(self) -> dict[str, Rule]:
        """Rules for control flow: what hands on elements of fragments."""
        return {
            "scf.if": self._if,
            "scf.for": self._for,
            "scf.while": self._while,
            "scf.yield": self._end,
            "scf.condition": self._end,
        }

    def _chunks(self, op: Op) -> list[Chunk]:
        """What an operation hands on, as groups that one register holds, or that are all that one
        product of warpgroups takes."""
        out: list[Chunk] = []
        for fragment, mask in self._live.carried.get(op, {}).items():
            element = self._elements[fragment]
            group = max(32 // storage_bits(element), 1) if element != I1 else 1
            count = self._live.count[fragment]
            taken = self._live.products.get(fragment, 0)
            offset = 0
            while mask >> offset:
                if taken > 1 and mask >> offset & (1 << taken) - 1 == (1 << taken) - 1:
                    out.append((fragment, tuple(range(offset, offset + taken))))
                    offset += taken
                    continue
                members = tuple(range(offset, min(offset + group, count)))
                if any(mask >> i & 1 for i in members):
                    out.append((fragment, members))
                offset += group
        return out

    def _take(self, chunks: Sequence[Chunk]) -> list[Value]:
        """The elements of some chunks as they are now."""
        out: list[Value] = []
        for fragment, offsets in chunks:
            held, element = self._lanes[fragment], self._elements[fragment]
            lanes = [held[o] if o in held else _undefined(element) for o in offsets]
            large = len(lanes) * storage_bits(element) > 32
            out.append(_together(lanes) if large else gather(lanes))
        return out

    def _put(self, chunks: Sequence[Chunk], values: Sequence[Value]) -> None:
        for (fragment, offsets), value in zip(chunks, values, strict=True):
            lanes = self._lanes[fragment]
            for i, o in enumerate(offsets):
                lanes[o] = Lane(value, i if isinstance(value.type, VectorType) else None)

    def _save(self, op: Op) -> dict[Value, Lanes]:
        written = self._live.written.get(op, {})
        return {f: dict(self._lanes[f]) for f in written if f in self._lanes}

    def _restore(self, saved: dict[Value, Lanes]) -> None:
        for fragment, lanes in saved.items():
            now = self._lanes[fragment]
            now.clear()
            now.update(lanes)

    def _forget(self, op: Op, chunks: Sequence[Chunk]) -> None:
        """Elements that were written inside but are not handed on: nobody will ask for them."""
        kept = {(f, o) for f, offsets in chunks for o in offsets}
        for fragment, mask in self._live.written.get(op, {}).items():
            lanes = self._lanes.get(fragment)
            if lanes is not None:
                for o in [o for o in lanes if mask >> o & 1 and (fragment, o) not in kept]:
                    del lanes[o]

    def _end(self, op: Op, rw: Rewriter) -> Replacement:
        block = current_block()
        at_end = self._ends.pop(block, None) if block is not None else None
        if at_end is not None:
            at_end(op)
        return None

    def _if(self, op: Op, rw: Rewriter) -> Replacement:
        if not self._live.written.get(op):
            return None
        chunks, saved = self._chunks(op), self._save(op)
        types = [v.type for v in self._types(chunks)]
        new = Op.make(
            op.name, op.operands, [*(r.type for r in op.results), *types], op.attributes,
            op.regions, op.loc,
        )  # fmt: skip

        def at_end(end: Op) -> None:
            end.operands = [*end.operands, *self._take(chunks)]
            self._restore(saved)

        for region in new.regions:
            self._ends[region.block] = at_end
        results = rw.keep(new)
        n = len(op.results)
        self._put(chunks, results[n:])
        self._forget(op, chunks)
        return results[:n]

    def _types(self, chunks: Sequence[Chunk]) -> list[Value]:
        """One placeholder of each chunk's type."""
        out: list[Value] = []
        for fragment, offsets in chunks:
            element = self._elements[fragment]
            type = element if len(offsets) == 1 else VectorType(len(offsets), element)
            out.append(Value(type))
        return out

    def _for(self, op: Op, rw: Rewriter) -> Replacement:
        if not self._live.written.get(op):
            return None
        chunks = self._chunks(op)
        inits = self._take(chunks)
        new = Op.make(
            op.name, [*op.operands, *inits],
            [*(r.type for r in op.results), *(v.type for v in inits)], op.attributes, op.regions,
            op.loc,
        )  # fmt: skip
        body = new.regions[0].block
        self._put(chunks, [body.add_argument(v.type) for v in inits])

        def at_end(end: Op) -> None:
            end.operands = [*end.operands, *self._take(chunks)]

        self._ends[body] = at_end
        results = rw.keep(new)
        n = len(op.results)
        self._put(chunks, results[n:])
        self._forget(op, chunks)
        return results[:n]

    def _while(self, op: Op, rw: Rewriter) -> Replacement:
        if not self._live.written.get(op):
            return None
        chunks = self._chunks(op)
        inits = self._take(chunks)
        new = Op.make(
            op.name, [*op.operands, *inits],
            [*(r.type for r in op.results), *(v.type for v in inits)], op.attributes, op.regions,
            op.loc,
        )  # fmt: skip
        test, body = (r.block for r in new.regions)
        self._put(chunks, [test.add_argument(v.type) for v in inits])
        inside = [body.add_argument(v.type) for v in inits]

        def at_condition(end: Op) -> None:
            end.operands = [*end.operands, *self._take(chunks)]
            self._put(chunks, inside)

        def at_end(end: Op) -> None:
            end.operands = [*end.operands, *self._take(chunks)]

        self._ends[test], self._ends[body] = at_condition, at_end
        results = rw.keep(new)
        n = len(op.results)
        self._put(chunks, results[n:])
        self._forget(op, chunks)
        return results[:n]


def _together(lanes: Sequence[Lane]) -> Value:
    """Registers as one vector, which stays one value for each of them: they are never put together
    for good."""
    first = lanes[0].value
    if isinstance(first.type, VectorType) and first.type.length == len(lanes):
        made = first.op
        apart = made is None or made.name not in ("arith.constant", "vector.shuffle")
        if apart and all(x.value is first and x.index == i for i, x in enumerate(lanes)):
            return first
    equal: dict[Value, Value] = {}  # the elements of constants that have one for all
    out: list[Value] = []
    for x in lanes:
        scalar = equal.get(x.value)
        if scalar is None:
            scalar = x.scalar()
            if x.index is not None and is_splat(x.value):
                equal[x.value] = scalar
        out.append(scalar)
    return vector.from_elements(out)


def _undefined(element: Type) -> Lane:
    """An element that nothing wrote: any value will do."""
    zero = 0.0 if isinstance(element, FloatType) else 0
    return Lane(arith.constant(zero, element))


def _pointee(pointer: Value) -> Type:
    assert isinstance(pointer.type, PtrType)
    return pointer.type.element


def _as_element(lane: Lane, element: Type) -> Lane:
    """An element that was written as another type of the same width."""
    type = lane.value.type
    if element_type(type) == element:
        return lane
    if isinstance(type, VectorType):
        return Lane(vector.bitcast(lane.value, VectorType(type.length, element)), lane.index)
    return Lane(arith.cast("bitcast", lane.value, element))


class FragmentAccess:
    """A tile of values: what `TileAccess` is for memory.

    Args:
        lanes: the fragment's contents by offset.
        offsets: the offset of each element of the tile.
        element: type of the tile's elements.
    """

    space = "rmem"
    align = 16

    def __init__(self, lanes: Lanes, offsets: Sequence[int], element: Type) -> None:
        self._lanes = lanes
        self._offsets = offsets
        self.element = element

    def load(self, wanted: Sequence[int]) -> Lanes:
        """The wanted elements; those that nothing wrote are of any value."""
        lanes, offsets, element = self._lanes, self._offsets, self.element
        out: Lanes = {}
        for i in wanted:
            lane = lanes.get(offsets[i])
            if lane is None:
                lane = _undefined(element)
            elif element_type(lane.value.type) != element:
                lane = _as_element(lane, element)
            out[i] = lane
        return out

    def store(self, values: Lanes) -> None:
        """Remember elements."""
        for i, lane in values.items():
            self._lanes[self._offsets[i]] = lane

    def prepare(self, wanted: Sequence[int]) -> None:
        """Values need no address."""

    def aligned(self) -> FragmentAccess:
        """Values have no alignment."""
        return self
