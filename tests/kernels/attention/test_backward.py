# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of attention, and sequences end to end: in the checking simulator against NumPy, with
planted faults, and on a GPU against torch.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError, OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.kernels.attention import (
    AttentionConfig,
    BackwardConfig,
    attention,
    attention_backward,
    attention_varlen,
    attention_varlen_backward,
    interface,
    reference,
)
from opencute.kernels.attention.config import backward_heuristic, backward_search_space

t0, t2 = pytest.mark.t0, pytest.mark.t2
SMALL = BackwardConfig(32, 32, 2, 2)
FORWARD = AttentionConfig(32, 32, 2)
WIDE = AttentionConfig(32, 16, 1)  # where heads are no multiple of 64


def near(got: Any, want: Any) -> None:
    """Within two roundings of the largest element."""
    step = 2.0**-10 if got.dtype == np.float16 else 2.0**-7
    np.testing.assert_allclose(got.astype(np.float64), want, atol=2 * step * abs(want).max())


def operands(random: Any, lengths: tuple[int, int], heads: tuple[int, int], d: int, dtype: Any,
             batch: tuple[int, ...] = (1,)) -> list[Any]:  # fmt: skip
    q, g = (random((*batch, lengths[0], heads[0], d), dtype) for _ in range(2))
    k, v = (random((*batch, lengths[1], heads[1], d), dtype) for _ in range(2))
    return [g, q, k, v]


def gradients(arrays: list[Any], causal: bool, config: BackwardConfig, **options: Any) -> Any:
    _, q, k, v = arrays
    forward = FORWARD if q.shape[-1] % 64 == 0 else WIDE
    out, lse = attention(q, k, v, causal=causal, return_lse=True, config=forward)
    return attention_backward(*arrays, out, lse, causal=causal, config=config, **options)


@t0
@pytest.mark.parametrize(
    ("lengths", "heads", "d", "causal", "config", "dtype"),
    [
        ((64, 64), (1, 1), 64, False, SMALL, np.float16),
        ((50, 70), (4, 2), 40, True, BackwardConfig(64, 64, 4, 1), np.float16),  # all ragged
        ((70, 50), (2, 1), 64, True, SMALL, ml_dtypes.bfloat16),  # queries that see no key
        ((33, 20), (1, 1), 128, False, BackwardConfig(16, 32, 2, 1), np.float16),
        ((20, 90), (2, 1), 96, True, SMALL, ml_dtypes.bfloat16),
        ((40, 50), (2, 1), 192, True, BackwardConfig(32, 32, 4, 2), np.float16),  # warps share keys
        ((20, 40), (1, 1), 256, False, BackwardConfig(32, 32, 4, 1), ml_dtypes.bfloat16),
    ],
)
def test_against_numpy(
    checked: None, random: Any, lengths: Any, heads: Any, d: int, causal: bool, config: Any,
    dtype: Any,
) -> None:  # fmt: skip
    arrays = operands(random, lengths, heads, d, dtype)
    want = reference.attention_backward(*arrays, d**-0.5, causal=causal)
    for got, right in zip(gradients(arrays, causal, config), want, strict=True):
        near(got, right)


@t0
def test_nothing_of_what_is_not_there_counts(checked: None, random: Any) -> None:
    # What follows in memory is not a number, and a weight of 0 would not hide it. Scores of keys
    # that are not there would have weights of e ** 90.
    g, q, k, v = operands(random, (64, 64), (1, 1), 32, np.float16)
    q, k = q / 8 + 4, k / 8 - 4
    for x in (g, q, k, v):
        x[:, 20:] = np.nan
    arrays = [x[:, :20] for x in (g, q, k, v)]
    want = reference.attention_backward(*arrays, 32**-0.5)
    for got, right in zip(gradients(arrays, False, SMALL), want, strict=True):
        np.testing.assert_allclose(got.astype(np.float64), right, atol=2e-3)


