# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of the tutorials "a first kernel" and "SGEMM to tensor cores" on a GPU.

    python benchmarks/first_tutorials.py [--size 4096]

Needs a GPU. Prints a table for each of docs/tutorials/first_kernel.md and sgemm.md, line by line:
calls are CUDA graphs, medians of bursts, functions interleaved, beside torch on the same
data, or beside the time that a copy of as many bytes takes. Results are compared first.
"""

import argparse
import importlib.util
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from timing import burst, copy_bandwidth, graphed  # noqa: E402 - after the path is set

from opencute import cute  # noqa: E402
from opencute.cute.runtime import from_dlpack  # noqa: E402

TUTORIALS = ROOT / "docs" / "tutorials"
SGEMM = {1: (), 2: (), 3: ((128, 128, 16),), 4: ((128, 128, 32),), 5: ((128, 128, 32), 4)}


def load(tutorial, step):
    """A step's module."""
    path = TUTORIALS / tutorial / f"step{step}.py"
    spec = importlib.util.spec_from_file_location(f"{tutorial}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def compiled(function, arrays, *rest):
    """A call of a step's host function on torch's current stream."""
    args = [from_dlpack(t, assumed_align=16) for t in arrays]
    run = cute.compile(function, *args, *rest)
    numbers = [x for x in rest if isinstance(x, float)]
    return lambda: run(*args, *numbers)


def first(size):
    """Steps of the first tutorial, and torch beside them."""
    n = size * size
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    a, b, c = (torch.randn(size, size, device="cuda") for _ in range(3))
    calls, keep = {}, [x, y, a, b, c]
    for step in (1, 2):
        calls[f"step {step}, axpy"] = compiled(load("first_kernel", step).axpy, (x, y), 0.5), 12 * n
    calls["torch, y.add_(x, alpha=0.5)"] = (lambda: y.add_(x, alpha=0.5)), 12 * n
    calls["step 3, add"] = compiled(load("first_kernel", 3).add, (a, b, c)), 12 * n
    calls["torch.add"] = (lambda: torch.add(a, b, out=c)), 12 * n
    calls["step 4, transpose"] = compiled(load("first_kernel", 4).transpose, (a, c)), 8 * n
    calls["torch, c.copy_(a.T)"] = (lambda: c.copy_(a.T)), 8 * n
    calls["step 5, softmax"] = compiled(load("first_kernel", 5).softmax, (a, c)), 8 * n
    calls["torch.softmax"] = (lambda: torch.softmax(a, 1, out=c)), 8 * n
    for name, right in (("step 4, transpose", a.T), ("step 5, softmax", torch.softmax(a, 1))):
        calls[name][0]()
        assert torch.allclose(c, right), name
    bandwidth = copy_bandwidth()
    graphs = {name: graphed(call) for name, (call, _) in calls.items()}
    times = burst(graphs, iters=10)
    print("| kernel | us | of a copy's time |\n|---|---|---|")
    for name, (_, moved) in calls.items():
        print(f"| {name} | {times[name]:.1f} | {times[name] * bandwidth / moved:.2f} |", flush=True)
    del keep


def sgemm(size):
    """Steps of the second tutorial."""
    torch.backends.cuda.matmul.allow_tf32 = False
    a, b = (torch.randn(size, size, device="cuda") for _ in range(2))
    c = torch.zeros(size, size, device="cuda")
    ah, bh = a.half(), b.half()
    want, half = torch.matmul(a, b.T), torch.matmul(ah, bh.T)
    calls = {
        "torch f32": lambda: torch.matmul(a, b.T, out=want),
        "torch f16": lambda: torch.matmul(ah, bh.T, out=half),
    }
    for step, rest in SGEMM.items():
        operands = (a, b) if step < 4 else (ah, bh)
        calls[f"step {step}"] = call = compiled(load("sgemm", step).gemm, (*operands, c), *rest)
        call()
        right = want if step < 4 else torch.matmul(ah.float(), bh.float().T)
        difference = float((c - right).abs().max())
        assert difference < 2e-3 * size**0.5, (step, difference)
        print(f"step {step}: largest difference {difference:.4f}", flush=True)
    times = burst({name: graphed(call) for name, call in calls.items()}, iters=5)
    print("\n| step | us | TFLOP/s | of torch |\n|---|---|---|---|")
    for name, us in times.items():
        beside = times["torch f16" if name in ("step 4", "step 5", "torch f16") else "torch f32"]
        print(
            f"| {name} | {us:.0f} | {2 * size**3 / us / 1e6:.1f} | {us / beside:.2f} |", flush=True
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=4096)
    options = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {options.size}", flush=True)
    first(2 * options.size)
    sgemm(options.size)


if __name__ == "__main__":
    main()
