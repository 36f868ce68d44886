# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Operators in CUDA graphs: one call before is enough, and none is, too; repeated calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from opencute.base.knobs import KNOBS
from opencute.compiler.targets import run_target
from opencute.kernels import norm, reduce
from opencute.kernels.attention import (
    attention,
    attention_backward,
    attention_varlen,
    attention_varlen_backward,
)
from opencute.kernels.cross_entropy import cross_entropy
from opencute.kernels.decode import decode_attention
from opencute.kernels.gemm import gemm
from opencute.kernels.gemm.sm90_plan import HopperConfig
from opencute.kernels.gemm.visitors import add_columns, apply, chain
from opencute.kernels.hstu import hstu_attention
from opencute.kernels.mla import mla_decode
from opencute.kernels.repeat.operators import forget_calls, why_not
from opencute.kernels.scan import cumsum
from opencute.kernels.softmax import softmax
from opencute.kernels.transpose import transpose

pytestmark = pytest.mark.t2
Call = Callable[[], Any]


def rand(*shape: int) -> Any:
    import torch

    return torch.randn(*shape, device="cuda").mul_(0.3).half()


def ints(*values: int) -> Any:
    import torch

    return torch.tensor(values, device="cuda", dtype=torch.int32)


def square(x: Any) -> Any:
    return x * x


def _products() -> dict[str, Call]:
    a, b, bias = rand(192, 256), rand(320, 256), rand(320)
    x, w = rand(64, 4096), rand(2048, 4096)
    return {
        "gemm": lambda: gemm(a, b.T),
        "gemm, bias and activation": lambda: gemm(a, b.T, bias=bias, activation="gelu"),
        "gemm of few rows": lambda: gemm(x, w.T),
        "gemm of a vector": lambda: gemm(x[:1], w.T),
        "gemm of copies": lambda: gemm(a[:, 1:], b[:, 1:].T),
        "grouped": lambda: gemm(rand(3, 64, 64) * 0 + 1, rand(3, 64, 64) * 0 + 1),
    }


def _hopper() -> dict[str, Call]:
    a, b, bias = rand(192, 256), rand(320, 256), rand(320)
    x, w = rand(64, 4096), rand(2048, 4096)
    q, rope, cache = rand(2, 1, 16, 512), rand(2, 1, 16, 64), rand(2, 512, 576)
    stream, split = (HopperConfig((128, 128), **{n: s}) for n, s in (("stream", True),
                                                                    ("split", 4)))  # fmt: skip
    return {
        "visitor": lambda: gemm(a, b.T, epilogue=chain(add_columns(bias), apply(square))),
        "stream": lambda: gemm(x, w.T, config=stream),
        "split": lambda: gemm(x, w.T, config=split),
        "mla": lambda: mla_decode(q, rope, cache, ints(500, 7), scale=0.07),
    }


def _attentions() -> dict[str, Call]:
    q, k, v = rand(1, 192, 4, 64), rand(1, 192, 2, 64), rand(1, 192, 2, 64)
    grad, starts, one = rand(1, 192, 4, 64), ints(0, 64, 192), rand(2, 1, 8, 128)
    out, lse = attention(q, k, v, return_lse=True)
    flat = (q[0], k[0], v[0])
    sequences = (starts, starts, 128, 128)
    ends = attention_varlen(*flat, *sequences, return_lse=True)
    cache, wide = rand(2, 512, 2, 128), rand(1, 192, 2, 64)
    lengths = ints(500, 7)
    return {
        "attention": lambda: attention(q, k, v, causal=True, return_lse=True),
        "attention_varlen": lambda: attention_varlen(*flat, *sequences, return_lse=True),
        "attention_backward": lambda: attention_backward(
            grad, q, k, v, out, lse, deterministic=True
        ),
        "attention_varlen_backward": lambda: attention_varlen_backward(
            grad[0], *flat, *ends, *sequences, deterministic=True
        ),
        "decode": lambda: decode_attention(one, cache, cache, lengths),
        "hstu": lambda: hstu_attention(wide, k, v),
    }


def _rows() -> dict[str, Call]:
    import torch

    x, w = rand(96, 512), rand(512)
    labels = torch.arange(96, device="cuda")
    return {
        "layer_norm": lambda: norm.layer_norm(x, w, w),
        "rms_norm": lambda: norm.rms_norm(x, w, residual=x, prenorm=True),
        "rms_norm_backward": lambda: norm.rms_norm_backward(x, x, w),
        "softmax": lambda: softmax(x),
        "cross_entropy": lambda: cross_entropy(x, labels),
        "sum": lambda: reduce.sum(x, 1),
        "argmax": lambda: reduce.argmax(x, 0),
        "cumsum": lambda: cumsum(rand(1, 1 << 17) * 0 + 1),
        "cumsum of columns": lambda: cumsum(x, 0),
        "transpose": lambda: transpose(x),
    }


FAMILIES = {f.__name__: f for f in (_products, _hopper, _attentions, _rows)}


def leaves(result: Any) -> list[Any]:
    parts = result if isinstance(result, tuple) else (result,)
    return [p for p in parts if p is not None]


def captured(call: Call, before: int) -> tuple[list[Any], list[Any]]:
    """Results of calls before, and of the third replay."""
    import torch

    stream, first = torch.cuda.Stream(), None
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(before):
            first = call()
    torch.cuda.synchronize()
    kept = [] if first is None else [t.clone() for t in leaves(first)]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        result = call()
    for _ in range(3):
        for t in leaves(result):
            t.fill_(7)
        graph.replay()
    torch.cuda.synchronize()
    return kept, [t.clone() for t in leaves(result)]


@pytest.mark.parametrize("family", FAMILIES)
def test_one_call_before_a_capture_is_enough(family: str) -> None:
    torch: Any = pytest.importorskip("torch")
    with KNOBS.override(target="cuda"):
        if family == "_hopper" and run_target().arch != "sm_90a":
            pytest.skip("these are for Hopper")
        forget_calls()
        for name, call in FAMILIES[family]().items():
            first, replayed = captured(call, 1)
            again = leaves(call())
            for got in (replayed, again):
                assert len(got) == len(first), name
                assert all(torch.equal(a, b) for a, b in zip(first, got, strict=True)), name


def test_no_call_before_a_capture_is_enough() -> None:
    torch: Any = pytest.importorskip("torch")
    with KNOBS.override(target="cuda"):
        a, b, bias = rand(448, 256), rand(320, 256), rand(320)
        _, (got,) = captured(lambda: gemm(a, b.T, bias=bias, activation=square), 0)
        want = (a.float() @ b.float().T + bias.float()) ** 2
        torch.testing.assert_close(got.float(), want, rtol=2e-3, atol=2e-3)


def test_operators_are_repeated() -> None:
    """None of these calls takes the operator's Python the second time."""
    pytest.importorskip("torch")
    with KNOBS.override(target="cuda"):
        forget_calls()
        for operator in (gemm, norm.rms_norm, attention, attention_backward, softmax, cumsum):
            assert not why_not(operator), operator.__name__
        for family in FAMILIES.values():
            if family is _hopper and run_target().arch != "sm_90a":
                continue
            for call in family().values():
                call()
        for operator in (
            gemm, norm.layer_norm, norm.rms_norm, norm.rms_norm_backward, softmax, cumsum,
            cross_entropy, reduce.sum, reduce.argmax, transpose, attention, attention_varlen,
            attention_backward, attention_varlen_backward, decode_attention, hstu_attention,
            mla_decode,
        ):  # fmt: skip
            assert not why_not(operator), (operator.__name__, why_not(operator))
