# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Cross-entropy and its derivative against NumPy, in the checking simulator; on a GPU against
torch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.kernels.cross_entropy import cross_entropy, cross_entropy_backward, reference
from opencute.kernels.row_config import RowConfig

DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32]
t0, t2 = pytest.mark.t0, pytest.mark.t2


@t0
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("n", "config"),
    [(1, None), (7, None), (1000, None), (4104, RowConfig(64, 4)), (4105, RowConfig(32, 1))],
)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_both_directions(
    checked, random, close, n: int, config: Any, dtype: Any, index: Any
) -> None:
    if index is np.int32 and dtype is not np.float16:
        pytest.skip("targets of 32 bits with one type only")
    x = (random((4, n), dtype) * 3).astype(dtype)
    target = np.array([n - 1, -100, n // 2, 0], index)
    loss, lse = cross_entropy(x, target, config=config)
    want, want_lse = reference.cross_entropy(x, target)
    np.testing.assert_allclose(loss, want, rtol=1e-5, atol=2e-6)
    np.testing.assert_allclose(lse, want_lse, rtol=1e-5, atol=2e-6)
    grad = random(4, np.float32)
    got = cross_entropy_backward(grad, x, target, lse, config=config)
    close(got, reference.cross_entropy_backward(grad, x, target, lse))
    assert not got[1].any()


@t0
@pytest.mark.parametrize("config", [None, RowConfig(32, 4)])
def test_targets_that_are_no_class(checked, random, close, config: Any) -> None:
    n = 4100 if config else 100
    x = random((5, n), np.float32)
    target = np.array([n, -1, 2**32 + 1, 7, 3], np.int64)
    loss, lse = cross_entropy(x, target, ignore_index=7, config=config)
    assert np.isnan(loss[:3]).all() and loss[3] == 0.0
    want, _ = reference.cross_entropy(x[4:], target[4:])
    np.testing.assert_allclose(loss[4:], want, rtol=1e-5)
    grad = np.ones(5, np.float32)
    got = cross_entropy_backward(grad, x, target, lse, ignore_index=7, config=config)
    p = np.exp(x.astype(np.float64) - lse[:, None])
    close(got[:3], p[:3])
    assert not got[3].any()


@t0
def test_infinite_logits(checked) -> None:
    x = np.zeros((3, 8), np.float32)
    x[0, :4] = -np.inf
    x[1] = -np.inf
    x[2, 3] = np.nan
    loss, lse = cross_entropy(x, np.array([7, 0, 0]))
    np.testing.assert_allclose(loss[0], np.log(4), rtol=1e-6)
    assert np.isnan(loss[1:]).all() and np.isnan(lse[1:]).all()


@t0
def test_in_place_views_and_empty(checked, random, close) -> None:
    big = random((6, 80), np.float16)
    x, target = big[::2, 3:67], np.array([1, 2, 3])
    loss, lse = cross_entropy(x, target)
    np.testing.assert_allclose(loss, reference.cross_entropy(x, target)[0], rtol=1e-5)
    grad = np.ones(3, np.float32)
    want = reference.cross_entropy_backward(grad, x, target, lse)
    close(cross_entropy_backward(grad, x, target, lse, out=x), want)
    for shape in ((0, 8), (0, 0)):
        loss, lse = cross_entropy(np.ones(shape, np.float32), np.ones(shape[0], np.int64))
        assert loss.shape == lse.shape == (0,)
    for _ in range(2):  # memory that was used before
        loss, lse = cross_entropy(np.ones((3, 0), np.float32), np.array([0, -100, 5]))
        assert np.isnan(loss[[0, 2]]).all() and loss[1] == 0.0 and np.isneginf(lse).all()
        np.full(3, 7.0, np.float32)


@t0
@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda x, t: cross_entropy(x, t[:2]), "OC2506"),
        (lambda x, t: cross_entropy(x[0], t), "OC2506"),
        (lambda x, t: cross_entropy(x, t.astype(np.float32)), "OC2507"),
        (lambda x, t: cross_entropy(x.astype(np.int32), t), "OC2507"),
        (lambda x, t: cross_entropy(x, t, ignore_index=2**31), "OC2544"),
        (lambda x, t: cross_entropy(x, t, ignore_index=-1.0), "OC2531"),
        (lambda x, t: cross_entropy_backward(x[0, :3], x, t, x[0, :4]), "OC2502"),
        (lambda x, t: cross_entropy_backward(x[0, :4], x, t, x[0, :4], out=x[:2].copy()), "OC2502"),
    ],
)
def test_wrong_arguments(checked, call: Any, code: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call(np.ones((4, 8), np.float32), np.zeros(4, np.int64))
    assert caught.value.code == code


@t2
@pytest.mark.parametrize("n", [1, 1000, 8192, 65536, 151_936])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_on_a_gpu(n: int, name: str) -> None:
    torch = pytest.importorskip("torch")
    F = torch.nn.functional
    x = torch.randn(300, n, device="cuda", dtype=getattr(torch, name))
    target = torch.randint(0, n, (300,), device="cuda")
    target[7] = -100
    grad = torch.randn(300, device="cuda")
    wide = x.double().requires_grad_()
    want = F.cross_entropy(wide, target, reduction="none")
    want.backward(grad.double())
    loss, lse = cross_entropy(x, target)
    torch.testing.assert_close(loss.double(), want.detach(), rtol=1e-4, atol=1e-4)
    tol = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-5}[name]
    got = cross_entropy_backward(grad, x, target, lse)
    torch.testing.assert_close(got.double(), wide.grad, rtol=tol, atol=tol)
