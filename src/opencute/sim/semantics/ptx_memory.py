# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`ptx`: atomics, accesses with a memory order or hints, and asynchronous copies."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opencute.base.errors import SimulationError
from opencute.dialects.cute import PtrType
from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op, Value
from opencute.ir.types import F32, I8, VectorType, element_type
from opencute.sim.access import Access
from opencute.sim.lanes import Lanes
from opencute.sim.memory import SimPointer
from opencute.sim.registry import Function, semantics
from opencute.sim.semantics.llvm import reading
from opencute.sim.sync.async_copies import copies_of
from opencute.sim.sync.atomics import apply
from opencute.sim.tiles import int_attr
from opencute.sim.values import Array, unsigned_dtype

__all__ = ["Atomic"]


def _word(op: Op, key: str) -> str:
    found = op.attributes[key]
    assert isinstance(found, StringAttr)
    return found.value


def _swizzle(pointer: Value) -> tuple[int, ...]:
    return pointer.type.swizzle if isinstance(pointer.type, PtrType) else ()


# ---------------------------------------------------------------------- loads and stores
def _access(op: Op, type: Any) -> Access:
    vector = isinstance(type, VectorType)
    run = type.length if isinstance(type, VectorType) else 1
    element = element_type(type)
    swizzle = _swizzle(op.operands[0])
    access = Access(op, element, vector=vector, run=run, align=256, widest=32, swizzle=swizzle)
    access.order = (_word(op, "sem"), _word(op, "scope"))
    return access


@semantics("ptx.load", lanes=True, taint="memory", sinks=((0, "an address"),))
def load(op: Op) -> Function:
    """One load, as wide as the value."""
    return reading(_access(op, op.results[0].type))


@semantics("ptx.store", lanes=True, taint="memory", sinks=((0, "an address"),))
def store(op: Op) -> Function:
    """One store, as wide as the value."""
    access = _access(op, op.operands[1].type)

    def run(lanes: Lanes, ptr: SimPointer, value: Any, taints: Any = (None, None)) -> None:
        access.write(lanes, value, ptr)
        access.leave(lanes, ptr, taints[1])

    return run


# ---------------------------------------------------------------------- atomics
def _exchange(old: Array, new: Array) -> Array:
    return new


def _increment(old: Array, top: Array) -> Array:
    a, b = old.view(np.uint32), top.view(np.uint32)
    return np.where(a >= b, np.uint32(0), a + np.uint32(1)).view(np.int32)


def _decrement(old: Array, top: Array) -> Array:
    a, b = old.view(np.uint32), top.view(np.uint32)
    return np.where((a == 0) | (a > b), b, a - np.uint32(1)).view(np.int32)


def _unsigned(fn: np.ufunc) -> Callable[..., Array]:
    def change(old: Array, new: Array) -> Array:
        dtype = unsigned_dtype(old.dtype)
        return fn(old.view(dtype), new.view(dtype)).view(old.dtype)

    return change


_CHANGES: dict[str, Callable[..., Any]] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "exch": _exchange, "inc": _increment,
    "dec": _decrement,
}  # fmt: skip
_TINY = np.finfo(np.float32).tiny


def _flushed(value: Array) -> Array:
    """Subnormal numbers as zeros of their sign."""
    return np.where(np.abs(value) < _TINY, np.copysign(np.float32(0), value), value)


def _flushing_add(a: Array, b: Array) -> Array:
    """What atom.add.f32 does in global memory."""
    return _flushed(_flushed(a) + _flushed(b))


class Atomic:
    """One atomic operation, for any number of lanes.

    Args:
        op: the operation; its operands are a pointer, then a value.
        word: what it does.
        order: memory order and scope, where the operation does not name them.
    """

    def __init__(self, op: Op, word: str, order: tuple[str, str] | None = None) -> None:
        type = op.operands[1].type
        vector = isinstance(type, VectorType)
        self.count = type.length if isinstance(type, VectorType) else 1
        self.access = Access(
            op, element_type(type), vector=vector, run=self.count, align=256, widest=16,
            swizzle=_swizzle(op.operands[0]),
        )  # fmt: skip
        self.access.order = order or (_word(op, "sem"), _word(op, "scope"))
        self.word = word
        self.flushes = word == "add" and element_type(type) == F32
        self.change: Callable[..., Any] = _CHANGES.get(word, _swap)
        if "unsigned" in op.attributes and word in ("min", "max"):
            self.change = _unsigned(np.minimum if word == "min" else np.maximum)

    def __call__(self, lanes: Lanes, ptr: SimPointer, *values: Any) -> Any:
        return self.access.update(lanes, ptr, self._run, *values)

    def _run(
        self, items: Array, index: Array, values: tuple[Any, ...], lanes: Lanes, buffer: Any
    ) -> Array:
        change = self.change
        if self.flushes and buffer.space != "smem":
            change = _flushing_add
        order = lanes.run.turns
        flat = index.reshape(-1)
        out = np.empty((lanes.n, self.count), items.dtype)
        news = False
        for j in range(self.count):
            own = [self._column(lanes, v, j, items.dtype) for v in values]
            at = flat + j
            if order is not None:
                at, own = at[order], [v[order] for v in own]
            old = apply(items, at, own, change)
            news = news or bool((items[at] != old).any())
            if order is None:
                out[:, j] = old
            else:
                out[order, j] = old
        if news:
            lanes.run.group.version += 1
        shape = (lanes.P, lanes.Q, self.count) if self.access.vector else (lanes.P, lanes.Q)
        return out.reshape(shape)

    def _column(self, lanes: Lanes, value: Any, j: int, dtype: Any) -> Array:
        if type(value) is not np.ndarray:
            return np.full(lanes.n, value, dtype)
        full = lanes.full(value)
        if self.access.vector:
            full = full[..., j]
        return np.ascontiguousarray(full).reshape(-1)


