# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Published kernels in the checking mode: they end, and nothing is found that is no fault."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opencute.base.knobs import KNOBS

pytestmark = [pytest.mark.t1, pytest.mark.upstream]

SOURCE = Path(__file__).resolve().parents[3] / "src"
GROUPED = "examples/python/CuTeDSL/cute/hopper/kernel/grouped_gemm/grouped_gemm.py"
SIZES = ("--num_groups", "2", "--problem_sizes_mnkl", "(128,128,64,1),(64,256,128,1)")


@pytest.mark.parametrize(
    "more", [(), ("--cluster_shape_mn", "2,1", "--tensormap_update_mode", "GMEM")]
)
def test_grouped_products(more: tuple[str, ...], tmp_path: Path) -> None:
    """Some ten seconds of one core; its own check of the numbers is the last thing it does."""
    assert KNOBS.upstream is not None
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "OPENCUTE_TARGET": "sim"}
    done = subprocess.run(
        [sys.executable, "-m", "opencute.tools", "check", "--seeds", "1",
         str(KNOBS.upstream / GROUPED), *SIZES, *more],
        capture_output=True, text=True, check=False, env=env, cwd=tmp_path, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "PASS" in done.stdout and "nothing found in 1 order" in done.stderr
