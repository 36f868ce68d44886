# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Softmax and its derivative against NumPy, in the checking simulator; on a GPU against torch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.kernels.row_config import RowConfig, search_space
from opencute.kernels.softmax import reference, softmax, softmax_backward

DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32]
t0, t2 = pytest.mark.t0, pytest.mark.t2


@t0
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 7, 64, 1000, 1028])
def test_both_directions(checked, random, close, n: int, dtype: Any) -> None:
    x, g = (random((5, n), dtype) * 3).astype(dtype), random((5, n), dtype)
    y = softmax(x)
    close(y, reference.softmax(x), 2.0**-4)
    close(softmax_backward(g, y), reference.softmax_backward(g, y))


@t0
@pytest.mark.parametrize("config", [RowConfig(64, 8), RowConfig(32, 1)])
def test_rows_in_chunks(checked, random, close, config: RowConfig) -> None:
    n = 4104 + (config.vec == 1)
    x, g = random((3, n), np.float16), random((3, n), np.float16)
    x[0, : n // 2] = -np.inf  # whole chunks of some threads
    x[1, 5] = np.nan
    y = softmax(x, config=config)
    close(y, reference.softmax(x), 2.0**-4)
    close(
        softmax_backward(g[::2], y[::2], config=config),
        reference.softmax_backward(g[::2], y[::2]), 2.0**-4,
    )  # fmt: skip


@t0
@pytest.mark.parametrize("config", [None, RowConfig(32, 4)])
def test_values_at_the_ends(checked, close, config: Any) -> None:
    n = 4100 if config else 100
    x = np.zeros((4, n), np.float32)
    x[0] = -np.inf
    x[1, 3] = 3e38
    x[2, 4] = np.inf
    x[3] = -3e38
    with np.errstate(invalid="ignore"):
        close(softmax(x, config=config), reference.softmax(x))


@t0
@pytest.mark.parametrize("n", [256, 2048, 100_000])
def test_every_configuration(checked, random, close, n: int) -> None:
    x = random((2, n), np.float16)
    configs = list(search_space(n, 8))
    assert len(configs) >= 2
    for config in configs:
        close(softmax(x, config=config), reference.softmax(x), 2.0**-4)


@t0
def test_views_and_empty(checked, random, close) -> None:
    big = random((4, 6, 80), np.float16)
    for x in (big[:, :, :64], big[:, 0, 3:67], big[0, ::2, :64], big[1, 2, :64]):
        close(softmax(x), reference.softmax(x))
    x = big[0, :, :64].copy()
    want = reference.softmax(x)
    close(softmax(x, out=x), want)
    assert softmax(np.ones((0, 8), np.float32)).shape == (0, 8)
    assert softmax(np.ones((3, 0), np.float32)).shape == (3, 0)


@t0
@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda x: softmax(x, out=x[:2]), "OC2502"),
        (lambda x: softmax_backward(x[:2], x), "OC2502"),
        (lambda x: softmax(x.T), "OC2501"),
        (lambda x: softmax(x.astype(np.float64)), "OC2507"),
    ],
)
def test_wrong_arguments(checked, call: Any, code: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call(np.ones((4, 8), np.float32))
    assert caught.value.code == code


@t2
@pytest.mark.parametrize("n", [1, 1000, 8192, 65536, 100_000])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_on_a_gpu(n: int, name: str) -> None:
    torch = pytest.importorskip("torch")
    x, g = (torch.randn(300, n, device="cuda", dtype=getattr(torch, name)) for _ in range(2))
    tol = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-6}[name]
    y = softmax(x)
    torch.testing.assert_close(y.double(), torch.softmax(x.double(), -1), rtol=tol, atol=tol)
    wide, grad = y.double(), g.double()
    want = wide * (grad - (wide * grad).sum(-1, keepdim=True))
    torch.testing.assert_close(softmax_backward(g, y).double(), want, rtol=tol, atol=tol)
