# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix products of every processor beside torch and the published kernels, on the same data.

    python benchmarks/gemm.py [--kinds f32,f16] [--sizes 4096x4096x4096] [--json FILE]
                              [--search] [--seconds 60]

The kernels are those of sm_80 (`hopper.py` times those with wgmma). Ceilings come from loops on
registers in this run (`ceiling.py`). Calls are CUDA graphs of one call, functions interleaved;
medians of bursts. `--search` times the configurations of the search space, at most `--seconds` for
each product. Published kernels run when OPENCUTE_UPSTREAM names a copy of the CUTLASS repository.
torch multiplies f32 with TF32 switched off, and on for kind tf32.
"""

import argparse
import importlib
import os
import sys
import time
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

import ceiling  # noqa: E402
from reporting import keep, verdict  # noqa: E402
from timing import burst, graphed  # noqa: E402

from opencute import cute, utils  # noqa: E402
from opencute.base.errors import OpenCuTeError  # noqa: E402 - after the path is set
from opencute.cute.runtime import from_dlpack  # noqa: E402
from opencute.kernels.gemm import gemm  # noqa: E402
from opencute.kernels.gemm.config import heuristic, search_space  # noqa: E402
from opencute.kernels.gemm.interface import problem_of  # noqa: E402

TYPES = {
    "f32": torch.float32, "tf32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
    "i8": torch.int8,
}  # fmt: skip
SIZES = ["4096x4096x4096", "8192x8192x8192", "4000x4100x4050", "8192x128x8192", "16x8192x8192"]
PUBLISHED = "examples/python/CuTeDSL/cute/ampere/kernel/dense_gemm"


def operands(m, n, k, kind, majors):
    """A (M, K) and B (K, N); `majors` such as "kn" says which extents are contiguous."""

    def make(rows, columns, row_major):
        shape = (rows, columns) if row_major else (columns, rows)
        if kind == "i8":
            x = torch.randint(-8, 8, shape, device="cuda", dtype=torch.int8)
        else:
            x = torch.randn(shape, device="cuda").to(TYPES[kind])
        return x if row_major else x.T

    return make(m, k, majors[0] == "k"), make(k, n, majors[1] == "n")


def theirs(a, b, kind):
    if kind != "i8":
        return lambda out=None: torch.mm(a, b, out=out)
    return lambda out=None: torch._int_mm(a, b)


def correct(out, a, b, kind):
    """Against f64 (or exact integers), on some of the rows."""
    rows = torch.randint(0, a.shape[0], (64,), device="cuda")
    want = a[rows].double() @ b.double()
    if kind == "i8":
        return bool((out[rows].double() == want).all())
    # Sums of products of normal numbers grow as the root of their number, and rounding of each
    # partial sum to f32 adds that many errors of that size: their largest grows as the number.
    k = a.shape[1]
    bound = {"f32": 4e-7 * k, "tf32": 4e-3 * k**0.5, "f16": 4e-3 * k**0.5, "bf16": 3e-2 * k**0.5}
    return float((out[rows].double() - want).abs().max()) <= bound[kind]


def published(a, b, kind):
    """The published kernel on these operands, as a function, or None."""
    root = os.environ.get("OPENCUTE_UPSTREAM")
    # Its tiles along k may be ragged, its vectors may not.
    if not root or kind not in ("f32", "f16") or any(x % 8 for x in (*a.shape, b.shape[1])):
        return None
    folder = str(Path(root) / PUBLISHED)
    if folder not in sys.path:
        sys.path.append(folder)
    out = torch.empty(a.shape[0], b.shape[1], device="cuda", dtype=a.dtype)

    def wrap(x):
        lead = 1 if x.stride(1) == 1 else 0
        t = from_dlpack(x, assumed_align=16).mark_layout_dynamic(leading_dim=lead)
        if x.ndim == 2:
            return t.mark_compact_shape_dynamic(mode=lead, divisibility=x.shape[lead])
        order = (2, 0, 1) if lead == 1 else (2, 1, 0)
        return t.mark_compact_shape_dynamic(mode=lead, stride_order=order, divisibility=8)

    import cuda.bindings.driver as driver

    if kind == "f32":
        kernel = importlib.import_module("sgemm").SGemm()
        args = [wrap(x) for x in (a, b.T, out)]
    else:
        module = importlib.import_module("tensorop_gemm")
        import cutlass

        kernel = module.TensorOpGemm(cutlass.Float16, cutlass.Float16, cutlass.Float32, (2, 2, 1))
        args = [wrap(x[None].permute(1, 2, 0)) for x in (a, b.T, out)]
    compiled = cute.compile(
        kernel, *args, stream=driver.CUstream(torch.cuda.current_stream().cuda_stream)
    )

    def call():
        compiled(*args, stream=driver.CUstream(torch.cuda.current_stream().cuda_stream))
        return out

    return call


def search(a, b, out, kind, seconds):
    """Times of configurations, or why there is none."""
    found, stop = {}, time.monotonic() + seconds
    for config in search_space(problem_of(a, b, out, tf32=kind == "tf32"), smem()):
        if time.monotonic() > stop:
            break
        try:
            fn = graphed(lambda c=config: gemm(a, b, out=out, config=c, tf32=kind == "tf32"))
            found[str(config)] = burst({"c": fn}, iters=5, rounds=3)["c"]
        except OpenCuTeError as e:
            found[str(config)] = str(e).splitlines()[0]
    return found


def smem():
    return utils.get_smem_capacity_in_bytes()


def measure(size, kind, majors, peak, options):
    m, n, k = map(int, size.split("x"))
    a, b = operands(m, n, k, kind, majors)
    dtype = torch.int32 if kind == "i8" else TYPES[kind]
    out = torch.empty(m, n, device="cuda", dtype=dtype)
    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    config = heuristic(problem_of(a, b, out, tf32=kind == "tf32"), smem())
    run = lambda: gemm(a, b, out=out, tf32=kind == "tf32", config=config)  # noqa: E731
    run()
    row = {"kind": kind, "size": size, "majors": majors, "ok": correct(out, a, b, kind)}
    row["config"] = str(config)
    functions = {"ours": graphed(run)}
    reference = theirs(a, b, kind)
    try:
        other = None if kind == "i8" else torch.empty_like(out)
        reference(other)
        functions["torch"] = graphed(lambda: reference(other))
    except RuntimeError as e:
        row["torch_error"] = str(e).splitlines()[0]
    try:
        fn = published(a, b, kind)
        if fn is not None:
            row["published_ok"] = correct(fn(), a, b, kind)
            functions["published"] = graphed(fn)
    except (OpenCuTeError, ImportError, AssertionError) as e:
        row["published_error"] = str(e).splitlines()[0]
    row |= {f"{name}_us": t for name, t in burst(functions, iters=options.iters).items()}
    flops = 2.0 * m * n * k
    row["tflops"] = flops / row["ours_us"] / 1e6
    row["of_ceiling"] = row["tflops"] * 1e12 / peak
    line = f"{kind:5} {size:16} {majors} ok={row['ok']} ours {row['ours_us']:9.1f}"
    for name in ("torch", "published"):
        if f"{name}_us" in row:
            ratio = row["ours_us"] / row[f"{name}_us"]
            line += f" {name} {row[f'{name}_us']:9.1f} ({ratio:.3f})"
        elif f"{name}_error" in row:
            line += f" {name}: {row[f'{name}_error'][:60]}"
    print(
        line, f"{row['tflops']:.1f} TFLOP/s, {row['of_ceiling']:.3f} of the ceiling;",
        row["config"], flush=True,
    )  # fmt: skip
    if options.search:
        row["search"] = search(a, b, out, kind, options.seconds)
        best = sorted((v, c) for c, v in row["search"].items() if isinstance(v, float))[:5]
        tried = len(row["search"])
        print(f"    best of {tried}:", *(f"\n      {v:9.1f} {c}" for v, c in best), flush=True)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kinds", default="f32,f16,bf16,tf32,i8")
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--majors", default="kn", help="of A and B, such as kn,kk,mn,mk")
    parser.add_argument("--iters", type=int, default=10)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    print(torch.cuda.get_device_name())
    rows = []
    for kind in options.kinds.split(","):
        peak = ceiling.rate(kind)
        print(f"{kind}: registers alone reach {peak / 1e12:.1f} TFLOP/s", flush=True)
        rows.append({"kind": kind, "ceiling_tflops": peak / 1e12})
        for size in options.sizes.split(","):
            for majors in options.majors.split(","):
                rows.append(measure(size, kind, majors, peak, options))
    keep(rows, options.json)
    return verdict(rows)


if __name__ == "__main__":
    sys.exit(main())
