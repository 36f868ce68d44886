# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How operations of host functions are printed: the device tables, with a CPU's answers where PTX
has its own.

``arith.fptosi`` becomes ``llvm.fptosi.sat`` here, and ``cute.print`` a call of C's printf.
"""

from __future__ import annotations

from opencute.codegen.emitter import Emitter, OpPrinter
from opencute.codegen.llvm_types import llvm_type, mangled
from opencute.codegen.ops_arith import ARITH, binary
from opencute.codegen.ops_memory import MEMORY, print_arguments
from opencute.codegen.ops_vector import VECTOR_OPS
from opencute.ir.core import Op

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


HOST_OPS: dict[str, OpPrinter] = {
    **{k: v for k, v in {**ARITH, **MEMORY, **VECTOR_OPS}.items() if k not in _DEVICE_ONLY},
    "arith.divf": binary("fdiv"),
    "arith.fptosi": _saturating("fptosi"),
    "arith.fptoui": _saturating("fptoui"),
    "cute.print": _print,
}
