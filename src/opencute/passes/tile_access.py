# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Loads and stores of the elements of one tile, as wide as they may be.

In: a lowered pointer, a layout, its dynamic integers. Out: operations of the llvm and vector
dialects. Elements in flight are `Lane` values: an SSA value and the lane in it, so that no vector
is taken apart before it has to be::

    lanes = tile.load(range(16))          # two loads of vector<8xf16>
    out = gather([lanes[i] for i in range(16)])   # one shuffle that joins them
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple

from opencute.dialects import arith, llvm, vector
from opencute.dialects.cute import LayoutAttr, PtrType, storage_bits
from opencute.ir.attributes import DenseAttr
from opencute.ir.cleanup import constant_of
from opencute.ir.core import Value
from opencute.ir.types import I64, Type, VectorType, element_type
from opencute.passes.memory import advance, load_run, store_run
from opencute.passes.offsets import Access, Terms, accesses, element_offsets
from opencute.passes.tiled.hinted import Hinted
from opencute.passes.tiled.swizzle import Swizzles

__all__ = ["Lane", "TileAccess", "gather", "is_splat", "lanes_of"]


class Lane(NamedTuple):
    """One element: `index` is its lane in `value`, None if the value is a scalar."""

    value: Value
    index: int | None = None  # pyright: ignore[reportIncompatibleMethodOverride] - not the tuple's

    def scalar(self) -> Value:
        """The element as a value of its own."""
        if self.index is None:
            return self.value
        made = self.value.op
        if made is not None and made.name == "vector.from_elements":
            return made.operands[self.index]
        known = constant_of(self.value)
        if isinstance(known, DenseAttr):
            item = known.items[self.index if len(known.items) > 1 else 0]
            return arith.constant_of(item, element_type(known.type))
        return vector.extract(self.value, self.index)


def is_splat(value: Value) -> bool:
    """Whether a vector is a constant with one element everywhere."""
    known = constant_of(value)
    return isinstance(known, DenseAttr) and len(known.items) == 1


def lanes_of(value: Value) -> list[Lane]:
    """The elements of a vector, or the one of a scalar."""
    if isinstance(value.type, VectorType):
        return [Lane(value, i) for i in range(value.type.length)]
    return [Lane(value)]


def gather(lanes: Sequence[Lane]) -> Value:
    """The elements as one vector; a scalar for a single element."""
    if len(lanes) == 1:
        return lanes[0].scalar()
    sources = list(dict.fromkeys(lane.value for lane in lanes))
    if all(isinstance(s.type, VectorType) for s in sources):
        if len(sources) == 1:
            return _pick(sources[0], sources[0], lanes)
        if len(sources) == 2 and sources[0].type == sources[1].type:
            return _pick(sources[0], sources[1], lanes)
        if lanes == [lane for s in sources for lane in lanes_of(s)]:
            return _join(sources)
    return vector.from_elements([lane.scalar() for lane in lanes])


def _pick(a: Value, b: Value, lanes: Sequence[Lane]) -> Value:
    assert isinstance(a.type, VectorType)
    length = a.type.length
    mask = [(lane.index or 0) + (length if lane.value is not a else 0) for lane in lanes]
    if mask == list(range(length)):
        return a
    return vector.shuffle(a, b, mask)


def _join(parts: list[Value]) -> Value:
    """Vectors one after the other, joined pairwise so that the work stays linear."""
    while len(parts) > 1:
        out: list[Value] = []
        for a, b in zip(parts[::2], parts[1::2], strict=False):
            out.append(_concat(a, b))
        parts = out + parts[len(out) * 2 :]
    return parts[0]


def _concat(a: Value, b: Value) -> Value:
    assert isinstance(a.type, VectorType) and isinstance(b.type, VectorType)
    return vector.shuffle(a, b, range(a.type.length + b.type.length))


