# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels to machine code: the stages after lowering, with the time of each.

In: a module at the llvm level, or one that a callback lowers, and a target. Out: a `DeviceCode`
with every stage as text::

    code = compile_device(module, sm, lower=lambda m: run_device_passes(m, sm))
    code.report.function("relu").registers
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from opencute.arch.target import Target
from opencute.codegen.debug.inlined import chains_of, with_chains
from opencute.codegen.llvm_text import device_module_text, needed_ptx
from opencute.codegen.ptxas import AsmReport, Assembler
from opencute.codegen.registers.pressure import most_live
from opencute.ir.core import Op
from opencute.native.isolated import to_ptx_isolated
from opencute.native.nvptx import ptx_version_for, to_ptx

__all__ = ["FEW", "DeviceCode", "assemble", "compile_device", "compile_to_ptx", "llvm_to_ptx"]


@dataclass(frozen=True)
class DeviceCode:
    """All stages of one compiled module.

    Args:
        llvm_ir: the text given to LLVM.
        ptx: what LLVM made of it.
        cubin: what ptxas made of that; empty when only PTX was asked for.
        report: registers, spills and diagnostics.
        timings: milliseconds by phase.
    """

    llvm_ir: str
    ptx: str
    cubin: bytes = b""
    report: AsmReport = field(default_factory=AsmReport)
    timings: dict[str, float] = field(default_factory=dict[str, float])


def compile_to_ptx(
    module: Op, target: Target, *, line_info: bool = False, isolated: bool = False
) -> DeviceCode:
    """Emit PTX.

    Args:
        module: a ``builtin.module`` whose kernels are at the llvm level.
        target: the processor.
        line_info: keep source lines.
        isolated: run LLVM in another process, which it may end.

    Raises:
        ToolchainError: an operation that has no LLVM form, or IR that LLVM rejects.
    """
    start = time.perf_counter()
    ir = device_module_text(module, line_info=line_info)
    printed = (time.perf_counter() - start) * 1e3
    code = llvm_to_ptx(ir, target, isolated=isolated)
    return replace(code, timings={"print": printed, **code.timings})


def llvm_to_ptx(ir: str, target: Target, *, isolated: bool = False) -> DeviceCode:
    """Emit PTX for LLVM IR text.

    Raises:
        ToolchainError: LLVM rejects the text.
    """
    run = to_ptx_isolated if isolated else to_ptx
    result = run(ir, target.name, ptx_version_for(target.name, max(target.ptx, needed_ptx(ir))))
    timings = {f"llvm {k}": v for k, v in result.timings.items()}
    return DeviceCode(ir, with_chains(result.ptx, chains_of(ir)), timings=timings)


def compile_device(
    module: Op,
    target: Target,
    opt_level: int = 3,
    line_info: bool = False,
    *,
    lower: Callable[[Op], None] | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> DeviceCode:
    """Compile the kernels of a module.

    Args:
        module: a ``builtin.module`` with kernels at the llvm level, or which `lower` brings there.
        target: the processor.
        opt_level: level of ptxas.
        line_info: keep source lines for profilers.
        lower: called with the module while ptxas starts up; its time hides part of that.
        meanwhile: called while ptxas assembles, for work that does not need its result.

    Raises:
        CompileError: the module cannot be lowered, or LLVM or ptxas rejects it.
        MissingPieceError: there is no ptxas.
    """

    def emit() -> DeviceCode:
        start = time.perf_counter()
        if lower is not None:
            lower(module)
        lowered = (time.perf_counter() - start) * 1e3
        code = compile_to_ptx(module, target, line_info=line_info)
        return replace(code, timings={"lower": lowered, **code.timings})

    return assemble(emit, target, opt_level, line_info, meanwhile=meanwhile)


def assemble(
    emit: Callable[[], DeviceCode],
    target: Target,
    opt_level: int = 3,
    line_info: bool = False,
    *,
    written_for: int | None = None,
    meanwhile: Callable[[], None] | None = None,
    extra: tuple[str, ...] = (),
) -> DeviceCode:
    """Assemble PTX.

    At its highest level ptxas hides latencies by starting loads and conversions early, as if each
    register could hold anything; where the operands of matrix instructions fill most of the file,
    that spills. At level 1 it stays near the order of the PTX. So code that spills is assembled at
    that level too, and what spills less is taken. Where more than fits is live in the order of the
    PTX as well, a few spilled bytes cost less than what a better order hides.

    Args:
        emit: makes it, while ptxas starts up; its time hides part of that.
        target: the processor.
        opt_level: level of ptxas.
        written_for: the level that the kernels' author wants; below the highest one, it is tried
            first, and kept unless it spills more.
        line_info: keep source lines for profilers.
        meanwhile: called while ptxas assembles, for work that does not need its result.
        extra: further options of ptxas.

    Raises:
        CompileError: ptxas rejects the PTX, or what `emit` raises.
        MissingPieceError: there is no ptxas.
    """
    free = opt_level == _HIGHEST  # to take another level
    first = written_for if free and written_for is not None else opt_level
    with Assembler(target, opt_level=first, line_info=line_info, extra=extra) as asm:
        code = emit()
        start = time.perf_counter()
        asm.feed(code.ptx)
        if meanwhile is not None:
            meanwhile()
        crowded = free and _crowded(code.ptx)  # takes half as long as ptxas, which is at work
        cubin, report = asm.finish()
    if free and report.spills and not (report.spills <= FEW and crowded):
        level = _CAREFUL if first == _HIGHEST else _HIGHEST
        other = _assembled(code.ptx, target, level, line_info, extra)
        if _better(other[1], report):
            cubin, report = other
    timings = {**code.timings, "ptxas": (time.perf_counter() - start) * 1e3}
    return DeviceCode(code.llvm_ir, code.ptx, cubin, report, timings)


_HIGHEST, _CAREFUL = 3, 1  # levels of ptxas
FEW = 256
"""Bytes spilled and loaded again that cost less than giving up the written order."""
_REGISTERS = 255  # of a thread
_MANY = 256  # matrix instructions, below which nobody needs to count registers


def _crowded(ptx: str) -> bool:
    """Whether matrix instructions leave so few registers that no order has enough."""
    if ptx.count("mma.sync") < _MANY or "wgmma" in ptx:
        return False
    return max(most_live(ptx).values(), default=0) > _REGISTERS


def _assembled(
    ptx: str, target: Target, level: int, line_info: bool, extra: tuple[str, ...]
) -> tuple[bytes, AsmReport]:
    with Assembler(target, opt_level=level, line_info=line_info, extra=extra) as asm:
        asm.feed(ptx)
        return asm.finish()


def _better(new: AsmReport, old: AsmReport) -> bool:
    return new.spills < old.spills and len(new.diagnostics) <= len(old.diagnostics)
