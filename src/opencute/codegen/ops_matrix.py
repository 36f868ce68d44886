# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How operations on small matrices are printed as LLVM IR.

ldmatrix and stmatrix are LLVM's intrinsics, which fold offsets into the address; so are the common
forms of mma, which LLVM handles twice as fast as assembly. Every other mma is inline assembly made
from its record, so that all that ptxas knows can be used::

    call { float, float, float, float } asm "mma.sync.aligned.m16n8k16... {$0,$1,$2,$3}, ...",
        "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f"(...)
"""

from __future__ import annotations

from opencute.arch.mma import MmaAtom, mma_atom
from opencute.arch.sparse import sparse_mma_atom
from opencute.codegen.emitter import Emitter, OpPrinter
from opencute.codegen.llvm_types import llvm_type
from opencute.dialects.ptx_matrix import LdMatrixOp, MmaOp, MmaSparseOp, StMatrixOp
from opencute.ir.core import Op, Value
from opencute.ir.types import VectorType

__all__ = ["MATRIX"]

_CONSTRAINT = {"float": "f", "double": "d", "i32": "r"}


def _vector(value: Value) -> VectorType:
    assert isinstance(value.type, VectorType)
    return value.type


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


def _mnemonic(name: str, op: LdMatrixOp | StMatrixOp) -> str:
    """Such as ``ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8``."""
    size, _, form = op.shape.value.partition(".")
    rows, columns = size.split("x")
    trans = ".trans" if op.trans.value else ""
    return f"{name}.sync.aligned.m{rows}n{columns}.x{op.num.value}{trans}.shared.{form}"


def _address(e: Emitter, op: LdMatrixOp | StMatrixOp) -> str:
    return e.assign(f"ptrtoint {e.typed(op.ptr)} to i32")


def _load_bytes(e: Emitter, op: LdMatrixOp) -> None:
    """Matrices of bytes as assembly."""
    count = _vector(op.out).length
    names = ", ".join(f"${i}" for i in range(count))
    text = f"{_mnemonic('ldmatrix', op)} {{{names}}}, [${count}];"
    constraints = ",".join(["=r"] * count + ["r", "~{memory}"])
    call = (
        f'call {_result("i32", count)} asm sideeffect "{text}", "{constraints}"'
        f"(i32 {_address(e, op)})"
    )
    e.parts[op.out] = _fields(e, call, "i32", count)


def _store_bytes(e: Emitter, op: StMatrixOp) -> None:
    count = _vector(op.registers).length
    names = ", ".join(f"${i + 1}" for i in range(count))
    text = f"{_mnemonic('stmatrix', op)} [$0], {{{names}}};"
    constraints = ",".join(["r"] * (count + 1) + ["~{memory}"])
    args = ", ".join([f"i32 {_address(e, op)}", *(f"i32 {p}" for p in e.elements(op.registers))])
    e.void(f'call void asm sideeffect "{text}", "{constraints}"({args})')


def _ldmatrix(e: Emitter, op: Op) -> None:
    assert isinstance(op, LdMatrixOp)
    if op.shape.value != "8x8.b16":
        _load_bytes(e, op)
        return
    n, name = op.num.value, _intrinsic("ldmatrix", op)
    ret = _result("i32", n)
    e.module.declare(f"declare {ret} @{name}(ptr addrspace(3))")
    e.parts[op.out] = _fields(e, f"call {ret} @{name}({e.typed(op.ptr)})", "i32", n)


def _stmatrix(e: Emitter, op: Op) -> None:
    assert isinstance(op, StMatrixOp)
    if op.shape.value != "8x8.b16":
        _store_bytes(e, op)
        return
    n, name = op.num.value, _intrinsic("stmatrix", op)
    types = ", ".join(["ptr addrspace(3)", *["i32"] * n])
    e.module.declare(f"declare void @{name}({types})")
    args = ", ".join([e.typed(op.ptr), *(f"i32 {p}" for p in e.elements(op.registers))])
    e.void(f"call void @{name}({args})")


def _mma_intrinsic(atom: MmaAtom) -> str:
    """LLVM's name for an instruction, empty if it is to be assembly."""
    d, a, b, c = atom.types
    m, n, k = atom.mnk
    if atom.bit_op or atom.since > 80:
        return ""
    if a == "f16":
        tail = f"{d}.{c}"
    elif a in ("bf16", "tf32", "f64") or a == b:
        tail = a
    else:
        tail = f"{a}.{b}"
    return f"llvm.nvvm.mma.m{m}n{n}k{k}.row.col.{tail}"


