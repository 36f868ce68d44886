# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How `math` operations, and division, are printed, by the table `opencute.arch.mathfns`.

``math.sqrt`` becomes ``llvm.sqrt``, a fast ``math.exp2`` the instruction ``ex2.approx.ftz.f32``,
and ``math.exp`` a call of libdevice's ``__nv_expf``, whose text is added to the module.
"""

from __future__ import annotations

from opencute.arch.mathfns import MathFn, math_fn
from opencute.base.errors import ToolchainError
from opencute.codegen.emitter import Emitter, OpPrinter
from opencute.codegen.llvm_types import llvm_type, mangled
from opencute.codegen.ops_arith import per_lane
from opencute.dialects import math
from opencute.ir.attributes import DenseAttr, FloatAttr
from opencute.ir.core import Op, Value
from opencute.ir.types import FloatType, element_type

__all__ = ["MATH"]


def _function(e: Emitter, op: Op) -> None:
    element = element_type(op.results[0].type)
    assert isinstance(element, FloatType)
    row = math_fn(op.name, element.name, fast="fastmath" in op.attributes)
    if row is None or row.kind in ("via_f32", "steps"):
        raise ToolchainError(
            f"{op.name} on {element} has no instruction", code="OC1528", loc=op.loc
        )
    if row.kind == "llvm":
        _intrinsic(e, op, row.text)
    else:
        type = llvm_type(element)
        one = _instruction if row.kind == "ptx" else _library
        per_lane(e, op, lambda args: one(e, row, type, args))


def _intrinsic(e: Emitter, op: Op, stem: str) -> None:
    type = op.results[0].type
    args = [(llvm_type(v.type), e.ref(v)) for v in op.operands]
    e.names[op.results[0]] = e.call(f"llvm.{stem}.{mangled(type)}", type, args)


def _instruction(e: Emitter, row: MathFn, type: str, args: list[str]) -> str:
    places = ", ".join(f"${i + 1}" for i in range(len(args)))
    registers = ",".join(["=f"] + ["f"] * len(args))
    operands = ", ".join(f"{type} {a}" for a in args)
    return e.assign(f'call {type} asm "{row.text} $0, {places};", "{registers}"({operands})')


def _library(e: Emitter, row: MathFn, type: str, args: list[str]) -> str:
    e.module.libdevice[row.text] = None
    return e.assign(f"call {type} @{row.text}({', '.join(f'{type} {a}' for a in args)})")


def _divf(e: Emitter, op: Op) -> None:
    if "fastmath" in op.attributes and element_type(op.results[0].type) in (_F32,):
        if _is_one(op.operands[0]):
            _reciprocal(e, op)
        else:
            _function(e, op)
    else:
        lhs, rhs = op.operands
        e.emit(op.results[0], f"fdiv {e.typed(lhs)}, {e.ref(rhs)}")


_F32 = FloatType("f32", 32)


def _is_one(value: Value) -> bool:
    op = value.op
    attr = op.attributes.get("value") if op is not None and op.name == "arith.constant" else None
    if isinstance(attr, DenseAttr) and len(attr.items) == 1:
        attr = attr.items[0]
    return isinstance(attr, FloatAttr) and attr.value == 1.0


def _reciprocal(e: Emitter, op: Op) -> None:
    """One instruction for a fast ``1 / x``, at most 1 ulp off (PTX ISA, "rcp")."""
    text = "rcp.approx.ftz.f32 $0, $1;"
    per_lane(e, op, lambda args: e.assign(f'call float asm "{text}", "=f,f"(float {args[1]})'))


def _bits(stem: str, flag: bool) -> OpPrinter:
    def printer(e: Emitter, op: Op) -> None:
        value = op.operands[0]
        args = [(llvm_type(value.type), e.ref(value)), *([("i1", "false")] if flag else [])]
        name = f"llvm.{stem}.{mangled(value.type)}"
        e.names[op.results[0]] = e.call(name, value.type, args)

    return printer


MATH: dict[str, OpPrinter] = {
    **{f"math.{name}": _function for name in (*math.UNARY, *math.BINARY, "fma")},
    "arith.divf": _divf,
    "arith.remf": _function,
    "math.absi": _bits("abs", True),
    "math.ctlz": _bits("ctlz", True),
    "math.cttz": _bits("cttz", True),
    "math.ctpop": _bits("ctpop", False),
}
