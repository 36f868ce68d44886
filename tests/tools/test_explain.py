# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute explain`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from opencute.codegen.toolchain import find_disassembler
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
