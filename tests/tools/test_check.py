# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute check` and `opencute profile --simulate` on a transposition through shared memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.t0

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import sys
import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass.cute.runtime import from_dlpack

SYNC, PITCH = "nosync" not in sys.argv, 33 if "pad" in sys.argv else 32

@cute.kernel
def transpose(x: cute.Tensor, y: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(
        cutlass.Float32, cute.make_layout((32, 32), stride=(PITCH, 1)), 16
    )
    r, c = t // 32, t % 32
    for i in cutlass.range_constexpr(4):
        s[c, r + 8 * i] = x[c + 32 * (r + 8 * i)]  # in
    if cutlass.const_expr(SYNC):
        cute.arch.sync_threads()
    for i in cutlass.range_constexpr(4):
        y[c + 32 * (r + 8 * i)] = s[r + 8 * i, c]  # out

@cute.jit
def run(x: cute.Tensor, y: cute.Tensor):
    transpose(x, y).launch(grid=[1, 1, 1], block=[256, 1, 1])

x = np.arange(1024, dtype=np.float32)
y = np.zeros(1056 if "part" in sys.argv else 1024, np.float32)
if "catch" in sys.argv:
    try:
        run(from_dlpack(x), from_dlpack(y))
    except Exception:
        print("caught it")
elif "nothing" not in sys.argv:
    run(from_dlpack(x), from_dlpack(y))
    np.testing.assert_array_equal(y[:1024].reshape(32, 32), x.reshape(32, 32).T)
"""


def opencute(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "demo.py"
    path.write_text(SCRIPT, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OPENCUTE_TARGET": ""}
    at = words.index("FILE")
    command = [*words[:at], str(path), *words[at + 1 :]]
    return subprocess.run(
        [sys.executable, "-m", "opencute.tools", *command],
        capture_output=True, text=True, check=False, env=env,
    )  # fmt: skip


def line(mark: str) -> str:
    return f"demo.py:{next(i for i, t in enumerate(SCRIPT.splitlines(), 1) if t.endswith(mark))}"


def test_check(tmp_path: Path) -> None:
    done = opencute(tmp_path, "check", "--seeds", "2", "FILE", "pad")
    assert done.returncode == 0, done.stderr
    assert "nothing found in 2 orders" in done.stderr


def test_check_reports_what_the_script_catches(tmp_path: Path) -> None:
    done = opencute(tmp_path, "check", "FILE", "nosync", "catch")
    assert done.returncode == 1
    assert "caught it" in done.stdout
    assert "the script caught" in done.stderr and "RaceError: [OC3401]" in done.stderr
    assert line("# in") in done.stderr and "check failed (order 0)" in done.stderr
    done = opencute(tmp_path, "check", "--seeds", "1", "FILE", "catch")
    assert done.returncode == 0, done.stderr


def test_check_finds_a_race(tmp_path: Path) -> None:
    done = opencute(tmp_path, "check", "FILE", "nosync")
    assert done.returncode == 1
    assert "RaceError: [OC3401]" in done.stderr and "sync_threads()" in done.stderr
    assert line("# in") in done.stderr and line("# out") in done.stderr


def test_check_of_a_script_without_kernels(tmp_path: Path) -> None:
    done = opencute(tmp_path, "check", "FILE", "nothing")
    assert done.returncode == 1 and "no kernel was launched" in done.stderr


@pytest.mark.parametrize(("word", "passes", "factor"), [("pad", 32, "1.00"), ("", 1024, "32.00")])
def test_profile(tmp_path: Path, word: str, passes: int, factor: str) -> None:
    done = opencute(tmp_path, "profile", "--simulate", "FILE", word)
    assert done.returncode == 0, done.stderr
    rows = [r for r in done.stderr.splitlines() if r.startswith(line("# in")) and "smem" in r]
    assert rows and rows[0].split()[-2:] == [str(passes), factor]


def test_profile_needs_to_be_told_where(tmp_path: Path) -> None:
    assert opencute(tmp_path, "profile", "FILE").returncode == 2


# ---------------------------------------------------------------- kernel files
KERNEL_FILE = (
    SCRIPT.split("x = np.arange")[0].replace("import sys", "import sys\n")
    + """
def kernel_fn(x):
    y = np.zeros_like(x)
    run(from_dlpack(x), from_dlpack(y))
    return y

def reference_fn(x):
    return x.reshape(32, 32).T.reshape(-1)

def get_inputs():
    return INPUTS
"""
)


def kernel_file(tmp_path: Path, inputs: str, *words: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "file.py"
    text = KERNEL_FILE.replace("INPUTS", inputs)
    path.write_text(text, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OPENCUTE_TARGET": ""}
    at = words.index("FILE")
    command = [*words[:at], str(path), *words[at + 1 :]]
    return subprocess.run(
        [sys.executable, "-m", "opencute.tools", *command],
        capture_output=True, text=True, check=False, env=env,
    )  # fmt: skip


X = "np.arange(1024, dtype=np.float32)"


@pytest.mark.parametrize("inputs", [f"[{X}]", f"{{'x': {X}}}", X])
def test_check_calls_what_a_kernel_file_defines(tmp_path: Path, inputs: str) -> None:
    done = kernel_file(tmp_path, inputs, "check", "--seeds", "1", "FILE", "nosync")
    assert done.returncode == 1 and "RaceError: [OC3401]" in done.stderr
    assert "in kernel_fn" in done.stderr


def test_profile_calls_what_a_kernel_file_defines(tmp_path: Path) -> None:
    done = kernel_file(tmp_path, f"[{X}]", "profile", "--simulate", "FILE", "pad")
    assert done.returncode == 0 and done.stderr.count("1 launch, 256 threads") == 1


def test_check_of_a_right_kernel_file(tmp_path: Path) -> None:
    done = kernel_file(tmp_path, f"[{X}]", "check", "--seeds", "2", "FILE", "pad")
    assert done.returncode == 0 and "nothing found in 2 orders" in done.stderr


def test_run_of_a_kernel_file_says_how_to_run_it(tmp_path: Path) -> None:
    done = kernel_file(tmp_path, f"[{X}]", "run", "FILE")
    assert done.returncode == 0 and done.stdout == ""
    assert "launched no kernel" in done.stderr and f"opencute verify {tmp_path}" in done.stderr
    done = opencute(tmp_path, "run", "FILE", "nothing")
    assert "launched no kernel" not in done.stderr  # an ordinary script may do anything


DOUBT = """
from opencute.base.errors import RaceError
from opencute.sim.report import doubt
run(from_dlpack(x), from_dlpack(y))
doubt(RaceError("a doubt", code="OC3410", hint="a hint"))
"""


def test_warnings_of_the_checks_are_errors_where_that_is_asked_for(tmp_path: Path) -> None:
    def checked(*options: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "doubt.py"
        path.write_text(SCRIPT + DOUBT, encoding="utf-8")
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OPENCUTE_TARGET": ""}
        return subprocess.run(
            [sys.executable, "-m", "opencute.tools", "check", "--seeds", "1", *options, str(path)],
            capture_output=True, text=True, check=False, env=env,
        )  # fmt: skip

    done = checked()
    assert done.returncode == 0 and "RuntimeWarning: [OC3410] a doubt: a hint" in done.stderr
    assert "but for warnings (OC3410; errors with --strict)" in done.stderr
    done = checked("--strict")
    assert done.returncode == 1 and "RaceError: [OC3410] a doubt" in done.stderr


def test_check_counts_what_no_kernel_wrote(tmp_path: Path) -> None:
    done = opencute(tmp_path, "check", "--seeds", "2", "FILE", "part")
    said = "opencute: 32 of 1056 elements of Float32[1056] were written by no kernel"
    assert done.returncode == 0 and done.stderr.count(said) == 1
    assert "the first is [1024]" in done.stderr
    done = opencute(tmp_path, "check", "--seeds", "1", "FILE")
    assert "by no kernel" not in done.stderr


def test_options_after_the_file_are_its_own(tmp_path: Path) -> None:
    note = (
        "opencute: --seeds stands after the file and is its own; before the file, it is an option"
    )
    done = opencute(tmp_path, "check", "FILE", "pad", "--seeds", "1")
    assert note in done.stderr and "nothing found in 3 orders" in done.stderr
    done = opencute(tmp_path, "check", "--seeds", "1", "FILE", "pad", "--seed=1")
    assert note not in done.stderr and "nothing found in 1 order " in done.stderr
    done = opencute(tmp_path, "check", "--seeds", "1", "FILE", "--", "pad", "--seeds=1")
    assert note not in done.stderr
