# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Types and constants as LLVM writes them.

>>> llvm_type(VectorType(8, F16)), constant_text(FloatAttr(1.0, F16))
('<8 x half>', '0xH3C00')
"""

from __future__ import annotations

import struct
from functools import lru_cache

from opencute.base.errors import ToolchainError
from opencute.dialects.hopper.tensor_maps import TmaDescType
from opencute.dialects.llvm import LLVMPointerType, LLVMStructType
from opencute.ir.attributes import Attribute, DenseAttr, FloatAttr, IntAttr
from opencute.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    FloatType,
    IndexType,
    IntegerType,
    Type,
    VectorType,
)
from opencute.numeric.dtypes import DTYPES
from opencute.numeric.scalars import encode_scalar

__all__ = ["constant_text", "llvm_type", "mangled"]

_FLOATS = {"f16": "half", "bf16": "bfloat", "f32": "float", "tf32": "float", "f64": "double"}


@lru_cache(maxsize=4096)
def llvm_type(type: Type) -> str:
    """The LLVM spelling of a type. Floats that LLVM has no type for are integers of their width."""
    if isinstance(type, IntegerType):
        return f"i{type.width}"
    if isinstance(type, FloatType):
        return _FLOATS.get(type.name) or f"i{type.width}"
    if isinstance(type, VectorType):
        return f"<{type.length} x {llvm_type(type.element)}>"
    if isinstance(type, LLVMPointerType):
        return f"ptr addrspace({type.space})" if type.space else "ptr"
    if isinstance(type, LLVMStructType):
        return "{" + ", ".join(map(llvm_type, type.members)) + "}"
    if isinstance(type, IndexType):
        return "i64"
    if isinstance(type, TmaDescType):
        return "ptr"  # to the map's bytes
    raise ToolchainError(f"type {type} has no LLVM form", code="OC1520")


@lru_cache(maxsize=4096)
def mangled(type: Type) -> str:
    """The suffix of an overloaded intrinsic: ``v8f16``."""
    if isinstance(type, VectorType):
        return f"v{type.length}{mangled(type.element)}"
    if isinstance(type, LLVMPointerType):
        return f"p{type.space}"
    if isinstance(type, FloatType) and type.name in _FLOATS:
        return "f32" if type.name == "tf32" else type.name
    return llvm_type(type)


def constant_text(value: Attribute) -> str:
    """A constant without its type, as it stands where an operand stands."""
    if isinstance(value, DenseAttr):
        return _dense(value)
    if isinstance(value, FloatAttr):
        return _float(value)
    if isinstance(value, IntAttr):
        if value.type == IntegerType(1):
            return "true" if value.value else "false"
        return str(value.value)
    raise ToolchainError(f"constant {value} has no LLVM form", code="OC1520")


def _float(attr: FloatAttr) -> str:
    type, value = attr.type, attr.value
    if type == F16:
        return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    if type == BF16:
        return f"0xR{struct.unpack('<I', struct.pack('<f', value))[0] >> 16:04X}"
    if type in (F32, F64) or type.name == "tf32":
        # LLVM writes an f32 as the double of the same value.
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    # LLVM has no such type: its bits.
    return str(encode_scalar(value, DTYPES[type.name.lower()]))


def _dense(attr: DenseAttr) -> str:
    assert isinstance(attr.type, VectorType)
    element = llvm_type(attr.type.element)
    texts = [constant_text(i) for i in attr.items]
    if len(texts) == 1:
        if texts[0] in ("0", "false", "0x0000000000000000", "0xH0000", "0xR0000"):
            return "zeroinitializer"
        return f"splat ({element} {texts[0]})"
    return "<" + ", ".join(f"{element} {t}" for t in texts) + ">"
