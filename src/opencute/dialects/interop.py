# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Between pointers of the `cute` and of the `llvm` dialect: the same address, another type."""

from __future__ import annotations

from opencute.base.errors import VerificationError
from opencute.dialects.cute import POINTER, PtrType
from opencute.dialects.llvm import CLUSTER, GENERIC, GLOBAL, PTR, SHARED, LLVMPointerType
from opencute.ir.builder import build1
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import Trait, op, operand, result

__all__ = ["LLVM_SPACES", "FromLLVMOp", "ToLLVMOp", "from_llvm", "to_llvm"]

LLVM_SPACES = {
    "generic": GENERIC, "gmem": GLOBAL, "smem": SHARED, "rmem": GENERIC, "dsmem": CLUSTER,
}  # fmt: skip
"""The address space that each memory has at the llvm level."""


def _check(op_: Op, cute_type: object, llvm_type: object) -> None:
    assert isinstance(cute_type, PtrType) and isinstance(llvm_type, LLVMPointerType)
    wanted = LLVM_SPACES.get(cute_type.space)
    if llvm_type.space not in (wanted, GENERIC):
        raise VerificationError(
            f"{op_.name}: wrong address space", code="OC1492", loc=op_.loc,
            expected=wanted, found=llvm_type.space,
        )  # fmt: skip


@op("cute.to_llvm", Trait.PURE)
class ToLLVMOp(Op):
    """A cute pointer as an llvm pointer of its memory's address space, or a generic one."""

    value = operand(POINTER)
    out = result(PTR)

    def verify(self) -> None:
        _check(self, self.value.type, self.out.type)


@op("cute.from_llvm", Trait.PURE)
class FromLLVMOp(Op):
    """An llvm pointer as a cute pointer."""

    value = operand(PTR)
    out = result(POINTER)


def to_llvm(ptr: Value, space: int | None = None) -> OpResult:
    """A cute pointer as an llvm pointer; `space`: its memory's, or 0."""
    type = ptr.type
    assert isinstance(type, PtrType)
    wanted = LLVM_SPACES.get(type.space, GENERIC) if space is None else space
    return build1("cute.to_llvm", (ptr,), LLVMPointerType(wanted))


def from_llvm(ptr: Value, type: PtrType) -> OpResult:
    """An llvm pointer as a cute pointer."""
    return build1("cute.from_llvm", (ptr,), type)
