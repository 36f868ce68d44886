# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of groups beside torch._grouped_mm and a loop of torch.mm, on the same data.

    python benchmarks/grouped_gemm.py [--sizes 16384x16x4096x4096] [--spread even,ragged]
        [--what products,swiglu,weights,e4m3] [--tiles] [--check]

Sizes are rows x groups x N x K, bf16. Floor: 2 rows N K operations over 800 Tflop/s (1600 for
e4m3), or all bytes over 4.2 TB/s, whichever is longer. The loop knows the groups' ends on the host,
the others do not. With `--tiles`, the first is timed with each configuration that is worth a try;
with `--check`, nothing is timed.
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

from opencute.kernels.gemm.activations import silu  # noqa: E402
from opencute.kernels.gemm.visitors import chain, scale_columns, scale_rows  # noqa: E402
from opencute.kernels.grouped_gemm import (  # noqa: E402
    grouped_gemm,
    moe_gemm,
    moe_gemm_weights,
)
from opencute.kernels.grouped_gemm.config import search_space  # noqa: E402

BF16, E4M3 = torch.bfloat16, torch.float8_e4m3fn


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


class Case:
    """Data of one size.

    Attributes:
        functions: by name; ours come first.
        want: what the first of them gives.
        ours: which of them are checked.
        flop, size: operations, and bytes, of a call.
        host: functions of which the host's time counts.
    """

    rate = 800e6

    def __init__(self, size, spread):
        self.rows, self.groups, self.n, self.k = size
        self.a = torch.randn(self.rows, self.k, device="cuda", dtype=BF16)
        # Contiguous along K, as torch's own wants it.
        self.b = torch.randn(self.groups, self.n, self.k, device="cuda", dtype=BF16).mT
        ends = ends_of(self.rows, self.groups, spread)
        self.ends, self.bounds = ends.cuda(), [0, *ends.tolist()]
        self.parts = list(itertools.pairwise(self.bounds))
        self.flop = 2.0 * self.rows * self.n * self.k
        self.size = 2.0 * (self.rows * (self.n + self.k) + self.groups * self.n * self.k)
        self.host, self.functions = {}, {}

    def torchs(self, name, *args, **kwargs):
        """One of torch's functions, if there is one for these."""
        fn = getattr(torch, name, None)
        try:
            fn(*args, **kwargs)
        except Exception as e:
            print(f"torch.{name}: {str(e).splitlines()[0][:80]}")
            return
        self.functions[name] = lambda: fn(*args, **kwargs)


class Products(Case):
    def __init__(self, size, spread):
        super().__init__(size, spread)
        out = torch.empty(self.rows, self.n, device="cuda", dtype=BF16)
        left, weights = [self.a[i:j] for i, j in self.parts], [*self.b]
        each = [out[i:j] for i, j in self.parts]

        def lists():
            grouped_gemm(left, weights, out=each)
            return out

        def loop():
            for x, y, d in zip(left, weights, each, strict=True):
                torch.mm(x, y, out=d)
            return out

        self.functions = {
            "rows": lambda config=None: moe_gemm(self.a, self.b, self.ends, out=out, config=config),
            "lists": lists, "loop of mm": loop,
        }  # fmt: skip
        self.ours, self.want = 2, loop().float()
        self.torchs("_grouped_mm", self.a, self.b, offs=self.ends)
        self.host = {"lists": lists, "new results": lambda: grouped_gemm(left, weights)}


