# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Norms, softmax, cross-entropy, transposes, reductions and scans beside torch, on the same data.

    python benchmarks/rows.py [--rows 16384] [--columns 8192] [--only NAME] [--json FILE] [--search]

Floor: bytes that must move over the bandwidth of a copy in this run. Calls are CUDA graphs of one
call, so that the host does not count; medians of bursts, and of single calls with the L2
overwritten before each. `--search` times every configuration of the search space as well.
"""

import argparse
import itertools
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from reporting import keep, verdict  # noqa: E402
from timing import burst, copy_bandwidth, flushed, graphed  # noqa: E402

from opencute.base.errors import OpenCuTeError  # noqa: E402 - after the path is set
from opencute.kernels import cross_entropy as ce  # noqa: E402
from opencute.kernels import norm, reduce, scan, softmax, transpose  # noqa: E402
from opencute.kernels.norm.config import ClusterRows, ring_space  # noqa: E402
from opencute.kernels.row_config import search_space  # noqa: E402


def close(a, b, tolerance):
    return bool(torch.allclose(a.float(), b.float(), rtol=tolerance, atol=tolerance))


def cases(m, n, dtype):
    """(name, ours(config), torch's, bytes, check)."""
    x = torch.randn(m, n, device="cuda", dtype=dtype)
    w, b = (torch.randn(n, device="cuda", dtype=dtype) for _ in range(2))
    g = torch.randn_like(x)
    out = torch.empty_like(x)
    one = x.numel() * x.element_size()
    tol = 2e-2 if dtype != torch.float32 else 1e-4
    yield (
        "LayerNorm",
        lambda c: norm.layer_norm(x, w, b, out=out, config=c),
        lambda: F.layer_norm(x, (n,), w, b),
        2 * one,
        lambda: close(out, F.layer_norm(x, (n,), w, b), tol),
    )
    yield (
        "RMSNorm",
        lambda c: norm.rms_norm(x, w, 1e-6, out=out, config=c),
        lambda: F.rms_norm(x, (n,), w, 1e-6),
        2 * one,
        lambda: close(out, F.rms_norm(x, (n,), w, 1e-6), tol),
    )
    yield (
        "softmax",
        lambda c: softmax.softmax(x, out=out, config=c),
        lambda: torch.softmax(x, -1),
        2 * one,
        lambda: close(out, torch.softmax(x.float(), -1), 1e-3),
    )
    y = torch.softmax(x, -1)
    yield (
        "softmax backward",
        lambda c: softmax.softmax_backward(g, y, out=out, config=c),
        lambda: torch._softmax_backward_data(g, y, -1, dtype),
        3 * one,
        lambda: close(out, torch._softmax_backward_data(g, y, -1, dtype), 1e-3),
    )
    target = torch.randint(0, n, (m,), device="cuda")
    grad = torch.randn(m, device="cuda")
    held = {}

    def forward(c):
        held["loss"], held["lse"] = ce.cross_entropy(x, target, config=c)

    yield (
        "cross-entropy",
        forward,
        lambda: F.cross_entropy(x, target, reduction="none"),
        one,
        lambda: close(held["loss"], F.cross_entropy(x.float(), target, reduction="none"), 1e-3),
    )
    _, lse = ce.cross_entropy(x, target)

    def want():
        p = torch.softmax(x.float(), -1)
        p[torch.arange(m, device="cuda"), target] -= 1
        return p * grad[:, None]

    yield (
        "cross-entropy backward",
        lambda c: ce.cross_entropy_backward(grad, x, target, lse, out=out, config=c),
        None,
        2 * one,
        lambda: close(out, want(), 1e-2),
    )


def more_cases(m, n, dtype):
    """As `cases`, for what has no configuration to choose."""
    x, g, r = (torch.randn(m, n, device="cuda", dtype=dtype) for _ in range(3))
    w, b = (torch.randn(n, device="cuda", dtype=dtype) for _ in range(2))
    one, tol = x.numel() * x.element_size(), 2e-2
    held = {}

    def case(name, ours, theirs, nbytes, check=None):
        """Ours and torch's results are compared piece by piece unless there is a check."""

        def keep(_):
            held[name] = ours()

        def agree():
            got, want = held[name], theirs()
            got, want = ([t] if torch.is_tensor(t) else list(t) for t in (got, want))
            return all(
                close(a, e, tol * max(1.0, e.float().abs().max().item()))
                for a, e in zip(got, want, strict=True)
            )

        return name, keep, theirs, nbytes, check or agree

    wide = x.float()
    mean = wide.mean(-1, keepdim=True)
    rstd = (wide.var(-1, unbiased=False, keepdim=True) + 1e-5).rsqrt()
    del wide
    yield case(
        "LayerNorm backward",
        lambda: norm.layer_norm_backward(g, x, w),
        lambda: torch.ops.aten.native_layer_norm_backward(
            g, x, (n,), mean, rstd, w, b, [True, True, True]
        ),
        3 * one,
    )

    def rms_agrees():
        needs = [t.clone().requires_grad_() for t in (x, w)]
        want = torch.autograd.grad(F.rms_norm(needs[0], (n,), needs[1], 1e-6), needs, g)
        return all(
            close(a, e, tol * max(1.0, e.float().abs().max().item()))
            for a, e in zip(held["RMSNorm backward"], want, strict=True)
        )

    yield case(  # torch's runs on the stream of its forward pass, which no graph can capture
        "RMSNorm backward", lambda: norm.rms_norm_backward(g, x, w), None, 3 * one, rms_agrees
    )
    yield case(
        "RMSNorm with residual",
        lambda: norm.rms_norm(x, w, residual=r, prenorm=True),
        lambda: (F.rms_norm(x + r, (n,), w, 1e-6), x + r),
        4 * one,
    )
    yield case("transpose", lambda: transpose.transpose(x), lambda: x.t().contiguous(), 2 * one)
    for axis in (0, 1):
        yield case(
            f"sum over {axis}", lambda a=axis: reduce.sum(x, a), lambda a=axis: x.sum(a), one
        )
    yield case("sum of all", lambda: reduce.sum(x), lambda: x.sum(), one)
    yield case("max over 1", lambda: reduce.max(x, 1), lambda: x.amax(1), one)
    yield case("argmax over 1", lambda: reduce.argmax(x, 1), lambda: x.argmax(1), one)
    for axis in (0, 1):

        def scan_agrees(axis=axis):  # torch rounds on the way, ours only at the end
            got, want = held[f"cumsum over {axis}"].double(), x.double().cumsum(axis)
            rounding = torch.finfo(dtype).eps / 2 * want.abs()
            return bool(((got - want).abs() <= rounding + 4e-6 * want.abs().max()).all())

        yield case(
            f"cumsum over {axis}", lambda a=axis: scan.cumsum(x, a), lambda a=axis: x.cumsum(a),
            2 * one, scan_agrees,
        )  # fmt: skip


def measure(m, n, dtype, bandwidth, search, only):
    rows = []
    every = itertools.chain(cases(m, n, dtype), more_cases(m, n, dtype))
    for name, ours, theirs, nbytes, check in every:
        if only not in name:
            continue
        ours(None)
        row = {"op": name, "dtype": str(dtype)[6:], "m": m, "n": n, "ok": check()}
        row["floor_us"] = nbytes / bandwidth
        functions = {"ours": graphed(lambda ours=ours: ours(None))}
        if theirs is not None:
            functions["torch"] = graphed(theirs)
        row |= {f"{k}_us": v for k, v in burst(functions).items()}
        row |= {f"{k}_flushed_us": v for k, v in flushed(functions).items()}
        if search:
            row["search"] = {}
            configs = list(search_space(n, 16 // x_bytes(dtype)))
            if name in ("LayerNorm", "RMSNorm"):
                configs += [
                    ClusterRows(threads, 16 // x_bytes(dtype), blocks)
                    for threads in (128, 256, 512, 1024) for blocks in (2, 4, 8)
                ]  # fmt: skip
                configs += ring_space(n, 16 // x_bytes(dtype), x_bytes(dtype))
            for config in configs:
                try:
                    fn = graphed(lambda ours=ours, config=config: ours(config))
                    row["search"][str(config)] = burst({"c": fn}, rounds=3)["c"]
                except OpenCuTeError as e:
                    row["search"][str(config)] = str(e).splitlines()[0]
        rows.append(row)
        ratio = f"{row['ours_us'] / row['torch_us']:.3f}" if theirs else "-"
        print(
            f"{name:24} {row['dtype']:9} {m}x{n} ok={row['ok']} floor {row['floor_us']:6.1f} "
            f"ours {row['ours_us']:6.1f} torch {row.get('torch_us', 0):6.1f} ratio {ratio} "
            f"flushed {row['ours_flushed_us']:.1f} / {row.get('torch_flushed_us', 0):.1f}",
            flush=True,
        )
        if search:
            best = sorted(((v, k) for k, v in row["search"].items() if isinstance(v, float)))[:3]
            print("    best:", "; ".join(f"{k} {v:.1f}" for v, k in best), flush=True)
    return rows


def x_bytes(dtype):
    return torch.empty((), dtype=dtype).element_size()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=16384)
    parser.add_argument("--columns", type=int, default=8192)
    parser.add_argument("--dtypes", default="float16,bfloat16")
    parser.add_argument("--only", default="", help="only operators with this in their name")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--search", action="store_true")
    options = parser.parse_args()
    bandwidth = copy_bandwidth()
    print(f"{torch.cuda.get_device_name()}, copy {bandwidth / 1e6:.2f} TB/s")
    rows = []
    for name in options.dtypes.split(","):
        rows += measure(
            options.rows, options.columns, getattr(torch, name), bandwidth, options.search,
            options.only,
        )  # fmt: skip
    keep(rows, options.json)
    return verdict(rows)


if __name__ == "__main__":
    sys.exit(main())
