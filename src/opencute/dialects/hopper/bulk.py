# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of runs of bytes that a thread starts and does not wait for, and the groups of those.

Where a copy goes to shared memory, an mbarrier there counts its bytes; copies to global memory
belong to the thread's bulk groups, which ``ptx.bulk_commit`` closes::

    "ptx.bulk_copy"(%dst, %src, %n, %bar) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>}
        : (!cute.ptr<f32, smem, align<16>>, !cute.ptr<f32, gmem, align<16>>, i32, ...) -> ()
    "ptx.bulk_copy"(%g, %s, %n) {...}     // shared to global memory
    "ptx.bulk_commit"()
    "ptx.bulk_wait"() {groups = 0, read = 1}
"""

from __future__ import annotations

from opencute.base.errors import VerificationError
from opencute.dialects.cute import PtrType
from opencute.dialects.hopper.tma import check_shared
from opencute.dialects.ptx import check_word
from opencute.ir.attributes import Attribute, DenseI32Attr, IntAttr, StringAttr
from opencute.ir.builder import build
from opencute.ir.core import Op, Value
from opencute.ir.declare import ANY, SCALAR_INT, Trait, attr, op, operand, optional
from opencute.ir.types import I16, I32, I64

__all__ = [
    "BULK_REDUCTIONS",
    "BulkCommitOp",
    "BulkCopyOp",
    "BulkPrefetchOp",
    "BulkReduceOp",
    "BulkWaitOp",
    "bulk_commit",
    "bulk_copy",
    "bulk_prefetch",
    "bulk_reduce",
    "bulk_wait",
]

_EFFECTS = Trait.READS | Trait.WRITES
_ALIGN = 16
_PATHS = (("gmem", "smem"), ("smem", "gmem"), ("smem", "dsmem"))
# Reductions by type, as PTX writes them.
BULK_REDUCTIONS: dict[str, tuple[str, ...]] = {
    "add": ("f16", "bf16", "f32", "f64", "s32", "u32", "u64"),
    "min": ("f16", "bf16", "s32", "u32", "s64", "u64"),
    "max": ("f16", "bf16", "s32", "u32", "s64", "u64"),
    "inc": ("u32",), "dec": ("u32",),
    "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"),
}  # fmt: skip


def _wrong(op_: Op, what: str, expected: object, found: object) -> VerificationError:
    return VerificationError(
        f"{op_.name}: {what}", code="OC1436", loc=op_.loc, expected=expected, found=found
    )


def _check_path(op_: BulkCopyOp | BulkReduceOp) -> None:
    src, dst = op_.src.type, op_.dst.type
    if not isinstance(src, PtrType) or not isinstance(dst, PtrType):
        return
    path = src.space, dst.space
    paths = _PATHS if isinstance(op_, BulkCopyOp) else _PATHS[1:]
    if path not in paths:
        raise _wrong(
            op_, "no copy between these memories", " or ".join(f"{a} to {b}" for a, b in paths),
            f"{path[0]} to {path[1]}",
        )  # fmt: skip
    if min(src.align, dst.align) < _ALIGN:
        raise _wrong(op_, "addresses are multiples of 16 bytes", "align<16>", f"{src}, {dst}")
    if (op_.bar is not None) != (dst.space != "gmem"):
        raise _wrong(op_, "a barrier counts copies to shared memory only", "a barrier for those",
                     f"to {dst.space}")  # fmt: skip
    if op_.bar is not None:
        space = "dsmem" if dst.space == "dsmem" else "smem"
        check_shared(op_, op_.bar, 8, (space,))


@op("ptx.bulk_copy", _EFFECTS)
class BulkCopyOp(Op):
    """Start copying `size` (i32) bytes, a multiple of 16: global to shared memory (with `mask`, to
    several blocks of the cluster), shared to global memory, or to shared memory of another block;
    `cache` is a cache policy."""

    dst = operand()
    src = operand()
    size = operand(SCALAR_INT)
    bar = optional(ANY)
    mask = optional(SCALAR_INT)
    cache = optional(SCALAR_INT)

    def verify(self) -> None:
        _check_path(self)
        for value, type in ((self.size, I32), (self.mask, I16), (self.cache, I64)):
            if value is not None and value.type != type:
                raise _wrong(self, "wrong operand", type, value.type)


@op("ptx.bulk_reduce", _EFFECTS)
class BulkReduceOp(Op):
    """Start combining `size` (i32) bytes in global memory, or in shared memory of another block,
    with those of `src`: `op` is one of BULK_REDUCTIONS, `type` one of its types."""

    dst = operand()
    src = operand()
    size = operand(SCALAR_INT)
    bar = optional(ANY)
    cache = optional(SCALAR_INT)
    op = attr(StringAttr)
    type = attr(StringAttr)

    def verify(self) -> None:
        _check_path(self)
        word = check_word(self, "op", tuple(BULK_REDUCTIONS))
        check_word(self, "type", BULK_REDUCTIONS[word])
        if self.size.type != I32:
            raise _wrong(self, "wrong operand", I32, self.size.type)


@op("ptx.bulk_prefetch", _EFFECTS)
class BulkPrefetchOp(Op):
    """Start fetching `size` (i32) bytes of global memory into the L2 cache."""

    src = operand()
    size = operand(SCALAR_INT)
    cache = optional(SCALAR_INT)

    def verify(self) -> None:
        type = self.src.type
        if isinstance(type, PtrType) and (type.space != "gmem" or type.align < _ALIGN):
            raise _wrong(self, "a prefetch is of global memory", "gmem, align<16>", type)
        if self.size.type != I32:
            raise _wrong(self, "wrong operand", I32, self.size.type)


@op("ptx.bulk_commit", _EFFECTS)
class BulkCommitOp(Op):
    """Make the thread's copies to global memory since the last commit a group."""