def _mma(e: Emitter, op: Op) -> None:
    assert isinstance(op, MmaOp)
    atom = mma_atom(op.atom.value)
    name = _mma_intrinsic(atom)
    groups = [
        (llvm_type(_vector(value).element), e.elements(value)) for value in (op.a, op.b, op.c)
    ]
    group = e.module.attribute_group("convergent nounwind memory(none)")
    if name:
        _call_mma(e, op, name, groups, group)
        return
    _assembled(e, op, atom.instruction, "", groups, group)


def _assembled(
    e: Emitter, op: MmaOp | MmaSparseOp, instruction: str, more: str,
    groups: list[tuple[str, list[str]]], group: str,
) -> None:  # fmt: skip
    """An instruction as assembly: D, then groups of registers, of which `more` has the text that
    follows the vectors; ``$`` in it stands for the register of the last group."""
    element, count = llvm_type(_vector(op.out).element), _vector(op.out).length
    out, at = _CONSTRAINT[element], count
    names = [[f"${i}" for i in range(count)]]
    constraints, args = [f"={out}"] * count, list[str]()
    for type, parts in groups:
        names.append([f"${at + i}" for i in range(len(parts))])
        at += len(parts)
        constraints += [_CONSTRAINT[type]] * len(parts)
        args += [f"{type} {p}" for p in parts]
    if more:
        more = more.replace("$", names.pop()[0])
    operands = ", ".join("{" + ", ".join(g) + "}" for g in names)
    call = (
        f'call {_result(element, count)} asm "{instruction} {operands}{more};", '
        f'"{",".join(constraints)}"({", ".join(args)}) {group}'
    )
    e.parts[op.out] = _fields(e, call, element, count)


def _mma_sparse(e: Emitter, op: Op) -> None:
    assert isinstance(op, MmaSparseOp)
    groups = [
        (llvm_type(_vector(value).element), e.elements(value)) for value in (op.a, op.b, op.c)
    ]
    groups.append(("i32", [e.ref(op.e)]))
    group = e.module.attribute_group("convergent nounwind memory(none)")
    text = sparse_mma_atom(op.atom.value).instruction
    _assembled(e, op, text, f", $, {op.selector.value}", groups, group)


_PAIR = "<2 x half>"


def _call_mma(
    e: Emitter, op: MmaOp, name: str, groups: list[tuple[str, list[str]]], group: str
) -> None:
    """An intrinsic; those on f16 take and give pairs where we have registers."""
    types = mma_atom(op.atom.value).types
    args: list[tuple[str, str]] = []
    operands = op.a, op.b, op.c
    for value, (type, parts), element in zip(operands, groups, types[1:], strict=True):
        if element == "f16":
            args += [(_PAIR, e.moved(value, f"bitcast i32 {p} to {_PAIR}")) for p in parts]
        else:
            args += [(type, p) for p in parts]
    element, count = llvm_type(_vector(op.out).element), _vector(op.out).length
    given = _PAIR if types[0] == "f16" else element
    ret = _result(given, count)
    e.module.declare(f"declare {ret} @{name}({', '.join(t for t, _ in args)})")
    call = f"call {ret} @{name}({', '.join(f'{t} {v}' for t, v in args)}) {group}"
    fields = _fields(e, call, given, count)
    if given != element:
        fields = [e.assign(f"bitcast {given} {f} to {element}") for f in fields]
    e.parts[op.out] = fields


MATRIX: dict[str, OpPrinter] = {
    "ptx.ldmatrix": _ldmatrix,
    "ptx.mma": _mma,
    "ptx.mma_sp": _mma_sparse,
    "ptx.stmatrix": _stmatrix,
}
