# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Device events, graphs and the whole benchmark on a GPU."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from opencute.lab import clocks, report

pytestmark = pytest.mark.t2

ADD = """
import torch
def kernel_fn(x, y): return torch.add(x, y)
def reference_fn(x, y): return x + y
def get_inputs(): return [torch.randn(8192, 8192, device="cuda") for _ in range(2)]
def get_bytes(x, y): return 3 * x.nbytes
"""


@pytest.fixture
def torch() -> Any:
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    clocks.watch_torch()
    return module


def test_device_time_leaves_the_host_out(torch: Any) -> None:
    x = torch.ones(1 << 16, device="cuda")
    clock = clocks.pick_clock(simulated=False, flush_l2=True)
    assert clock.name == "cuda events"

    def slow_host() -> None:
        time.sleep(0.002)
        x.add_(1)

    samples = [clock.sample(slow_host) for _ in range(5)]
    assert min(s.device_ms for s in samples) < 0.5
    assert all(s.host_ms is not None and s.host_ms >= 1.9 for s in samples)


def test_a_graph_does_the_work(torch: Any) -> None:
    x = torch.arange(1024.0, device="cuda")
    clock = clocks.pick_clock(simulated=False, flush_l2=False)
    replay = clock.graphed(lambda: x * 2)
    assert clock.sample(replay).device_ms < 1


def test_a_graph_that_captures_nothing_is_refused(torch: Any) -> None:
    x = torch.ones(16, device="cuda")
    out = torch.zeros(16, device="cuda")
    side = torch.cuda.Stream()

    def wrong_stream() -> Any:
        with torch.cuda.stream(side):
            torch.add(x, 1, out=out)
        return out

    clock = clocks.pick_clock(simulated=False, flush_l2=False)
    with pytest.raises((RuntimeError, UserWarning)):  # torch warns of an empty graph
        clock.graphed(wrong_stream)


@pytest.mark.parametrize("graph", [False, True])
def test_benchmark_of_an_add(torch: Any, tmp_path: Path, graph: bool) -> None:
    path = tmp_path / "add.py"
    path.write_text(ADD, encoding="utf-8")
    found, status = report.benchmark(path, graph=graph)
    assert status == 0, found["details"]
    assert found["clock"] == "cuda events"
    assert found["graph"] is graph
    assert found["speedup"] == pytest.approx(1.0, abs=0.2)
    assert found["gbps"] > 100
    assert found["host_time_ms"] < found["kernel_time_ms"]
    checked, status = report.verify(path)
    assert status == 0, checked["details"]
    assert checked["target"] == "cuda"
