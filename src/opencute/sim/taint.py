# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Uninitialised data on its way through a kernel.

Reading bytes that nothing wrote is allowed; the value carries a `Taint`, a mask of the lanes (and
elements) that are garbage, and is reported when it decides something: a branch, an address, a store
to memory that others see, a print. A clean value's taint is None, so tracking costs one test for
each operation, and only for values that can come from storage that is not surely initialised.
`Tracked` finds these values in a function before it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from opencute.base.errors import UninitializedError
from opencute.base.log import warn
from opencute.dialects.cute import PtrType
from opencute.ir.attributes import IntAttr
from opencute.ir.core import Block, Op, Value
from opencute.sim.registry import rule_of
from opencute.sim.tiles import covers
from opencute.sim.values import Array

__all__ = ["Origin", "Spoilers", "Taint", "Tracked", "join", "report"]


@dataclass(frozen=True)
class Origin:
    """Where garbage comes from.

    Args:
        op: the operation that read it.
        memory: what messages call the memory.
        told: the whole story, where nothing was read.
    """

    op: Op
    memory: str = ""
    told: str = ""

    def hint(self) -> str:
        """The explanation of a report."""
        if self.told:
            return self.told
        of = f" of {self.memory}" if self.memory else ""
        return f"it was read by {self.op.name} at {self.op.loc}, from bytes{of} that nothing wrote"


class Spoilers:
    """Where the garbage comes from that was written to a memory: the last known for each range of
    bytes. Few of them are kept, as they are for messages only."""

    _MOST = 64

    def __init__(self) -> None:
        self._ranges: dict[tuple[int, int], Origin] = {}

    def add(self, low: int, high: int, origin: Origin | None) -> None:
        """Garbage was written to some of the bytes from `low` up to `high`."""
        if origin is None:
            return
        self._ranges.pop((low, high), None)
        if len(self._ranges) >= self._MOST:
            del self._ranges[next(iter(self._ranges))]
        self._ranges[low, high] = origin

    def find(self, place: int) -> Origin | None:
        """The origin of what was last written to a byte, None if no garbage was."""
        for (low, high), origin in reversed(self._ranges.items()):
            if low <= place < high:
                return origin
        return None


@dataclass(frozen=True)
class Taint:
    """Which lanes (and elements) of a value are garbage.

    Args:
        mask: an array of bool, shaped like the value (every axis may be 1).
        origin: who read them first, and from where.
    """

    mask: Array
    origin: Origin | None

    def mapped(self, fn: Callable[[Array], Array]) -> Taint:
        """The taint with a function applied to its mask."""
        return Taint(fn(self.mask), self.origin)


def join(*taints: Taint | None) -> Taint | None:
    """The taint of a value that depends, element by element, on values with these taints."""
    out: Taint | None = None
    for t in taints:
        if t is None or t is out:
            continue
        if out is None:
            out = t
            continue
        a, b = out.mask, t.mask
        if a.ndim != b.ndim:
            a, b = (m if m.ndim == 3 else m[..., None] for m in (a, b))
        out = Taint(a | b, out.origin)
    return out


def report(lanes: Any, taint: Taint, op: Op, what: str) -> None:
    """Raise if garbage of any lane reached `what` (such as "a branch") in `op`."""
    mask = taint.mask
    if not mask.any():
        return
    full = lanes.full(mask)
    where = tuple(int(i) for i in np.argwhere(full)[0])
    element = f", element {where[2]}" if mask.ndim == 3 and mask.shape[2] > 1 else ""
    origin = taint.origin
    message = f"uninitialised data reaches {what} in {op.name}: {lanes.name(where)}{element}"
    if what == "a print" and origin is not None and _reads_shared(origin.op):
        # People print shared memory to see what is in it; nothing comes of that but text.
        warn(message, RuntimeWarning, op.loc)
        return
    raise UninitializedError(
        message,
        code="OC3301",
        loc=op.loc,
        hint=None if origin is None else origin.hint(),
    )


def _reads_shared(op: Op) -> bool:
    type = op.operands[0].type if op.operands else None
    return isinstance(type, PtrType) and type.space == "smem"


