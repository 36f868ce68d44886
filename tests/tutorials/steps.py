# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of the Hopper tutorial as modules, whole or with a line changed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np

from cutlass.cute.runtime import from_dlpack
from meta.project import ROOT

__all__ = ["FOLDER", "PAGE", "STEPS", "broken", "load", "operands"]

FOLDER = ROOT / "docs" / "tutorials" / "hopper_gemm"
PAGE = FOLDER.with_suffix(".md")
STEPS = (1, 2, 3, 4, 5, 6, 7)


def load(path: Path, monkeypatch: Any) -> Any:
    """The module of a file, known by name for the length of a test."""
    name = f"tutorial_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def broken(step: int, old: str, new: str, folder: Path) -> Path:
    """A copy of a step with `old` replaced, which must stand there once."""
    text = (FOLDER / f"step{step}.py").read_text(encoding="utf-8")
    assert text.count(old) == 1, f"step {step} has {text.count(old)} times: {old}"
    path = folder / f"step{step}.py"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


def operands(step: int, m: int, n: int, k: int) -> tuple[list[Any], Any, Any]:
    """Arguments of a step's `gemm`, its output, and what has to be there."""
    rng = np.random.default_rng(0)
    a, b, bias = (rng.integers(-4, 5, s).astype(np.float16) for s in ((m, k), (n, k), (n,)))
    c = np.zeros((m, n), np.float16)
    want = a.astype(np.float32) @ b.astype(np.float32).T
    arrays = (a, b, bias, c) if step == 7 else (a, b, c)
    if step == 7:
        want = want + bias
    return [from_dlpack(t, assumed_align=16) for t in arrays], c, want.astype(np.float16)
