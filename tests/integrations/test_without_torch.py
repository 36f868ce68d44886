# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""First use where only NumPy is installed: the README's kernel, and what needs torch says so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from meta.project import ROOT

pytestmark = pytest.mark.t0

REST = """
assert x[4] == 2.0

import cutlass.torch
from opencute.base.errors import MissingPieceError

for use in (lambda: cutlass.torch.dtype(cutlass.Float16), lambda: cutlass.torch.default_stream(),
            lambda: cutlass.torch.matrix(1, 8, 8, False, cutlass.Float32)):
    try:
        use()
    except MissingPieceError as e:
        assert e.code == "OC5106" and "pip install torch" in e.hint, e
    else:
        raise AssertionError(use)
"""


def test_numpy_alone(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    script = tmp_path / "first.py"
    script.write_text(example + REST, encoding="utf-8")
    (tmp_path / "torch.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n", encoding="utf-8"
    )
    path = os.pathsep.join((str(tmp_path), str(ROOT / "src")))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path, "OPENCUTE_TARGET": "sim"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not done.stderr
