# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of groups beside torch._grouped_mm and a loop of torch.mm, on the same data.

    python benchmarks/grouped_gemm.py [--sizes 16384x16x4096x4096] [--spread even,ragged]

Sizes are rows x groups x N x K, bf16. Floor: 2 rows N K operations over 800 Tflop/s, or all bytes
over 4.2 TB/s, whichever is longer. The loop knows the groups' ends on the host, the others do not.
"""

import argparse
import itertools
import statistics
import sys
import time
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from timing import burst, graphed  # noqa: E402 - after the path is set

from opencute.kernels.grouped_gemm import grouped_gemm, moe_gemm  # noqa: E402


def ends_of(rows, groups, spread):
    """Where groups end: as many rows for each, or some with many and some with none."""
    if spread == "even":
        lengths = torch.full((groups,), rows // groups)
    else:
        weights = torch.rand(groups, generator=torch.Generator().manual_seed(1)) ** 3
        lengths = (weights / weights.sum() * rows).to(torch.int64)
        lengths[groups // 2] = 0
    ends = lengths.cumsum(0)
    ends[-1] = rows
    return ends.to(torch.int32)


def on_the_host(fn):
    """Microseconds that calls take the host."""
    samples = []
    for _ in range(20):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(5):
            fn()
        samples.append((time.perf_counter() - start) / 5 * 1e6)
    return statistics.median(samples)


def measure(size, spread):
    """Print times of one size; return whether all agree."""
    rows, groups, n, k = size
    a = torch.randn(rows, k, device="cuda", dtype=torch.bfloat16)
    # Contiguous along K, as torch's own wants it.
    b = torch.randn(groups, n, k, device="cuda", dtype=torch.bfloat16).transpose(1, 2)
    host = ends_of(rows, groups, spread)
    ends, out = host.cuda(), torch.empty(rows, n, device="cuda", dtype=torch.bfloat16)
    bounds = [0, *host.tolist()]
    left = [a[i:j] for i, j in itertools.pairwise(bounds)]
    weights = [*b]
    each = [out[i:j] for i, j in itertools.pairwise(bounds)]

    def loop():
        for x, y, d in zip(left, b, each, strict=True):
            torch.mm(x, y, out=d)

    loop()
    want = out.float()
    good = True
    functions = {
        "rows": lambda: moe_gemm(a, b, ends, out=out),
        "lists": lambda: grouped_gemm(left, weights, out=each),
        "loop of mm": loop,
    }
    if hasattr(torch, "_grouped_mm"):
        functions["_grouped_mm"] = lambda: torch._grouped_mm(a, b, offs=ends)
    for name in ("rows", "lists"):
        out.zero_()
        functions[name]()
        good &= torch.allclose(out.float(), want, rtol=2e-2, atol=1.0)
    times = burst({x: graphed(f) for x, f in functions.items()})
    host = {
        "lists": functions["lists"], "new results": lambda: grouped_gemm(left, weights),
    }  # fmt: skip
    host = {x: on_the_host(f) / (3 * groups) for x, f in host.items()}
    flop, size_of = 2.0 * rows * n * k, 2.0 * (rows * (n + k) + groups * n * k)
    floor = max(flop / 800e6, size_of / 4.2e6)
    print(
        f"{'x'.join(map(str, size)):22} {spread:6} ok={good}  floor {floor:7.1f} us",
        *(f"{x} {t:7.1f} us {t / floor:4.2f}" for x, t in times.items()),
        "host, a matrix of", *(f"{x} {t:4.2f} us" for x, t in host.items()), sep="  ", flush=True,
    )  # fmt: skip
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--sizes",
        default="16384x16x4096x4096,8192x64x2048x2048,65536x8x4096x2048,1024x64x4096x2048",
    )
    parser.add_argument("--spread", default="even,ragged")
    options = parser.parse_args()
    print(torch.cuda.get_device_name())
    sizes = [tuple(map(int, text.split("x"))) for text in options.sizes.split(",")]
    every = [measure(size, s) for size in sizes for s in options.spread.split(",")]
    return 0 if all(every) else 1


if __name__ == "__main__":
    sys.exit(main())
