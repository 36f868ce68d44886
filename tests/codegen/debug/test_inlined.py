# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code knows the user's line and the chain of helpers that led to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.base.location import Location
from opencute.codegen.debug.explain import lined_instructions
from opencute.codegen.debug.inlined import CHAIN, chain_comment, chains_of, with_chains, within
from opencute.codegen.toolchain import find_disassembler
from opencute.cute.runtime import from_dlpack
from opencute.jit import calls
from opencute.kernels.gemm import gemm
from opencute.kernels.gemm.visitors import Visitor, load

pytestmark = pytest.mark.t1


def _square_plus(x: Any) -> Any:
    return x * x + 12345  # the helper's line


def _loaded(a: Any, i: Any) -> Any:
    return _square_plus(a[i])  # calls the helper


@cute.kernel
def _kernel(a: cute.Tensor, o: cute.Tensor):
    i = cute.arch.thread_idx()[0]
    o[i] = _loaded(a, i)  # in the kernel


@cute.jit
def _launch(a: cute.Tensor, o: cute.Tensor):
    _kernel(a, o).launch(grid=(1, 1, 1), block=(32, 1, 1))


def _line(mark: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(n for n, text in enumerate(lines, 1) if text.endswith(f"# {mark}"))


def _compile(arch: str) -> Any:
    x = np.arange(32, dtype=np.int32)
    with KNOBS.override(target=f"sim:{arch}"):
        options = (cute.GenerateLineInfo, cute.GPUArch(arch))
        return cute.compile[options](_launch, from_dlpack(x), from_dlpack(x.copy()))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_an_instruction_has_its_line_and_its_callers(arch: str) -> None:
    find_disassembler()
    code = lined_instructions(_compile(arch).__cubin__)
    helper, caller, kernel = map(_line, ("the helper's line", "calls the helper", "in the kernel"))
    chain = tuple((__file__, n) for n in (helper, caller, kernel))
    assert any(i.opcode.startswith("IMAD") and i.places == chain for i in code)
    (load,) = (i for i in code if i.opcode.startswith("LDG"))
    assert load.places == chain[1:]
    (store,) = (i for i in code if i.opcode.startswith("STG"))
    assert store.places == chain[2:]


def test_the_disassembly_of_an_executor_has_lines() -> None:
    find_disassembler()
    assert f'//## File "{__file__}", line {_line("in the kernel")}' in _compile("sm_90a").__sass__


def test_ptx_names_the_functions() -> None:
    ptx = _compile("sm_90a").__ptx__
    assert f", inlined_at 1 {_line('calls the helper')} " in ptx
    text = bytes(int(x) for x in ptx.split(".debug_str")[1].split() if x.isdigit())
    assert b"_loaded\0" in text and b"_square_plus\0" in text


def test_chains_end_at_the_kernel() -> None:
    launch = Location("host.py", 9, 4, None, "launch")
    kernel = Location("k.py", 5, 0, None, "kernel", launch)
    helper = Location("h.py", 2, 0, None, "helper", kernel)
    cut = within(helper, launch)
    assert cut is not None and cut.caller is not None and cut.caller.caller is None
    assert within(kernel, launch) == Location("k.py", 5, 0, None, "kernel")
    assert within(launch, launch) is None
    assert within(helper, None) is helper


def test_directives_are_written_out() -> None:
    inner = Location("h.py", 2, 3, None, "helper", Location("k.py", 5, 1, None, "kernel"))
    chains = chains_of("target x\n" + chain_comment(inner) + "\n!1 = !{}\n")
    assert chains == [[("h.py", 2, 4, "helper"), ("k.py", 5, 2, "kernel")]]
    ptx = f'\t.loc\t1 2 {CHAIN}\n\tadd;\n\t.loc 1 7 1\n\t.file\t1 "h.py"\n'
    out = with_chains(ptx, chains).splitlines()
    assert out[:2] == [
        "\t.loc\t2 5 2",
        "\t.loc\t1 2 4, function_name $L__opencute_fn0, inlined_at 2 5 2",
    ]
    assert '\t.file\t2 "k.py"' in out and "\t.loc 1 7 1" in out
    assert with_chains(ptx, []) == ptx


def test_without_line_info_nothing_is_there() -> None:
    x = np.arange(32, dtype=np.int32)
    with KNOBS.override(target="sim"):
        assert ".loc" not in cute.compile(_launch, from_dlpack(x), from_dlpack(x.copy())).__ptx__


def _from_one_and_a_half(x: Any, tile: Any) -> Any:
    return tile.load("c") * 1.5 - x  # in the visitor


def test_code_of_several_files_names_each() -> None:
    find_disassembler()
    a, b, c = (np.ones((64, 64), np.float16) for _ in range(3))
    calls._runners.clear()
    with KNOBS.override(target="sim:sm_90a"):
        gemm(a, b, epilogue=Visitor(_from_one_and_a_half, c=load(c)))
        facts = [f for made in calls.compiled_artefacts() for f in made.explain()]
    found = {place for f in facts for _, _, places in f.accesses for place in places}
    assert (__file__, _line("in the visitor")) in found
    names = {Path(file).name for file, _ in found}
    assert {"sm90.py", "sm90_epilogue.py"} <= names
    for file, line in found:
        text = Path(file).read_text(encoding="utf-8").splitlines()[line - 1]
        assert text.strip() and not text.lstrip().startswith(("#", "from ", "import "))
