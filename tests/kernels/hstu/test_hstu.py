# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""HSTU attention: small sizes in the simulator against NumPy, machine code, real sizes on a GPU."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.arch.target import target
from opencute.base.errors import ArgumentError, OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.compiler.artefacts import Artefacts
from opencute.cute.runtime import from_dlpack
from opencute.kernels.attention import AttentionConfig
from opencute.kernels.attention.config import heuristic
from opencute.kernels.hstu import hstu_attention, sm80
from opencute.kernels.hstu.reference import hstu_attention as reference
from opencute.kernels.hstu.sm80 import HstuPlan, hstu_forward

SMALL = AttentionConfig(32, 32, 2)


def operands(sq: int, sk: int, h: int, hk: int, d: int, dtype: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = ((2, sq, h, d), (2, sk, hk, d), (2, sk, hk, d), (1, h, sq, sk))
    return [rng.standard_normal(s, np.float32).astype(dtype) for s in shapes]


@pytest.mark.t0
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(
    ("sq", "sk", "h", "hk", "d", "causal", "biased"),
    [
        (32, 64, 1, 1, 64, False, True),
        (
            50,
            70,
            2,
            1,
            40,
            True,
            True,
        ),  # grouped, ragged in all extents, rows of the bias unaligned
        (40, 20, 1, 1, 32, True, False),  # queries that see no key
    ],
)
def test_simulated(
    sq: int, sk: int, h: int, hk: int, d: int, causal: bool, biased: bool, dtype: Any
) -> None:
    q, k, v, bias = operands(sq, sk, h, hk, d, dtype)
    how: Any = {"causal": causal, "scale": d**-0.5, "divisor": sk}
    with KNOBS.override(target="sim", sim_check=True):
        out = hstu_attention(q, k, v, bias if biased else None, config=SMALL, **how)
    want = reference(q, k, v, bias if biased else None, **how)
    step = 2e-3 if dtype == np.float16 else 1.6e-2  # weights are rounded, then the result
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=step, atol=step / 4)


@pytest.mark.t0
def test_nothing_is_read_past_the_keys() -> None:
    q, k, v, bias = operands(16, 32, 1, 1, 32, np.float16)
    k[:, 20:], v[:, 20:], bias[..., 20:] = np.nan, np.nan, np.nan
    args = (q, k[:, :20], v[:, :20], bias[..., :20])
    with KNOBS.override(target="sim"):
        out = hstu_attention(*args, config=AttentionConfig(16, 32, 1))
    np.testing.assert_allclose(out.astype(np.float64), reference(*args), rtol=2e-3, atol=0.02)


@pytest.mark.t0
@pytest.mark.parametrize("junk", [np.nan, np.inf, -np.inf])
def test_a_bias_may_say_anything_of_hidden_keys(junk: float) -> None:
    q, k, v, bias = operands(16, 32, 1, 1, 32, np.float16)
    hidden = np.arange(32) > np.arange(16)[:, None] + 16
    want = reference(q, k, v, bias, causal=True)
    with KNOBS.override(target="sim"):
        out = hstu_attention(
            q, k, v, np.where(hidden, np.float16(junk), bias), causal=True,
            config=AttentionConfig(16, 32, 1),
        )  # fmt: skip
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=2e-3, atol=0.02)


