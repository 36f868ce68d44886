# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Norms and their derivatives against NumPy, in the checking simulator; on a GPU against torch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError, OpenCuTeError
from opencute.kernels import norm
from opencute.kernels.norm import reference
from opencute.kernels.row_config import RowConfig, search_space

DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32]
t0, t2 = pytest.mark.t0, pytest.mark.t2


@t0
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 7, 64, 1000, 1028])
def test_forward(checked, random, close, n: int, dtype: Any) -> None:
    x, w, b = random((5, n), dtype), random(n, dtype), random(n, dtype)
    close(norm.layer_norm(x, w, b), reference.layer_norm(x, w, b), 8)
    close(norm.rms_norm(x, w), reference.rms_norm(x, w), 8)


@t0
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 7, 64, 1000])
def test_backward(checked, random, close, n: int, dtype: Any) -> None:
    x, g, h = (random((9, n), dtype) for _ in range(3))
    w = random(n, dtype)
    if n == 1:  # what is normalised is 0 then, whose derivative is as large as 1 / sqrt(eps)
        x = np.ones_like(x)
    got = norm.layer_norm_backward(g, x, w, prenorm_grad=h)
    want = list(reference.layer_norm_backward(g, x, w))
    want[0] = want[0] + h.astype(np.float64)
    for a, b in zip(got, want, strict=True):
        close(a, b, 16)
    for a, b in zip(
        norm.rms_norm_backward(g, x, w), reference.rms_norm_backward(g, x, w), strict=True
    ):
        close(a, b, 16)


@t0
def test_what_is_not_there_has_no_gradient(checked, random, close) -> None:
    x, g = random((3, 40), np.float32), random((3, 40), np.float32)
    dx, dw, db = norm.layer_norm_backward(g, x, bias=False)
    assert dw is None and db is None
    close(dx, reference.layer_norm_backward(g, x)[0], 16)
    dx, dw = norm.rms_norm_backward(g, x)
    assert dw is None
    close(dx, reference.rms_norm_backward(g, x)[0], 16)


@t0
@pytest.mark.parametrize("config", [None, RowConfig(32, 8)])
def test_residual(checked, random, close, config: Any) -> None:
    x, r = random((3, 4104), np.float16), random((3, 4104), np.float16)
    w = random(4104, np.float16)
    total = x.astype(np.float64) + r
    y, h = norm.rms_norm(x, w, residual=r, prenorm=True, config=config)
    close(h, total)
    close(y, reference.rms_norm(total, w), 8)
    close(norm.layer_norm(x, w, residual=r, config=config), reference.layer_norm(total, w), 8)
    y, h = norm.rms_norm(x, prenorm=True, config=config)
    assert h is x


@t0
@pytest.mark.parametrize("config", [RowConfig(32, 4), RowConfig(64, 1)])
@pytest.mark.parametrize("mean", [0, 50])
def test_rows_in_chunks(checked, random, close, config: RowConfig, mean: float) -> None:
    n = 4396 + 4096 * (config.threads == 64) + (config.vec == 1)  # whole chunks and a rest
    x = (random((2, n), np.float32) + mean).astype(np.float32)
    g, w, b = random((2, n), np.float32), random(n, np.float32), random(n, np.float32)
    close(norm.layer_norm(x, w, b, config=config), reference.layer_norm(x, w, b), 32)
    close(norm.rms_norm(x, w, config=config), reference.rms_norm(x, w), 32)
    for got, want in (
        (norm.layer_norm_backward(g, x, w, config=config), reference.layer_norm_backward(g, x, w)),
        (norm.rms_norm_backward(g, x, w, config=config), reference.rms_norm_backward(g, x, w)),
    ):
        for a, e in zip(got, want, strict=True):
            close(a, e, 128)


