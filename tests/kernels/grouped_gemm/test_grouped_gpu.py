# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Visitors, sums over groups and 8-bit floats of grouped products on a GPU, against torch."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from opencute.kernels.gemm.activations import silu
from opencute.kernels.gemm.visitors import add, chain, keep, scale_columns, scale_rows
from opencute.kernels.grouped_gemm import grouped_gemm, moe_gemm, moe_gemm_weights
from opencute.kernels.grouped_gemm.config import search_space

pytestmark = pytest.mark.t2
ROWS, GROUPS, K, N = 1500, 9, 520, 392


@pytest.fixture
def torch() -> Any:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("no Hopper")
    torch.manual_seed(0)
    return torch


def data(torch: Any, turn: int = 0) -> tuple[Any, Any, Any, list[tuple[int, int]]]:
    a = torch.randn(ROWS, K, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(GROUPS, K, N, device="cuda", dtype=torch.bfloat16)
    lengths = torch.randint(0, 300, (GROUPS,), generator=torch.Generator().manual_seed(turn))
    lengths[turn] = 0
    ends = lengths.cumsum(0).clamp(max=ROWS).to(torch.int32)
    bounds = [0, *ends.tolist()]
    return a, b, ends.cuda(), [*itertools.pairwise(bounds)]


def close(torch: Any, d: Any, want: Any) -> None:
    torch.testing.assert_close(d.float(), want, rtol=2e-2, atol=0.3)


def test_every_configuration(torch: Any) -> None:
    a, b, ends, parts = data(torch)
    for config in search_space():
        d = moe_gemm(a, b, ends, config=config)
        for g, (i, j) in enumerate(parts):
            close(torch, d[i:j], a[i:j].float() @ b[g].float())


def test_visitors(torch: Any) -> None:
    for turn in range(4):  # the third and later ones are recorded
        a, b, ends, parts = data(torch, turn)
        bias = torch.randn(GROUPS, N, device="cuda")
        weights = torch.rand(ROWS, device="cuda")
        residual = torch.randn(ROWS, N, device="cuda", dtype=torch.bfloat16)
        before = torch.full((ROWS, N), 7.0, device="cuda")
        gate = moe_gemm(a, b, ends, epilogue=chain(scale_rows(weights), gated=silu))
        plain = moe_gemm(a, b, ends, bias=bias, activation="relu")
        out = torch.full((ROWS, N), 7.0, device="cuda", dtype=torch.bfloat16)
        moe_gemm(a, b, ends, epilogue=chain(keep(before), add(residual)), out=out)
        for g, (i, j) in enumerate(parts):
            x = a[i:j].float() @ b[g].float()
            close(torch, plain[i:j], (x + bias[g]).relu())
            close(torch, before[i:j], x)
            close(torch, out[i:j], x + residual[i:j].float())
            x = x * weights[i:j, None]
            want = torch.nn.functional.silu(x[:, ::2]) * x[:, 1::2]
            torch.testing.assert_close(gate[i:j].float(), want, rtol=2e-2, atol=3.0)
        last = parts[-1][1]
        assert (before[last:] == 7).all()
        assert (out[last:] == 7).all()


def test_visitors_of_lists(torch: Any) -> None:
    a, b, _, parts = data(torch)
    left, right = [a[i:j] for i, j in parts], [*b]
    bias = [torch.randn(N, device="cuda") for _ in parts]
    for _ in range(3):
        for x, y, v, d in zip(
            left, right, bias, grouped_gemm(left, right, bias=bias, activation="relu"), strict=True
        ):
            close(torch, d, (x.float() @ y.float() + v).relu())


def test_gradients(torch: Any) -> None:
    for turn in range(4):
        a, b, ends, parts = data(torch, turn)
        grad = torch.randn(ROWS, N, device="cuda", dtype=torch.bfloat16)
        out = torch.ones(GROUPS, K, N, device="cuda")
        weights = moe_gemm_weights(a, grad, ends)
        moe_gemm_weights(a, grad, ends, alpha=0.5, accumulate=True, out=out)
        inputs = moe_gemm(grad, b.mT, ends)
        for g, (i, j) in enumerate(parts):
            want = a[i:j].float().T @ grad[i:j].float()
            close(torch, weights[g], want)
            close(torch, out[g], 1 + want / 2)
            close(torch, inputs[i:j], grad[i:j].float() @ b[g].float().T)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_floats_of_8_bits(torch: Any, dtype: str) -> None:
    kind = getattr(torch, dtype)
    for turn in range(3):
        a, b, ends, parts = data(torch, turn)
        a, b = a[:, :512].to(kind), b[:, :512].mT.contiguous().to(kind).mT
        rows, columns = torch.rand(ROWS, device="cuda"), torch.rand(GROUPS, N, device="cuda")
        epilogue = chain(scale_rows(rows), scale_columns(columns))
        d = moe_gemm(a, b, ends, epilogue=epilogue)
        assert d.dtype == torch.bfloat16
        for g, (i, j) in enumerate(parts):
            want = (a[i:j].float() @ b[g].float()) * rows[i:j, None] * columns[g]
            close(torch, d[i:j], want)


def test_visitors_in_a_graph(torch: Any) -> None:
    a, b, ends, parts = data(torch)
    bias = [torch.randn(N, device="cuda") for _ in parts]
    left, right = [a[i:j] for i, j in parts], [*b]
    out = [torch.empty(j - i, N, device="cuda", dtype=a.dtype) for i, j in parts]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        grouped_gemm(left, right, bias=bias, out=out)
        weights = moe_gemm_weights(a, a[:, :N].contiguous(), ends)
    ends.zero_()  # is read when the graph runs
    graph.replay()
    for x, y, v, d in zip(left, right, bias, out, strict=True):
        close(torch, d, x.float() @ y.float() + v)
    assert not weights.any()
