# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Hopper's kernels beside cuBLAS and cuDNN, on the same data.

    python benchmarks/hopper.py [--only gemm,f8,epilogue,skinny,attention,heads] [--search]
        [--json FILE]

Needs a GPU of compute capability 9.0. Floors: 2 M N K operations over 800 Tflop/s (16 bits; twice
that for 8), what a product of random numbers reaches on an H200 before its clock falls; bytes over
the bandwidth of a copy for skinny products. Calls are CUDA graphs of one call, functions
interleaved; medians of bursts. `--search` times what else the kernels can be told.
"""

import argparse
import sys
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from reporting import keep, verdict  # noqa: E402 - after the path is set
from timing import burst, copy_bandwidth, graphed  # noqa: E402

from opencute.kernels.attention import attention, attention_varlen  # noqa: E402
from opencute.kernels.attention.config import (  # noqa: E402
    warpgroup_search_space,
)
from opencute.kernels.gemm import HopperConfig, gemm  # noqa: E402
from opencute.kernels.gemm.rows.gemv import gemv_search_space  # noqa: E402
from opencute.kernels.gemm.sm90_choice import (  # noqa: E402
    hopper_heuristic,
    hopper_search_space,
)

SMEM = 232448  # bytes that a block may have
COOPERATIVE, PINGPONG = (128, 256), (64, 256)
SEARCH = (
    HopperConfig(COOPERATIVE, (2, 1)), HopperConfig(COOPERATIVE, (1, 1)),
    HopperConfig(COOPERATIVE, (1, 2)), HopperConfig((256, 128), (2, 1)),
    HopperConfig((256, 128), (1, 2)), HopperConfig((256, 128), (1, 1)),
    HopperConfig(PINGPONG, (1, 1), True), HopperConfig(PINGPONG, (2, 1), True),
    HopperConfig((128, 128), (2, 1), True), HopperConfig((128, 128), (1, 1), True),
    HopperConfig((128, 128), (1, 2), True), HopperConfig((128, 128), (2, 1)),
    HopperConfig(COOPERATIVE, (2, 1), group=4), HopperConfig(COOPERATIVE, (2, 1), group=16),
    HopperConfig((128, 192), (2, 1)), HopperConfig((192, 128), (1, 1), True),
)  # fmt: skip


def measure(name, functions, outs, work, unit, bound):
    """One line: times of functions, errors of what they wrote against the first's."""
    want = outs[next(iter(outs))].float()
    row = {"name": name}
    for key, out in outs.items():
        error = float((out.float() - want).abs().max() / want.abs().max().clamp(min=1e-6))
        row[f"{key}_error"] = error
        row[f"{key}_ok"] = error <= bound
    row["ok"] = all(right for key, right in row.items() if key.endswith("_ok"))
    times = burst(functions)
    first = times[next(iter(times))]
    row |= {f"{key}_us": us for key, us in times.items()}
    print(
        f"{name:44}",
        *(
            f"{key} {us:8.1f} us ({us / first:.3f}) {work / us / 1e6:6.1f} {unit}"
            + ("" if row.get(f"{key}_ok", True) else f" WRONG {row[f'{key}_error']:.2g}")
            for key, us in times.items()
        ),
        sep="  ", flush=True,
    )  # fmt: skip
    return row


def compare(name, reference, ours, like, work, unit="Tflop/s", bound=1e-2, search=None):
    """Time `reference(out)` and `ours(out, config)`, and with `search` other configurations."""
    outs = {"torch": torch.zeros_like(like), "ours": torch.zeros_like(like)}
    functions = {}
    reference(outs["torch"])
    functions["torch"] = graphed(lambda: reference(outs["torch"]))
    configs = {"ours": None, **{str(c): c for c in search or ()}}
    said = {}
    for key, config in configs.items():
        out = outs.setdefault(key, torch.zeros_like(like))
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                functions[key] = graphed(lambda o=out, c=config: ours(o, c))
            said[key] = [str(w.message).splitlines()[0] for w in caught]
            functions[key]()
            torch.cuda.synchronize()
        except Exception as e:  # what one configuration cannot do says nothing of the others
            said[key] = [f"{type(e).__name__}: {str(e).splitlines()[0]}"]
            del outs[key]
    if search is None:
        for key, lines in said.items():
            for line in lines:
                print(f"    {key}: {line[:150]}", flush=True)
        return measure(name, functions, outs, work, unit, bound)
    want, times = outs["torch"].float(), burst(functions, iters=10, rounds=3)
    print(f"{name}: torch {times['torch']:.1f} us", flush=True)
    row = {"name": name, "search": {}, "said": said}
    for key, us in sorted(times.items(), key=lambda item: item[1]):
        error = float((outs[key].float() - want).abs().max() / want.abs().max())
        row["search"][key] = [us, error]
        print(f"   {us:9.1f} us ({us / times['torch']:.3f}) err {error:.1e} {key}", flush=True)
    for key, lines in said.items():
        for line in lines:
            print(f"    {key}: {line[:150]}", flush=True)
    return row


