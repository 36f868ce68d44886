# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention for decoding beside torch, and beside the time that its bytes take to copy.

    python benchmarks/decode.py [--only heads,narrow,pages,latent] [--search] [--json FILE]

Floors: bytes of the cache over the bandwidth of a copy, both ways counted; with a latent cache also
2 (576 + 512) operations for each key and row over 800 Tflop/s. Calls are CUDA graphs of one call,
functions interleaved; medians of bursts. Sizes are batch x keys x heads x heads of keys x head, or
batch x keys x heads with a latent cache; `--search` times what else the kernels can be told.
"""

import argparse
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from reporting import keep, verdict  # noqa: E402 - after the path is set
from timing import burst, copy_bandwidth, graphed  # noqa: E402

from opencute import utils  # noqa: E402
from opencute.kernels.arrays import multiprocessors  # noqa: E402
from opencute.kernels.decode import decode_attention, interface  # noqa: E402
from opencute.kernels.decode.config import Work, heuristic, search_space  # noqa: E402
from opencute.kernels.mla import config as mla_config  # noqa: E402
from opencute.kernels.mla import mla_decode  # noqa: E402

HEADS = (
    (64, 8192, 32, 8, 128), (128, 8192, 32, 8, 128), (16, 8192, 32, 8, 128),
    (1, 131072, 32, 8, 128), (8, 4096, 32, 32, 128), (64, 8192, 64, 8, 64),
    (32, 8192, 32, 1, 128), (4, 1000, 32, 8, 128), (1, 32768, 32, 8, 128), (32, 4096, 32, 8, 256),
)  # fmt: skip
NARROW = (
    (64, 8192, 32, 8, 128),
    (1, 32768, 32, 8, 128),
    (8, 8192, 64, 8, 128),
    (32, 4096, 32, 8, 256),
)
SCALE = 192**-0.5
LATENT = ((128, 8192, 128), (64, 8192, 128), (128, 8192, 64), (128, 8192, 16), (1, 65536, 128))


def measure(name, functions, outs, floor, configs=(), run=None):
    """One line: times of functions, ratios to the floor, and errors against the first's result."""
    want = outs[next(iter(outs))].float()
    row = {"name": name, "floor_us": floor}
    for key, out in outs.items():
        row[f"{key}_error"] = float((out.float() - want).abs().max() / want.abs().max())
    row["ok"] = all(e < 2e-2 for n, e in row.items() if n.endswith("_error"))
    times = burst(functions)
    row |= {f"{key}_us": us for key, us in times.items()}
    print(
        f"{name:36} ok={row['ok']} floor {floor:7.1f} us",
        *(f"{key} {us:8.1f} us ({floor / us:.3f} of the floor)" for key, us in times.items()),
        sep="  ", flush=True,
    )  # fmt: skip
    if configs:
        row["search"] = {}
        for config in configs:
            try:
                us = burst({"c": graphed(lambda c=config: run(c))}, iters=5, rounds=3)["c"]
                row["search"][str(config)] = us
            except Exception as e:  # what one configuration cannot do says nothing of the others
                print("   ", config, type(e).__name__, str(e).splitlines()[0][:120], flush=True)
        for config, us in sorted(row["search"].items(), key=lambda item: item[1])[:12]:
            print(f"    {us:9.1f} us ({floor / us:.3f}) {config}", flush=True)
    return row