@t0
def test_sums_in_order(checked: None, random: Any) -> None:
    arrays = operands(random, (64, 128), (2, 1), 64, np.float16)
    want = reference.attention_backward(*arrays, 0.125, causal=True)
    found = []
    for seed in (0, 1):
        with KNOBS.override(sim_seed=seed):
            found.append(gradients(arrays, True, SMALL, deterministic=True))
    for first, second, right in zip(*found, want, strict=True):
        near(first, right)
        np.testing.assert_array_equal(first, second)


STARTS = [np.array(s, np.int32) for s in ((0, 40, 40, 75, 90), (0, 33, 50, 110, 110))]


@t0
@pytest.mark.parametrize("causal", [False, True])
def test_sequences_end_to_end(checked: None, random: Any, causal: bool) -> None:
    # One without queries, one without keys, all ragged; neighbours do not see each other.
    arrays = operands(random, (90, 110), (2, 1), 32, np.float16, batch=())
    g, q, k, v = arrays
    sizes = (*STARTS, 40, 60)
    out, lse = attention_varlen(q, k, v, *sizes, causal=causal, return_lse=True, config=WIDE)
    wanted = reference.varlen(reference.attention, (q,), (k, v), *STARTS, 32**-0.5, causal=causal)
    near(out, np.concatenate([w[0][0] for w in wanted]))
    np.testing.assert_allclose(
        lse, np.concatenate([w[1][0] for w in wanted], 1), rtol=1e-5, atol=1e-5
    )
    grads = attention_varlen_backward(g, q, k, v, out, lse, *sizes, causal=causal, config=SMALL)
    wanted = reference.varlen(
        reference.attention_backward, (g, q), (k, v), *STARTS, 32**-0.5, causal=causal
    )
    for i, got in enumerate(grads):
        near(got, np.concatenate([w[i][0] for w in wanted]))


@t0
def test_rows_of_no_sequence_are_zero(checked: None, random: Any) -> None:
    g, q, k, v = operands(random, (40, 40), (1, 1), 32, np.float16, batch=())
    starts = np.array([8, 20, 33], np.int32)
    outside = np.r_[0:8, 33:40]
    sizes = (starts, starts, 13, 2**40)  # no sequence is longer than there are rows
    out, lse = attention_varlen(q, k, v, *sizes, return_lse=True, config=WIDE)
    within = starts - 8
    wanted = reference.varlen(
        reference.attention, (q[8:33],), (k[8:33], v[8:33]), within, within, 32**-0.5
    )
    near(out[8:33], np.concatenate([w[0][0] for w in wanted]))
    assert not out[outside].any() and (lse[:, outside] == -np.inf).all()
    for grad in attention_varlen_backward(g, q, k, v, out, lse, *sizes, config=SMALL):
        assert grad[8:33].any() and not grad[outside].any()
    given = np.full_like(q, 7.0)  # what was given is left as it is where nothing is computed
    attention_varlen(q, k, v, *sizes, out=given, config=WIDE)
    assert (given[outside] == 7.0).all() and (given[8:33] == out[8:33]).all()


@t0
def test_no_sequences(checked: None) -> None:
    q, starts = np.ones((8, 1, 32), np.float16), np.zeros(1, np.int32)
    out, lse = attention_varlen(q, q, q, starts, starts, 0, 0, return_lse=True)
    assert not out.any() and (lse == -np.inf).all()
    grads = attention_varlen_backward(q, q, q, q, out, lse, starts, starts, 0, 0)
    assert not any(t.any() for t in grads)


FAULTS = {
    "barrier before dS is read": ("    cute.arch.sync_threads()  # all of dS is there", 1),
    "barrier before tiles are read": ("    cute.arch.sync_threads()  # Q and dO are here", 1),
    "wait for the copies": ("    cute.arch.cp_async_wait_group(0)\n    cute.arch.sync", 1),
}