@op("ptx.bulk_wait", _EFFECTS | Trait.BLOCKING)
class BulkWaitOp(Op):
    """Wait until at most `groups` of the thread's newest groups are under way; with `read` 1, only
    until they have read their sources."""

    groups = attr(IntAttr)
    read = attr(IntAttr)

    def verify(self) -> None:
        if self.groups.value < 0 or self.read.value not in (0, 1):
            raise _wrong(self, "no such wait", "groups >= 0, read 0 or 1",
                         f"groups {self.groups.value}, read {self.read.value}")  # fmt: skip


def _some(value: Value | None) -> tuple[Value, ...]:
    return () if value is None else (value,)


def _segments(*values: Value | None) -> tuple[list[Value], DenseI32Attr]:
    return [v for v in values if v is not None], DenseI32Attr(tuple(len(_some(v)) for v in values))


def bulk_copy(
    dst: Value,
    src: Value,
    size: Value,
    bar: Value | None = None,
    *,
    mask: Value | None = None,
    cache: Value | None = None,
) -> Op:
    """Start copying a run of bytes."""
    values, sizes = _segments(dst, src, size, bar, mask, cache)
    return build("ptx.bulk_copy", values, (), {"operandSegmentSizes": sizes})


def bulk_reduce(
    op: str,
    type: str,
    dst: Value,
    src: Value,
    size: Value,
    bar: Value | None = None,
    *,
    cache: Value | None = None,
) -> Op:
    """Start combining memory with a run of elements."""
    values, sizes = _segments(dst, src, size, bar, cache)
    attrs: dict[str, Attribute] = {
        "op": StringAttr(op), "type": StringAttr(type), "operandSegmentSizes": sizes,
    }  # fmt: skip
    return build("ptx.bulk_reduce", values, (), attrs)


def bulk_prefetch(src: Value, size: Value, cache: Value | None = None) -> Op:
    """Start fetching a run of bytes into the L2 cache."""
    return build("ptx.bulk_prefetch", (src, size, *_some(cache)))


def bulk_commit() -> Op:
    """Close a group of copies to global memory."""
    return build("ptx.bulk_commit")


def bulk_wait(groups: int, *, read: bool = False) -> Op:
    """Wait until at most `groups` groups are under way, or still read."""
    attrs: dict[str, Attribute] = {
        "groups": IntAttr(groups, I64), "read": IntAttr(int(read), I64),
    }  # fmt: skip
    return build("ptx.bulk_wait", (), (), attrs)
