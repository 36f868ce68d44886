# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What is where in the shared memory of the kernel that is traced.

A kernel has one array of shared memory, which all allocators share; tracing gives each allocation
the next place in it::

    with planning(limit) as plan:          # what tracing a kernel does
        take(256, 16)                      # a pointer to the next 256 bytes, an SSA value
    plan.used                              # 256

With `merge_branches` the branches of a run-time `if` use the same places, since only one of them
runs in a block whose threads agree on the condition.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from opencute.base.errors import ArgumentError, LanguageError
from opencute.dialects import cute, smem
from opencute.ir.attributes import IntAttr
from opencute.ir.cleanup import constant_of
from opencute.ir.core import Value

__all__ = [
    "SmemPlan",
    "branches",
    "check_align",
    "current_plan",
    "is_member",
    "mark",
    "part",
    "place_of",
    "planning",
    "rewind",
    "take",
    "widened",
]


@dataclass
class SmemPlan:
    """How much of its shared memory a kernel has given away.

    Args:
        limit: bytes that a block may have.
        where: what has that limit, for messages.
        merge_branches: whether branches of a run-time `if` share memory.
        offset: where the next allocation begins, before alignment.
        used: the end of the furthest allocation.
    """

    limit: int
    where: str
    merge_branches: bool = False
    offset: int = 0
    used: int = 0
    pieces: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """What was given away: beginning and end."""
    runs: dict[int, int] = field(default_factory=dict[int, int])
    """Where members begin, and where the last of those ends that follow and hold the same type."""

    def take(self, size: int, align: int) -> int:
        """Give away `size` bytes; returns where they begin.

        Raises:
            ArgumentError: there is no room for them.
        """
        start = -(-self.offset // align) * align
        if start + size > self.limit:
            raise ArgumentError(
                f"the kernel allocates more shared memory than a block may have on {self.where}",
                code="OC2129", expected=f"at most {self.limit} bytes",
                found=f"{start + size} bytes ({start} before this allocation of {size})",
                hint="fewer pipeline stages or a smaller tile",
            )  # fmt: skip
        self.offset = start + size
        self.used = max(self.used, self.offset)
        self.pieces.append((start, self.offset))
        return start

    def end_of(self, place: int) -> int | None:
        """The end of the last allocation that a place is in, None if it is in none."""
        return next((b for a, b in reversed(self.pieces) if a <= place < b), None)


class _State(threading.local):
    plan: SmemPlan | None = None


_STATE = _State()


def current_plan() -> SmemPlan | None:
    """The plan of the kernel that is traced, None outside of kernels."""
    return _STATE.plan


@contextmanager
def planning(limit: int, where: str, *, merge_branches: bool = False) -> Generator[SmemPlan]:
    """Plan the shared memory of a kernel while it is traced."""
    before = _STATE.plan
    plan = _STATE.plan = SmemPlan(limit, where, merge_branches)
    try:
        yield plan
    finally:
        _STATE.plan = before


def mark() -> tuple[int, int, int]:
    """How far allocation has come, for `rewind`."""
    plan = _STATE.plan
    return (plan.offset, plan.used, len(plan.pieces)) if plan is not None else (0, 0, 0)


def rewind(to: tuple[int, int, int]) -> None:
    """Take back what was allocated since a mark: its code is traced anew."""
    plan = _STATE.plan
    if plan is not None:
        plan.offset, plan.used, count = to
        del plan.pieces[count:]


@contextmanager
def branches() -> Generator[Callable[[], None]]:
    """Trace branches of which one runs; each begins with a call of what this gives.

    Where branches share memory, each allocates from the same place on, and what follows comes after
    the furthest of them.
    """
    plan = _STATE.plan
    start = plan.offset if plan is not None else 0
    furthest = start

    def begin() -> None:
        nonlocal furthest
        if plan is not None and plan.merge_branches:
            furthest = max(furthest, plan.offset)
            plan.offset = start

    yield begin
    if plan is not None and plan.merge_branches:
        plan.offset = max(furthest, plan.offset)


def check_align(align: int) -> None:
    """Refuse what is no alignment in shared memory."""
    if align < 1 or align & (align - 1) or align > smem.BASE_ALIGN:
        raise ArgumentError(
            "no such alignment in shared memory", code="OC2129",
            expected=f"a power of two, at most {smem.BASE_ALIGN}", found=align,
        )  # fmt: skip


def take(size: int, align: int) -> Value:
    """A pointer to the next `size` bytes of shared memory, with an alignment or better.

    Raises:
        LanguageError: outside of a kernel.
        ArgumentError: no room, or no such alignment.
    """
    plan = _STATE.plan
    if plan is None:
        raise LanguageError(
            "shared memory is allocated outside of a kernel", code="OC1137",
            hint="only functions decorated with @cute.kernel, and what they call, have any",
        )  # fmt: skip
    if size < 0:
        raise ArgumentError("an allocation of negative size", code="OC2129", found=size)
    check_align(align)
    start = plan.take(size, align)
    known = min(start & -start, smem.BASE_ALIGN) if start else smem.BASE_ALIGN
    return smem.smem_alloc(start, size, known)


def place_of(value: Value) -> int | None:
    """The byte of the block's shared memory that a pointer is to, None if that is not known.

    It is for a pointer made of an allocation by steps that are known while tracing.
    """
    op, steps = value.op, 0
    while op is not None and op.name in ("cute.recast", "cute.ptr_add"):
        source = op.operands[0]
        if op.name == "cute.ptr_add":
            step = constant_of(op.operands[1])
            if not isinstance(step, IntAttr) or not isinstance(source.type, cute.PtrType):
                return None
            bits = step.value * cute.storage_bits(source.type.element)
            if bits % 8:
                return None
            steps += bits // 8
        op = source.op
    return op.offset.value + steps if isinstance(op, smem.SmemAllocOp) else None


def part(place: int, size: int, align: int, label: str, run: int = 0) -> Value:
    """A pointer to some bytes of an allocation, a member of a struct, which are an array of their
    own: an access outside of them is found, also where it stays in the allocation.

    Args:
        run: bytes up to the end of the members that follow without a gap and hold the same type.
    """
    if _STATE.plan is not None:
        _STATE.plan.runs[place] = place + max(run, size)
    return smem.smem_alloc(place, size, align, label)


def widened(value: Value, size: int | None, *, alike: bool = False) -> Value:
    """A pointer by which more bytes can be accessed than its member has, if its allocation has
    them: who lays a larger tensor over a member means what follows it, too.

    Args:
        size: bytes of the tensor, None if they are not known.
        alike: only what follows in members of the same type is meant.
    """
    op, plan, place, type = _origin(value), _STATE.plan, place_of(value), value.type
    if plan is None or place is None or op is None or "label" not in op.attributes:
        return value
    end = plan.runs.get(op.offset.value) if alike else plan.end_of(place)
    room = op.offset.value + op.bytes.value - place
    if end is None or end - place <= room or (size is not None and size <= room):
        return value
    assert isinstance(type, cute.PtrType)
    whole = smem.smem_alloc(place, end - place, type.align)
    return whole if whole.type == type else cute.recast(whole, type)


def is_member(value: Value) -> bool:
    """Whether a pointer is to a member of a struct in shared memory, as far as that is known."""
    op = _origin(value)
    return op is not None and "label" in op.attributes


def _origin(value: Value) -> smem.SmemAllocOp | None:
    op = value.op
    while op is not None and op.name in ("cute.recast", "cute.ptr_add"):
        op = op.operands[0].op
    return op if isinstance(op, smem.SmemAllocOp) else None