@pytest.mark.t0
def test_a_bias_that_is_read_too_early_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bias that has not arrived, because nobody waits for copies."""
    q, k, v, bias = operands(32, 64, 1, 1, 32, np.float16)
    visit = sm80.visit.__wrapped__

    class NoWait:
        def __getattr__(self, name: str) -> Any:
            if name == "cp_async_wait_group":
                return lambda n: None
            return getattr(cute.arch, name)

    class Cute:
        arch = NoWait()

        def __getattr__(self, name: str) -> Any:
            return getattr(cute, name)

    monkeypatch.setitem(visit.__globals__, "cute", Cute())
    with KNOBS.override(target="sim", sim_check=True), pytest.raises(OpenCuTeError, match="OC34"):
        hstu_attention(q, k, v, bias, config=SMALL)


@pytest.mark.t0
def test_what_to_do_about_shapes_that_do_not_fit() -> None:
    q, k, v, bias = operands(16, 16, 2, 2, 32, np.float16)
    with pytest.raises(ArgumentError, match="OC2526") as e:
        hstu_attention(q, k, v, bias[..., :8])
    assert "a bias of (1, 2, 16, 8) is not for scores of (2, 2, 16, 16)" in str(e.value.hint)
    with pytest.raises(ArgumentError, match="OC2526") as e:
        hstu_attention(q[:, :, :1], k, v)
    assert "the 2 heads of k and v" in str(e.value.hint)


@pytest.mark.t0
def test_wrong_arguments() -> None:
    q, k, v, bias = operands(16, 16, 2, 2, 32, np.float16)
    for bad, code in (
        (lambda: hstu_attention(q, k, v.astype(np.float32)), "OC2525"),
        (lambda: hstu_attention(q, k, v, bias[..., :8]), "OC2526"),
        (lambda: hstu_attention(q, k, v, divisor=0.0), "OC2590"),
        (lambda: hstu_attention(q, k, v, divisor=np.nan), "OC2590"),
        (lambda: hstu_attention(q, k, v, scale=np.inf), "OC2590"),
        (lambda: hstu_attention(q, k, v, scale=np.ones(2)), "OC2531"),
        (
            lambda: hstu_attention(
                q,
                k,
                v,
                out=np.lib.stride_tricks.as_strided(
                    np.zeros_like(q), strides=(*q.strides[:2], 0, q.strides[3])
                ),
            ),
            "OC2541",
        ),
        (lambda: hstu_attention(q, k, v, out=q[:, :8]), "OC2590"),
        (lambda: hstu_attention(q, k, v, config=AttentionConfig(1024, 1024, 4)), "OC2521"),
    ):
        with KNOBS.override(target="sim"), pytest.raises(ArgumentError) as e:
            bad()
        assert e.value.code == code


@cache
def traced(config: AttentionConfig) -> Artefacts:
    plan = HstuPlan(cutlass.BFloat16, 128, config.m, config.n, config.warps, True, 1, biased=True)
    array = np.zeros((1, 8, 1, 128), ml_dtypes.bfloat16)
    bias = np.zeros((1, 1, 8, 8), ml_dtypes.bfloat16)
    args = [from_dlpack(t).mark_layout_dynamic(leading_dim=3) for t in (*(array,) * 4, bias)]
    with KNOBS.override(target="sim"):
        return cute.compile[cute.GPUArch("sm_80")](hstu_forward, *args, 1.0, 1.0, plan).artefacts


@pytest.mark.t1
@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"])
def test_no_spills(arch: str) -> None:
    base = traced(heuristic(128, target(arch).max_smem))
    made = Artefacts(base.name, base.module, arch, base.options)
    (report,) = made.kernel_info.values()
    assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)


@pytest.mark.t2
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_on_a_gpu(dtype: str, causal: bool) -> None:
    torch = pytest.importorskip("torch")
    make = lambda *s: torch.randn(s, device="cuda", dtype=getattr(torch, dtype))  # noqa: E731
    q, k, v, bias = (
        make(2, 500, 4, 128),
        make(2, 700, 2, 128),
        make(2, 700, 2, 128),
        make(1, 4, 500, 700),
    )
    with KNOBS.override(target="cuda"):
        out = hstu_attention(q, k, v, bias, causal=causal, scale=128**-0.5, divisor=700)
    arrays = [t.float().cpu().numpy() for t in (q, k, v, bias)]
    want = torch.from_numpy(reference(*arrays, causal=causal, scale=128**-0.5, divisor=700))
    bound = 4e-3 if dtype == "float16" else 2e-2
    assert float((out.cpu().double() - want).abs().max() / want.abs().max()) < bound