class Swiglu(Case):
    def __init__(self, size, spread):
        super().__init__(size, spread)
        self.size -= self.rows * self.n
        self.functions = {
            "rows": lambda config=None: moe_gemm(
                self.a, self.b, self.ends, epilogue=chain(gated=silu), config=config
            )
        }

        def two():
            x = torch._grouped_mm(self.a, self.b, offs=self.ends)
            return torch.nn.functional.silu(x[:, : self.n // 2]) * x[:, self.n // 2 :]

        x = torch._grouped_mm(self.a, self.b, offs=self.ends).float()
        self.ours, self.want = 1, torch.nn.functional.silu(x[:, ::2]) * x[:, 1::2]
        self.functions["_grouped_mm and silu"] = two


class Weights(Case):
    def __init__(self, size, spread):
        super().__init__(size, spread)
        grads = torch.randn(self.rows, self.n, device="cuda", dtype=BF16)
        self.functions = {
            "rows": lambda config=None: moe_gemm_weights(self.a, grads, self.ends, config=config),
        }
        self.ours = 1
        self.want = torch.stack([self.a[i:j].T @ grads[i:j] for i, j in self.parts]).float()
        self.torchs("_grouped_mm", self.a.T, grads, offs=self.ends)


class Narrow(Case):
    rate = 1600e6

    def __init__(self, size, spread):
        super().__init__(size, spread)
        self.size -= self.rows * self.k + self.groups * self.n * self.k
        a, b = self.a.to(E4M3), self.b.mT.to(E4M3).mT
        rows = torch.rand(self.rows, device="cuda")
        columns = torch.rand(self.groups, self.n, device="cuda")
        self.functions = {
            "rows": lambda config=None: moe_gemm(
                a, b, self.ends, epilogue=chain(scale_rows(rows), scale_columns(columns)),
                config=config,
            ),
        }  # fmt: skip
        self.ours = 1
        self.want = torch.cat([
            (a[i:j].float() @ b[g].float()) * rows[i:j, None] * columns[g]
            for g, (i, j) in enumerate(self.parts)
        ])  # fmt: skip
        self.torchs("_scaled_grouped_mm", a, b, rows, columns, offs=self.ends, out_dtype=BF16)


CASES = {"products": Products, "swiglu": Swiglu, "weights": Weights, "e4m3": Narrow}


def measure(what, size, spread, options):
    """Print times of one size; return whether all agree."""
    case = CASES[what](size, spread)
    good = all(
        torch.allclose(fn().float(), case.want, rtol=2e-2, atol=0.02 * float(case.want.std()))
        for fn in list(case.functions.values())[: case.ours]
    )
    floor = max(case.flop / case.rate, case.size / 4.2e6)
    title = f"{what:8} {'x'.join(map(str, size)):20} {spread:6} ok={good}"
    case.want = None
    spaces = list(search_space(twice=what == "e4m3")) if options.tiles else []
    if options.check:
        for config in spaces:
            case.functions["rows"](config)
        print(title, flush=True)
        return good
    times = burst({x: graphed(f) for x, f in case.functions.items()})
    host = {x: on_the_host(f) / (3 * case.groups) for x, f in case.host.items()}
    print(
        f"{title}  floor {floor:7.1f} us",
        *(f"{x} {t:7.1f} us {t / floor:4.2f}" for x, t in times.items()),
        *(f"host of {x} {t:4.2f} us a matrix" for x, t in host.items()), sep="  ", flush=True,
    )  # fmt: skip
    if spaces:
        rows = case.functions["rows"]
        times = burst({c: graphed(lambda c=c: rows(c)) for c in spaces}, rounds=5)
        for config, t in sorted(times.items(), key=lambda x: x[1]):
            print(f"    {t:7.1f} us {t / floor:4.2f}  {config}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--sizes",
        default="16384x16x4096x4096,8192x64x2048x2048,65536x8x4096x2048,1024x64x4096x2048",
    )
    parser.add_argument("--spread", default="even,ragged")
    parser.add_argument("--what", default=",".join(CASES))
    parser.add_argument("--tiles", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    print(torch.cuda.get_device_name())
    every = [
        measure(what, tuple(map(int, size.split("x"))), spread, options)
        for what in options.what.split(",") for size in options.sizes.split(",")
        for spread in options.spread.split(",")
    ]  # fmt: skip
    return 0 if all(every) else 1


if __name__ == "__main__":
    sys.exit(main())
