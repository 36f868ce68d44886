# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention with warpgroups: small sizes in the simulator against NumPy, real sizes on a GPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.kernels.attention import (
    WarpgroupConfig,
    attention,
    attention_varlen,
)
from opencute.kernels.attention.call import window_of
from opencute.kernels.attention.config import (
    WARPGROUP_HEADS,
    warpgroup_heuristic,
    warpgroup_search_space,
)
from opencute.kernels.attention.reference import attention as reference
from opencute.kernels.attention.reference import varlen


def operands(b: int, sq: int, sk: int, h: int, hk: int, d: int, dtype: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = ((b, sq, h, d), (b, sk, hk, d), (b, sk, hk, d))
    return [rng.standard_normal(s, np.float32).astype(dtype) for s in shapes]


CASES = [
    # b, sq, sk, h, hk, d, causal, window, groups, n, stages
    (1, 100, 96, 1, 1, 64, False, None, 2, 48, 2),
    (1, 100, 150, 2, 1, 64, True, None, 2, 64, 2),  # grouped, ragged
    (1, 70, 90, 1, 1, 128, False, (20, 10), 2, 32, 2),
    (1, 140, 60, 1, 1, 64, True, (30, None), 3, 32, 3),  # queries that see no key
]


@pytest.mark.t0
@pytest.mark.parametrize(("b", "sq", "sk", "h", "hk", "d", "causal", "window", *"gns"), CASES)
def test_simulated(
    checked: None, b: int, sq: int, sk: int, h: int, hk: int, d: int, causal: bool, window: Any,
    g: int, n: int, s: int,
) -> None:  # fmt: skip
    dtype = np.float16 if g == 2 else ml_dtypes.bfloat16
    q, k, v = operands(b, sq, sk, h, hk, d, dtype)
    out, logs = attention(
        q, k, v, causal=causal, window=window, return_lse=True, config=WarpgroupConfig(g, n, s)
    )
    want, want_logs = reference(q, k, v, d**-0.5, causal=causal, window=window or (None, None))
    step = 2e-3 if dtype == np.float16 else 1.6e-2  # weights are rounded, then the result
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=step, atol=step / 2)
    np.testing.assert_allclose(logs, want_logs, rtol=1e-5, atol=1e-5)


@pytest.mark.t0
def test_nothing_is_read_past_the_keys(checked: None) -> None:
    q, k, v = operands(1, 16, 32, 1, 1, 64, np.float16)
    k[:, 20:], v[:, 20:] = np.nan, np.nan
    out = attention(q, k[:, :20], v[:, :20], config=WarpgroupConfig(2, 32, 2))
    want, _ = reference(q, k[:, :20], v[:, :20], 64**-0.5)
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=2e-3, atol=1e-3)


@pytest.mark.t0
def test_a_window_that_hides_nothing_is_none() -> None:
    side = window_of
    for huge in (7, 2**31 - 1, 2**31, 2**70, np.inf):
        assert side((huge, huge), 5, 7) is None
        assert side((huge, 0), 5, 7) == (None, 0) and side((np.int64(6), huge), 5, 7) == (6, None)
    # The first query's place is key 2, and key 6 is 4 after it: 5 hide nothing, 3 do.
    assert side((7, 5), 5, 7) is None and side((6, 3), 5, 7) == (6, 3)


@pytest.mark.t0
def test_wrong_arguments() -> None:
    q, k, v = operands(1, 16, 16, 1, 1, 64, np.float16)
    wide = operands(1, 16, 16, 1, 1, 80, np.float16)
    still = np.broadcast_to(k[:, :1], k.shape)
    config = WarpgroupConfig(2, 32, 2)
    for bad, code in (
        (lambda: attention(q, k, v, config=WarpgroupConfig(4, 32, 2)), "OC2546"),
        (lambda: attention(q, k, v, config=WarpgroupConfig(3, 208, 2)), "OC2546"),
        (lambda: attention(q, k, v, config=WarpgroupConfig(2, 128, 16)), "OC2521"),
        (lambda: attention(*wide, config=config), "OC2548"),
        (lambda: attention(q, still, v, config=config), "OC2548"),
        (lambda: attention(q, k, v, window=(-1, 1)), "OC2549"),
        (lambda: attention(q, k, v, window=3), "OC2549"),
        *(
            (lambda w=w: attention(q, k, v, window=w), "OC2549")
            for w in ((True, 1), (1.0, 1), "12", (1, -np.inf), (np.nan, 1))
        ),
    ):
        with KNOBS.override(target="sim:sm_90a"), pytest.raises(ArgumentError) as e:
            bad()
        assert e.value.code == code
    with KNOBS.override(target="sim:sm_80"), pytest.raises(ArgumentError) as e:
        attention(q, k, v, config=config)
    assert e.value.code == "OC2548"


