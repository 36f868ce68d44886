# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Batches, sequences and heads for which a grid has no room along its second or third axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opencute.arch.target import MAX_GRID
from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.integrations.driver_stub import StubDriver
from opencute.kernels import arrays
from opencute.kernels.attention import (
    attention,
    attention_backward,
    attention_varlen,
    attention_varlen_backward,
)
from opencute.kernels.attention import call as of_attention
from opencute.kernels.decode import decode_attention
from opencute.kernels.decode import interface as of_decode
from opencute.kernels.gemm import gemm
from opencute.kernels.gemm import interface as of_gemm
from opencute.kernels.hstu import hstu_attention
from opencute.kernels.mla import interface as of_mla
from opencute.kernels.mla import mla_decode
from opencute.kernels.transpose import transpose

torch: Any = pytest.importorskip("torch")
Call = Callable[[Any, int], Any]
MANY = 65537


def back(zeros: Any, n: int) -> Any:
    q = zeros(n, 1, 1, 16)
    return attention_backward(q, q, q, q, q, zeros(n, 1, 1, wide=True))


def attend(zeros: Any, n: int) -> Any:
    return attention(*(zeros(n, 2, 1, 16) for _ in range(3)), return_lse=True)


def attend_with_heads(zeros: Any, n: int) -> Any:
    q, k, v = zeros(2, 2, 2 * n, 16), zeros(2, 3, n, 16), zeros(2, 3, n, 16)
    return attention(q, k, v, causal=True, return_lse=True)


def back_with_heads(zeros: Any, n: int) -> Any:
    q, k = zeros(2, 3, n, 16), zeros(2, 3, n, 16)
    lse = zeros(2, n, 3, wide=True) + 8
    return attention_backward(q, q, k, k, q, lse)


def starts_of(zeros: Any, n: int) -> tuple[Any, ...]:
    """Sequences of two rows, and nothing between them."""
    starts = np.arange(0, 2 * n + 1, 2, dtype=np.int32)
    starts = starts if zeros is numbers else torch.from_numpy(starts)
    return starts, starts, 2, 2


def attend_sequences(zeros: Any, n: int) -> Any:
    arrays = (zeros(2 * n, 1, 16) for _ in range(3))
    return attention_varlen(*arrays, *starts_of(zeros, n), return_lse=True)


def back_sequences(zeros: Any, n: int) -> Any:
    q, lse = zeros(2 * n, 1, 16), zeros(1, 2 * n, wide=True) + 8
    return attention_varlen_backward(q, q, q, q, q, lse, *starts_of(zeros, n))


def decode(zeros: Any, n: int) -> Any:
    q, k, v = zeros(n, 1, 2, 16), zeros(n, 4, 1, 16), zeros(n, 4, 1, 16)
    return decode_attention(q, k, v, lengths_of(zeros, n), return_lse=True)


def decode_pages(zeros: Any, n: int) -> Any:
    table = (lengths_of(zeros, n) - 2)[:, None]
    pages = zeros(3, 16, 1, 16)
    return (decode_attention(zeros(n, 1, 2, 16), pages, pages, table[:, 0] + 2, block_table=table),)


def decode_latent(zeros: Any, n: int) -> Any:
    q, cache = (zeros(n, 1, 1, 512), zeros(n, 1, 1, 64)), zeros(n, 4, 576)
    return mla_decode(*q, cache, lengths_of(zeros, n), scale=0.04, return_lse=True)


def decode_latent_pages(zeros: Any, n: int) -> Any:
    q, table = (zeros(n, 1, 1, 512), zeros(n, 1, 1, 64)), (lengths_of(zeros, n) - 2)[:, None]
    pages = zeros(3, 64, 576)
    return (mla_decode(*q, pages, table[:, 0] + 2, scale=0.04, block_table=table),)


def lengths_of(zeros: Any, n: int) -> Any:
    """From 2 to 4 keys."""
    lengths = 2 + np.arange(n, dtype=np.int32) % 3
    return lengths if zeros is numbers else torch.from_numpy(lengths)


def attend_with_bias(zeros: Any, n: int) -> Any:
    return hstu_attention(*(zeros(n, 1, 1, 16) for _ in range(3)), zeros(n, 1, 1, 1))


def product(zeros: Any, n: int) -> Any:
    a, b = zeros(n, 2, 4, wide=True), zeros(4, 2, wide=True)
    return gemm(a, b, zeros(n, 2, 2, wide=True), bias=zeros(2, wide=True))


CALLS: dict[str, Call] = {
    "attention": attend,
    "gradients": back,
    "attention, heads": attend_with_heads,
    "gradients, heads": back_with_heads,
    "attention, sequences": attend_sequences,
    "gradients, sequences": back_sequences,
    "decoding": decode,
    "decoding, pages": decode_pages,
    "latent": decode_latent,
    "latent, pages": decode_latent_pages,
    "hstu": attend_with_bias,
    "gemm": product,
    "transpose": lambda zeros, n: transpose(zeros(n, 1, 1)),
    "transpose of vectors": lambda zeros, n: transpose(zeros(n, 8, 8)),
    "transpose of rows": lambda zeros, n: transpose(zeros(32 * n, 1)),
    "transpose of rows of vectors": lambda zeros, n: transpose(zeros(256 * n, 8)),
}


@pytest.mark.t1
@pytest.mark.parametrize(
    "call", [c for c in CALLS if not c.startswith(("gradients", "hstu", "latent"))]
)
def test_grids_are_those_that_can_be_launched(call: str) -> None:
    def zeros(*shape: int, wide: bool = False) -> Any:
        return torch.zeros(shape, dtype=torch.float32 if wide else torch.float16)

    with StubDriver() as stub, KNOBS.override(target="cuda"):
        CALLS[call](zeros, MANY)
        assert stub.launches
        for launch in stub.launches:
            assert all(n <= most for n, most in zip(launch.grid, MAX_GRID, strict=True))


def numbers(*shape: int, wide: bool = False) -> Any:
    some = np.random.default_rng(len(shape)).integers(-3, 4, shape)
    return some.astype(np.float32 if wide else np.float16)


@pytest.mark.t0
@pytest.mark.parametrize("call", CALLS)
def test_parts_are_the_whole(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arch = "sm_90a" if call.startswith("latent") else "sm_80"
    with KNOBS.override(target=f"sim:{arch}"):
        want = CALLS[call](numbers, 3)
        for module in (arrays, of_attention, of_decode, of_gemm, of_mla):
            monkeypatch.setattr(module, "MOST_BLOCKS", 2)
        found = CALLS[call](numbers, 3)
    for a, b in zip(found, want, strict=True):
        assert np.array_equal(a, b, equal_nan=True)


@pytest.mark.t0
def test_heads_that_share_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are summed by one block, and are not divided."""
    monkeypatch.setattr(of_attention, "MOST_BLOCKS", 2)
    q, k = numbers(1, 2, 3, 16), numbers(1, 2, 1, 16)
    with KNOBS.override(target="sim:sm_80"), pytest.raises(ArgumentError) as e:
        attention_backward(q, q, k, k, q, numbers(1, 3, 2, wide=True))
    assert e.value.code == "OC2587" and "too many heads share keys" in str(e.value)
