# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The page about compiling for another processor: what it shows runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from opencute.base.knobs import KNOBS
from opencute.codegen.toolchain import find_disassembler

pytestmark = pytest.mark.t1

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "architectures.md"


def test_the_example_runs(tmp_path: Path, capsys: Any) -> None:
    find_disassembler()
    (text,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    file = tmp_path / "example.py"  # kernels are read from their file
    file.write_text(text, encoding="utf-8")
    with KNOBS.override(target="sim"):
        exec(compile(text, str(file), "exec"), {"__name__": "example", "__file__": str(file)})
    assert " on sm_100a: " in capsys.readouterr().out