@pytest.mark.t0
@pytest.mark.parametrize("head_dim", WARPGROUP_HEADS)
def test_choices_are_possible(head_dim: int) -> None:
    room = 227 * 1024
    for masked in (False, True):
        for queries in (100, 1024, 16384):
            chosen = warpgroup_heuristic(head_dim, masked, queries=queries)
            assert chosen.check(head_dim, room)
    assert 4 <= len(list(warpgroup_search_space(head_dim, room))) <= 12


@pytest.mark.t0
@pytest.mark.parametrize(("d", "n"), [(96, 48), (256, 16)])
def test_other_heads(checked: None, d: int, n: int) -> None:
    q, k, v = operands(1, 70, 40, 1, 1, d, np.float16)
    out = attention(q, k, v, causal=True, config=WarpgroupConfig(2, n, 2))
    want, _ = reference(q, k, v, d**-0.5, causal=True)
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=2e-3, atol=1e-3)


STARTS = (np.array([0, 30, 30, 100], np.int32), np.array([0, 40, 45, 45], np.int32))


@pytest.mark.t0
@pytest.mark.parametrize("causal", [False, True])
def test_sequences_end_to_end(checked: None, causal: bool) -> None:
    """One has no queries, one no keys; what lies behind the last one is not read or written."""
    q, k, v = (x[0] for x in operands(1, 110, 50, 2, 1, 64, np.float16))
    k[45:], v[45:] = np.nan, np.nan
    out = np.full_like(q, 7)
    _, lse = attention_varlen(
        q, k, v, *STARTS, 70, 40, causal=causal, return_lse=True, out=out,
        config=WarpgroupConfig(2, 32, 2),
    )  # fmt: skip
    wanted = varlen(reference, (q,), (k, v), *STARTS, 0.125, causal=causal)
    want = np.concatenate([x[0][0] for x in wanted])
    logs = np.concatenate([x[1][0] for x in wanted], axis=1)
    np.testing.assert_allclose(out[:100].astype(np.float64), want, rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(lse[:, :100], logs, rtol=1e-5, atol=1e-5)
    assert (out[100:] == 7).all()


@pytest.mark.t2
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("window", [None, (None, 0), (300, 0), (200, 100)])
@pytest.mark.parametrize(
    ("b", "sq", "sk", "h", "hk", "d"),
    [
        (2, 2048, 2048, 8, 8, 128),
        (1, 1000, 1500, 8, 2, 64),
        (1, 1, 700, 4, 4, 128),
        (5, 1000, 1000, 16, 4, 96),
        (1, 1000, 900, 32, 8, 192),
        (3, 700, 1000, 8, 8, 256),
    ],
)
def test_on_a_gpu(b: int, sq: int, sk: int, h: int, hk: int, d: int, window: Any, dtype: str):
    torch = pytest.importorskip("torch")
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("no warpgroups")
    q, k, v = (
        torch.randn(b, s, n, d, device="cuda", dtype=getattr(torch, dtype))
        for s, n in ((sq, h), (sk, hk), (sk, hk))
    )
    out, lse = attention(q, k, v, window=window, return_lse=True)
    wide = [x.cpu().float().numpy() for x in (q, k, v)]
    want, logs = reference(*wide, d**-0.5, window=window or (None, None))
    step = 2e-2 if dtype == "float16" else 4e-2
    np.testing.assert_allclose(out.cpu().float().numpy(), want, rtol=step, atol=step / 4)
    np.testing.assert_allclose(lse.cpu().numpy(), logs, rtol=1e-4, atol=1e-4)


@pytest.mark.t2
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("head_dim", [64, 128])
def test_sequences_end_to_end_on_a_gpu(head_dim: int, causal: bool) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("no warpgroups")
    lengths = [1, 700, 0, 129, 1500, 64, *[50] * 40]
    starts = np.cumsum([0, *lengths]).astype(np.int32)
    total = int(starts[-1])
    q, k, v = (
        torch.randn(total + 9, n, head_dim, device="cuda", dtype=torch.float16) for n in (8, 2, 2)
    )
    k[total:], v[total:] = float("nan"), float("nan")
    out = torch.full_like(q, 7)
    there = torch.from_numpy(starts).cuda()
    _, lse = attention_varlen(
        q, k, v, there, there, 1500, 1500, causal=causal, return_lse=True, out=out
    )
    wide = [x.cpu().float().numpy() for x in (q, k, v)]
    wanted = varlen(reference, (wide[0],), tuple(wide[1:]), starts, starts, head_dim**-0.5,
                    causal=causal)  # fmt: skip
    want = np.concatenate([x[0][0] for x in wanted])
    logs = np.concatenate([x[1][0] for x in wanted], axis=1)
    np.testing.assert_allclose(out[:total].cpu().float().numpy(), want, rtol=2e-2, atol=5e-3)
    np.testing.assert_allclose(lse[:, :total].cpu().numpy(), logs, rtol=1e-4, atol=1e-4)
    assert bool((out[total:] == 7).all())
