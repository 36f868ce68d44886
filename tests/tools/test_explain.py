# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute explain` and `opencute show`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opencute.base.knobs import KNOBS, Knobs
from opencute.codegen.toolchain import find_disassembler
from opencute.integrations import cuda_stub, torch_sim
from opencute.jit import calls
from opencute.tools.cli import main

pytestmark = pytest.mark.t1

EXAMPLE = Path(__file__).parents[2] / "examples" / "add_2d.py"


def test_it_says_what_a_kernel_costs() -> None:
    find_disassembler()
    calls._runners.clear()  # the command looks at what its process compiles, as in a fresh one
    run = CliRunner().invoke(main, ["explain", str(EXAMPLE)])
    assert run.exit_code == 0, run.output
    assert "no spills" in run.output and "registers" in run.output
    assert "global store     128 bits" in run.output and f"{EXAMPLE}:" in run.output


def test_a_file_without_kernels_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "empty.py"
    file.write_text("def kernel_fn(): ...\ndef reference_fn(): ...\ndef get_inputs(): return []\n")
    run = CliRunner().invoke(main, ["explain", str(file)])
    assert run.exit_code == 1 and "compiles no function" in run.output


STEP = Path(__file__).parents[2] / "docs" / "tutorials" / "hopper_gemm" / "step1.py"
CALL = """
import sys
print("said", sys.argv[1:])
kernel_fn(*(np.ones((64, 64), np.float16) for _ in range(2)))
"""


def invoke(*words: object) -> Result:
    calls._runners.clear()

    def state() -> tuple[object, ...]:
        stub = cuda_stub.is_stub(sys.modules.get("cuda.bindings.driver"))
        alias = os.environ.get(Knobs.alias.env)
        return list(sys.path), sys.argv, sys.modules["__main__"], torch_sim.installed(), stub, alias

    kept = state()
    run = CliRunner().invoke(main, [str(w) for w in words])
    assert state() == kept  # nothing is left behind
    return run


def test_a_script_is_run_and_products_and_dynamic_shared_memory_are_shown(tmp_path: Path) -> None:
    find_disassembler()
    script = tmp_path / "script.py"
    script.write_text(STEP.read_text(encoding="utf-8") + CALL, encoding="utf-8")
    run = invoke("explain", script, "--", "--m", "64")
    assert run.exit_code == 0, run.output
    assert "said ['--m', '64']" in run.stderr and "said" not in run.stdout
    assert " on sm_90a: " in run.stdout and " 16384 dynamic," in run.stdout
    assert "4 of them matrix products" in run.stdout and "HGMMA.64x64x16.F32" in run.stdout


def test_the_architecture() -> None:
    ptx = ("--stage", "ptx")
    assert ".target sm_80" in invoke("show", *ptx, "--sm", "sm_80", EXAMPLE).stdout
    with KNOBS.override(target="sim:sm_100a"):
        assert ".target sm_100a" in invoke("show", *ptx, EXAMPLE).stdout
        assert ".target sm_120" in invoke("show", *ptx, "--arch", "sm_120", EXAMPLE).stdout
    with KNOBS.override(target="sim"):
        assert ".target sm_90a" in invoke("show", *ptx, EXAMPLE).stdout


@pytest.mark.parametrize("command", ["show", "explain"])
def test_a_wrong_architecture_is_a_usage_error(command: str) -> None:
    run = invoke(command, EXAMPLE, "--sm", "sm_77")
    assert run.exit_code == 2 and "no target is called 'sm_77'" in run.stderr


def test_a_script_that_fails_says_so(tmp_path: Path) -> None:
    file = tmp_path / "fails.py"
    file.write_text("raise ValueError('no')\n", encoding="utf-8")
    run = invoke("show", file)
    assert run.exit_code == 1 and "ended with status 1" in run.stderr


@pytest.mark.parametrize(
    "command", ["check", "profile --simulate", "explain", "show", "show --sm sm_80"]
)
def test_a_target_that_is_none_is_refused_by_every_command(command: str, tmp_path: Path) -> None:
    script = tmp_path / "nothing.py"
    script.write_text("print('has run')")
    with KNOBS.override(target="foo"):
        done = CliRunner().invoke(main, [*command.split(), str(script)])
    assert done.exit_code != 0
    assert "OC2122" in f"{done.output}{done.exception}", done.output
    assert "has run" not in done.output
