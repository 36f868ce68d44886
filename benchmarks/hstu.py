# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""HSTU attention beside the published kernel and three calls of torch, on the same data.

    OPENCUTE_UPSTREAM=/path/to/cutlass python benchmarks/hstu.py [--sizes 4x4x8192x128]

Sizes are batch x heads x length x head. Floor: 4 B H S S D operations (half of them when causal)
over 620 Tflop/s, what `mma.sync` reaches in a loop on registers of an H200.
"""

import argparse
import importlib.util
import os
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from timing import burst, graphed  # noqa: E402 - after the path is set

import opencute as cutlass  # noqa: E402
from opencute import cute  # noqa: E402
from opencute.cute.runtime import from_dlpack  # noqa: E402
from opencute.kernels.hstu import hstu_attention  # noqa: E402

PUBLISHED = "examples/python/CuTeDSL/cute/ampere/kernel/attention/hstu_attention.py"


def unfused(q, k, v, bias, causal):
    """Products and SiLU as torch has them."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    weights = torch.nn.functional.silu(q @ k.transpose(-1, -2) + bias)
    return ((weights.tril() if causal else weights) @ v).transpose(1, 2)


def published(q, k, v, bias, out, causal):
    """The published kernel on these arrays, or None without a path to it."""
    root = os.environ.get("OPENCUTE_UPSTREAM")
    if not root:
        return None
    import cuda.bindings.driver as cuda

    spec = importlib.util.spec_from_file_location("published_hstu", Path(root) / PUBLISHED)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    b, s, h, d = q.shape
    kernel = module.HSTUAttentionForwardAmpere(
        cutlass.BFloat16, b, s, s, h, d, 128, 64, 128, enable_fast_sigmoid=True, is_causal=causal
    )
    args = [
        from_dlpack(x, assumed_align=16)
        .mark_layout_dynamic(leading_dim=3)
        .mark_compact_shape_dynamic(mode=3, stride_order=x.dim_order(), divisibility=8)
        for x in (q, k, v, out, bias)
    ]

    def stream():
        return cuda.CUstream(torch.cuda.current_stream().cuda_stream)

    compiled = cute.compile(kernel, *args, stream())
    return lambda: compiled(*args, stream())


def measure(size, causal):
    b, h, s, d = size
    make = lambda *shape: torch.randn(shape, device="cuda", dtype=torch.bfloat16)  # noqa: E731
    q, k, v, bias = *(make(b, s, h, d) for _ in range(3)), make(b, h, s, s)
    want = unfused(q, k, v, bias, causal)
    outs = {name: torch.empty_like(q) for name in ("ours", "published")}
    functions = {
        "torch": lambda: unfused(q, k, v, bias, causal),
        "ours": lambda: hstu_attention(q, k, v, bias, causal=causal, out=outs["ours"]),
    }
    other = published(q, k, v, bias, outs["published"], causal)
    if other is not None:
        functions["published"] = other
    good = True
    for name in [*functions][1:]:
        functions[name]()
        error = float((outs[name].float() - want.float()).abs().max() / want.float().abs().max())
        good = good and error < 3e-2
    times = burst({n: graphed(f) for n, f in functions.items()})
    flop = 4.0 * b * h * s * s * d / (2 if causal else 1)
    print(
        f"{'x'.join(map(str, size)):16} {'causal' if causal else 'full':6} ok={good}",
        *(f"{n} {t:8.1f} us {flop / t / 1e6:4.0f} Tflop/s" for n, t in times.items()),
        sep="  ", flush=True,
    )  # fmt: skip
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default="4x4x8192x128,8x8x2048x128,8x8x2048x64")
    options = parser.parse_args()
    print(torch.cuda.get_device_name())
    sizes = [tuple(map(int, text.split("x"))) for text in options.sizes.split(",")]
    return 0 if all([measure(size, c) for size in sizes for c in (False, True)]) else 1


if __name__ == "__main__":
    sys.exit(main())