@t0
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(
    checked: None, random: Any, planted: Any, monkeypatch: Any, fault: str
) -> None:
    text, count = FAULTS[fault]
    call = "cp_async_wait_group(0)" if "wait" in text else "sync_threads()"
    module = planted(
        "opencute.kernels.attention.sm80_backward", text, text.replace(f"cute.arch.{call}", "pass"),
        count,
    )  # fmt: skip
    monkeypatch.setattr(interface, "launch_backward", module.attention_backward)
    monkeypatch.setattr(interface, "BackwardPlan", module.BackwardPlan)
    arrays = operands(random, (64, 96), (1, 1), 64, np.float16)
    with pytest.raises(OpenCuTeError, match="OC34"):
        gradients(arrays, False, SMALL)


@t0
def test_wrong_arguments(checked: None) -> None:
    q = np.zeros((1, 16, 2, 32), np.float16)
    lse, flat = np.zeros((1, 2, 16), np.float32), q[0]
    run = lambda *a, **o: attention_backward(q, q, q, q, *a, **o)  # noqa: E731
    starts = np.zeros(3, np.int64)
    pair = (starts.astype(np.int32),) * 2
    for bad, code in (
        (lambda: run(q[:, :8], lse), "OC2523"),
        (lambda: run(q, lse[:, :1]), "OC2523"),
        (lambda: run(q, lse, config=BackwardConfig(32, 32, 3, 1)), "OC2520"),
        (lambda: run(q, lse, config=BackwardConfig(1024, 1024, 8, 2)), "OC2520"),
        (lambda: run(q, lse, config=BackwardConfig(512, 128, 8, 2)), "OC2521"),
        (lambda: attention_varlen(q, q, q, starts, starts, 8, 8), "OC2526"),
        (lambda: attention_varlen(flat, flat, flat, starts, starts, 8, 8), "OC2529"),
        (lambda: attention_varlen(flat, flat, flat, *pair, 0, 8), "OC2529"),
        (lambda: attention_varlen(flat, flat, flat, *pair, 8, -1), "OC2529"),
        (lambda: attention_varlen(flat, flat, flat, *pair, 8.5, 8), "OC2531"),
        (lambda: attention_varlen_backward(*(flat,) * 5, lse[0], *pair, 0, 8), "OC2529"),
        (lambda: run(q, lse, scale=np.inf), "OC2522"),
    ):
        with pytest.raises(ArgumentError) as e:
            bad()
        assert e.value.code == code


@t0
def test_nothing_to_do() -> None:
    q, k = np.ones((1, 4, 1, 32), np.float16), np.ones((1, 0, 1, 32), np.float16)
    out, lse = attention(q, k, k, return_lse=True)
    dq, dk, dv = attention_backward(q, q, k, k, out, lse)
    assert not dq.any() and dk.shape == dv.shape == k.shape


@t0
@pytest.mark.parametrize("head_dim", [32, 64, 96, 128])
@pytest.mark.parametrize("smem", [99 * 1024, 163 * 1024, 227 * 1024])
def test_choices_are_possible(head_dim: int, smem: int) -> None:
    assert backward_heuristic(head_dim, smem).check(head_dim, smem).warps == 8
    assert list(backward_search_space(head_dim, smem))


@t0
def test_torch_gets_its_gradients(monkeypatch: Any) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(interface, "backward_heuristic", lambda *_: SMALL)
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 40, h, 32).half().requires_grad_() for h in (2, 1, 1))
    with KNOBS.override(target="sim"):
        out, lse = attention(q, k, v, causal=True, return_lse=True, config=WIDE)
        assert out.requires_grad and not lse.requires_grad
        out.float().square().sum().backward()
        with pytest.raises(ArgumentError, match="OC2527"):
            attention(q, k, v, out=torch.empty_like(q))
        with torch.no_grad():
            assert not attention(q, k, v, out=torch.empty_like(q)).requires_grad
        both = attention(q, k, v, config=WIDE).float().sum() + q.float().pow(3).sum()
        (first,) = torch.autograd.grad(both, q, create_graph=True)
        with pytest.raises(ArgumentError, match="OC2543"):  # not those of the cubes alone
            torch.autograd.grad(first.sum(), q)
        given = torch.ones_like(q).requires_grad_()
        (first,) = torch.autograd.grad(attention(q, k, v, config=WIDE), q, given, create_graph=True)
        with pytest.raises(ArgumentError, match="OC2543"):  # not none
            torch.autograd.grad(first.sum(), given, allow_unused=True)
    wide = [x.detach().float().requires_grad_() for x in (q, k, v)]
    torch.nn.functional.scaled_dot_product_attention(
        *(x.transpose(1, 2) for x in wide), is_causal=True, enable_gqa=True
    ).square().sum().backward()
    for x, w in zip((q, k, v), wide, strict=True):
        torch.testing.assert_close(
            x.grad.float(), w.grad, rtol=0, atol=4e-3 * float(w.grad.abs().max())
        )


