# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The command line: exit statuses, one JSON object, a fast start."""

from __future__ import annotations

import json
import os
import py_compile
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from opencute.tools.cli import main

pytestmark = pytest.mark.t0

ROOT = Path(__file__).resolve().parents[2]
RIGHT = """
import numpy as np
def kernel_fn(x):
    print("noise")
    return x * 2
def reference_fn(x): return x + x
def get_inputs(): return [np.arange(4.0)]
"""


@pytest.fixture
def right(tmp_path: Path) -> Path:
    path = tmp_path / "right.py"
    path.write_text(RIGHT, encoding="utf-8")
    return path


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def one_object(text: str) -> dict[str, Any]:
    assert text.count("\n") == 1
    found: dict[str, Any] = json.loads(text)
    return found


def test_verify_right_and_wrong(right: Path) -> None:
    done = invoke("verify", right, "--rtol", "0", "--atol", "0", "--seeds", "1")
    assert done.exit_code == 0
    assert one_object(done.stdout)["correct"] is True
    right.write_text(RIGHT.replace("x * 2", "x * 3"), encoding="utf-8")
    done = invoke("verify", right)
    assert done.exit_code == 1
    assert one_object(done.stdout)["correct"] is False


def test_bytecode_of_an_earlier_text_is_not_taken(right: Path) -> None:
    py_compile.compile(str(right))
    stamp = right.stat()
    right.write_text(RIGHT.replace("x * 2", "x * 3"), encoding="utf-8")
    os.utime(right, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert right.stat().st_size == stamp.st_size
    assert one_object(invoke("verify", right).stdout)["correct"] is False


def test_benchmark(right: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCUTE_TARGET", "sim")
    done = invoke("benchmark", right, "--warmup", "0", "--iters", "2", "--no-flush-l2")
    assert done.exit_code == 0
    assert one_object(done.stdout)["benchmark_iters"] == 2


@pytest.mark.parametrize("command", ["verify", "benchmark"])
def test_mock_runs_nothing(command: str, tmp_path: Path) -> None:
    done = invoke(command, tmp_path / "none.py", "--mock")
    assert done.exit_code == 0
    assert one_object(done.stdout)["mock"] is True


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify"],
        ["verify", "/no/such/file.py"],
        ["verify", __file__, "--rtol", "-1"],
        ["verify", __file__, "--rtol", "nan"],
        ["verify", __file__, "--atol", "inf"],
        ["verify", __file__, "--atol", "x"],
        ["verify", __file__, "--timeout", "0"],
        ["verify", __file__, "--seeds", "0"],
        ["verify", __file__, "--nonsense"],
        ["benchmark", __file__, "--iters", "0"],
        ["benchmark", __file__, "--warmup", "-1"],
        ["benchmark", str(Path(__file__).parent)],
        ["run", "/no/such/file.py"],
        ["nonsense"],
    ],
)
def test_usage_errors(arguments: list[str]) -> None:
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("check --bogus file.py", "No such option '--bogus'"),
        ("check --seed 2 file.py", "Did you mean '--seeds'"),
        ("profile --simulate --bogus file.py", "No such option '--bogus'"),
        ("run --bogus file.py", "No such option '--bogus'"),
        ("tune --bogus", "No such option '--bogus'"),
    ],
)
def test_options_that_there_are_not(words: str, said: str) -> None:
    """Of commands that leave what follows a file to the file, too."""
    done = invoke(*words.split())
    assert done.exit_code == 2 and said in done.stderr


def test_help_names_the_commands() -> None:
    text = invoke("--help").stdout
    for name in ("verify", "benchmark", "run", "doctor", "cache", "compat"):
        assert name in text


def test_start_imports_nothing_heavy() -> None:
    code = (
        "import sys, opencute.tools.cli; "
        "print([m for m in ('numpy', 'torch', 'llvmlite', 'ml_dtypes', 'rich', 'jax') "
        "if m in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", [["run"], ["check", "--seeds", "1"], ["profile", "--simulate"]])
@pytest.mark.parametrize(
    ("words", "own"),
    [
        (["--", "--m", "3"], ["--m", "3"]),
        (["--m", "3"], ["--m", "3"]),
        (["--", "--", "x"], ["--", "x"]),
        (["x", "--", "y"], ["x", "--", "y"]),
        (["--"], []),
    ],
)
def test_arguments_of_a_script(
    command: list[str], words: list[str], own: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the script and its arguments a -- may stand, as in show and explain."""
    seen: list[list[str]] = []

    def noted(path: Path, arguments: list[str], **options: Any) -> int:
        seen.append(arguments)
        return 0

    monkeypatch.setattr("opencute.tools.run.run_file", noted)
    monkeypatch.setattr("opencute.tools.check.run_file", noted)
    invoke(*command, __file__, *words)
    assert seen == [own]


@pytest.mark.parametrize("name", ["verify_kernel", "benchmark_kernel"])
def test_scripts_are_the_commands(name: str, right: Path, tmp_path: Path) -> None:
    script = ROOT / "scripts" / f"{name}.py"
    done = subprocess.run(
        [sys.executable, str(script), str(right), "--mock"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert one_object(done.stdout)["mock"] is True
