# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which elements of which register fragments a loop or a branch has to hand on.

In: a function before `tiles`. Out: the fragments that can be values instead of memory, and for
each operation with regions the elements that are written inside of it and read later, or in the
loop's next turn::

    %p = cute.alloca ; scf.for { cute.gemm %p, ... }     ->   the loop carries all elements of %p

Sets of elements are ints, one bit each. Cost: linear, times two for each level of loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from opencute.arch.wgmma import wgmma_atom
from opencute.dialects.cute import AllocaOp, CopyOp, LayoutAttr, PtrType, storage_bits
from opencute.dialects.hopper.wgmma import CuteWgmmaOp
from opencute.dialects.tiled import GemmOp
from opencute.ir.core import Block, Op, Value
from opencute.passes.folding import int_of
from opencute.passes.offsets import element_offsets

__all__ = ["Liveness", "offsets_of"]

Live = dict[Value, int]


@lru_cache(maxsize=4096)
def _static_offsets(layout: LayoutAttr) -> tuple[int, ...]:
    return tuple(o.static for o in element_offsets(layout))


@lru_cache(maxsize=4096)
def _span(layout: LayoutAttr) -> tuple[int, int, int]:
    """Bits of the offsets above the lowest one, the lowest, and the highest offset."""
    offsets = _static_offsets(layout)
    low = min(offsets)
    mask = 0
    for o in offsets:
        mask |= 1 << (o - low)
    return mask, low, max(offsets)


def offsets_of(start: int, layout: LayoutAttr | None) -> list[int]:
    """The offsets of a tile, in order; one element without a layout."""
    if layout is None:
        return [start]
    return [start + o for o in _static_offsets(layout)]


class _Access:
    """One operand of an operation that reads or writes elements of a fragment."""

    __slots__ = ("fragment", "mask", "reads", "writes")

    def __init__(self, fragment: Value, mask: int, reads: bool, writes: bool) -> None:
        self.fragment = fragment
        self.mask = mask
        self.reads = reads
        self.writes = writes


class Liveness:
    """The analysis of one function.

    Args:
        function: a kernel or host function, before `tiles`.

    Attributes:
        place: pointer to (fragment, offset), for all pointers into fragments.
        count: fragment to its number of elements.
        carried: operation with regions to (fragment to elements) that it hands on.
        written: operation with regions to (fragment to elements) that are written inside of it.
        products: the fragments that products of warpgroups use; for accumulators of 32-bit elements
            how many of these an instruction takes, else 0.
        after: fence or wait of such products to (fragment to elements) that are used after it.
    """

    def __init__(self, function: Op) -> None:
        self.place: dict[Value, tuple[Value, int]] = {}
        self.count: dict[Value, int] = {}
        self.carried: dict[Op, Live] = {}
        self.written: dict[Op, Live] = {}
        self.products: dict[Value, int] = _of_products(function)
        self.after: dict[Op, Live] = {}
        self._memory: set[Value] = set()
        self._accesses: dict[Op, list[_Access]] = {}
        body = function.regions[0].block
        self._collect(body)
        for fragment in self._memory:
            del self.count[fragment]
        self._accesses = {
            op: kept
            for op, found in self._accesses.items()
            if (kept := [a for a in found if a.fragment in self.count])
        }
        if self.count:
            self._block(body, {})

    def is_value(self, pointer: Value) -> bool:
        """Whether a pointer leads into a fragment that is no memory."""
        place = self.place.get(pointer)
        return place is not None and place[0] in self.count

    # ---------------------------------------------------------------- which fragments
    def _collect(self, block: Block) -> Live:
        written: Live = {}
        for op in block.ops:
            visit = _VISIT.get(op.name)
            if op.name in _ORDER:
                # It gives new values for what it orders: later code must not use the old ones.
                for fragment in self.products:
                    if fragment in self.count:
                        _add(written, fragment, (1 << self.count[fragment]) - 1)
            elif visit is not None:
                visit(self, op)
                for access in self._accesses.get(op, ()):
                    if access.writes:
                        _add(written, access.fragment, access.mask)
            else:
                for v in op.operands:
                    self._keep(v)
            if op.regions:
                inner: Live = {}
                for region in op.regions:
                    for nested in region.blocks:
                        for fragment, mask in self._collect(nested).items():
                            _add(inner, fragment, mask)
                self.written[op] = inner
                for fragment, mask in inner.items():
                    _add(written, fragment, mask)
        return {f: m for f, m in written.items() if not _made_in(f, block)}

    def _keep(self, pointer: Value) -> None:
        if pointer in self.place:
            self._memory.add(self.place[pointer][0])

    def _alloca(self, op: Op) -> None:
        assert isinstance(op, AllocaOp)
        self.place[op.result] = (op.result, 0)
        self.count[op.result] = op.count.value

    def _ptr_add(self, op: Op) -> None:
        base, offset = op.operands
        if base in self.place:
            known = int_of(offset)
            if known is None:
                self._keep(base)
            else:
                fragment, start = self.place[base]
                self.place[op.result] = (fragment, start + known)

    def _recast(self, op: Op) -> None:
        source, new = op.operands[0].type, op.result.type
        if op.operands[0] not in self.place:
            return
        assert isinstance(source, PtrType) and isinstance(new, PtrType)
        same = storage_bits(source.element) == storage_bits(new.element)
        if same and new.space == "rmem":
            self.place[op.result] = self.place[op.operands[0]]
        else:
            self._keep(op.operands[0])

    def _access(
        self, op: Op, pointer: Value, layout: LayoutAttr | None, reads: bool, writes: bool
    ) -> None:
        if pointer not in self.place:
            return
        fragment, start = self.place[pointer]
        if layout is not None and layout.dyns():
            self._memory.add(fragment)
            return
        mask, low, high = (1, 0, 0) if layout is None else _span(layout)
        if start + low < 0 or start + high >= self.count[fragment]:
            self._memory.add(fragment)  # out of bounds: whatever happens, happens in memory
            return
        access = _Access(fragment, mask << (start + low), reads, writes)
        self._accesses.setdefault(op, []).append(access)

    # ---------------------------------------------------------------- liveness
    def _block(self, block: Block, live: Live) -> Live:
        """What is live before a block, from what is live after it."""
        live = dict(live)
        for op in reversed(block.ops):
            if op.regions:
                live = self._nested(op, live)
                continue
            accesses = self._accesses.get(op)
            if accesses is None:
                if op.name in _ORDER:
                    self.after[op] = dict(live)
                continue
            for a in accesses:
                if a.writes:
                    live[a.fragment] = live.get(a.fragment, 0) & ~a.mask
            for a in accesses:
                if a.reads:
                    live[a.fragment] = live.get(a.fragment, 0) | a.mask
        return live

    def _nested(self, op: Op, live: Live) -> Live:
        blocks = [b for r in op.regions for b in r.blocks]
        if op.name == "scf.for":
            around = _union(live, self._block(blocks[0], live))
            around = _union(around, self._block(blocks[0], around))
        elif op.name == "scf.while":
            around = live
            for _ in range(2):
                turn = self._block(blocks[1], self._block(blocks[0], around))
                around = _union(around, _union(turn, self._block(blocks[0], _union(live, turn))))
        else:
            around = live
        written = self.written.get(op, {})
        self.carried[op] = {
            f: m
            for f, mask in written.items()
            if f in self.count and (m := mask & around.get(f, 0))
        }
        if op.name in ("scf.for", "scf.while"):
            return around
        before: Live = {}
        for block in blocks:
            before = _union(before, self._block(block, live))
        return before


