# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Elementwise kernels at 8192 x 8192 beside torch, on the same data in the same run.

    python benchmarks/elementwise.py [--size 8192] [--json FILE]

Floor: bytes over the copy bandwidth that this run measures. Each row is the median of bursts of
calls (events around 20 calls), and of single calls with the L2 overwritten before each.
"""

import argparse
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "examples"), str(ROOT / "benchmarks")]

import add_2d  # noqa: E402
import add_tiled_copy  # noqa: E402
import relu_2d  # noqa: E402
import scale_inplace  # noqa: E402
from reporting import keep  # noqa: E402
from timing import burst, copy_bandwidth, flushed  # noqa: E402

import cutlass.cute as cute  # noqa: E402 - after the path is set
from cutlass.cute.runtime import from_dlpack  # noqa: E402

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def prepared(fn, tensors, *more, dynamic=True, align=16):
    """A compiled function bound to its arguments."""
    args = [from_dlpack(t, assumed_align=align) for t in tensors]
    if dynamic:
        args = [a.mark_layout_dynamic() for a in args]
    compiled = cute.compile(fn, *args, *more)
    return (lambda: compiled(*args, *more)), compiled


def cases(size, dtype):
    """name -> (ours, torch's, bytes, check)."""
    a, b = (torch.randn(size, size, device="cuda", dtype=dtype) for _ in range(2))
    out = torch.empty_like(a)
    n = a.numel() * a.element_size()
    for layout in ("dynamic", "static"):
        dynamic = layout == "dynamic"
        fn, code = prepared(add_2d.add, (a, b, out), dynamic=dynamic)
        yield (
            f"add, {layout}",
            fn,
            lambda: torch.add(a, b, out=out),
            3 * n,
            code,
            (lambda: torch.equal(out, a + b)),
        )
        fn, code = prepared(relu_2d.relu, (a, out), dynamic=dynamic)
        yield (
            f"relu, {layout}",
            fn,
            lambda: torch.clamp_min(a, 0, out=out),
            2 * n,
            code,
            (lambda: torch.equal(out, torch.relu(a))),
        )
    fn, code = prepared(add_tiled_copy.add, (a, b, out), dynamic=True, align=None)
    yield (
        "add, tiled copy, predicated",
        fn,
        lambda: torch.add(a, b, out=out),
        3 * n,
        code,
        (lambda: torch.equal(out, a + b)),
    )
    x = a.clone()
    fn, code = prepared(scale_inplace.scale, (x,), 1.0)
    yield "scale in place", fn, lambda: x.mul_(1.0), 2 * n, code, lambda: torch.equal(x, a)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=8192)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    bandwidth = copy_bandwidth()
    print(f"{torch.cuda.get_device_name()}, copy {bandwidth / 1e6:.2f} TB/s")
    rows = []
    for name, dtype in DTYPES.items():
        for case, ours, theirs, nbytes, code, check in cases(options.size, dtype):
            ours()
            ok = check()
            b = burst({"ours": ours, "torch": theirs})
            f = flushed({"ours": ours, "torch": theirs})
            report = code.artefacts.device.report.functions[0]
            rows.append(
                {
                    "case": case, "dtype": name, "right": ok, "floor_us": nbytes / bandwidth,
                    "us": b["ours"], "torch_us": b["torch"], "ratio": b["ours"] / b["torch"],
                    "flushed_us": f["ours"], "flushed_torch_us": f["torch"],
                    "flushed_ratio": f["ours"] / f["torch"],
                    "registers": report.registers, "stack": report.stack,
                }
            )  # fmt: skip
    head = ("case", "dtype", "right", "floor_us", "us", "torch_us", "ratio", "flushed_us",
            "flushed_torch_us", "flushed_ratio", "registers", "stack")  # fmt: skip
    print("| " + " | ".join(head) + " |")
    for row in rows:
        cells = [f"{row[h]:.3f}" if isinstance(row[h], float) else str(row[h]) for h in head]
        print("| " + " | ".join(cells) + " |")
    keep(rows, options.json)


if __name__ == "__main__":
    main()
