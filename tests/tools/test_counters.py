# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`benchmarks/counters.py`: rows of a benchmark and what `ncu` counted find each other."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.t0

HERE = Path(__file__).resolve().parents[2] / "benchmarks" / "counters.py"

# Answers as ncu does: names of metrics, or a report beside what the watched program printed.
NCU = f"""#!{sys.executable}
import sys
if "--query-metrics" in sys.argv:
    print("Device NVIDIA H200 (GH100)")
    for name in {{known!r}}:
        print(name, "Counter  cycle  # of cycles")
    raise SystemExit
log = sys.argv[sys.argv.index("--log-file") + 1]
metrics = sys.argv[sys.argv.index("--metrics") + 1].split(",")
units = {{{{"gpu__time_duration.sum": "ms", "dram__bytes_read.sum": "Gbyte"}}}}
def line(cells):
    return ",".join(f'"{{{{c}}}}"' for c in cells)
lines = ["==PROF== Connected to process 7"]
lines.append(line(["ID", "Kernel Name", *metrics]))
lines.append(line(["", "", *(units.get(m, "") for m in metrics)]))
for i, (name, values) in enumerate({{kernels!r}}):
    lines.append(line([i, name, *(values.get(m, "n/a") for m in metrics)]))
open(log, "w").write("\\n".join(lines))
print({{printed!r}})
raise SystemExit({{status}})
"""
PIPE = "sm__pipe_tensor_cycles_active"
STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active"
KNOWN = [PIPE, *(STALLED.format(x) for x in ("barrier", "selected", "barrier_not_issued", "wait"))]


def kernel(name, ms, tensor, gigabytes=0.0, **stalls):
    return name, {
        "gpu__time_duration.sum": ms, "dram__bytes_read.sum": gigabytes,
        "dram__bytes_write.sum": "1,000,000", "launch__registers_per_thread": 168,
        f"{PIPE}.avg.pct_of_peak_sustained_elapsed": tensor,
    } | {f"{STALLED.format(k)}.ratio": v for k, v in stalls.items()}  # fmt: skip


@pytest.fixture
def counters():
    spec = importlib.util.spec_from_file_location("counters", HERE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(counters, monkeypatch, tmp_path, kernels, printed, *more, status=0):
    ncu = tmp_path / "ncu"
    ncu.write_text(NCU.format(known=KNOWN, kernels=kernels, printed=printed, status=status))
    ncu.chmod(0o755)
    argv = ["counters.py", "--ncu", str(ncu), "--json", str(tmp_path / "rows.json"), *more]
    monkeypatch.setattr(sys, "argv", [*argv, "benchmarks/hopper.py", "--only", "gemm"])
    return counters.main(), tmp_path / "rows.json"


MARK = kernel("spin_kernel(long)", 0.001, 0.0)
PRINTED = """NVIDIA H200, torch 2.11
@functions ["torch", "ours"]
gemm f16 4096            torch    180.0 us (1.000)  760 Tflop/s  ours   179.0 us
@functions ["ours"]
swiglu   128x2           even   ok=True  floor 12.0 us  ours 14.0 us
"""


def test_rows_and_kernels_find_each_other(counters, monkeypatch, tmp_path, capsys):
    kernels = [
        MARK, kernel("cublas", 0.2, 90.0, 0.4, barrier=1.0, selected=3.0), MARK,
        kernel("kernel_0", 0.1, 95.5, 0.3, barrier=6.0, selected=2.0, wait=1.0), MARK,
        kernel("first", 0.1, 20.0), kernel("second", 0.3, 70.0, 0.5), kernel("third", 0.1, 1.0),
    ]  # fmt: skip
    status, path = run(counters, monkeypatch, tmp_path, kernels, PRINTED)
    assert status == 0
    theirs, ours, swiglu = json.loads(path.read_text())
    assert (theirs["title"], theirs["function"]) == ("gemm f16 4096", "torch")
    assert (ours["title"], ours["function"]) == ("gemm f16 4096", "ours")
    assert ours["us"] == pytest.approx(100.0)
    assert ours["tensor"] == 95.5
    assert ours["gb_s"] == pytest.approx((0.3e9 + 1e6) / 100e-6 / 1e9)
    assert ours["registers"] == 168
    assert list(ours["stalls"].items()) == [
        ("barrier", pytest.approx(6 / 9)), ("selected", pytest.approx(2 / 9)),
        ("wait", pytest.approx(1 / 9)),
    ]  # fmt: skip
    assert swiglu["title"] == "swiglu 128x2 even"
    assert (swiglu["kernel"], swiglu["kernels"]) == ("second", 3)
    assert swiglu["us"] == pytest.approx(500.0)
    assert swiglu["share"] == pytest.approx(0.6)
    text = capsys.readouterr().out
    assert "| swiglu 128x2 even | ours (60% of 3 kernels) | 500.0 | 70.0 | – | 1670 | 168 |" in text


def test_functions_that_are_not_asked_for_keep_their_place(counters, monkeypatch, tmp_path):
    kernels = [
        MARK,
        kernel("a", 0.2, 1.0),
        MARK,
        kernel("b", 0.1, 2.0),
        MARK,
        kernel("c", 0.3, 3.0),
    ]
    _, path = run(counters, monkeypatch, tmp_path, kernels, PRINTED, "--functions", "ours")
    assert [row["kernel"] for row in json.loads(path.read_text())] == ["b", "c"]


def test_a_benchmark_that_fails_is_said(counters, monkeypatch, tmp_path, capsys):
    status, _ = run(counters, monkeypatch, tmp_path, [], "Traceback: no GPU", status=1)
    assert status == 1
    assert "Traceback: no GPU" in capsys.readouterr().err
