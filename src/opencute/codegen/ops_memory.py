# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How `llvm`, `ptx` and print operations are printed as LLVM IR.

``llvm.load %p {alignment = 16} : !llvm.ptr<1> -> vector<8xf16>`` becomes
``load <8 x half>, ptr addrspace(1) %p, align 16``.
"""

from __future__ import annotations

import re

from opencute.arch.sregs import SREG_BOUNDS
from opencute.base.errors import ToolchainError
from opencute.codegen.emitter import Emitter, OpPrinter
from opencute.codegen.llvm_types import llvm_type
from opencute.codegen.ops_block import sreg_intrinsic
from opencute.dialects.llvm import LLVMPointerType
from opencute.dialects.ptx import SRegOp
from opencute.ir.attributes import DenseI32Attr, IntAttr, StringAttr, TypeAttr
from opencute.ir.core import Op, Value
from opencute.ir.types import F64, FloatType, IntegerType, Type

__all__ = ["MEMORY", "print_arguments"]

_DYNAMIC = -(1 << 31)


def _int(op: Op, key: str) -> int:
    attr = op.attributes[key]
    assert isinstance(attr, IntAttr)
    return attr.value


def _type(op: Op, key: str) -> str:
    attr = op.attributes[key]
    assert isinstance(attr, TypeAttr)
    return llvm_type(attr.value)


def _text(op: Op, key: str) -> str:
    attr = op.attributes[key]
    assert isinstance(attr, StringAttr)
    return attr.value


def _gep(e: Emitter, op: Op) -> None:
    raw = op.attributes["rawConstantIndices"]
    assert isinstance(raw, DenseI32Attr)
    base = op.operands[0]
    index = e.typed(op.operands[1]) if raw.values[0] == _DYNAMIC else f"i32 {raw.values[0]}"
    e.emit(op.results[0], f"getelementptr {_type(op, 'elem_type')}, {e.typed(base)}, {index}")


def _load(e: Emitter, op: Op) -> None:
    type = llvm_type(op.results[0].type)
    tail = ", !invariant.load !0" if "invariant" in op.attributes else ""
    align = _int(op, "alignment")
    e.emit(op.results[0], f"load {type}, {e.typed(op.operands[0])}, align {align}{tail}")


def _store(e: Emitter, op: Op) -> None:
    value, addr = op.operands
    e.void(f"store {e.typed(value)}, {e.typed(addr)}, align {_int(op, 'alignment')}")


def _alloca(e: Emitter, op: Op) -> None:
    size = op.operands[0].op
    count = size.attributes.get("value") if size is not None else None
    if not isinstance(count, IntAttr):
        raise ToolchainError("a stack slot needs a constant size", code="OC1524", loc=op.loc)
    e.names[op.results[0]] = e.alloca(_type(op, "elem_type"), count.value, _int(op, "alignment"))


def _cast(word: str) -> OpPrinter:
    def printer(e: Emitter, op: Op) -> None:
        e.emit(
            op.results[0], f"{word} {e.typed(op.operands[0])} to {llvm_type(op.results[0].type)}"
        )

    return printer


def _as_i32(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


def _sreg(e: Emitter, op: Op) -> None:
    assert isinstance(op, SRegOp)
    reg, name, type = op.reg.value, sreg_intrinsic(op), llvm_type(op.out.type)
    e.module.declare(f"declare {type} @{name}()")
    bounds = SREG_BOUNDS.get(reg)
    fact = f"range(i32 {bounds[0]}, {_as_i32(bounds[1] + 1)}) " if bounds else ""
    e.emit(op.results[0], f"call {fact}{type} @{name}()")


_CONVERSION = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l)?([a-zA-Z%])")


def print_arguments(e: Emitter, op: Op) -> tuple[str, list[tuple[str, str]]]:
    """The global with a print's format, and (type, operand) pairs, promoted as C does."""
    text = _text(op, "format")
    kinds = [m[1] for m in _CONVERSION.finditer(text) if m[1] != "%"]
    if len(kinds) != len(op.operands):
        raise ToolchainError(
            "cute.print: format and arguments differ in number",
            code="OC1525", loc=op.loc, expected=len(kinds), found=len(op.operands),
        )  # fmt: skip
    data = text.encode() + b"\0"
    body = "".join(chr(b) if 0x20 <= b < 0x7F and b not in b'"\\' else f"\\{b:02X}" for b in data)
    constant = f'private unnamed_addr constant [{len(data)} x i8] c"{body}", align 1'
    fmt = e.module.global_name(constant, ".fmt")
    return fmt, [_promote(e, k, v) for k, v in zip(kinds, op.operands, strict=True)]


def _print(e: Emitter, op: Op) -> None:
    """printf: arguments go to a buffer in local memory, each at a multiple of its size."""
    fmt, arguments = print_arguments(e, op)
    places: list[int] = []
    offset = 0
    for type, _ in arguments:
        size = 4 if type == "i32" else 8
        places.append(-(-offset // size) * size)
        offset = places[-1] + size
    buffer = e.alloca("i8", offset, 8) if arguments else "null"
    for (type, value), at in zip(arguments, places, strict=True):
        place = e.assign(f"getelementptr i8, ptr {buffer}, i32 {at}")
        e.void(f"store {type} {value}, ptr {place}, align {4 if type == 'i32' else 8}")
    e.call("vprintf", "i32", [("ptr", fmt), ("ptr", buffer)])


def _promote(e: Emitter, kind: str, value: Value) -> tuple[str, str]:
    type: Type = value.type
    text = llvm_type(type)
    if isinstance(type, LLVMPointerType):
        name = e.ref(value)
        return "ptr", e.assign(f"addrspacecast {text} {name} to ptr") if type.space else name
    if isinstance(type, FloatType):
        return "double", e.ref(value) if type == F64 else e.assign(
            f"fpext {text} {e.ref(value)} to double"
        )
    assert isinstance(type, IntegerType)
    if type.width >= 32:
        return text, e.ref(value)
    word = "sext" if kind in "di" and type.width > 1 else "zext"
    return "i32", e.assign(f"{word} {text} {e.ref(value)} to i32")


MEMORY: dict[str, OpPrinter] = {
    "llvm.getelementptr": _gep,
    "llvm.load": _load,
    "llvm.store": _store,
    "llvm.alloca": _alloca,
    "llvm.addrspacecast": _cast("addrspacecast"),
    "llvm.ptrtoint": _cast("ptrtoint"),
    "llvm.inttoptr": _cast("inttoptr"),
    "ptx.sreg": _sreg,
    "cute.print": _print,
}
