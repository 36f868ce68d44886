# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How operations on small matrices are printed as LLVM IR.

ldmatrix and stmatrix are LLVM's intrinsics, which fold offsets into the address. mma is inline
assembly made from its record, so that every instruction that ptxas knows can be used::

    call { float, float, float, float } asm "mma.sync.aligned.m16n8k16... {$0,$1,$2,$3}, ...",
        "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f"(...)
"""

from __future__ import annotations

from collections.abc import Sequence

from opencute.arch.mma import mma_atom
from opencute.codegen.emitter import Emitter, OpPrinter
from opencute.codegen.llvm_types import llvm_type
from opencute.dialects.ptx_matrix import LdMatrixOp, MmaOp, StMatrixOp
from opencute.ir.core import Op, Value
from opencute.ir.types import VectorType

__all__ = ["MATRIX"]

_CONSTRAINT = {"float": "f", "double": "d", "i32": "r"}


def _vector(value: Value) -> VectorType:
    assert isinstance(value.type, VectorType)
    return value.type


def _parts(e: Emitter, value: Value) -> list[str]:
    """The registers of a vector."""
    typed = e.typed(value)
    return [e.assign(f"extractelement {typed}, i32 {i}") for i in range(_vector(value).length)]


def _pack(e: Emitter, result: Value, parts: Sequence[str]) -> None:
    """Registers as the vector that an operation gives."""
    type = _vector(result)
    whole, element, out = llvm_type(type), llvm_type(type.element), "poison"
    for i, part in enumerate(parts):
        out = e.assign(f"insertelement {whole} {out}, {element} {part}, i32 {i}")
    e.names[result] = out


def _fields(e: Emitter, call: str, element: str, count: int) -> list[str]:
    """The results of a call that gives `count` values of one type."""
    if count == 1:
        return [e.assign(call)]
    packed = e.assign(call)
    struct = "{ " + ", ".join([element] * count) + " }"
    return [e.assign(f"extractvalue {struct} {packed}, {i}") for i in range(count)]


def _result(element: str, count: int) -> str:
    return element if count == 1 else "{ " + ", ".join([element] * count) + " }"


def _intrinsic(name: str, op: LdMatrixOp | StMatrixOp) -> str:
    trans = ".trans" if op.trans.value else ""
    return f"llvm.nvvm.{name}.sync.aligned.m8n8.x{op.num.value}{trans}.b16.p3"


def _ldmatrix(e: Emitter, op: Op) -> None:
    assert isinstance(op, LdMatrixOp)
    n, name = op.num.value, _intrinsic("ldmatrix", op)
    ret = _result("i32", n)
    e.module.declare(f"declare {ret} @{name}(ptr addrspace(3))")
    _pack(e, op.out, _fields(e, f"call {ret} @{name}({e.typed(op.ptr)})", "i32", n))


def _stmatrix(e: Emitter, op: Op) -> None:
    assert isinstance(op, StMatrixOp)
    n, name = op.num.value, _intrinsic("stmatrix", op)
    types = ", ".join(["ptr addrspace(3)", *["i32"] * n])
    e.module.declare(f"declare void @{name}({types})")
    args = ", ".join([e.typed(op.ptr), *(f"i32 {p}" for p in _parts(e, op.registers))])
    e.void(f"call void @{name}({args})")


def _mma(e: Emitter, op: Op) -> None:
    assert isinstance(op, MmaOp)
    atom = mma_atom(op.atom.value)
    result = _vector(op.out)
    element, count = llvm_type(result.element), result.length
    out = _CONSTRAINT[element]
    groups = [[f"${i}" for i in range(count)]]
    constraints, args, at = [f"={out}"] * count, list[str](), count
    for value in (op.a, op.b, op.c):
        type = llvm_type(_vector(value).element)
        parts = _parts(e, value)
        groups.append([f"${at + i}" for i in range(len(parts))])
        at += len(parts)
        constraints += [_CONSTRAINT[type]] * len(parts)
        args += [f"{type} {p}" for p in parts]
    operands = ", ".join("{" + ", ".join(g) + "}" for g in groups)
    group = e.module.attribute_group("convergent nounwind memory(none)")
    call = (
        f'call {_result(element, count)} asm "{atom.instruction} {operands};", '
        f'"{",".join(constraints)}"({", ".join(args)}) {group}'
    )
    _pack(e, op.out, _fields(e, call, element, count))


MATRIX: dict[str, OpPrinter] = {
    "ptx.ldmatrix": _ldmatrix,
    "ptx.mma": _mma,
    "ptx.stmatrix": _stmatrix,
}
