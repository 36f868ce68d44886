# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR for elementwise operations: what one operation does to one lane.

In: an operation of the IR and names of LLVM values. Out: lines of LLVM IR, with the same bits as
the rules of `opencute.sim.semantics`, but for the payload of a NaN, which `numbers.nans` settles
before anyone sees it. `fusable` says which operations there are lines for::

    emit(op, "%r", ["%a", "%b"])  # ['%r = add i32 %a, %b']
"""

from __future__ import annotations

from opencute.dialects.arith import CMPF, CMPI
from opencute.dialects.cute import PtrType, storage_bits
from opencute.ir.attributes import IntAttr
from opencute.ir.core import Op
from opencute.ir.types import FloatType, IndexType, IntegerType, Type, VectorType, element_type

__all__ = ["divisor", "emit", "fusable", "llvm_type", "vector_length"]

_INTEGER = {
    "addi": "add", "subi": "sub", "muli": "mul", "andi": "and", "ori": "or", "xori": "xor",
}  # fmt: skip
_LOGIC = ("andi", "ori", "xori")
_FLOAT = {"addf": "fadd", "subf": "fsub", "mulf": "fmul", "divf": "fdiv"}
_DIVISIONS = ("divui", "remui", "divsi", "remsi", "floordivsi")
_RESIZE = ("extsi", "extui", "trunci", "index_cast")
_FLOATS = {"f16": "half", "f32": "float", "f64": "double"}


def llvm_type(type: Type) -> str:
    """The LLVM type of an element, empty where there is none here."""
    element = element_type(type)
    if isinstance(element, IndexType | PtrType):
        return "i64"
    if isinstance(element, IntegerType):
        return f"i{element.width}" if element.width in (1, 8, 16, 32, 64) else ""
    return _FLOATS.get(element.name, "") if isinstance(element, FloatType) else ""


def vector_length(op: Op) -> int:
    """The length of the vectors that an operation works on, 0 for scalars."""
    type = op.results[0].type
    return type.length if isinstance(type, VectorType) else 0


def divisor(op: Op) -> int | None:
    """Which operand must be the same positive number for all lanes, if one must."""
    return 1 if op.name[6:] in _DIVISIONS else None


def fusable(op: Op) -> bool:
    """Whether there are lines for an operation."""
    if len(op.results) != 1 or op.regions:
        return False
    types = [v.type for v in (*op.operands, *op.results)]
    if not all(llvm_type(t) for t in types):
        return False
    if len({t.length if isinstance(t, VectorType) else 0 for t in types}) > 1:
        return False
    if op.name == "cute.ptr_add":
        pointer = op.operands[0].type
        return isinstance(pointer, PtrType) and storage_bits(pointer.element) % 8 == 0
    if any(isinstance(t, PtrType) for t in types):
        return False
    if op.name == "math.fma":
        return llvm_type(types[0]) == "float"
    if op.dialect != "arith":
        return False
    name = op.name[6:]
    first, wide = llvm_type(types[0]), llvm_type(types[0]) != "i1"
    if name in _DIVISIONS:
        return first == "i32"
    if name in ("cmpi", *_INTEGER):
        return wide or name in _LOGIC
    return name in ("select", "cmpf", "extf", *_FLOAT) or (
        name in _RESIZE and (wide or name != "index_cast")
    )


def emit(op: Op, out: str, args: list[str]) -> list[str]:
    """Lines that compute one lane of the result."""
    type = llvm_type(op.operands[0].type)
    if op.name == "cute.ptr_add":
        return _moved(op, out, args)
    if op.name == "math.fma":
        a, b, c = args
        return [f"{out} = call float @llvm.fma.f32(float {a}, float {b}, float {c})"]
    name = op.name[6:]
    plain = _INTEGER.get(name) or _FLOAT.get(name)
    if plain is not None:
        return [f"{out} = {plain} {type} {args[0]}, {args[1]}"]
    if name in ("cmpi", "cmpf"):
        return [f"{out} = {_compare(op)} {type} {args[0]}, {args[1]}"]
    if name == "select":
        kept = llvm_type(op.results[0].type)
        return [f"{out} = select i1 {args[0]}, {kept} {args[1]}, {kept} {args[2]}"]
    if name in _DIVISIONS:
        return _quotient(name, out, args)
    return _resized(name, out, args[0], type, llvm_type(op.results[0].type))


def _moved(op: Op, out: str, args: list[str]) -> list[str]:
    pointer = op.operands[0].type
    assert isinstance(pointer, PtrType)
    size = storage_bits(pointer.element) // 8
    lines, index = [], args[1]
    type = llvm_type(op.operands[1].type)
    if type != "i64":
        lines.append(f"{out}.x = sext {type} {index} to i64")
        index = f"{out}.x"
    lines.append(f"{out}.y = mul i64 {index}, {size}")
    return [*lines, f"{out} = add i64 {args[0]}, {out}.y"]


def _compare(op: Op) -> str:
    predicate = op.attributes["predicate"]
    assert isinstance(predicate, IntAttr)
    table = CMPI if op.name == "arith.cmpi" else CMPF
    name = next(k for k, v in table.items() if v == predicate.value)
    return f"{'icmp' if table is CMPI else 'fcmp'} {name}"


def _quotient(name: str, out: str, args: list[str]) -> list[str]:
    """Through f64, which vectorises: the quotient of 32-bit numbers is exact enough to cut."""
    a, b = args
    sign = "u" if name.endswith("ui") else "s"
    lines = [f"{out}.a = {sign}itofp i32 {a} to double", f"{out}.b = {sign}itofp i32 {b} to double",
             f"{out}.d = fdiv double {out}.a, {out}.b"]  # fmt: skip
    whole = f"{out}.d"
    if name == "floordivsi":
        lines.append(f"{out}.f = call double @llvm.floor.f64(double {whole})")
        whole = f"{out}.f"
    quotient = f"{out}.q" if name.startswith("rem") else out
    lines.append(f"{quotient} = fpto{sign}i double {whole} to i32")
    if name.startswith("rem"):
        lines += [f"{out}.p = mul i32 {quotient}, {b}", f"{out} = sub i32 {a}, {out}.p"]
    return lines


def _resized(name: str, out: str, arg: str, old: str, new: str) -> list[str]:
    if name == "extf":
        how = "fpext"
    else:
        a, b = int(old[1:]), int(new[1:])
        how = "trunc" if b < a else "zext" if name == "extui" else "sext"
    if old == new:
        how = "bitcast"
    return [f"{out} = {how} {old} {arg} to {new}"]
