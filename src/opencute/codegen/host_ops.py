# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How operations of host functions are printed: the device tables, with a CPU's answers where PTX
has its own.

``arith.fptosi`` becomes ``llvm.fptosi.sat`` here, and ``cute.print`` a call of C's printf.
"""

from __future__ import annotations

from opencute.codegen.emitter import Emitter, OpPrinter
from opencute.codegen.llvm_types import llvm_type, mangled
from opencute.codegen.ops_arith import ARITH, binary, per_lane
from opencute.codegen.ops_assert import assert_on_host, division_on_host
from opencute.codegen.ops_math import MATH
from opencute.codegen.ops_memory import MEMORY, print_arguments
from opencute.codegen.ops_vector import VECTOR_OPS
from opencute.dialects import math
from opencute.ir.core import Op
from opencute.ir.types import element_type

__all__ = ["HOST_OPS"]

_DEVICE_ONLY = ("llvm.inline_asm", "ptx.sreg")


def _saturating(word: str) -> OpPrinter:
    def printer(e: Emitter, op: Op) -> None:
        value, result = op.operands[0], op.results[0]
        name = f"llvm.{word}.sat.{mangled(result.type)}.{mangled(value.type)}"
        e.names[result] = e.call(name, result.type, [(llvm_type(value.type), e.ref(value))])

    return printer


def _print(e: Emitter, op: Op) -> None:
    """Flushed at once: Python's own output goes through another buffer."""
    format, arguments = print_arguments(e, op)
    e.module.declare("declare i32 @printf(ptr, ...)")
    e.module.declare("declare i32 @fflush(ptr)")
    text = ", ".join(f"{t} {v}" for t, v in [("ptr", format), *arguments])
    e.assign(f"call i32 (ptr, ...) @printf({text})")
    e.assign("call i32 @fflush(ptr null)")


# What C's mathematical library calls otherwise.
_LIBM = {"absf": "fabs", "powf": "pow", "roundeven": "rint"}


def _library(name: str) -> OpPrinter:
    """A call of C's function for f32 or f64, lane by lane."""

    def printer(e: Emitter, op: Op) -> None:
        type = llvm_type(element_type(op.results[0].type))
        stem = _LIBM.get(name, name)
        symbol = stem if type == "double" else f"{stem}f"
        places = ", ".join([type] * len(op.operands))

        def one(args: list[str]) -> str:
            if name == "rsqrt":
                root = e.assign(f"call {type} @{'sqrt' if type == 'double' else 'sqrtf'}"
                                f"({type} {args[0]})")  # fmt: skip
                return e.assign(f"fdiv {type} {_ONE}, {root}")
            operands = ", ".join(f"{type} {a}" for a in args)
            return e.assign(f"call {type} @{symbol}({operands})")

        if name == "rsqrt":
            symbol = "sqrt" if type == "double" else "sqrtf"
        e.module.declare(f"declare {type} @{symbol}({places})")
        per_lane(e, op, one)

    return printer


_ONE = "0x3FF0000000000000"
_DIVISIONS = ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui")

HOST_OPS: dict[str, OpPrinter] = {
    **{k: v for k, v in {**ARITH, **MEMORY, **VECTOR_OPS}.items() if k not in _DEVICE_ONLY},
    **{n: division_on_host(ARITH[n]) for n in _DIVISIONS},
    "arith.divf": binary("fdiv"),
    "arith.remf": _library("fmod"),
    **{f"math.{n}": _library(n) for n in (*math.UNARY, *math.BINARY, "fma")},
    **{f"math.{n}": MATH[f"math.{n}"] for n in ("absi", "ctlz", "cttz", "ctpop")},
    "arith.fptosi": _saturating("fptosi"),
    "arith.fptoui": _saturating("fptoui"),
    "cf.assert": assert_on_host,
    "cute.print": _print,
}