class TileAccess:
    """Loads and stores of one tile.

    Args:
        base: the lowered pointer.
        type: the pointer's type before lowering.
        layout: the tile's layout.
        dyns: its dynamic integers.
        max_bits: widest access.
        hinted: how memory is read and written where an access has hints.
    """

    def __init__(
        self, base: Value, type: PtrType, layout: LayoutAttr, dyns: Sequence[Value], max_bits: int,
        swizzles: Swizzles | None = None, hinted: Hinted | None = None,
    ) -> None:  # fmt: skip
        self.hinted = hinted
        self.base = base
        self.type = type
        self.swizzles = swizzles
        self.space = type.space
        self.element: Type = type.element
        # An element is always aligned to its own size: the hardware has no other access.
        self.align = max(type.align, storage_bits(type.element) // 8)
        self.layout = layout
        self.dyns = dyns
        # A swizzle keeps runs of 2^base bytes together.
        self.max_bits = min(max_bits, 8 << type.swizzle[1]) if type.swizzle else max_bits
        self.bits = storage_bits(type.element)
        self.supposed = 0
        self._bases: dict[Terms, Value] = {(): base}
        self._plans: dict[Sequence[int], list[Access]] = {}

    def accesses(self, wanted: Sequence[int]) -> list[Access]:
        """The accesses for some of the elements."""
        key = wanted if isinstance(wanted, range) else tuple(wanted)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = accesses(
                self.layout, key, self.bits, self.align, self.max_bits, self.supposed,
                single=bool(self.type.swizzle),
            )  # fmt: skip
        return plan

    def address(self, access: Access) -> Value:
        """The address of an access."""
        base = self._dynamic(access.terms)
        if self.type.swizzle:
            assert self.swizzles is not None
            return self.swizzles.address(base, access.static * self.bits // 8, self.type)
        return advance(base, access.static, self.element)

    def place(self, element: int) -> Value:
        """The address of one element."""
        offset = element_offsets(self.layout)[element]
        return self.address(Access(offset.terms, offset.static, self.align, (element,)))

    def split_address(self, element: int) -> tuple[Value, int]:
        """The address of one element as a base and an immediate offset in bytes."""
        offset = element_offsets(self.layout)[element]
        base, static = self._dynamic(offset.terms), offset.static * self.bits // 8
        if self.type.swizzle:
            assert self.swizzles is not None
            return self.swizzles.split_address(base, static, self.type)
        return base, static

    def _dynamic(self, terms: Terms) -> Value:
        """The pointer moved by dynamic strides; made once, where it is first needed."""
        if terms not in self._bases:
            index, factor = terms[-1]
            stride = self.dyns[index]
            if factor != 1:
                wide = stride if stride.type == I64 else arith.cast("extsi", stride, I64)
                stride = arith.binary("muli", wide, arith.constant(factor, I64))
            self._bases[terms] = advance(self._dynamic(terms[:-1]), stride, self.element)
        return self._bases[terms]

    def load(self, wanted: Sequence[int]) -> dict[int, Lane]:
        """The wanted elements."""
        offsets = element_offsets(self.layout)
        at: dict[tuple[Terms, int], Lane] = {}
        for a in self.accesses(wanted):
            count = len(a.elements)
            read = llvm.load if self.hinted is None else self.hinted.load
            value = load_run(self.address(a), self.element, count, a.align, read)
            for lane in range(count):
                at[a.terms, a.static + lane] = Lane(value, lane if count > 1 else None)
        return {i: at[offsets[i].terms, offsets[i].static] for i in wanted}

    def store(self, values: dict[int, Lane]) -> None:
        """Write elements, given where each one is."""
        for a in self.accesses(list(values)):
            run = gather([values[i] for i in a.elements])
            write = llvm.store if self.hinted is None else self.hinted.store
            store_run(run, self.address(a), self.element, len(a.elements), a.align, write)

    def prepare(self, wanted: Sequence[int]) -> None:
        """Make the dynamic parts of addresses here, so that a nested region can use them."""
        for a in self.accesses(wanted):
            self._dynamic(a.terms)

    def aligned(self) -> TileAccess:
        """The same tile, supposing that its rows start as aligned as its runs are long.

        Strides count as aligned too; `accesses` of the result says what has to be checked.
        """
        out = copy.copy(self)
        supposed = max(self.align, min(16, self.max_bits // 8))
        out.align = out.supposed = supposed
        out._plans = {}
        return out

    def instructions(self, wanted: Sequence[int]) -> int:
        """How many loads or stores reach the elements."""
        return sum(
            max(1, len(a.elements) * self.bits // 8 // a.align) for a in self.accesses(wanted)
        )
