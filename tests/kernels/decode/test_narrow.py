# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention for decoding with keys of e4m3 and e5m2, and with wide heads; on a GPU too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.kernels.decode import DecodeConfig, decode_attention, interface
from opencute.kernels.decode.reference import decode_attention as reference

t0, t1, t2 = pytest.mark.t0, pytest.mark.t1, pytest.mark.t2
F8, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
BF16 = ml_dtypes.bfloat16
AMPERE, HOPPER = "sim:sm_80", "sim:sm_90a"
SCALES = np.array([0.5, 2.0], np.float32)


def random(shape: tuple[int, ...], dtype: Any, by: float = 1.0) -> Any:
    rng = np.random.default_rng(sum(shape))
    return (rng.standard_normal(shape) * by).astype(dtype)


def check(got: Any, want: Any, dtype: Any) -> None:
    bits = 7 if dtype is BF16 else 10
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=2.0**-bits, atol=2.0**-bits)


@t0
@pytest.mark.parametrize(
    ("target", "size", "dtype", "stored", "config"),
    [
        (HOPPER, 128, BF16, F8, DecodeConfig(1, 1, 16, 3, 2)),
        (HOPPER, 128, BF16, E5M2, DecodeConfig(1, 1, 16, 3, 2)),
        (HOPPER, 208, BF16, F8, DecodeConfig(1, 2, 16, 3, 1)),
        (AMPERE, 80, np.float16, F8, DecodeConfig(1, 1, 16, 3, 1)),
        (AMPERE, 80, np.float16, E5M2, DecodeConfig(1, 1, 16, 3, 1)),
        (AMPERE, 160, np.float16, F8, DecodeConfig(1, 1, 16, 3, 1)),  # twelve vectors of a row
        (AMPERE, 192, np.float16, F8, DecodeConfig(4, 1, 16, 9, 1)),  # more threads than copies
    ],
)
def test_narrow_keys(
    target: str, size: int, dtype: Any, stored: Any, config: DecodeConfig | None
) -> None:
    """Queries of bf16 that f16 does not have."""
    by = 1e6 if dtype is BF16 else 1.0
    q, scale = random((2, 1, 4, size), dtype, by), size**-0.5 / by
    k, v = (random((2, n, 2, size), stored) for n in (40, 40))
    lengths = np.array([37, 13], np.int32)
    k[:, 37:] = v[:, 37:] = np.nan  # what lies behind the keys is not used
    with KNOBS.override(target=target, sim_check=True):
        out, logs = decode_attention(
            q, k, v, lengths, scale=scale, k_scale=SCALES, v_scale=1.5, return_lse=True,
            config=config,
        )  # fmt: skip
    factors = SCALES.astype(np.float64)[:, None]
    wide = [t.astype(np.float64) for t in (q, k, v)]
    want, log = reference(wide[0], wide[1] * factors, wide[2] * 1.5, lengths, scale, causal=True)
    check(out, want, dtype)
    np.testing.assert_allclose(logs, log, rtol=1e-5, atol=1e-5)


@t0
def test_narrow_pages_and_scales_of_arrays() -> None:
    q, pages = random((1, 1, 4, 64), np.float16), random((3, 32, 2, 64), F8)
    lengths, table = np.array([50], np.int32), np.array([[2, 0]], np.int32)
    with KNOBS.override(target=HOPPER, sim_check=True):
        out = decode_attention(
            q, pages, pages, lengths, block_table=table, k_scale=np.float32(0.25),
            v_scale=SCALES[:1],
        )  # fmt: skip
    wide = pages.astype(np.float64)
    want, _ = reference(q, wide * 0.25, wide * 0.5, lengths, 0.125, table=table)
    check(out, want, np.float16)


@t0
@pytest.mark.parametrize(
    ("target", "size", "config"),
    [
        (HOPPER, 256, DecodeConfig(1, 1, 16, 2, 1)),
        (AMPERE, 136, DecodeConfig(1, 1, 16, 2, 1)),
    ],
)
def test_wide_heads(target: str, size: int, config: DecodeConfig) -> None:
    q = random((1, 2, 4, size), np.float16)
    k, v = (random((1, n, 2, size), np.float16) for n in (40, 40))
    lengths = np.array([37], np.int32)
    with KNOBS.override(target=target, sim_check=True):
        out = decode_attention(q, k, v, lengths, config=config)
    want, _ = reference(q, k, v, lengths, size**-0.5, causal=True)
    check(out, want, np.float16)