_ALLOCAS = ("cute.alloca", "llvm.alloca")
_SHARED = ("cute.smem_alloc", "ptx.smem_base")
_SOURCES = (*_ALLOCAS, *_SHARED, "ptx.shfl_sync")
_MOVES = {
    "cute.ptr_add", "cute.recast", "llvm.getelementptr", "llvm.addrspacecast",
}  # fmt: skip
_READS = {"cute.load", "cute.tile_load", "llvm.load", "ptx.load"}
_RAW = {"cute.int_to_ptr", "llvm.inttoptr"}


def written_first(alloca: Op) -> bool:
    """Whether the first use of an alloca writes all of it, in the alloca's own block."""
    count = alloca.attributes.get("count")
    if alloca.name != "cute.alloca" or not isinstance(count, IntAttr) or alloca.parent is None:
        return False
    pointer = alloca.results[0]
    ops = alloca.parent.ops
    for op in ops[ops.index(alloca) + 1 :]:
        if pointer in op.operands:
            return covers(op, pointer, count.value)
        if op.regions and any(pointer in inner.operands for inner in op.walk()):
            return False
    return True


class Tracked:
    """The values of a function that may carry a taint.

    Args:
        body: the function's block.
        loose_arguments: whether pointers from outside may point to uninitialised memory.
    """

    def __init__(self, body: Block, *, loose_arguments: bool) -> None:
        self.values: set[Value] = set()
        self.pointers: set[Value] = set(body.args) if loose_arguments else set()
        self.raw_is_loose = loose_arguments
        self._mixed = loose_arguments
        if not loose_arguments and not any(
            op.name in _SOURCES for top in body.ops for op in top.walk()
        ):
            return
        # A copy from memory that may be uninitialised makes any fragment such memory again.
        self._mixed = any(
            op.name in (*_SHARED, "cute.gemm", "cute.wgmma")
            for top in body.ops
            for op in top.walk()
        )
        before = (-1, -1)
        while before != (len(self.values), len(self.pointers)):
            before = (len(self.values), len(self.pointers))
            self._block(body)

    def __contains__(self, value: Value) -> bool:
        return value in self.values

    def _flow(self, source: Value, target: Value) -> None:
        if source in self.values:
            self.values.add(target)
        if source in self.pointers:
            self.pointers.add(target)

    def _block(self, block: Block) -> None:
        for op in block.ops:
            if op.regions:
                self._control(op)
            else:
                self._plain(op)

    def _control(self, op: Op) -> None:
        for region in op.regions:
            self._block(region.block)
        if op.name == "scf.if":
            for region in op.regions:
                for source, target in zip(
                    region.block.terminator.operands, op.results, strict=True
                ):
                    self._flow(source, target)
        elif op.name == "scf.for":
            body = op.regions[0].block
            yields = body.terminator.operands
            for init, arg, y, r in zip(
                op.operands[3:], body.args[1:], yields, op.results, strict=True
            ):
                for source, target in ((init, arg), (y, arg), (init, r), (y, r)):
                    self._flow(source, target)
        elif op.name == "scf.while":
            first, second = op.regions[0].block, op.regions[1].block
            for init, y, arg in zip(
                op.operands, second.terminator.operands, first.args, strict=True
            ):
                self._flow(init, arg)
                self._flow(y, arg)
            passed = first.terminator.operands[1:]
            for source, arg, r in zip(passed, second.args, op.results, strict=True):
                self._flow(source, arg)
                self._flow(source, r)

    def _plain(self, op: Op) -> None:
        if op.name in _ALLOCAS:
            self.raw_is_loose = True
            if op.results[0] not in self.pointers and (self._mixed or not written_first(op)):
                self.pointers.add(op.results[0])
            return
        if op.name in _SHARED:
            self.raw_is_loose = True
            self.pointers.update(op.results)
            return
        if op.name == "ptx.shfl_sync":
            self.values.update(op.results)
            return
        if op.name in _READS:
            if op.operands[0] in self.pointers:
                self.values.add(op.results[0])
                self.pointers.add(op.results[0])
            elif self.raw_is_loose:
                self.pointers.add(op.results[0])
            return
        if op.name in _RAW:
            if self.raw_is_loose:
                self.pointers.update(op.results)
        elif op.name in _MOVES:
            self._flow(op.operands[0], op.results[0])
        elif op.name == "arith.select":
            for source in op.operands[1:]:
                self._flow(source, op.results[0])
        if (
            op.results
            and any(v in self.values for v in op.operands)
            and rule_of(op).taint != "none"
        ):
            self.values.update(op.results)
