# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Functions that no file holds: at Python's own prompt, with -c, from standard input."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import types
from pathlib import Path

import pytest

from opencute.frontend.typed import typed_lines

pytestmark = pytest.mark.t0

PROGRAM = """\
import numpy as np
import cutlass
from cutlass import cute
from cutlass.cute.runtime import from_dlpack
@cute.jit
def larger(n, than):
    if n > than:
        n = n * 10
    return n

@cute.kernel
def kernel(t: cute.Tensor, n: cutlass.Int32):
    t[0] = larger(n, 3)

@cute.jit
def host(t: cute.Tensor, n: cutlass.Int32):
    kernel(t, n).launch(grid=1, block=1)

x = np.zeros(2, np.int32)
host(from_dlpack(x), 7)
print("got", int(x[0]))
host(from_dlpack(x), 2)
print("got", int(x[0]))
"""
WANT = ["got 70", "got 2"]


def environment() -> dict[str, str]:
    source = str(Path(__file__).parents[2] / "src")
    return {**os.environ, "PYTHONPATH": source, "OPENCUTE_TARGET": "sim", "TERM": "dumb"}


def told(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.startswith("got")]


def test_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment(), capture_output=True, text=True
    )
    assert told(done.stdout) == WANT, done.stderr


def test_standard_input(tmp_path: Path) -> None:
    file = tmp_path / "program.txt"
    file.write_text(PROGRAM)
    with file.open() as text:
        done = subprocess.run(
            [sys.executable, "-"], stdin=text, env=environment(), capture_output=True, text=True
        )
    assert told(done.stdout) == WANT, done.stderr


def test_the_prompt(tmp_path: Path) -> None:
    pytest.importorskip("readline")
    own = {**environment(), "HOME": str(tmp_path)}  # the prompt keeps its history there
    try:
        child, master = pty.fork()
    except OSError as e:
        pytest.skip(f"no terminals here: {e}")
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-q", "-i"], own)
    shown = ""
    try:
        for line in [*PROGRAM.splitlines(), "exit()"]:
            os.write(master, line.encode() + b"\n")
        while select.select([master], [], [], 60)[0]:
            try:
                part = os.read(master, 4096)
            except OSError:
                break
            if not part:
                break
            shown += part.decode(errors="replace")
    finally:
        os.close(master)
        os.waitpid(child, 0)
    assert told(shown.replace("\r", "")) == WANT, shown


def test_another_function_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def f(a):\n    return a + 1\n\ndef f(a):\n    return a + 2\n"
    monkeypatch.setattr(sys, "orig_argv", ["python", "-c", text])
    scope: dict[str, types.FunctionType] = {}
    exec(compile("def f(a):\n    return a + 1\n", "<string>", "exec"), scope)
    assert typed_lines(scope["f"].__code__) == ["def f(a):\n", "    return a + 1\n"]
    exec(compile("def f(a):\n    return a + 3\n", "<string>", "exec"), scope)
    assert typed_lines(scope["f"].__code__) is None
