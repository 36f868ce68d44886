# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""ptxas: reports, errors with their source, processes that are given up."""

from __future__ import annotations

import pytest

from codegen.compiling import to_ptx
from codegen.samples import relu_2d
from opencute.arch.target import target, target_names
from opencute.base.errors import ToolchainError
from opencute.base.location import Location
from opencute.codegen.ptxas import Assembler, parse_report, source_of_line
from opencute.codegen.toolchain import find_ptxas, supported_archs
from opencute.ir.core import Op
from opencute.ir.types import F16

pytestmark = pytest.mark.t1

LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 40 registers, used 2 barriers, 128 bytes smem
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized
ptxas warning : something odd
"""


def located(module: Op) -> Op:
    for i, op in enumerate(module.walk()):
        op.loc = Location("/src/kernel.py", 10 + i, 4)
    return module


def test_report() -> None:
    report = parse_report(LOG)
    f = report.function("k")
    assert (f.registers, f.stack, f.spill_stores, f.spill_loads) == (40, 16, 4, 8)
    assert (f.smem, f.barriers) == (128, 2)
    assert len(report.diagnostics) == 2 and "C7510" in report.diagnostics[0]
    with pytest.raises(KeyError):
        report.function("other")


def test_every_target_assembles() -> None:
    """PTX for all of them, machine code for those that this ptxas knows."""
    known = supported_archs(find_ptxas())
    assert {"sm_80", "sm_90a"} <= set(known)
    for name in target_names():
        ptx = to_ptx(relu_2d(F16, 8), name).ptx
        assert f".target {name}" in ptx
        if name in ("sm_86", "sm_89", "sm_103", "sm_110f", "sm_121f") and name in known:
            with Assembler(target(name)) as asm:
                asm.feed(ptx)
                assert asm.finish()[0].startswith(b"\x7fELF")


def test_an_error_shows_ptx_and_source() -> None:
    ptx = to_ptx(located(relu_2d(F16, 8)), line_info=True).ptx
    bad = ptx.replace("ld.global.v4", "ld.nowhere.v4", 1)
    with Assembler(target("sm_90a")) as asm, pytest.raises(ToolchainError, match="OC1531") as e:
        asm.feed(bad)
        asm.finish()
    assert e.value.loc is not None and e.value.loc.file == "/src/kernel.py"
    assert "ld.nowhere" in str(e.value.found)


def test_line_numbers_reach_ptx() -> None:
    module = located(relu_2d(F16, 8))
    load = next(op for op in module.walk() if op.name == "cute.tile_load")
    assert load.loc is not None
    line = load.loc.line
    ptx = to_ptx(module, line_info=True).ptx
    number = next(i for i, x in enumerate(ptx.splitlines(), 1) if "ld.global" in x)
    assert source_of_line(ptx, number) == Location("/src/kernel.py", line, 4)
    with Assembler(target("sm_90a"), line_info=True) as asm:
        asm.feed(ptx)
        assert asm.finish()[0].startswith(b"\x7fELF")


def test_inlined_helpers_keep_their_own_lines() -> None:
    module = located(relu_2d(F16, 8))
    for op in module.walk():
        if op.name == "cute.tile_load":
            op.loc = Location("/src/helper.py", 3, 0, function="load", caller=op.loc)
    ptx = to_ptx(module, line_info=True).ptx
    number = next(i for i, x in enumerate(ptx.splitlines(), 1) if "ld.global" in x)
    assert source_of_line(ptx, number) == Location("/src/helper.py", 3, 0)


def test_a_run_that_is_given_up_leaves_no_process() -> None:
    asm = Assembler(target("sm_90a"))
    process = asm._process
    assert process is not None
    asm.close()
    assert process.returncode is not None
    asm.close()


def test_text_longer_than_a_pipe_holds() -> None:
    ptx = to_ptx(relu_2d(F16, 8)).ptx
    with Assembler(target("sm_90a")) as asm:
        asm.feed("// padding\n" * 20_000 + ptx)
        cubin, report = asm.finish()
    assert cubin and report.function("relu").registers > 0


def test_work_goes_on_while_ptxas_runs() -> None:
    from opencute.codegen.device import compile_device
    from opencute.passes.pipelines import run_device_passes

    done: list[str] = []
    sm = target("sm_90a")
    code = compile_device(
        relu_2d(F16, 8), sm,
        lower=lambda m: (done.append("lower"), run_device_passes(m, sm))[1],
        meanwhile=lambda: done.append("meanwhile"),
    )  # fmt: skip
    assert done == ["lower", "meanwhile"] and code.cubin