def _of_products(function: Op) -> dict[Value, int]:
    """The fragments that products of warpgroups use."""
    out: dict[Value, int] = {}
    for op in function.walk():
        if not isinstance(op, CuteWgmmaOp):
            continue
        atom = wgmma_atom(op.atom.value)
        count = atom.values[2] if atom.registers[1] == atom.values[2] else 0
        for pointer, size in ((op.operands[0], count), (op.operands[1], 0)):
            made = pointer.op
            while made is not None and made.name in ("cute.ptr_add", "cute.recast"):
                made = made.operands[0].op
            if made is not None and made.name == "cute.alloca":
                known = out.setdefault(made.result, size)
                out[made.result] = size if size == known else 0
    return out


def _made_in(fragment: Value, block: Block) -> bool:
    return fragment.op is not None and fragment.op.parent is block


def _add(live: Live, fragment: Value, mask: int) -> None:
    live[fragment] = live.get(fragment, 0) | mask


def _union(a: Live, b: Live) -> Live:
    out = dict(a)
    for fragment, mask in b.items():
        out[fragment] = out.get(fragment, 0) | mask
    return out


# ---------------------------------------------------------------- operations on fragments
# pyright: reportPrivateUsage=false
def _layout(op: Op, key: str = "layout") -> LayoutAttr:
    layout = op.attributes[key]
    assert isinstance(layout, LayoutAttr)
    return layout


def _copy(f: Liveness, op: Op) -> None:
    assert isinstance(op, CopyOp)
    f._access(op, op.src, op.src_layout, True, False)
    if op.pred is not None:
        f._access(op, op.pred, op.pred_layout, True, False)
    # What a predicate forbids keeps its old value, so that it is read too.
    f._access(op, op.dst, op.dst_layout, op.pred is not None, True)


def _gemm(f: Liveness, op: Op) -> None:
    assert isinstance(op, GemmOp)
    f._access(op, op.a, op.a_layout, True, False)
    f._access(op, op.b, op.b_layout, True, False)
    f._access(op, op.c, op.c_layout, True, False)
    f._access(op, op.d, op.d_layout, False, True)


def _wgmma(f: Liveness, op: Op) -> None:
    assert isinstance(op, CuteWgmmaOp)
    adds = int_of(op.accumulate) != 0
    for pointer, key, reads, writes in (
        (op.a, "a_layout", True, False), (op.d, "d_layout", adds, True),
    ):  # fmt: skip
        if pointer in f.place:
            f._access(op, pointer, _layout(op, key), reads, writes)


def _simple(pointer: int, tile: bool, reads: bool) -> Callable[[Liveness, Op], None]:
    def visit(f: Liveness, op: Op) -> None:
        others: Iterable[Value] = (v for i, v in enumerate(op.operands) if i != pointer)
        for v in others:
            f._keep(v)
        layout = _layout(op) if tile else None
        f._access(op, op.operands[pointer], layout, reads, not reads)

    return visit


_ORDER = ("ptx.wgmma_fence", "ptx.wgmma_wait")

_VISIT: dict[str, Callable[[Liveness, Op], None]] = {
    "cute.alloca": Liveness._alloca,
    "cute.ptr_add": Liveness._ptr_add,
    "cute.recast": Liveness._recast,
    "cute.copy": _copy,
    "cute.gemm": _gemm,
    "cute.wgmma": _wgmma,
    "cute.store": _simple(1, False, False),
    "cute.load": _simple(0, False, True),
    "cute.tile_store": _simple(1, True, False),
    "cute.tile_load": _simple(0, True, True),
}