@t2
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    ("b", "sq", "sk", "h", "hk", "d"),
    [(2, 1024, 1024, 8, 8, 128), (1, 1000, 1300, 8, 2, 64), (1, 513, 513, 4, 4, 96),
     (1, 700, 700, 4, 1, 32)],
)  # fmt: skip
def test_on_a_gpu(
    b: int, sq: int, sk: int, h: int, hk: int, d: int, dtype: str, deterministic: bool, causal: bool
) -> None:
    torch = pytest.importorskip("torch")
    kind = getattr(torch, dtype)
    q, g = (torch.randn(b, sq, h, d, device="cuda", dtype=kind) for _ in range(2))
    k, v = (torch.randn(b, sk, hk, d, device="cuda", dtype=kind) for _ in range(2))
    out, lse = attention(q, k, v, causal=causal, return_lse=True)
    got = [
        attention_backward(g, q, k, v, out, lse, causal=causal, deterministic=deterministic)
        for _ in range(2)
    ]
    wide = [x.float().requires_grad_() for x in (q, k, v)]
    heads = [x.transpose(1, 2) for x in wide]
    heads[1:] = (x.repeat_interleave(h // hk, 1) for x in heads[1:])
    seen = torch.ones(sq, sk, device="cuda", dtype=torch.bool)
    seen = seen.tril(sk - sq) if causal else seen
    want = torch.nn.functional.scaled_dot_product_attention(*heads, attn_mask=seen)
    want.backward(g.float().transpose(1, 2))
    for first, second, x in zip(*got, wide, strict=True):
        bound = (4e-3 if dtype == "float16" else 3e-2) * float(x.grad.abs().max())
        torch.testing.assert_close(first.float(), x.grad, rtol=0, atol=bound)
        assert not deterministic or torch.equal(first, second)


@t2
@pytest.mark.parametrize("causal", [False, True])
def test_sequences_end_to_end_on_a_gpu(causal: bool) -> None:
    torch = pytest.importorskip("torch")
    lengths = [700, 1, 0, 333, 1024]
    starts = torch.tensor([0, *lengths], device="cuda").cumsum(0).int()
    total = sum(lengths)
    q, g = (torch.randn(total, 8, 128, device="cuda", dtype=torch.float16) for _ in range(2))
    k, v = (torch.randn(total, 2, 128, device="cuda", dtype=torch.float16) for _ in range(2))
    sizes = (starts, starts, 1024, 1024)
    out, lse = attention_varlen(q, k, v, *sizes, causal=causal, return_lse=True)
    got = attention_varlen_backward(g, q, k, v, out, lse, *sizes, causal=causal)
    for i in range(len(lengths)):
        at = slice(int(starts[i]), int(starts[i + 1]))
        if not lengths[i]:
            continue
        one = [x[None, at] for x in (q, k, v)]
        part, logs = attention(*one, causal=causal, return_lse=True)
        torch.testing.assert_close(out[None, at], part)
        for a, b in zip(
            got, attention_backward(g[None, at], *one, part, logs, causal=causal), strict=True
        ):
            # One key has no derivative but for rounding, so that there is a least bound.
            bound = 4e-3 * max(float(b.abs().max()), 1e-2)
            torch.testing.assert_close(a[None, at], b, rtol=0, atol=bound)
