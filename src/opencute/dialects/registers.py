# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Elements of register fragments whose values are known while tracing.

Kernels are written with fragments as variables: ``top[i] = max(top[i], acc[i, j])`` for every j.
What was just stored need not be loaded again, nor loaded twice, and a store that another one
overwrites before anybody reads need not be built::

    store(a, ptr) ; store(b, ptr) ; x = load(ptr)      # one store, and x is b

That is known within one block, from a store or a load of an element until an operation that may
write to it: `builder.build` tells of each that is not among those here. Elements are told apart by
their fragment and constant offsets in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opencute.dialects import cute, vector
from opencute.dialects.cute import AllocaOp, PtrType
from opencute.ir.attributes import IntAttr
from opencute.ir.builder import known_here, tracing_block
from opencute.ir.core import Block, Held, Op, Value

__all__ = ["elements", "load", "store"]

_ELSEWHERE = frozenset({"gmem", "smem", "dsmem", "tmem"})  # where no fragment is
_NEAR = 64  # operations back: as far as an overwritten store is looked for
_Place = tuple["Value | None", "int | None"]


class _Elements(Held):
    """What one block knows.

    A fragment is named by the pointer to its first element: an alloca, or a pointer from before the
    block, such as a loop carries. Those two may be the same memory unless the alloca is in this
    block; two allocas never are.

    Attributes:
        values: fragment to the values of its elements by offset.
        stores: fragment to the stores, by offset, whose elements nothing has read since.
        places: pointer to its fragment and offset; None for what is not known.
        own: the fragments that are made in this block.
    """

    __slots__ = ("block", "own", "places", "stores", "values")

    def __init__(self, block: Block) -> None:
        self.block = block
        self.values: dict[Value, dict[int, Value]] = {}
        self.stores: dict[Value, dict[int, Op]] = {}
        self.places: dict[Value, _Place] = {}
        self.own: set[Value] = set()

    def read(self) -> None:
        self.stores.clear()

    def written(self) -> None:
        self.values.clear()
        self.stores.clear()

    def reached(self, pointer: Value) -> bool:
        assert isinstance(pointer.type, PtrType)
        return pointer.type.space not in _ELSEWHERE

    def place(self, pointer: Value) -> _Place:
        """The fragment that a pointer leads into, and the element's offset."""
        found = self.places.get(pointer)
        if found is None:
            found = self.places[pointer] = self._find(pointer)
        return found

    def _find(self, pointer: Value) -> _Place:
        op = pointer.op
        if op is None:
            return pointer, 0
        if op.name == "cute.alloca":
            if op.parent is self.block:
                self.own.add(pointer)
            return pointer, 0
        if op.name == "cute.recast":
            source = op.operands[0]
            assert isinstance(source.type, PtrType) and isinstance(pointer.type, PtrType)
            base, at = self.place(source)
            return base, at if source.type.element == pointer.type.element else None
        if op.name != "cute.ptr_add":
            return None if op.parent is self.block else pointer, 0
        base, at = self.place(op.operands[0])
        steps = op.operands[1].op
        known = steps.attributes.get("value") if steps is not None else None
        if base is None or at is None or not isinstance(known, IntAttr):
            return base, None
        at += known.value
        made = base.op
        if isinstance(made, AllocaOp) and not 0 <= at < made.count.value:
            return None, None
        return base, at

    def _others(self, fragment: Value, among: Iterable[Value]) -> list[Value]:
        """The other fragments that may be the same memory."""
        if fragment in self.own:
            return []
        made = isinstance(fragment.op, AllocaOp)
        return [
            f for f in among
            if f is not fragment and f not in self.own
            and not (made and isinstance(f.op, AllocaOp))
        ]  # fmt: skip

    def stored(self, fragment: Value | None, whole: bool) -> None:
        """Something of a fragment is to be overwritten, an element of it or who knows what."""
        if fragment is None:
            self.written()
            return
        gone = self._others(fragment, self.values.keys() | self.stores.keys())
        for f in (*gone, fragment) if whole else gone:
            self.values.pop(f, None)
            self.stores.pop(f, None)

    def loaded(self, fragment: Value | None, whole: bool) -> None:
        """Something of a fragment is to be read."""
        if fragment is None:
            self.read()
            return
        seen = self._others(fragment, self.stores)
        for f in (*seen, fragment) if whole else seen:
            self.stores.pop(f, None)


def _here(pointer: Value) -> tuple[Block, _Elements] | None:
    """The block that is traced and what it knows; None for memory that no fragment is in."""
    assert isinstance(pointer.type, PtrType)
    if pointer.type.space in _ELSEWHERE:
        return None
    block = tracing_block()
    if block is None:
        return None
    held = block.held
    if held is None:
        held = block.held = _Elements(block)
    assert isinstance(held, _Elements)
    return block, held


def load(pointer: Value) -> Value:
    """One element: `cute.load`, or the value that it has."""
    here = _here(pointer)
    if here is None:
        return cute.load(pointer)
    held = here[1]
    fragment, at = held.place(pointer)
    if fragment is None or at is None:
        held.loaded(fragment, True)
        return cute.load(pointer)
    values = held.values.get(fragment)
    if values is None:
        values = held.values[fragment] = {}
    found = values.get(at)
    if found is None:
        held.loaded(fragment, False)
        found = values[at] = cute.load(pointer)
    return found


def store(value: Value, pointer: Value) -> None:
    """Write one element: `cute.store`, in the place of one that nobody has read."""
    here = _here(pointer)
    if here is None:
        cute.store(value, pointer)
        return
    block, held = here
    fragment, at = held.place(pointer)
    assert isinstance(pointer.type, PtrType)
    if fragment is None or at is None or value.type != pointer.type.element:
        held.stored(fragment, True)
        cute.store(value, pointer)
        return
    held.stored(fragment, False)
    stores = held.stores.setdefault(fragment, {})
    before = stores.get(at)
    if before is not None:
        _drop(block, before)
    stores[at] = cute.store(value, pointer)
    held.values.setdefault(fragment, {})[at] = value


def _drop(block: Block, op: Op) -> None:
    ops = block.ops
    for i in range(len(ops) - 1, max(len(ops) - _NEAR, 0) - 1, -1):
        if ops[i] is op:
            del ops[i]
            return


def elements(pointer: Value, offsets: Sequence[int]) -> Value | None:
    """The elements at constant offsets from a pointer as a vector, if all are known."""
    assert isinstance(pointer.type, PtrType)
    block = tracing_block() if pointer.type.space == "rmem" else None
    held = None if block is None else block.held
    if held is None or known_here() is None:
        return None
    assert isinstance(held, _Elements)
    fragment, at = held.place(pointer)
    values = held.values.get(fragment) if fragment is not None else None
    if values is None or at is None:
        return None
    found = [values.get(at + o) for o in offsets]
    known = [v for v in found if v is not None]
    return vector.from_elements(known) if len(known) == len(found) else None
