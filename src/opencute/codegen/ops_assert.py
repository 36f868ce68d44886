# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How assertions are printed.

On the device ``cf.assert`` becomes a branch around a call of the driver's ``__assertfail``, which
prints file, line, block and thread, and ends the kernel with CUDA_ERROR_ASSERT; on the host a
branch around a message on standard output and a return of that status.
"""

from __future__ import annotations

from opencute.codegen.emitter import Emitter, OpPrinter
from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op
from opencute.ir.types import lanes

__all__ = ["assert_on_device", "assert_on_host", "division_on_host"]

_FAILED = 710  # CUDA_ERROR_ASSERT


def _message(op: Op) -> tuple[str, str, int]:
    attr = op.attributes["msg"]
    assert isinstance(attr, StringAttr)
    return attr.value, *_place(op)


def _place(op: Op) -> tuple[str, int]:
    return ("?", 0) if op.loc is None else (op.loc.file, op.loc.line)


def _string(e: Emitter, text: str) -> str:
    data = text.encode() + b"\0"
    body = "".join(chr(b) if 0x20 <= b < 0x7F and b not in b'"\\' else f"\\{b:02X}" for b in data)
    constant = f'private unnamed_addr constant [{len(data)} x i8] c"{body}", align 1'
    return e.module.global_name(constant, ".msg")


def assert_on_device(e: Emitter, op: Op) -> None:
    """A branch, and a call that does not return."""
    text, file, line = _message(op)
    bad, good = e.label("failed"), e.label("holds")
    e.branch(e.ref(op.operands[0]), good, bad)
    e.start(bad)
    words = [_string(e, s) for s in (text, file, "kernel")]
    e.module.declare("declare void @__assertfail(ptr, ptr, i32, ptr, i64)")
    e.void(f"call void @__assertfail(ptr {words[0]}, ptr {words[1]}, i32 {line}, "
           f"ptr {words[2]}, i64 1)")  # fmt: skip
    e.jump(good)
    e.start(good)


def assert_on_host(e: Emitter, op: Op) -> None:
    """A branch, a message, and a return of the status that a launch would give."""
    _unless(e, e.ref(op.operands[0]), f"Assertion `{_message(op)[0]}` failed.", op)


def division_on_host(divide: OpPrinter) -> OpPrinter:
    """A division that fails likewise where the divisor is zero, instead of ending the process."""

    def printer(e: Emitter, op: Op) -> None:
        divisor = op.operands[1]
        known = divisor.op is not None and divisor.op.name == "arith.constant"
        if not known and lanes(divisor.type) is None:
            holds = e.assign(f"icmp ne {e.typed(divisor)}, 0")
            _unless(e, holds, "Division by zero.", op)
        divide(e, op)

    return printer


def _unless(e: Emitter, holds: str, text: str, op: Op) -> None:
    """Go on where a condition holds."""
    file, line = _place(op)
    bad, good = e.label("failed"), e.label("holds")
    e.branch(holds, good, bad)
    e.start(bad)
    format = _string(e, f"{file}:{line}: {text}\n".replace("%", "%%"))
    e.module.declare("declare i32 @printf(ptr, ...)")
    e.module.declare("declare i32 @fflush(ptr)")
    e.assign(f"call i32 (ptr, ...) @printf(ptr {format})")
    e.assign("call i32 @fflush(ptr null)")
    e.void(f"ret i32 {_FAILED}")
    e.start(good)