@t0
def test_wrong_types_and_scales() -> None:
    q, k = np.zeros((1, 1, 2, 64), np.float16), np.zeros((1, 16, 2, 64), F8)
    wide = k.astype(np.float16)
    wrong: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((q, k, wide), {}, "OC2525"),
        ((q, k, k.astype(E5M2)), {}, "OC2525"),
        ((q.astype(np.float32), k, k), {}, "OC2525"),
        ((q[..., :40], k[..., :40], k[..., :40]), {}, "OC2565"),
        ((q, wide, wide), {"k_scale": 1.0}, "OC2525"),
        ((q, k, k), {"v_scale": np.ones(3, np.float32)}, "OC2528"),
        ((q, k, k), {"v_scale": np.ones(2, np.float64)}, "OC2528"),
        ((q, k, k), {"k_scale": float("nan")}, "OC2522"),
        ((q, k, k), {"k_scale": "one"}, "OC2531"),
        ((q, k, k), {"v_scale": 1e39}, "OC2522"),
        ((q, k, k), {"k_scale": 0.0}, "OC2522"),
        ((q, k, k), {"k_scale": -1}, "OC2522"),
        ((q, k, k), {"k_scale": np.float64(1e30)}, "OC2522"),
        ((q, k, k), {"k_scale": np.array([1, -1], np.float32)}, "OC2522"),
        ((q, k, k), {"k_scale": np.array([np.nan], np.float32)}, "OC2522"),
        ((q, k, k), {"v_scale": -1.0}, "OC2522"),
        ((q, k, k), {"v_scale": np.array([1, np.inf], np.float32)}, "OC2522"),
        ((q, k, k), {"k_scale": np.array([1e9], np.float32)}, "OC2522"),
    ]
    for arrays, options, code in wrong:
        with pytest.raises(ArgumentError, match=code):
            decode_attention(*arrays, **options)
    for number in (np.float64(2.0), np.int64(2)):  # numbers, as Python's are
        assert not decode_attention(q, k, k, k_scale=number, v_scale=number).any()


@t0
@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("_PAIRS = 0x3120", "_PAIRS = 0x3210"),  # columns of the result in another order
        (
            "2 * i, cute.make_layout((2, 2), stride=(1, 4))",
            "4 * i, cute.make_layout((2, 2), stride=(1, 2))",
        ),  # queries in another order than keys
        ("rows[r, None].load() * self.powers[r]", "rows[r, None].load()"),
    ],
)
def test_what_is_out_of_order_gives_other_numbers(
    planted: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, text: str, other: str
) -> None:
    from opencute.kernels.decode import sm90

    module = planted("opencute.kernels.decode.narrow", text, other, 1)
    for name in ("store_rows", "walk_over"):
        monkeypatch.setattr(sm90, name, getattr(module, name))
    with pytest.raises(AssertionError):
        test_narrow_keys(HOPPER, 64, BF16, F8, DecodeConfig(1, 1, 32, 3, 1))


@t2
@pytest.mark.parametrize("stored", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("bulk", [True, False])
@pytest.mark.parametrize("size", [64, 128, 256])
def test_narrow_keys_on_a_gpu(
    monkeypatch: pytest.MonkeyPatch, size: int, bulk: bool, stored: str
) -> None:
    torch = pytest.importorskip("torch")
    if not bulk:
        monkeypatch.setattr(interface, "_has_tensor_maps", lambda call: False)
    torch.manual_seed(0)
    q = torch.randn(2, 1, 8, size, device="cuda").to(torch.bfloat16)
    of = getattr(torch, stored)
    k, v = (torch.randn(2, 1100, 2, size, device="cuda").to(of) for _ in range(2))
    lengths = torch.tensor([1100, 517], dtype=torch.int32, device="cuda")
    scales = torch.tensor([0.5, 2.0], device="cuda")
    got = decode_attention(q, k, v, lengths, k_scale=scales, v_scale=0.5)
    for i, n in enumerate(lengths.tolist()):
        keys, values = (t[i, :n].float().transpose(0, 1) for t in (k, v))
        keys, values = (
            t.repeat_interleave(4, 0) for t in (keys * scales[:, None, None], values * 0.5)
        )
        weights = torch.softmax((q[i, 0].float()[:, None] @ keys.mT) * size**-0.5, -1)
        torch.testing.assert_close(
            got[i, 0].float(), (weights @ values)[:, 0], rtol=2e-2, atol=4e-3
        )


@t2
@pytest.mark.parametrize("size", [192, 256])
def test_wide_heads_on_a_gpu(size: int) -> None:
    torch = pytest.importorskip("torch")
    q, k, v = (
        torch.randn(2, n, h, size, device="cuda").to(torch.float16)
        for n, h in ((1, 8), (1100, 2), (1100, 2))
    )
    want = torch.nn.functional.scaled_dot_product_attention(
        *(t.transpose(1, 2) for t in (q, k, v)), enable_gqa=True
    ).transpose(1, 2)
    torch.testing.assert_close(decode_attention(q, k, v), want, rtol=4e-3, atol=4e-3)
