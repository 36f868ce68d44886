# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""compute-sanitizer finds nothing in the shipped kernels, and names the lines of planted faults."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.t2, pytest.mark.slow]
HERE = Path(__file__).parent
FILE = HERE / "sanitized.py"
# Known to the tool only where CUDA C++ names them: barriers of each block.
BARRIERS = ("--num-cuda-barriers", "64")


def watched(tool: str, name: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run one group of `sanitized.py`; torch's own kernels are none of our business."""
    found = shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin"
    )
    if found is None:
        pytest.skip("needs compute-sanitizer, of the CUDA toolkit")
    pytest.importorskip("torch", reason="needs torch")
    only = ("--kernel-regex-exclude", "kernel_substring=at::") if tool == "racecheck" else ()
    path = os.pathsep.join([str(HERE.parents[1] / "src"), os.environ.get("PYTHONPATH", "")])
    given = {"PYTHONPATH": path, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "PYTHONWARNINGS": "ignore"}
    command = [found, "--tool", tool, "--error-exitcode", "9", *BARRIERS, *only, *options]
    return subprocess.run(
        [*command, sys.executable, str(FILE), name],
        capture_output=True, text=True, check=False, env={**os.environ, **given},
    )  # fmt: skip


@pytest.mark.parametrize("name", ["rows", "ampere", "hopper", "attentions", "decoding"])
def test_shipped_kernels_access_memory_rightly(name: str) -> None:
    done = watched("memcheck", name)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert f"done {name}" in done.stdout


@pytest.mark.parametrize("name", ["rows", "ampere", "hopper", "attentions", "decoding"])
def test_shipped_kernels_have_no_races(name: str) -> None:
    done = watched("racecheck", name, "--racecheck-report", "hazard", "--print-limit", "100000")
    assert f"done {name}" in done.stdout
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.parametrize(
    ("tool", "name"), [("memcheck", "past_the_end"), ("racecheck", "no_barrier")]
)
def test_planted_faults_are_reported_at_their_lines(tool: str, name: str) -> None:
    lines = FILE.read_text().split("\n")
    (line,) = (i for i, text in enumerate(lines, 1) if text.endswith(f"# planted: {name}"))
    done = watched(tool, name)
    assert done.returncode != 0
    assert f"sanitized.py:{line}" in done.stdout
