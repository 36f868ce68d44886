# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Kernel files for the tests, written as users write them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

MakeFile = Callable[..., Path]

DEFAULTS = {
    "imports": "import numpy as np",
    "kernel": "def kernel_fn(x): return np.maximum(x, 0)",
    "reference": "def reference_fn(x): return np.where(x > 0, x, 0)",
    "inputs": "def get_inputs(): return [np.random.standard_normal((8, 16))]",
}


@pytest.fixture
def kernel_file(tmp_path: Path) -> MakeFile:
    """A function that writes a kernel file; each part may be replaced."""

    def make(extra: str = "", **parts: str) -> Path:
        unknown = set(parts) - set(DEFAULTS)
        assert not unknown
        texts = [textwrap.dedent(t) for t in ({**DEFAULTS, **parts}).values()]
        path = tmp_path / "kernel.py"
        path.write_text("\n".join([*texts, textwrap.dedent(extra)]), encoding="utf-8")
        return path

    return make
