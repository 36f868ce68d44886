# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention in sm_80 code beside torch's flash backend, on the same data.

    python benchmarks/attention.py [--sizes 4x16x4096x128] [--json FILE] [--search]
    OPENCUTE_UPSTREAM=/path/to/cutlass python benchmarks/attention.py     # and the published kernel

Floor: 4 B H S S D operations (half of them when causal) over what `mma.sync` reaches in a loop on
registers, about 620 Tflop/s on an H200: 890 us for 4x16x4096x128. Calls are CUDA graphs of one
call; medians of bursts, and of single calls with the L2 overwritten before each. Sizes are
batch x heads x length x head; with a fifth number, heads of keys.
"""

import argparse
import importlib.util
import os
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from reporting import over_sizes, verdict  # noqa: E402
from timing import burst, flushed, graphed  # noqa: E402

from opencute import cute, utils  # noqa: E402 - after the path is set
from opencute.base.errors import OpenCuTeError  # noqa: E402
from opencute.cute.runtime import from_dlpack  # noqa: E402
from opencute.kernels.attention import attention  # noqa: E402
from opencute.kernels.attention.config import heuristic, search_space  # noqa: E402

PUBLISHED = "examples/python/CuTeDSL/cute/ampere/kernel/attention/flash_attention_v2.py"


def flash(q, k, v, causal):
    """torch's flash backend, on views (B, H, S, D)."""
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return F.scaled_dot_product_attention(
            q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1]
        )


def published(q, k, v, out, causal, options):
    """The published kernel compiled for these arrays, or None without a path to it."""
    root = os.environ.get("OPENCUTE_UPSTREAM")
    if not root or q.shape[2] != k.shape[2]:
        return None
    import cuda.bindings.driver as cuda

    if "published_fa2" not in sys.modules:
        spec = importlib.util.spec_from_file_location("published_fa2", Path(root) / PUBLISHED)
        sys.modules["published_fa2"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    d = q.shape[3]
    kernel = sys.modules["published_fa2"].FlashAttentionForwardAmpere(d, 128, 64, 128, causal)
    args = [
        from_dlpack(x, assumed_align=16)
        .mark_layout_dynamic(leading_dim=3)
        .mark_compact_shape_dynamic(mode=3, stride_order=x.dim_order(), divisibility=8)
        for x in (q, k, v, out)
    ]

    def stream():
        return cuda.CUstream(torch.cuda.current_stream().cuda_stream)

    compiled = cute.compile(kernel, *args, d**-0.5, stream(), options=options)
    return lambda: compiled(*args, d**-0.5, stream())


def relative_error(a, b):
    return float((a.float() - b.float()).abs().max() / b.float().abs().max())


def measure(size, dtype, causal, options):
    b, h, s, d, hk = (*size, size[1])[:5]
    q, k, v = (torch.randn(b, s, n, d, device="cuda", dtype=dtype) for n in (h, hk, hk))
    out = torch.empty_like(q)
    want = flash(q, k, v, causal).transpose(1, 2)
    chosen = heuristic(d, utils.get_smem_capacity_in_bytes())
    functions = {
        "ours": lambda: attention(q, k, v, causal=causal, out=out, config=chosen),
        "torch": lambda: flash(q, k, v, causal),
    }
    row = {"size": "x".join(map(str, size)), "dtype": str(dtype)[6:], "causal": causal}
    functions["ours"]()
    row["error"] = relative_error(out, want)
    variants = (
        ("published", ""),
        ("published-O1", "--opt-level 1"),
        ("published-O2", "--opt-level 2"),
    )
    for name, flags in variants:
        other = torch.empty_like(q)
        function = published(q, k, v, other, causal, flags)
        if function is not None:
            function()
            row[f"{name}_error"] = relative_error(other, want)
            functions[name] = function
    row["ok"] = all(e < 2e-2 for n, e in row.items() if n.endswith("error"))
    graphs = {n: graphed(f) for n, f in functions.items()}
    row |= {f"{n}_us": t for n, t in burst(graphs).items()}
    row |= {f"{n}_flushed_us": t for n, t in flushed(graphs).items()}
    flop = 4.0 * b * h * s * s * d / (2 if causal else 1)
    print(
        f"{row['size']:18} {row['dtype']:8} {'causal' if causal else 'full':6} ok={row['ok']}",
        *(
            f"{n} {row[n + '_us']:7.1f} us {flop / row[n + '_us'] / 1e6:4.0f} Tflop/s"
            f" ({row[n + '_us'] / row['torch_us']:.3f})"
            for n in functions
        ),
        sep="  ", flush=True,
    )  # fmt: skip
    if options.search:
        row["search"] = {}
        for config in search_space(d, utils.get_smem_capacity_in_bytes()):
            try:
                graph = graphed(
                    lambda c=config: attention(q, k, v, causal=causal, out=out, config=c)
                )
                error = relative_error(out, want)
                time = burst({"c": graph}, rounds=3)["c"]
                row["search"][str(config)] = time if error < 2e-2 else f"error {error}"
            except OpenCuTeError as e:
                row["search"][str(config)] = str(e).splitlines()[0]
        for config, time in row["search"].items():
            print("   ", config, f"{time:.1f}" if isinstance(time, float) else time, flush=True)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--sizes",
        default="4x16x4096x128,4x16x4096x64,1x16x16384x128,16x16x1024x128,4x32x4096x128x8",
    )
    parser.add_argument("--dtypes", default="bfloat16,float16")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--search", action="store_true")
    options = parser.parse_args()
    print(torch.cuda.get_device_name())
    return verdict(over_sizes(options, lambda *case: measure(*case, options)))


if __name__ == "__main__":
    sys.exit(main())