@t0
def test_the_longest_row_in_registers_and_one_longer(random, close) -> None:
    from opencute.base.knobs import KNOBS

    with KNOBS.override(target="sim"):
        for n in (65536, 65544):
            x = random((1, n), np.float16)
            close(norm.rms_norm(x), reference.rms_norm(x), 8)


@t0
@pytest.mark.parametrize("n", [256, 2048])
def test_every_configuration(checked, random, close, n: int) -> None:
    x, w = random((5, n), np.float16), random(n, np.float16)
    configs = list(search_space(n, 8))
    assert len(configs) >= 3
    for config in configs:
        close(norm.layer_norm(x, w, config=config), reference.layer_norm(x, w), 8)


@t0
def test_views(checked, random, close) -> None:
    w = random(64, np.float16)
    big = random((4, 6, 80), np.float16)
    for x in (big[:, :, :64], big[:, 2, 8:72], big[:, 0, 3:67], big[0, ::2, :64], big[1, 2, :64]):
        close(norm.layer_norm(x, w), reference.layer_norm(x, w), 8)
    out = np.zeros((6, 80), np.float16)
    norm.rms_norm(big[0, :, :64], w, out=out[:, 1:65])
    close(out[:, 1:65], reference.rms_norm(big[0, :, :64], w), 8)
    assert not out[:, 0].any() and not out[:, 65:].any()


@t0
def test_empty(checked) -> None:
    w = np.ones(8, np.float32)
    assert norm.layer_norm(np.ones((0, 8), np.float32), w).shape == (0, 8)
    assert norm.rms_norm(np.ones((3, 0), np.float32)).shape == (3, 0)
    x = np.ones((0, 8), np.float32)
    dx, dw, db = norm.layer_norm_backward(x, x, w)
    assert dx.shape == (0, 8) and not dw.any() and not db.any() and db.shape == (8,)


@t0
def test_nan_stays_in_its_row(checked, random) -> None:
    x = random((4, 100), np.float32)
    x[1, 3] = np.nan
    for y in (norm.layer_norm(x), norm.rms_norm(x)):
        assert np.isnan(y[1]).all() and not np.isnan(y[[0, 2, 3]]).any()