def matrices(m, n, k, dtype, count=2):
    """A (M, K) and the transpose of B (N, K), and results or addends (M, N)."""
    a, b = torch.randn(m, k, device="cuda"), torch.randn(n, k, device="cuda")
    more = [torch.randn(m, n, device="cuda").to(dtype) for _ in range(count - 2)]
    return a.to(dtype), b.to(dtype).T, *more


def products(options):
    """Square products of 16-bit floats and of tf32."""
    for size in (4096, 8192):
        for dtype in (torch.float16, torch.bfloat16):
            a, b = matrices(size, size, size, dtype)
            yield compare(
                f"gemm {str(dtype)[6:]} {size}", lambda o, a=a, b=b: torch.mm(a, b, out=o),
                lambda o, c, a=a, b=b: gemm(a, b, out=o, config=c), a, 2.0 * size**3,
                search=SEARCH if options.search and dtype is torch.float16 else None,
            )  # fmt: skip
    torch.backends.cuda.matmul.allow_tf32 = True
    a, b = matrices(8192, 8192, 8192, torch.float32)
    yield compare(
        "gemm tf32 8192", lambda o: torch.mm(a, b, out=o),
        lambda o, c: gemm(a, b, out=o, tf32=True, config=c), a, 2.0 * 8192**3,
    )  # fmt: skip


def narrow(options):
    """Products of e4m3, into 16 bits: of normal numbers, and of those of published examples."""
    one = torch.ones((), device="cuda")
    for size, data in ((4096, "normal"), (8192, "normal"), (8192, "integers")):
        a, b = (x.to(torch.float8_e4m3fn) for x in matrices(size, size, size, torch.float32))
        if data == "integers":  # of -2 to 2: less power, a higher clock
            a, b = (torch.randint_like(x.float(), -2, 3).to(x.dtype) for x in (a, b.T))
            b = b.T
        like = torch.empty(size, size, device="cuda", dtype=torch.bfloat16)
        for fast in (True, False):
            yield compare(
                f"gemm e4m3 {size} {data} {'one' if fast else 'two'} accumulators",
                lambda o, a=a, b=b, f=fast: torch._scaled_mm(
                    a, b, one, one, out_dtype=o.dtype, use_fast_accum=f, out=o
                ),
                lambda o, c, a=a, b=b, f=fast: gemm(
                    a, b, out=o, config=c or (HopperConfig(COOPERATIVE, (2, 1)) if f else None)
                ),
                like, 2.0 * size**3, bound=3e-2,
                search=SEARCH[:11] if options.search and fast else None,
            )  # fmt: skip


def epilogues(options):
    """What bias, GELU and a residual cost, beside the plain product of our own."""
    for size in (4096, 8192):
        a, b, r = matrices(size, size, size, torch.float16, 3)
        bias = torch.randn(size, device="cuda", dtype=torch.float16)
        out, plain = torch.zeros_like(r), torch.zeros_like(r)
        want = F.gelu(torch.addmm(bias, a, b).float(), approximate="tanh").half() + r
        functions = {
            "plain": graphed(lambda o=plain, a=a, b=b: gemm(a, b, out=o)),
            "bias": graphed(lambda o=out, a=a, b=b, s=bias: gemm(a, b, out=o, bias=s)),
            "gelu": graphed(
                lambda o=out, a=a, b=b, s=bias: gemm(a, b, out=o, bias=s, activation="gelu")
            ),
            "all": graphed(
                lambda o=out, a=a, b=b, s=bias, r=r: gemm(
                    a, b, out=o, bias=s, activation="gelu", residual=r
                )
            ),
        }
        functions["all"]()
        torch.cuda.synchronize()
        error = float((out.float() - want.float()).abs().max() / want.abs().max())
        print(f"    error of all: {error:.2g}")
        yield measure(
            f"epilogue f16 {size}", functions, {"plain": plain}, 2.0 * size**3, "Tflop/s", 1
        )


def skinny(options):
    """Few rows, odd depths, tiles that do not fill the machine."""
    bandwidth = copy_bandwidth()
    for m, n, k in (
        (1, 8192, 8192), (16, 8192, 8192), (64, 8192, 8192), (100, 8192, 8192),
        (1, 4096, 4096), (16, 4096, 4096), (64, 4096, 4096), (16, 28672, 4096),
        (128, 4096, 16384), (2048, 2048, 8192), (1536, 4096, 4096), (3072, 3072, 4096),
        (4000, 4104, 4056), (4000, 4100, 4050), (4096, 4096, 4095),
        (1, 4095, 4095), (16, 4095, 4095), (64, 4095, 4095),
    ):  # fmt: skip
        a, b = matrices(m, n, k, torch.float16)
        like = torch.empty(m, n, device="cuda", dtype=torch.float16)
        floor = max(2 * (m * k + n * k + m * n) / bandwidth, 2.0 * m * n * k / 8e8)
        few = list(hopper_search_space(m, n, k)) if options.search else None
        if few is not None and m == 1:
            few += list(gemv_search_space())
        if few is not None and min(m, n) > 256:
            few += SEARCH[:12:4]
        chosen = hopper_heuristic(m, n, k, 1, wide=True)
        print(f"    the choice: {chosen}", flush=True)
        yield compare(
            f"gemm f16 {m}x{n}x{k}, floor {floor:.1f} us",
            lambda o, a=a, b=b: torch.mm(a, b, out=o),
            lambda o, c, a=a, b=b: gemm(a, b, out=o, config=c), like, 2.0 * m * n * k,
            search=few,
        )  # fmt: skip


