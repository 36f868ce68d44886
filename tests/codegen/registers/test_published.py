# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The published FlashAttention-2, by default, spills no more than its order is worth."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opencute.codegen import device

pytestmark = [pytest.mark.t1, pytest.mark.upstream]

SCRIPT = """
import json, sys
sys.path.insert(0, {benchmarks!r})
import compile as bench
from opencute.base.knobs import KNOBS
from opencute.compiler.artefacts import Artefacts
from opencute.integrations import environment
environment.prepare()
request = bench.capture(bench.CASES[{case!r}])
with KNOBS.override(cache_enabled=False):
    module = request.trace()
    made = [Artefacts("fa2", module, arch, request.options).device.report for arch in {archs!r}]
print(json.dumps([[r.spills, r.functions[0].stack, r.functions[0].registers] for r in made]))
"""


@pytest.mark.parametrize(
    ("case", "archs"),
    [("fa2", ["sm_80", "sm_89", "sm_100a"]), ("fa2-causal", ["sm_90a", "sm_120a"])],
)
def test_few_bytes_are_spilled(case: str, archs: list[str]) -> None:
    benchmarks = str(Path(__file__).parents[3] / "benchmarks")
    script = SCRIPT.format(benchmarks=benchmarks, case=case, archs=archs)
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    # ptxas's level that spills nothing gives up the written order of instructions, and takes 3 %
    # longer on an H200; see `codegen.device` for what is preferred.
    for spills, stack, registers in json.loads(run.stdout.splitlines()[-1]):
        assert spills <= device.FEW and stack <= device.FEW // 4 and registers <= 255