@t0
@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda x: norm.layer_norm(x, np.ones(5, np.float32)), "OC2505"),
        (lambda x: norm.layer_norm(x, x[0], np.ones(5, np.float32)), "OC2505"),
        (lambda x: norm.rms_norm(x, out=np.ones((4, 9), np.float32)), "OC2502"),
        (lambda x: norm.rms_norm(x, residual=x[:2]), "OC2502"),
        (lambda x: norm.rms_norm(x.T), "OC2501"),
        (lambda x: norm.rms_norm(np.float32(1.0)), "OC2500"),
        (lambda x: norm.rms_norm(x.astype(np.int32)), "OC2507"),
        (
            lambda x: norm.rms_norm(x[None].repeat(2, 0), out=np.ones((2, 6, 8), "f")[:, :4]),
            "OC2508",
        ),
        (lambda x: norm.rms_norm(x, config=RowConfig(24, 8)), "OC2503"),
        (lambda x: norm.rms_norm(x, config=RowConfig(32, 16)), "OC2503"),
        (lambda x: norm.rms_norm(x, config=RowConfig(64, 1, 2)), "OC2503"),
        (lambda x: norm.rms_norm(np.ones((2, 4096), "f"), config=RowConfig(8, 4, 16)), "OC2504"),
        (lambda x: norm.rms_norm(np.ones((2, 4096), "f"), config=RowConfig(32, 4, 4)), "OC2504"),
        (lambda x: norm.rms_norm_backward(x[:2], x), "OC2502"),
    ],
)
def test_wrong_arguments(checked, call: Any, code: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call(np.ones((4, 8), np.float32))
    assert caught.value.code == code


@t0
def test_a_missing_barrier_between_rows_is_found(checked, random, monkeypatch) -> None:
    """Without the barrier at the end of a row, RMSNorm's sums of one row meet those of the next."""
    x, g = random((400, 128), np.float32), random((400, 128), np.float32)
    config = RowConfig(64, 2)
    norm.rms_norm_backward(g, x, config=config)
    from opencute.kernels.norm import sm80_backward

    monkeypatch.setattr(sm80_backward, "_backward", cute.kernel(_without_last_barrier))
    with pytest.raises(OpenCuTeError, match="OC34"):
        norm.rms_norm_backward(g, x, config=config)


def _without_last_barrier(
    gGrad: cute.Tensor,
    gX: cute.Tensor,
    gW: Any,
    gAdd: Any,
    gDx: cute.Tensor,
    gDw: Any,
    gDb: Any,
    eps: cutlass.Float32,
    blocks: cutlass.Int32,
    rows: cutlass.Constexpr,
    centred: cutlass.Constexpr[bool],
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    buffers = rows.buffers(4)
    for row in range(block, gX.shape[0], blocks):
        x = rows.load(gX[row, None], thread, 0.0)
        g = rows.load(gGrad[row, None], thread, 0.0)
        squares, dot = rows.sum((x * x, g * x), (buffers[None, 2], buffers[None, 3]))
        scale = cute.math.rsqrt(squares / rows.n + eps)
        rows.store(gDx[row, None], thread, (g - x * scale * (dot * scale / rows.n)) * scale)


@t2
@pytest.mark.parametrize("n", [1, 1000, 4096, 8192, 65536, 100_000])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_on_a_gpu(n: int, name: str) -> None:
    torch = pytest.importorskip("torch")
    F = torch.nn.functional
    dtype = getattr(torch, name)
    tol = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-4}[name]
    x, g, r = (torch.randn(300, n, device="cuda", dtype=dtype) for _ in range(3))
    w, b = (torch.randn(n, device="cuda", dtype=dtype) for _ in range(2))

    def check(got: Any, want: Any, factor: float = 1.0) -> None:
        scale = max(1.0, want.float().abs().max().item())
        assert (got.float() - want.float()).abs().max().item() <= factor * tol * scale

    wide = [t.double().requires_grad_() for t in (x, w, b)]
    y = F.layer_norm(wide[0], (n,), *wide[1:])
    y.backward(g.double())
    check(norm.layer_norm(x, w, b), y)
    if n > 1:
        for got, want in zip(norm.layer_norm_backward(g, x, w), wide, strict=True):
            check(got, want.grad, 4)
    wide = [t.double().requires_grad_() for t in (x, w)]
    y = F.rms_norm(wide[0], (n,), wide[1], 1e-6)
    y.backward(g.double())
    check(norm.rms_norm(x, w), y)
    for got, want in zip(norm.rms_norm_backward(g, x, w), wide, strict=True):
        check(got, want.grad, 4)
    y, h = norm.rms_norm(x, w, residual=r, prenorm=True)
    check(h, x.double() + r)
    check(y, F.rms_norm(x.double() + r, (n,), w.double(), 1e-6))


@pytest.mark.t0
@pytest.mark.parametrize("step", [0, 2, -1])
def test_weights_whose_elements_are_not_neighbours(step: int) -> None:
    rng = np.random.default_rng(0)
    x, room = (rng.standard_normal(s).astype(np.float32) for s in ((4, 64), 128))
    w = np.broadcast_to(room[:1], (64,)) if step == 0 else room[::step][:64]
    np.testing.assert_array_equal(norm.layer_norm(x, w, w), norm.layer_norm(x, w.copy(), w.copy()))
    np.testing.assert_array_equal(norm.rms_norm(x, w), norm.rms_norm(x, w.copy()))
    for backward in (norm.layer_norm_backward, norm.rms_norm_backward):
        for got, want in zip(backward(x, x, w), backward(x, x, w.copy()), strict=True):
            np.testing.assert_array_equal(got, want)