def random(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def pages_of(page, *caches):
    """Caches in pages that lie in a random order, and their table."""
    batch, keys = caches[0].shape[:2]
    order = torch.randperm(batch * keys // page, device="cuda")
    place = torch.argsort(order)
    pages = [c.reshape(-1, page, *c.shape[2:])[place] for c in caches]
    return *pages, order.reshape(batch, -1).to(torch.int32)


def heads(options, bandwidth, page=None):
    """One query for each sequence, all of one length."""
    for size in HEADS if page is None else HEADS[:2]:
        b, s, h, hk, d = size
        q, k, v = random(b, 1, h, d), random(b, s, hk, d), random(b, s, hk, d)
        lengths, table = torch.full((b,), s, dtype=torch.int32, device="cuda"), None
        views = [x.transpose(1, 2) for x in (q, k, v)]

        def theirs(views=views):
            return F.scaled_dot_product_attention(*views, enable_gqa=True).transpose(1, 2)

        outs = {"torch": theirs(), "ours": torch.zeros_like(q)}
        functions = {} if page else {"torch": graphed(theirs)}
        if page:
            k, v, table = pages_of(page, k, v)

        def ours(config=None, q=q, k=k, v=v, t=table, n=lengths, out=outs["ours"]):
            return decode_attention(q, k, v, n, block_table=t, out=out, config=config)

        functions["ours"] = graphed(ours)
        functions["ours"]()
        torch.cuda.synchronize()
        work = Work(h // hk, d, s, b * hk, page, multiprocessors(q))
        smem = utils.get_smem_capacity_in_bytes()
        print("   ", heuristic(work, smem, interface.clusters()))
        yield measure(
            f"decode {'x'.join(map(str, size))}" + (f" pages of {page}" if page else ""),
            functions, outs, 2.0 * 2 * b * s * hk * d / bandwidth,
            search_space(work, smem) if options.search else (), ours,
        )  # fmt: skip
        del q, k, v, views, outs, functions


def narrow(options, bandwidth):
    """Keys and values of e4m3 with a scale, beside torch on what they stand for."""
    for size in NARROW:
        b, s, h, hk, d = size
        q = random(b, 1, h, d)
        k, v = (random(b, s, hk, d).to(torch.float8_e4m3fn) for _ in range(2))
        lengths = torch.full((b,), s, dtype=torch.int32, device="cuda")
        scales = torch.rand(hk, device="cuda") + 0.5
        wide = k.to(q.dtype) * scales.to(q.dtype)[:, None], v.to(q.dtype)
        views = [x.transpose(1, 2) for x in (q, *wide)]
        outs = {
            "torch": F.scaled_dot_product_attention(*views, enable_gqa=True).transpose(1, 2),
            "ours": torch.zeros_like(q),
        }
        del wide, views

        def ours(config=None, q=q, k=k, v=v, n=lengths, c=scales, out=outs["ours"]):
            return decode_attention(q, k, v, n, k_scale=c, out=out, config=config)

        functions = {"ours": graphed(ours)}
        functions["ours"]()
        torch.cuda.synchronize()
        work = Work(h // hk, d, s, b * hk, None, multiprocessors(q), 8)
        smem = utils.get_smem_capacity_in_bytes()
        print("   ", heuristic(work, smem, interface.clusters()))
        yield measure(
            f"e4m3 {'x'.join(map(str, size))}", functions, outs,
            2.0 * b * s * hk * d / bandwidth, search_space(work, smem) if options.search else (),
            ours,
        )  # fmt: skip
        del q, k, v, outs, functions


def paged(options, bandwidth):
    """The same from pages of 16 and of 64 keys."""
    for page in (16, 64):
        yield from heads(options, bandwidth, page)


def latent(options, bandwidth):
    """A latent cache, whole and in pages of 64 keys."""
    for b, s, h in LATENT:
        nope, rope, cache = random(b, 1, h, 512), random(b, 1, h, 64), random(b, s, 576)
        lengths = torch.full((b,), s, dtype=torch.int32, device="cuda")

        def theirs(nope=nope, rope=rope, cache=cache):
            q = torch.cat([nope, rope], -1)[:, 0]
            weights = torch.softmax(torch.bmm(q, cache.transpose(1, 2)).float() * SCALE, -1)
            return torch.bmm(weights.to(q.dtype), cache[..., :512])[:, None]

        # Scores in bf16, as torch has them here, are up to 2 % off.
        exact = torch.cat([
            torch.softmax(torch.cat([n, r], -1).float() @ c.float().T * SCALE, -1)
            @ c[:, :512].float()
            for n, r, c in zip(nope, rope, cache, strict=True)
        ])[:, None]  # fmt: skip
        outs = {"exact": exact, "ours": torch.zeros_like(nope), "pages": torch.zeros_like(nope)}
        pages, table = pages_of(64, cache)

        def ours(config=None, c=cache, t=None, out=outs["ours"], q=(nope, rope), n=lengths):
            return mla_decode(*q, c, n, scale=SCALE, block_table=t, out=out, config=config)

        functions = {
            "torch": graphed(theirs),
            "ours": graphed(ours),
            "pages": graphed(lambda c=pages, t=table, o=outs["pages"], f=ours: f(None, c, t, o)),
        }
        for key in ("ours", "pages"):
            functions[key]()
        torch.cuda.synchronize()
        known = (h, s, b, multiprocessors(nope))
        print("   ", mla_config.heuristic(*known))
        floor = max(2.0 * b * s * 576 / bandwidth, 2.0 * b * s * h * (576 + 512) / 8e8)
        yield measure(
            f"latent {b}x{s}x{h}", functions, outs, floor,
            mla_config.search_space(*known) if options.search else (), ours,
        )  # fmt: skip
        del cache, pages, outs, functions


PARTS = {"heads": heads, "narrow": narrow, "pages": paged, "latent": latent}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    bandwidth = copy_bandwidth()
    print(f"{torch.cuda.get_device_name()}, copy {bandwidth / 1e6:.2f} TB/s", flush=True)
    rows = []
    for part in options.only.split(","):
        for row in PARTS[part](options, bandwidth):
            rows.append(row)
            torch.cuda.empty_cache()
        keep(rows, options.json)
    return verdict(rows)


if __name__ == "__main__":
    sys.exit(main())
