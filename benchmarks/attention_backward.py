# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The derivatives of attention beside torch's flash and cuDNN backends, on the same data.

    python benchmarks/attention_backward.py [--sizes 4x16x4096x128] [--search] [--json FILE]

Needs a GPU of compute capability 9.0. Floor: 10 B H S S D operations, five products (half of them
when causal), over 800 Tflop/s: 1.72 ms for 4x16x4096x128. Ours are CUDA graphs of one call, the
kernels before and after included; torch's are calls of `torch.autograd.grad`, whose host time
hides behind the kernels of a burst. Functions are interleaved; medians of bursts. "mma.sync" is our
kernel for every architecture. Sizes are batch x heads x length x head; with a fifth number, heads
of keys. "end to end" is the same batch as sequences that lie end to end; "calls" are calls from
Python, not graphs, and "host" what one costs before it is queued. Errors are the largest of the
three gradients', over the largest element, against cuDNN's, or else flash's.
"""

import argparse
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from reporting import over_sizes, verdict  # noqa: E402 - after the path is set
from timing import burst, graphed  # noqa: E402

from opencute.kernels.attention import (  # noqa: E402
    attention,
    attention_backward,
    attention_varlen_backward,
)
from opencute.kernels.attention.config import (  # noqa: E402
    backward_heuristic,
    warpgroup_backward_search_space,
)

SMEM = 232448  # bytes that a block may have
BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
BOUND = {torch.float16: 1e-2, torch.bfloat16: 4e-2}


def theirs(backend, q, k, v, g, causal):
    """A function that computes the gradients by a backend of torch."""
    arrays = [x.detach().clone().requires_grad_() for x in (q, k, v)]
    with sdpa_kernel(backend):
        heads = (x.transpose(1, 2) for x in arrays)
        out = F.scaled_dot_product_attention(
            *heads, is_causal=causal, enable_gqa=q.shape[2] != k.shape[2]
        )
    return lambda: torch.autograd.grad(out, arrays, g.transpose(1, 2), retain_graph=True)


def relative_error(got, want):
    pairs = zip(got, want, strict=True)
    return max(float((a.float() - b.float()).abs().max() / b.float().abs().max()) for a, b in pairs)


def ours(arrays, causal, **options):
    """A graph of one call, and the gradients that it writes."""
    got = []

    def call():
        got[:] = attention_backward(*arrays, causal=causal, **options)

    return graphed(call), got


def end_to_end(arrays, causal):
    """The same for the batch as sequences that lie end to end."""
    g, q, k, v, out, lse = arrays
    batch, s, _, _ = q.shape
    starts = torch.arange(batch + 1, device="cuda", dtype=torch.int32) * s
    flat = [x.flatten(0, 1) for x in (g, q, k, v, out)]
    logs = lse.transpose(0, 1).flatten(1).contiguous()
    got = []

    def call():
        found = attention_varlen_backward(*flat, logs, starts, starts, s, s, causal=causal)
        got[:] = (x.unflatten(0, (batch, s)) for x in found)

    return graphed(call), got


def host_time(arrays, causal, calls=20):
    """Microseconds of the host for a call, whose kernels are queued and not waited for."""
    attention_backward(*arrays, causal=causal)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        attention_backward(*arrays, causal=causal)
    taken = (time.perf_counter() - start) / calls * 1e6
    torch.cuda.synchronize()
    return taken


def choices(head, search):
    """What to time, by name."""
    found = {
        "ours": {}, "ordered": {"deterministic": True},
        "mma.sync": {"config": backward_heuristic(head, SMEM)},
    }  # fmt: skip
    if search:
        found |= {str(c): {"config": c} for c in warpgroup_backward_search_space(head, SMEM)}
    return found


def measure(size, dtype, causal, search):
    """One line: times and errors."""
    torch.cuda.empty_cache()
    b, h, s, d, hk = (*size, size[1])[:5]
    q, g = (torch.randn(b, s, h, d, device="cuda", dtype=dtype) for _ in range(2))
    k, v = (torch.randn(b, s, hk, d, device="cuda", dtype=dtype) for _ in range(2))
    out, lse = attention(q, k, v, causal=causal, return_lse=True)
    row = {"size": "x".join(map(str, size)), "dtype": str(dtype)[6:], "causal": causal}
    functions, results, said = {}, {}, {}
    for name, backend in BACKENDS.items():
        try:
            functions[name] = theirs(backend, q, k, v, g, causal)
            results[name] = functions[name]()
            torch.cuda.synchronize()
        except RuntimeError as e:  # a backend that does not take these
            said[name] = str(e).splitlines()[0]
            functions.pop(name, None)
    for name, options in choices(d, search).items():
        try:
            functions[name], results[name] = ours((g, q, k, v, out, lse), causal, **options)
            functions[name]()
            torch.cuda.synchronize()
        except Exception as e:  # what one configuration cannot do says nothing of the others
            said[name] = f"{type(e).__name__}: {str(e).splitlines()[0]}"
            functions.pop(name, None)
    if not search:
        arrays = (g, q, k, v, out, lse)
        functions["calls"] = lambda: attention_backward(*arrays, causal=causal)
        results["calls"] = functions["calls"]()
        functions["end to end"], results["end to end"] = end_to_end(arrays, causal)
        functions["end to end"]()
        row["host_us"] = host_time(arrays, causal)
    want = results[next(iter(results))]
    row["errors"] = {name: relative_error(results[name], want) for name in functions}
    row["ok"] = all(e < BOUND[dtype] for e in row["errors"].values()) and "ours" in functions
    row["us"], row["said"] = burst(functions), said
    work = 10.0 * b * h * s * s * d / (2 if causal else 1)
    first = row["us"][next(iter(functions))]
    print(
        f"{row['size']:18} {row['dtype']:8} {'causal' if causal else 'full':6} ok={row['ok']} "
        f"floor {work / 8e8:7.1f} us, host {row.get('host_us', 0.0):.0f} us",
        *(
            f"{n} {us:7.1f} us {work / us / 1e6:4.0f} Tflop/s ({us / first:.3f})"
            + ("" if row["errors"][n] < BOUND[dtype] else f" WRONG {row['errors'][n]:.2g}")
            for n, us in row["us"].items()
        ),
        sep="\n    " if search else "  ", flush=True,
    )  # fmt: skip
    for name, text in said.items():
        print(f"    {name}: {text[:150]}", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--sizes",
        default="4x16x4096x128,4x16x4096x64,1x16x16384x128,16x16x1024x128,4x32x4096x128x8,"
        "4x16x4096x96,4x16x4096x192,2x16x4096x256",
    )
    parser.add_argument("--dtypes", default="bfloat16,float16")
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}", flush=True)
    return verdict(over_sizes(options, lambda *case: measure(*case, options.search)))


if __name__ == "__main__":
    sys.exit(main())
