# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How inline assembly is printed as LLVM IR.

``llvm.inline_asm`` with an i1 in a 32-bit register becomes::

    %1 = zext i1 %a to i32
    %2 = call i32 asm sideeffect "setp.ne.b32 p, $1, 0; ...", "=r,r"(i32 %1) #0
    %3 = trunc i32 %2 to i1

Assembly that a user wrote carries its number (``opencute.asm``) as a comment, by which `origin`
finds the user's line when ptxas rejects the text.
"""

from __future__ import annotations

from collections.abc import Sequence

from opencute.codegen.emitter import Emitter, OpPrinter
from opencute.codegen.llvm_types import llvm_type
from opencute.dialects.asm.constraints import AsmOperand, parse_constraints, type_bits
from opencute.dialects.llvm import LLVMStructType, asm_results
from opencute.ir.attributes import DenseI32Attr, IntAttr, StringAttr
from opencute.ir.core import Op, Value
from opencute.ir.types import Type

__all__ = ["ASM", "MARK"]

MARK = "opencute.asm"
"""The attribute that numbers assembly written by the user, and the word of the comment in PTX."""


def _text(op: Op, key: str) -> str:
    attr = op.attributes[key]
    assert isinstance(attr, StringAttr)
    return attr.value


def _escaped(text: str) -> str:
    return "".join(
        c if 0x20 <= ord(c) < 0x7F and c not in '"\\' else f"\\{ord(c):02X}" for c in text
    )


def _register(slot: AsmOperand, type: Type) -> str:
    """The LLVM type that stands in a register: the value's, or an integer of full width."""
    bits = type_bits(type)
    return llvm_type(type) if slot.bits == 0 or bits == slot.bits else f"i{slot.bits}"


def _argument(e: Emitter, slot: AsmOperand, value: Value) -> str:
    register = _register(slot, value.type)
    if register == llvm_type(value.type):
        return e.typed(value)
    return f"{register} {e.assign(f'zext {e.typed(value)} to {register}')}"


def _group(e: Emitter, op: Op) -> str:
    effects = op.attributes.get("opencute.effects")
    words = effects.value.split() if isinstance(effects, StringAttr) else None
    if words is None:
        words = ["volatile", "convergent"] if "has_side_effects" in op.attributes else []
        memory = ""
    else:
        reads, writes = "reads" in words, "writes" in words
        known = {(False, False): "none", (True, False): "read", (False, True): "write"}
        memory = f" memory({known[reads, writes]})" if (reads, writes) in known else ""
    attrs = ("convergent " if "convergent" in words else "") + "nounwind" + memory
    return e.module.attribute_group(attrs) if attrs != "nounwind" else ""


def _inline_asm(e: Emitter, op: Op) -> None:
    constraints = _text(op, "constraints")
    signature = parse_constraints(constraints)
    number = op.attributes.get(MARK)
    mark = f"// {MARK} {number.value}\n" if isinstance(number, IntAttr) else ""
    args = [_argument(e, s, v) for s, v in zip(signature.inputs, op.operands, strict=True)]
    types = asm_results(op)
    registers = [_register(s, t) for s, t in zip(signature.outputs, types, strict=True)]
    ret = "void" if not types else registers[0]
    if len(types) > 1 or (op.results and isinstance(op.results[0].type, LLVMStructType)):
        ret = "{" + ", ".join(registers) + "}"
    if "cute.library" in op.attributes:
        e.module.libraries[_text(op, "cute.library")] = None
    sideeffect = "sideeffect " if "has_side_effects" in op.attributes else ""
    group = _group(e, op)
    call = (
        f'call {ret} asm {sideeffect}"{_escaped(mark + _text(op, "asm_string").strip())}", '
        f'"{constraints.replace(" ", "")}"({", ".join(args)}){" " + group if group else ""}'
    )
    if not types:
        e.void(call)
    else:
        _results(e, op, ret, e.assign(call), list(zip(registers, types, strict=True)))


def _results(e: Emitter, op: Op, ret: str, name: str, members: Sequence[tuple[str, Type]]) -> None:
    same = all(register == llvm_type(type) for register, type in members)
    if not ret.startswith("{"):
        e.names[op.results[0]] = _narrowed(e, name, *members[0])
    elif len(op.results) != 1 or not same:
        parts = [
            _narrowed(e, e.assign(f"extractvalue {ret} {name}, {i}"), register, type)
            for i, (register, type) in enumerate(members)
        ]
        if isinstance(op.results[0].type, LLVMStructType):
            packed, whole = "poison", llvm_type(op.results[0].type)
            for i, (part, (_, type)) in enumerate(zip(parts, members, strict=True)):
                packed = e.assign(f"insertvalue {whole} {packed}, {llvm_type(type)} {part}, {i}")
            parts = [packed]
        e.names.update(zip(op.results, parts, strict=True))
    else:
        e.names[op.results[0]] = name


def _narrowed(e: Emitter, name: str, register: str, type: Type) -> str:
    wanted = llvm_type(type)
    return name if register == wanted else e.assign(f"trunc {register} {name} to {wanted}")


def _extractvalue(e: Emitter, op: Op) -> None:
    where = op.attributes["position"]
    assert isinstance(where, DenseI32Attr)
    e.emit(op.results[0], f"extractvalue {e.typed(op.operands[0])}, {where.values[0]}")


ASM: dict[str, OpPrinter] = {"llvm.inline_asm": _inline_asm, "llvm.extractvalue": _extractvalue}
