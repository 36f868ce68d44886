# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Batches for which a grid has no room along its second or third axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opencute.arch.target import MAX_GRID
from opencute.base.knobs import KNOBS
from opencute.integrations.driver_stub import StubDriver
from opencute.kernels import arrays
from opencute.kernels.attention import attention, attention_backward
from opencute.kernels.attention import interface as of_attention
from opencute.kernels.gemm import gemm
from opencute.kernels.gemm import interface as of_gemm
from opencute.kernels.hstu import hstu_attention
from opencute.kernels.transpose import transpose

torch: Any = pytest.importorskip("torch")
Call = Callable[[Any, int], Any]
MANY = 65537


def back(zeros: Any, n: int) -> Any:
    q = zeros(n, 1, 1, 16)
    return attention_backward(q, q, q, q, q, zeros(n, 1, 1, wide=True))


def attend(zeros: Any, n: int) -> Any:
    return attention(*(zeros(n, 2, 1, 16) for _ in range(3)), return_lse=True)


def attend_with_bias(zeros: Any, n: int) -> Any:
    return hstu_attention(*(zeros(n, 1, 1, 16) for _ in range(3)), zeros(n, 1, 1, 1))


def product(zeros: Any, n: int) -> Any:
    a, b = zeros(n, 2, 4, wide=True), zeros(4, 2, wide=True)
    return gemm(a, b, zeros(n, 2, 2, wide=True), bias=zeros(2, wide=True))


CALLS: dict[str, Call] = {
    "attention": attend,
    "gradients": back,
    "hstu": attend_with_bias,
    "gemm": product,
    "transpose": lambda zeros, n: transpose(zeros(n, 1, 1)),
    "transpose of vectors": lambda zeros, n: transpose(zeros(n, 8, 8)),
    "transpose of rows": lambda zeros, n: transpose(zeros(32 * n, 1)),
    "transpose of rows of vectors": lambda zeros, n: transpose(zeros(256 * n, 8)),
}


@pytest.mark.t1
@pytest.mark.parametrize("call", [c for c in CALLS if c not in ("gradients", "hstu")])
def test_grids_are_those_that_can_be_launched(call: str) -> None:
    def zeros(*shape: int, wide: bool = False) -> Any:
        return torch.zeros(shape, dtype=torch.float32 if wide else torch.float16)

    with StubDriver() as stub, KNOBS.override(target="cuda"):
        CALLS[call](zeros, MANY)
        assert stub.launches
        for launch in stub.launches:
            assert all(n <= most for n, most in zip(launch.grid, MAX_GRID, strict=True))


@pytest.mark.t0
@pytest.mark.parametrize("call", CALLS)
def test_parts_are_the_whole(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def numbers(*shape: int, wide: bool = False) -> Any:
        some = np.random.default_rng(len(shape)).integers(-3, 4, shape)
        return some.astype(np.float32 if wide else np.float16)

    with KNOBS.override(target="sim:sm_80"):
        want = CALLS[call](numbers, 3)
        for module in (arrays, of_attention, of_gemm):
            monkeypatch.setattr(module, "MOST_BLOCKS", 2)
        found = CALLS[call](numbers, 3)
    for a, b in zip(found, want, strict=True):
        assert np.array_equal(a, b, equal_nan=True)