def _swap(old: Array, compare: Array, new: Array) -> Array:
    return np.where(old == compare, new, old)


def _atomic_sinks(op: Op) -> list[tuple[int, str]]:
    return [(i, "an atomic operation") for i in range(len(op.operands))]


@semantics("ptx.atomic", lanes=True, sinks=_atomic_sinks)
def atomic(op: Op) -> Function:
    """Combine memory with a value; the old one is the result."""
    return Atomic(op, _word(op, "op"))


@semantics("ptx.red", lanes=True, sinks=_atomic_sinks)
def red(op: Op) -> Function:
    """Combine memory with a value."""
    run = Atomic(op, _word(op, "op"))

    def only(lanes: Lanes, ptr: SimPointer, value: Any) -> None:
        run(lanes, ptr, value)

    return only


@semantics("ptx.cas", lanes=True, sinks=_atomic_sinks)
def cas(op: Op) -> Function:
    """Store a value where memory equals another."""
    return Atomic(op, "cas")


@semantics("ptx.prefetch", lanes=True, sinks=((0, "an address"),))
def prefetch(op: Op) -> Function:
    """A hint: there has to be an element at the address, and nothing else happens."""
    pointer = op.operands[0].type
    element = pointer.element if isinstance(pointer, PtrType) else I8
    access = Access(op, element, vector=False, natural=False, swizzle=_swizzle(op.operands[0]))
    return lambda lanes, ptr: access.touch(lanes, ptr)


# ---------------------------------------------------------------------- asynchronous copies
def _copy_sinks(op: Op) -> list[tuple[int, str]]:
    return [(i, "an address") for i in range(len(op.operands))]


@semantics("ptx.cp_async", lanes=True, sinks=_copy_sinks)
def cp_async(op: Op) -> Function:
    """Start a copy; it takes place when it is waited for."""
    return _AsyncCopy(op, int_attr(op, "bytes"))


class _AsyncCopy:
    def __init__(self, op: Op, size: int) -> None:
        self.op, self.size = op, size
        self.access = Access(op, I8, vector=True, run=size, align=size)
        swizzle = _swizzle(op.operands[0])
        self.target = Access(op, I8, vector=True, run=size, align=size, swizzle=swizzle)
        self.bytewise = Access(op, I8, vector=True)

    def __call__(self, lanes: Lanes, dst: SimPointer, src: SimPointer, count: Any = None) -> None:
        if count is not None:
            self._check_count(lanes, count)
        self.target.begin(lanes, dst)
        values = (dst, src, count)
        copies_of(lanes.run.group).start(self.op, lanes, self.perform, self.check, values)

    def _check_count(self, lanes: Lanes, count: Any) -> None:
        bad = np.asarray((count < 0) | (count > self.size))
        if bad.any():
            where = tuple(np.argwhere(lanes.full(np.atleast_2d(bad)))[0])
            found = int(lanes.full(np.atleast_2d(np.asarray(count)))[where[:2]])
            raise SimulationError(
                f"cp.async of {self.size} bytes reads {found}, {lanes.name(where)}",
                code="OC3022", loc=self.op.loc, expected=f"0 to {self.size}", found=found,
            )  # fmt: skip

    def perform(self, lanes: Lanes, dst: SimPointer, src: SimPointer, count: Any) -> None:
        """Copy now."""
        if count is None or np.all(np.equal(count, self.size)):
            value = self.access.read(lanes, src)
            taint = self.access.garbage(lanes, src)
        else:
            value = self._filled(lanes, src, count)
            taint = None
        self.target.write(lanes, value, dst)
        self.target.leave(lanes, dst, taint)

    def check(self, lanes: Lanes, dst: SimPointer, src: SimPointer, count: Any) -> None:
        """Whether the source can be read."""
        if count is None or np.all(np.equal(count, self.size)):
            self.access.touch(lanes, src, verb="read")
            return
        starts = np.arange(self.size)
        self.bytewise.touch(lanes, src, starts, starts < self._counts(lanes, count), "read")

    @staticmethod
    def _counts(lanes: Lanes, count: Any) -> Array:
        """How many bytes each lane reads, (P, Q, 1)."""
        return lanes.full(np.atleast_2d(np.asarray(count)))[..., None]

    def _filled(self, lanes: Lanes, src: SimPointer, count: Any) -> Array:
        count = self._counts(lanes, count)
        if ((count == 0) | (count == self.size)).all():
            return self.access.read_where(lanes, src, np.zeros(1, np.int64), count > 0)
        starts = np.arange(self.size)
        return self.bytewise.read_where(lanes, src, starts, starts < count)


@semantics("ptx.cp_async_commit", lanes=True)
def cp_async_commit(op: Op) -> Function:
    """Close a group of copies."""
    return lambda lanes: copies_of(lanes.run.group).commit(lanes)


@semantics("ptx.cp_async_wait", lanes=True)
def cp_async_wait(op: Op) -> Function:
    """Let the copies take place that have to."""
    groups = int_attr(op, "groups")
    return lambda lanes: copies_of(lanes.run.group).wait(lanes, groups)
