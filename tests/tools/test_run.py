# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute run` on scripts and notebooks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.t0

ROOT = Path(__file__).resolve().parents[2]


def run(path: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OPENCUTE_TARGET": "sim", **environment}
    return subprocess.run(
        [sys.executable, "-m", "opencute.tools", "run", str(path), *arguments],
        capture_output=True, text=True, check=False, env=env, cwd=path.parent.parent,
    )  # fmt: skip


def script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "demo.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_script_is_main(tmp_path: Path) -> None:
    (tmp_path / "sibling.py").write_text("value = 41", encoding="utf-8")
    text = """
import inspect, os, pickle, sys
import sibling
class Here: pass
def f(): return sibling.value + 1
if __name__ == "__main__":
    print(sys.argv[1:], f(), os.environ["OPENCUTE_ALIAS"], __file__.endswith("demo.py"))
    print(type(pickle.loads(pickle.dumps(Here()))) is Here, inspect.getsource(f).strip())
"""
    done = run(script(tmp_path, text), "--M", "3", "-h", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "['--M', '3', '-h', '--json'] 42 1 True",
        "True def f(): return sibling.value + 1",
    ]


@pytest.mark.parametrize(
    ("text", "status"),
    [("import sys; sys.exit(3)", 3), ("exit()", 0), ("raise SystemExit('bad')", 1), ("1/0", 1)],
)
def test_exit_status(tmp_path: Path, text: str, status: int) -> None:
    assert run(script(tmp_path, text)).returncode == status


def test_tracebacks_show_the_users_frames(tmp_path: Path) -> None:
    done = run(script(tmp_path, "def f():\n    1 / 0\n\nf()\n"))
    assert "ZeroDivisionError" in done.stderr
    assert 'demo.py", line 2, in f' in done.stderr
    assert "opencute/tools" not in done.stderr
    full = run(script(tmp_path, "1/0"), OPENCUTE_DIAG_FULL_TRACEBACK="1")
    assert "opencute/tools" in full.stderr


def test_the_simulator_is_announced_once(tmp_path: Path) -> None:
    assert "opencute:" not in run(script(tmp_path, "pass")).stderr
    import opencute.integrations.environment as environment

    if environment.gpu_count() == 0:
        done = run(script(tmp_path, "pass"), OPENCUTE_TARGET="")
        assert done.stderr.count("kernels run in the simulator") == 1


def test_cuda_bindings_and_torch_without_a_gpu(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = """
import torch
import cuda.bindings.driver as cuda
from torch.cuda import current_stream
x = torch.ones(3, device="cuda")
stream = cuda.CUstream(torch.cuda.Stream().cuda_stream)
print(x.device, torch.cuda.is_available(), int(cuda.CUstream(current_stream().cuda_stream)))
"""
    done = run(script(tmp_path, text))
    assert done.stdout == "cuda:0 True 0\n", done.stderr


def test_a_target_of_cuda_installs_nothing(tmp_path: Path) -> None:
    text = "import sys; print('opencute.integrations.torch_sim' in sys.modules)"
    assert run(script(tmp_path, text), OPENCUTE_TARGET="cuda").stdout == "False\n"


def test_a_notebook(tmp_path: Path) -> None:
    cells = ["def f(x):\n    return x + 1\n", "f(1)", "import inspect\nprint(inspect.getsource(f))"]
    path = tmp_path / "demo.ipynb"
    content = {"cells": [{"cell_type": "code", "source": c} for c in cells], "nbformat": 4}
    path.write_text(json.dumps(content), encoding="utf-8")
    done = run(path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2\ndef f(x):\n    return x + 1\n\n"
    path.write_text("{}", encoding="utf-8")
    assert run(path).returncode == 2


def test_a_module_runs_on_the_simulated_device(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    test = tmp_path / "test_device.py"
    test.write_text(
        "import torch\n\ndef test_it():\n    assert torch.ones(3, device='cuda').is_cuda\n",
        encoding="utf-8",
    )
    done = run(Path("-m"), "pytest", "-q", "-p", "no:cacheprovider", str(test))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_status_of_a_module() -> None:
    assert run(Path("-m"), "unittest", "no_such_module").returncode == 1
    assert run(Path("-m")).returncode == 2
