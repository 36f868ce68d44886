# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Shared memory of a block: where an allocation lies, and how much the launch asked for.

A kernel has one array of shared memory. Tracing gives each allocation a place in it, so that an
allocation is an offset and a number of bytes::

    %p = "cute.smem_alloc"() {bytes = 512, offset = 1024} : () -> !cute.ptr<i8, smem, align<1024>>

A member of a struct is an allocation in that of the struct; `label` is its name for messages. The
kernel's attribute ``cute.smem_bytes`` is the end of its last allocation.
"""

from __future__ import annotations

from opencute.base.errors import VerificationError
from opencute.dialects.cute import POINTER, PtrType
from opencute.dialects.llvm import PTR, SHARED, LLVMPointerType
from opencute.ir.attributes import Attribute, IntAttr, StringAttr
from opencute.ir.builder import build1
from opencute.ir.core import Op, OpResult
from opencute.ir.declare import SCALAR_INT, Trait, attr, op, result
from opencute.ir.types import I8, I32, I64

__all__ = [
    "BASE_ALIGN",
    "SmemAllocOp",
    "SmemBaseOp",
    "SmemSizeOp",
    "smem_alloc",
    "smem_base",
    "smem_size",
]

BASE_ALIGN = 1024
"""Alignment of a block's shared memory, in bytes: what the widest swizzles and TMA ask for."""


@op("cute.smem_alloc", Trait.PURE)
class SmemAllocOp(Op):
    """The shared bytes `offset` to `offset + bytes` of the block; `offset` suits the alignment."""

    offset = attr(IntAttr)
    bytes = attr(IntAttr)
    label = attr(StringAttr, required=False)
    out = result(POINTER)

    def verify(self) -> None:
        type, offset = self.out.type, self.offset.value
        assert isinstance(type, PtrType)
        if (type.element, type.space) != (I8, "smem"):
            raise VerificationError(
                "cute.smem_alloc: the result points to bytes of shared memory",
                code="OC1460", loc=self.loc, expected="!cute.ptr<i8, smem, ...>", found=type,
            )  # fmt: skip
        if offset < 0 or self.bytes.value < 0 or offset % type.align or type.align > BASE_ALIGN:
            raise VerificationError(
                "cute.smem_alloc: no such place in shared memory", code="OC1461", loc=self.loc,
                expected=f"an offset of 0 or more, a multiple of {type.align} (at most "
                f"{BASE_ALIGN}), and a size of 0 or more",
                found=f"offset {offset}, {self.bytes.value} bytes",
            )  # fmt: skip


@op("cute.smem_size", Trait.PURE)
class SmemSizeOp(Op):
    """Bytes of dynamic shared memory that the launch asked for, as an i32."""

    out = result(SCALAR_INT)


@op("ptx.smem_base", Trait.PURE)
class SmemBaseOp(Op):
    """Where the block's shared memory begins; what cute.smem_alloc is lowered to."""

    out = result(PTR)


def smem_alloc(offset: int, bytes: int, align: int = 16, label: str = "") -> OpResult:
    """A pointer to `bytes` of the block's shared memory from `offset` on, with a name."""
    attrs: dict[str, Attribute] = {"offset": IntAttr(offset, I64), "bytes": IntAttr(bytes, I64)}
    if label:
        attrs["label"] = StringAttr(label)
    return build1("cute.smem_alloc", (), PtrType(I8, "smem", align), attrs)


def smem_size() -> OpResult:
    """Dynamic shared memory of this launch, in bytes."""
    return build1("cute.smem_size", (), I32)


def smem_base() -> OpResult:
    """The address of the block's shared memory."""
    return build1("ptx.smem_base", (), LLVMPointerType(SHARED))