def attentions(options):
    """Attention beside cuDNN's."""
    for size in ((4, 16, 4096, 128), (4, 16, 4096, 64), (1, 16, 16384, 128), (16, 16, 1024, 128)):
        for causal in (False, True):
            b, h, s, d = size
            q, k, v = (torch.randn(b, s, h, d, device="cuda").half() for _ in range(3))

            def theirs(out, args=(q, k, v), causal=causal):
                with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                    got = F.scaled_dot_product_attention(
                        *(x.transpose(1, 2) for x in args), is_causal=causal
                    )
                return got.transpose(1, 2)

            out = theirs(None)
            functions = {"cudnn": graphed(lambda: theirs(None))}
            configs = {"ours": None}
            if options.search:
                configs |= {str(c): c for c in warpgroup_search_space(d, SMEM)}
            outs = {"cudnn": out}
            for key, config in configs.items():
                mine = torch.zeros_like(q)
                try:
                    functions[key] = graphed(
                        lambda c=config, o=mine, q=q, k=k, v=v, causal=causal: attention(
                            q, k, v, causal=causal, out=o, config=c
                        )
                    )
                    functions[key]()
                    torch.cuda.synchronize()
                    outs[key] = mine
                except Exception as e:
                    print("   ", key, type(e).__name__, str(e).splitlines()[0][:120], flush=True)
            work = 4.0 * b * h * s * s * d / (2 if causal else 1)
            name = f"attention f16 {'x'.join(map(str, size))} {'causal' if causal else 'full'}"
            yield measure(name, functions, outs, work, "Tflop/s", 2e-2)


def other_heads(options):
    """Attention of other heads, of e4m3, and of sequences end to end, beside f16 by cuDNN."""
    for d, narrow in ((96, False), (192, False), (256, False), (64, True), (128, True)):
        for causal in (False, True):
            b, h, s = 4, 16, 4096
            q, k, v = (torch.randn(b, s, h, d, device="cuda").half() for _ in range(3))
            mine = [x.to(torch.float8_e4m3fn) for x in (q, k, v)] if narrow else [q, k, v]
            q, k, v = (x.half() for x in mine)

            def theirs(args=(q, k, v), causal=causal, d=d):
                heads = (x.transpose(1, 2) for x in args)
                backends = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION]
                with sdpa_kernel(backends):
                    return F.scaled_dot_product_attention(*heads, is_causal=causal)

            outs = {"torch": theirs().transpose(1, 2)}
            functions = {"torch": graphed(theirs)}
            configs = {"ours": None}
            if options.search and not narrow:
                configs |= {str(c): c for c in warpgroup_search_space(d, SMEM)}
            for key, config in configs.items():
                out = outs[key] = torch.zeros_like(q)
                functions[key] = graphed(
                    lambda c=config, o=out, m=mine, causal=causal: attention(
                        *m, causal=causal, out=o, config=c
                    )
                )
                functions[key]()
            if not narrow:  # the same as sequences end to end
                starts = torch.arange(0, b * s + 1, s, device="cuda", dtype=torch.int32)
                flat = [x.reshape(b * s, h, d) for x in mine]
                out = outs["varlen"] = torch.zeros_like(q)
                functions["varlen"] = graphed(
                    lambda f=flat, t=starts, o=out.reshape(b * s, h, d), causal=causal, s=s:
                    attention_varlen(*f, t, t, s, s, causal=causal, out=o)
                )  # fmt: skip
                functions["varlen"]()
            torch.cuda.synchronize()
            work = 4.0 * b * h * s * s * d / (2 if causal else 1)
            name = f"attention {'e4m3' if narrow else 'f16'} {d} {'causal' if causal else 'full'}"
            yield measure(name, functions, outs, work, "Tflop/s", 0.1 if narrow else 2e-2)


PARTS = {
    "gemm": products, "f8": narrow, "epilogue": epilogues, "skinny": skinny,
    "attention": attentions, "heads": other_heads,
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}", flush=True)
    rows = []
    for part in options.only.split(","):
        rows += PARTS[part](options)
        torch.cuda.empty_cache()
        keep(rows, options.json)
    return verdict(rows)


if __name__ == "__main__":
    sys.exit(main())
