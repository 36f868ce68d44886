# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`benchmark` end to end, timed by the host's clock, as in the simulator."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencute.lab import report
from opencute.lab.strict_json import dumps

pytestmark = pytest.mark.t0

MakeFile = Callable[..., Path]

FIELDS = ("kernel_time_ms", "reference_time_ms", "speedup", "warmup_iters", "benchmark_iters",
          "wrong_framework", "min_ms", "median_ms", "p10_ms", "p90_ms", "host_time_ms", "gbps",
          "compilations_in_timed_loop", "clock", "details")  # fmt: skip


@pytest.fixture(autouse=True)
def in_the_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCUTE_TARGET", "sim")


def measure(path: Path, **options: Any) -> dict[str, Any]:
    options = {"warmup": 2, "iters": 5, "timeout": 30.0, **options}
    found, status = report.benchmark(path, **options)
    assert status == (1 if found["problems"] else 0)
    again = json.loads(dumps(found))
    assert all(field in again for field in FIELDS)
    return again


def test_a_measurement(kernel_file: MakeFile) -> None:
    found = measure(kernel_file("bytes_moved = 2 * 8 * 16 * 8\ndef get_flops(x): return x.size"))
    assert found["problems"] == []
    assert found["warmup_iters"] == 2
    assert found["benchmark_iters"] == 5
    assert 0 < found["min_ms"] <= found["median_ms"] == found["kernel_time_ms"]
    assert found["p10_ms"] <= found["p90_ms"]
    assert found["reference_time_ms"] > 0
    assert found["gbps"] == pytest.approx(2048 / found["kernel_time_ms"] / 1e6)
    assert found["tflops"] == pytest.approx(128 / found["kernel_time_ms"] / 1e9)


def test_the_simulator_claims_no_speed(kernel_file: MakeFile) -> None:
    found = measure(kernel_file(), graph=True)
    assert found["speedup"] is None
    assert found["clock"] == "simulated"
    assert found["host_time_ms"] is None
    assert found["graph"] is False
    assert found["flush_l2"] is False
    assert "no CUDA graph in the simulator" in found["details"]


def test_a_kernel_of_another_framework(kernel_file: MakeFile) -> None:
    found = measure(kernel_file())
    assert found["wrong_framework"] is True
    assert "no OpenCuTe kernel was launched" in found["details"]


COUNTED = """
    from opencute.base.counters import COUNTERS
    calls = []
    def kernel_fn(x):
        calls.append(1)
        COUNTERS.launches += 1
        COUNTERS.compilations += len(calls) {when}
        return np.maximum(x, 0)
"""


def test_our_launches_are_counted(kernel_file: MakeFile) -> None:
    found = measure(kernel_file(kernel=COUNTED.format(when="== 1")))
    assert found["wrong_framework"] is False
    assert found["kernel_launches"] == 7
    assert found["compilations_in_timed_loop"] == 0
    assert "compilations" not in found["details"]


def test_compilations_in_the_timed_loop_warn(kernel_file: MakeFile) -> None:
    found = measure(kernel_file(kernel=COUNTED.format(when="> 4")))
    assert found["compilations_in_timed_loop"] == 3
    assert "warning: 3 compilations in the timed loop" in found["details"]


def test_launches_by_the_reference_do_not_count(kernel_file: MakeFile) -> None:
    reference = COUNTED.format(when="== 1").replace("kernel_fn", "reference_fn")
    assert measure(kernel_file(reference=reference))["wrong_framework"] is True


@pytest.mark.parametrize("source", ["{'read': 100, 'write': 28}", "lambda x: x.size", "128"])
def test_forms_of_byte_counts(kernel_file: MakeFile, source: str) -> None:
    assert measure(kernel_file(f"get_bytes = {source}"), iters=1)["bytes_moved"] == 128


def test_the_time_limit_shortens_the_loop(kernel_file: MakeFile) -> None:
    kernel = "import time\ndef kernel_fn(x):\n    time.sleep(0.05)\n    return np.maximum(x, 0)"
    found = measure(kernel_file(kernel=kernel), timeout=8.0, iters=1000)
    assert found["problems"] == []
    assert 1 <= found["benchmark_iters"] < 200
    assert "time limit" in found["details"]


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("def kernel_fn(x): 1 / 0", "ZeroDivisionError"),
        ("import os\ndef kernel_fn(x): os._exit(0)", "ended without a result"),
        ("def kernel_fn(x):\n while True: pass", "timed out after 5 s"),
        ("", "does not define kernel_fn"),
    ],
)
def test_failures_keep_the_shape(kernel_file: MakeFile, kernel: str, said: str) -> None:
    # The interpreter's start counts too, and takes seconds on a busy machine.
    found = measure(kernel_file(kernel=kernel), timeout=5.0 if "while" in kernel else 60.0)
    assert said in found["details"]
    assert found["kernel_time_ms"] is None
    assert found["speedup"] is None


def test_a_stopped_clock_does_not_help(kernel_file: MakeFile) -> None:
    kernel = """
        import time
        real = time.sleep
        time.perf_counter_ns = time.perf_counter = time.time = time.monotonic = lambda: 0
        def kernel_fn(x):
            real(0.002)
            return np.maximum(x, 0)
    """
    assert measure(kernel_file(kernel=kernel))["kernel_time_ms"] >= 1.9


def test_mock_results_are_marked(tmp_path: Path) -> None:
    assert report.mock_verify(tmp_path / "k.py")["mock"] is True
    canned = report.mock_benchmark(tmp_path / "k.py", warmup=3, iters=4)
    assert canned["mock"] is True
    assert (canned["warmup_iters"], canned["benchmark_iters"]) == (3, 4)
    assert all(field in canned for field in FIELDS)


TORCH = """
import torch
def kernel_fn(x): return torch.clamp(x, min=0)
def reference_fn(x): return torch.relu(x)
def get_inputs(): return [torch.randn(64, 32, dtype=torch.float16, device="cuda")]
def get_bytes(x): return 2 * x.nbytes
"""


def test_a_cuda_file_with_no_gpu(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "kernel.py"
    path.write_text(TORCH, encoding="utf-8")
    found = measure(path, timeout=60.0)
    assert found["problems"] == []
    assert found["bytes_moved"] == 8192
    found, status = report.verify(path, seeds=2)
    assert status == 0, found["details"]
    text = TORCH.replace("torch.clamp(x, min=0)", "torch.clamp(x, min=0).cpu()")
    path.write_text(text, encoding="utf-8")
    found, status = report.verify(path, seeds=1)
    assert status == 1
    assert "device is cpu, the reference has cuda:0" in found["details"]


def test_what_the_numbers_mean_comes_before_them(kernel_file: MakeFile) -> None:
    found = measure(kernel_file())
    assert next(iter(found)) == "notes"
    assert found["notes"][0] == "simulated: these times say nothing about a GPU"
    canned = report.mock_benchmark(Path("k.py"), warmup=1, iters=1)
    assert next(iter(canned)) == "notes" and "nothing was run" in canned["notes"][0]
