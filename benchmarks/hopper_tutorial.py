# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of the Hopper tutorial beside torch.matmul, on the same data.

    python benchmarks/hopper_tutorial.py [--size 8192x8192x8192] [--steps 1,2,3] [--iters 10]

Needs a GPU of compute capability 9.0. Prints the table of docs/tutorials/hopper_gemm.md: calls are
CUDA graphs of one call, medians of bursts, functions interleaved; TFLOP/s and the ratio of times to
torch's. Every result is compared with torch's first. torch's side of step 7 is `torch.addmm`.
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

STEPS = ROOT / "docs" / "tutorials" / "hopper_gemm"
TILES, CLUSTER = ((128, 128, 64), (128, 256, 64)), (2, 1)


def load(step):
    """A step's module."""
    path = STEPS / f"step{step}.py"
    spec = importlib.util.spec_from_file_location(f"hopper_tutorial_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def settings(step, tile):
    """The constants that a step takes, as they are measured."""
    given = {"tile": tile}
    if step >= 3:  # step 7 has a tile of the result in shared memory as well
        given["stages"] = 3 if step == 7 and tile == TILES[1] else 4
    if step >= 5:
        given["cluster"] = CLUSTER
    if step >= 6:
        given["blocks"] = torch.cuda.get_device_properties(0).multi_processor_count
    return given


def prepared(step, tile, a, b, bias):
    """A function that runs a step on torch's current stream, and the output that it fills."""
    out = torch.zeros(a.shape[0], b.shape[0], device="cuda", dtype=torch.float16)
    arrays = (a, b, bias, out) if step == 7 else (a, b, out)
    args = [from_dlpack(t, assumed_align=16) for t in arrays]
    fn = cute.compile(load(step).gemm, *args, **settings(step, tile))
    return (lambda: fn(*args)), out


def agrees(got, want, k):
    """Whether two results of f16 products of normal numbers are near each other."""
    return float((got.float() - want.float()).abs().max()) <= 4e-3 * k**0.5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", default="8192x8192x8192")
    parser.add_argument("--steps", default="1,2,3,4,5,6,7")
    parser.add_argument("--iters", type=int, default=10)
    options = parser.parse_args()
    m, n, k = map(int, options.size.split("x"))
    a, b, bias = (torch.randn(s, device="cuda").half() for s in ((m, k), (n, k), (n,)))
    plain = torch.matmul(a, b.T)
    with_bias = torch.addmm(bias, a, b.T)
    functions = {
        "matmul": graphed(lambda: torch.matmul(a, b.T, out=plain)),
        "addmm": graphed(lambda: torch.addmm(bias, a, b.T, out=with_bias)),
    }
    right, kept = {}, []  # a graph keeps no memory alive that it writes to
    rows = [(int(x), tile) for x in options.steps.split(",") for tile in TILES]
    for row in rows:
        call, out = prepared(*row, a, b, bias)
        kept.append((call, out))
        functions[row] = graphed(call)
        torch.cuda.synchronize()
        right[row] = agrees(out, with_bias if row[0] == 7 else plain, k)
    times = burst(functions, iters=options.iters)
    once = 2 * (m * k + n * k + m * n)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {options.size}")
    print(f"each matrix once at the bandwidth of a copy: {once / copy_bandwidth():.1f} us\n")
    print(
        "| step | tile | us | TFLOP/s | torch us | ratio | agrees |\n|---|---|---|---|---|---|---|"
    )
    for step, tile in rows:
        us, torch_us = times[step, tile], times["addmm" if step == 7 else "matmul"]
        print(
            f"| {step} | {tile[0]} x {tile[1]} | {us:.1f} | {2 * m * n * k / us / 1e6:.1f} "
            f"| {torch_us:.1f} | {us / torch_us:.3f} | {right[step, tile]} |"
        )
    if not all(right.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
