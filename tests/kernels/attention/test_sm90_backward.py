# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of attention with warpgroups: small sizes in the checking simulator against NumPy,
real sizes on a GPU.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.kernels.attention import (
    WarpgroupBackwardConfig,
    WarpgroupConfig,
    attention,
    attention_backward,
    reference,
)
from opencute.kernels.attention.config import (
    warpgroup_backward_heuristic,
    warpgroup_backward_search_space,
)

BRIEF = WarpgroupBackwardConfig(2, 1)
ONE = WarpgroupBackwardConfig(1, 1)
LATE = WarpgroupBackwardConfig(2, 2, early=False, atomics=True)


def operands(random: Any, lengths: tuple[int, int], heads: tuple[int, int], d: int, dtype: Any):
    q, g = (random((1, lengths[0], heads[0], d), dtype) for _ in range(2))
    k, v = (random((1, lengths[1], heads[1], d), dtype) for _ in range(2))
    return [g, q, k, v]


def near(got: Any, want: Any) -> None:
    """Within two roundings of the largest element."""
    step = 2.0**-10 if got.dtype == np.float16 else 2.0**-7
    np.testing.assert_allclose(got.astype(np.float64), want, atol=2 * step * abs(want).max())


def gradients(arrays: list[Any], window: Any, config: Any, **options: Any) -> Any:
    """Of what attention is by NumPy, so that only derivatives are simulated."""
    _, q, k, v = arrays
    out, lse = reference.attention(q, k, v, q.shape[-1] ** -0.5, window=window)
    saved = out.astype(q.dtype), lse.astype(np.float32)
    return attention_backward(*arrays, *saved, window=window, config=config, **options)


CASES = [
    # lengths, heads, d, window, config, dtype, deterministic
    ((40, 40), (2, 1), 128, (None, None), BRIEF, np.float16, False),  # grouped, ragged
    ((40, 140), (1, 1), 64, (None, 0), LATE, ml_dtypes.bfloat16, False),  # keys that some see
    ((150, 40), (1, 1), 64, (5, 2), None, np.float16, False),  # queries that see no key
    ((20, 260), (1, 1), 64, (150, 0), BRIEF, np.float16, True),  # a block of keys unseen
    ((70, 40), (1, 1), 96, (None, 0), None, np.float16, False),  # half a tile of dQ is 48 columns
    ((70, 40), (2, 1), 192, (None, 0), ONE, np.float16, True),  # dV on its own; added in order
    ((70, 20), (1, 1), 256, (30, 2), None, ml_dtypes.bfloat16, False),  # dQ in two rounds
]


@pytest.mark.t0
@pytest.mark.parametrize(("lengths", "heads", "d", "window", "config", "dtype", "ordered"), CASES)
def test_simulated(
    checked: None, random: Any, lengths: Any, heads: Any, d: int, window: Any, config: Any,
    dtype: Any, ordered: bool,
) -> None:  # fmt: skip
    arrays = operands(random, lengths, heads, d, dtype)
    want = reference.attention_backward(*arrays, d**-0.5, window=window)
    found = gradients(arrays, window, config, deterministic=ordered)
    for got, right in zip(found, want, strict=True):
        near(got, right)


@pytest.mark.t0
def test_nothing_of_what_is_not_there_counts(checked: None, random: Any) -> None:
    # What follows in memory is not a number, and keys that are not there would weigh e ** 90.
    g, q, k, v = operands(random, (24, 24), (2, 1), 128, np.float16)
    q, k = q / 8 + 3, k / 8 - 3
    for x in (g, q, k, v):
        x[:, 20:] = np.nan
    arrays = [x[:, :20] for x in (g, q, k, v)]
    want = reference.attention_backward(*arrays, 128**-0.5)
    for got, right in zip(gradients(arrays, (None, None), BRIEF), want, strict=True):
        np.testing.assert_allclose(got.astype(np.float64), right, atol=2e-3)


