# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Types and constants as LLVM text."""

from __future__ import annotations

import pytest

from opencute.base.errors import ToolchainError
from opencute.codegen.llvm_types import constant_text, llvm_type, mangled
from opencute.dialects.llvm import LLVMPointerType
from opencute.ir.attributes import DenseAttr, FloatAttr, IntAttr, StringAttr
from opencute.ir.types import BF16, F16, F32, F64, I1, I8, I32, FloatType, NoneType, VectorType

pytestmark = pytest.mark.t0


def test_types() -> None:
    assert llvm_type(VectorType(8, F16)) == "<8 x half>"
    assert llvm_type(LLVMPointerType(1)) == "ptr addrspace(1)"
    assert llvm_type(LLVMPointerType(0)) == "ptr"
    assert llvm_type(FloatType("f8E4M3FN", 8)) == "i8"
    assert mangled(VectorType(4, BF16)) == "v4bf16"
    with pytest.raises(ToolchainError):
        llvm_type(NoneType())


def test_constants() -> None:
    assert constant_text(FloatAttr(1.0, F16)) == "0xH3C00"
    assert constant_text(FloatAttr(1.0, BF16)) == "0xR3F80"
    assert constant_text(FloatAttr(0.5, F32)) == constant_text(FloatAttr(0.5, F64))
    assert constant_text(FloatAttr(float("inf"), F32)) == "0x7FF0000000000000"
    assert constant_text(IntAttr(-3, I32)) == "-3" and constant_text(IntAttr(1, I1)) == "true"


def test_vectors() -> None:
    zero = DenseAttr((FloatAttr(0.0, F16),), VectorType(8, F16))
    assert constant_text(zero) == "zeroinitializer"
    minus = DenseAttr((FloatAttr(-0.0, F16),), VectorType(8, F16))
    assert constant_text(minus) == "splat (half 0xH8000)"
    pair = DenseAttr((IntAttr(1, I8), IntAttr(2, I8)), VectorType(2, I8))
    assert constant_text(pair) == "<i8 1, i8 2>"
    with pytest.raises(ToolchainError):
        constant_text(StringAttr("x"))
