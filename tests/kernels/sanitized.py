# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What compute-sanitizer watches: shipped kernels once at small sizes, and planted faults.

    compute-sanitizer --tool racecheck python tests/kernels/sanitized.py hopper
    compute-sanitizer --tool memcheck python tests/kernels/sanitized.py past_the_end

Needs torch and a GPU.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

import opencute as cutlass
from opencute import cute
from opencute.kernels import cross_entropy as ce
from opencute.kernels import norm, reduce, scan, softmax, transpose
from opencute.kernels.attention import AttentionConfig, attention, attention_backward
from opencute.kernels.decode import decode_attention
from opencute.kernels.gemm import GemmConfig, HopperConfig, gemm
from opencute.kernels.hstu import hstu_attention
from opencute.kernels.mla import mla_decode
from opencute.kernels.row_config import RowConfig


def random(*shape: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    return torch.randn(shape, device="cuda").to(dtype)


def rows() -> None:
    for dtype in (torch.float16, torch.float32):
        for n, config in ((1, None), (1001, None), (8192, None), (4104, RowConfig(64, 4))):
            x, g, r = (random(5, n, dtype=dtype) for _ in range(3))
            w, b = (random(n, dtype=dtype) for _ in range(2))
            target = torch.randint(0, n, (5,), device="cuda")
            target[1] = -100
            norm.layer_norm(x, w, b, residual=r, prenorm=True, config=config)
            norm.rms_norm(x, w, config=config)
            norm.layer_norm_backward(g, x, w, prenorm_grad=r, config=config)
            norm.rms_norm_backward(g, x, w, config=config)
            y = softmax.softmax(x, config=config)
            softmax.softmax_backward(g, y, config=config)
            _, lse = ce.cross_entropy(x, target, config=config)
            ce.cross_entropy_backward(lse, x, target, lse, config=config)
        for shape in ((3, 72, 200), (2, 5000), (1, 70000)):
            x = random(*shape, dtype=dtype)
            transpose.transpose(x)
            for axis in (None, *range(len(shape))):
                reduce.sum(x, axis)
                reduce.argmax(x, axis)
                if axis is not None:
                    scan.cumsum(x, axis)


def ampere() -> None:
    f32 = torch.float32
    gemm(random(300, 200), random(200, 264), config=GemmConfig((128, 128, 32), (2, 2), 3))
    gemm(random(300, 200, dtype=f32), random(200, 264, dtype=f32))
    gemm(random(64, 4096, dtype=f32), random(4096, 64, dtype=f32))
    tf32 = GemmConfig((128, 128, 16), (2, 2), 3)
    gemm(random(300, 200, dtype=f32), random(200, 264, dtype=f32), tf32=True, config=tf32)
    q, k, v = random(1, 300, 4, 128), random(1, 260, 2, 128), random(1, 260, 2, 128)
    tiles = AttentionConfig(128, 64, 4)
    attention(q, k, v, causal=True, config=tiles)
    hstu_attention(q, k, v, random(1, 4, 300, 260))


def hopper() -> None:
    a, b = random(300, 256), random(256, 264)
    gemm(a, b, bias=random(264), activation="gelu", residual=random(300, 264))
    gemm(a, b, config=HopperConfig((128, 128), (2, 1), True))
    gemm(random(64, 1024), random(512, 1024).T)
    gemm(random(1, 1024), random(512, 1024).T)
    gemm(random(100, 1027), random(1027, 515))
    narrow = torch.float8_e4m3fn
    gemm(random(256, 512, dtype=narrow), random(256, 512, dtype=narrow).T)


def attentions() -> None:
    for head in (64, 128, 192):
        q, k, v = random(1, 300, 4, head), random(1, 260, 2, head), random(1, 260, 2, head)
        out, lse = attention(q, k, v, causal=True, return_lse=True)
        attention_backward(random(1, 300, 4, head), q, k, v, out, lse, causal=True)
        attention(q, k, v, window=(50, 0))
    q, k, v = (t.to(torch.float8_e4m3fn) for t in (q, k, v))
    k, scales = k.to(torch.float8_e5m2), torch.rand(4, device="cuda") + 0.5
    out, lse = attention(q, k, v, q_scale=scales, v_scale=2.0, return_lse=True)
    attention_backward(out, q, k, v, out, lse, q_scale=scales, v_scale=2.0)


def decoding() -> None:
    decode_attention(random(3, 1, 8, 128), random(3, 300, 2, 128), random(3, 300, 2, 128))
    mla_decode(random(2, 1, 16, 512), random(2, 1, 16, 64), random(2, 200, 576), scale=0.1)


@cute.kernel
def past_the_end_kernel(x: cute.Tensor, n: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    pointer = x.iterator + (thread + n)
    cute.make_tensor(pointer, cute.make_layout(1))[0] = 1.0  # planted: past_the_end


@cute.jit
def start_past_the_end(x: cute.Tensor, n: cutlass.Int32):
    past_the_end_kernel(x, n).launch(grid=1, block=32)


@cute.kernel
def no_barrier_kernel(x: cute.Tensor, n: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(128))
    shared[thread] = x[thread]
    x[thread] = shared[(thread + n) % 128]  # planted: no_barrier


@cute.jit
def start_no_barrier(x: cute.Tensor, n: cutlass.Int32):
    no_barrier_kernel(x, n).launch(grid=1, block=128)


def planted(start: Any, n: int) -> None:
    """Run a kernel that is wrong, with its source lines."""
    x = torch.zeros(128, device="cuda")
    compiled = cute.compile[cute.GenerateLineInfo](start, x, cutlass.Int32(n))
    compiled(x, cutlass.Int32(n))


PLANTED: dict[str, tuple[Any, int]] = {
    "past_the_end": (start_past_the_end, 1 << 28),
    "no_barrier": (start_no_barrier, 64),
}
SHIPPED: dict[str, Callable[[], None]] = {
    "rows": rows, "ampere": ampere, "hopper": hopper, "attentions": attentions,
    "decoding": decoding,
}  # fmt: skip

if __name__ == "__main__":
    name = sys.argv[1]
    if name in PLANTED:
        planted(*PLANTED[name])
    else:
        SHIPPED[name]()
    torch.cuda.synchronize()
    print("done", name)