@pytest.mark.t0
def test_torch_gets_gradients_in_a_window() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 40, 1, 64).half().requires_grad_() for _ in range(3))
    with KNOBS.override(target="sim"):
        out = attention(q, k, v, window=(5, 2), config=WarpgroupConfig(2, 48, 2))
        out.float().square().sum().backward()
    wide = [x.detach().float().requires_grad_() for x in (q, k, v)]
    ahead = torch.arange(40)[None] - torch.arange(40)[:, None]
    torch.nn.functional.scaled_dot_product_attention(
        *(x.transpose(1, 2) for x in wide), attn_mask=(ahead <= 2) & (ahead >= -5)
    ).square().sum().backward()
    for x, w in zip((q, k, v), wide, strict=True):
        bound = 4e-3 * float(w.grad.abs().max())
        torch.testing.assert_close(x.grad.float(), w.grad, rtol=0, atol=bound)


@pytest.mark.t0
def test_wrong_arguments() -> None:
    q, wide = (np.zeros((1, 16, 1, d), np.float16) for d in (64, 80))
    lse = np.zeros((1, 1, 16), np.float32)
    run = lambda x, **o: attention_backward(x, x, x, x, x, lse, **o)  # noqa: E731
    for bad, code in (
        (lambda: run(q, config=WarpgroupBackwardConfig(1, 1)), "OC2546"),
        (lambda: run(q, config=WarpgroupBackwardConfig(2, 9)), "OC2521"),
        (lambda: run(wide, config=BRIEF), "OC2548"),
        (lambda: run(q, window=(-1, 1)), "OC2549"),
    ):
        with KNOBS.override(target="sim:sm_90a"), pytest.raises(ArgumentError) as e:
            bad()
        assert e.value.code == code
    with KNOBS.override(target="sim:sm_80"), pytest.raises(ArgumentError) as e:
        run(q, config=BRIEF)
    assert e.value.code == "OC2548"


@pytest.mark.t0
@pytest.mark.parametrize("head_dim", [64, 96, 128, 192, 256])
def test_choices_are_possible(head_dim: int) -> None:
    room = 227 * 1024
    assert warpgroup_backward_heuristic(head_dim).check(head_dim, room)
    found = list(warpgroup_backward_search_space(head_dim, room))
    assert len(found) >= {192: 4, 256: 1}.get(head_dim, 6)


@pytest.mark.t2
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("window", [None, (None, 0), (300, 0), (200, 100)])
@pytest.mark.parametrize(
    ("b", "sq", "sk", "h", "hk", "d"),
    [(2, 2048, 2048, 8, 8, 128), (1, 1000, 1500, 8, 2, 64), (1, 100, 700, 4, 4, 128),
     (3, 1111, 515, 4, 1, 64), (1, 1000, 1500, 4, 2, 96), (2, 700, 515, 4, 2, 192),
     (1, 515, 1300, 4, 4, 256)],
)  # fmt: skip
def test_on_a_gpu(
    b: int, sq: int, sk: int, h: int, hk: int, d: int, window: Any, dtype: str, deterministic: bool
) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("no warpgroups")
    kind = getattr(torch, dtype)
    q, g = (torch.randn(b, sq, h, d, device="cuda", dtype=kind) for _ in range(2))
    k, v = (torch.randn(b, sk, hk, d, device="cuda", dtype=kind) for _ in range(2))
    out, lse = attention(q, k, v, window=window, return_lse=True)
    got = [
        attention_backward(g, q, k, v, out, lse, window=window, deterministic=deterministic)
        for _ in range(2)
    ]
    wide = [x.float().requires_grad_() for x in (q, k, v)]
    heads = [x.transpose(1, 2) for x in wide]
    heads[1:] = (x.repeat_interleave(h // hk, 1) for x in heads[1:])
    places = torch.arange(sq, device="cuda")[:, None] + sk - sq
    ahead = torch.arange(sk, device="cuda")[None] - places
    before, after = window or (None, None)
    far = sq + sk
    seen = (ahead <= (far if after is None else after)) & (
        ahead >= -(far if before is None else before)
    )
    scores = (heads[0] @ heads[1].transpose(2, 3) * d**-0.5).masked_fill(~seen, -1e30)
    (torch.softmax(scores, -1) * seen @ heads[2]).backward(g.float().transpose(1, 2))
    for first, second, x in zip(*got, wide, strict=True):
        bound = (4e-3 if dtype == "float16" else 3e-2) * float(x.grad.abs().max())
        torch.testing.assert_close(first.float(), x.grad, rtol=0, atol=bound)
        assert not deterministic or torch.equal(first, second)
