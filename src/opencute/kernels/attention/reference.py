# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention in NumPy, in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["attention", "attention_backward", "varlen"]


def attention(
    q: Any, k: Any, v: Any, scale: float, *, causal: bool = False,
    window: tuple[int | None, int | None] = (None, None),
) -> tuple[Any, Any]:  # fmt: skip
    """As `opencute.kernels.attention.attention` with ``return_lse=True``, in f64."""
    q, k, v = _wide(q, k, v)
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * scale
    scores = np.where(_seen(scores.shape, causal, window), scores, -np.inf)
    most = scores.max(-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isinf(most), 0.0, most))
    total = weights.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = np.where(total > 0, np.log(total) + most, -np.inf)[..., 0]
    out = np.einsum("bhqk,bkhd->bqhd", weights / np.where(total > 0, total, 1.0), v)
    return out, lse


def _seen(shape: Any, causal: bool, window: tuple[int | None, int | None]) -> Any:
    """Which keys each query sees, (queries, keys)."""
    rows, columns = shape[-2:]
    ahead = np.arange(columns)[None] - np.arange(rows)[:, None] - (columns - rows)
    before, after = window
    after = 0 if causal and (after is None or after > 0) else after
    seen = np.ones((rows, columns), bool)
    if after is not None:
        seen &= ahead <= after
    return seen if before is None else seen & (ahead >= -before)


def _wide(q: Any, k: Any, v: Any) -> tuple[Any, ...]:
    """The arrays in f64, with a head of keys and values for each one of queries."""
    group = q.shape[2] // k.shape[2]
    return q.astype(np.float64), *(np.repeat(x.astype(np.float64), group, 2) for x in (k, v))


def attention_backward(
    grad: Any, q: Any, k: Any, v: Any, scale: float, *, causal: bool = False,
    window: tuple[int | None, int | None] = (None, None),
) -> tuple[Any, Any, Any]:  # fmt: skip
    """As `opencute.kernels.attention.attention_backward`, in f64 and without what it is given."""
    out, lse = attention(q, k, v, scale, causal=causal, window=window)
    heads, grad = k.shape[2], grad.astype(np.float64)
    q, k, v = _wide(q, k, v)
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * scale
    seen = _seen(scores.shape, causal, window) & np.isfinite(lse)[..., None]
    weights = np.where(seen, np.exp(np.where(seen, scores - lse[..., None], 0.0)), 0.0)
    delta = np.einsum("bqhd,bqhd->bhq", out, grad)[..., None]
    slopes = weights * (np.einsum("bqhd,bkhd->bhqk", grad, v) - delta) * scale
    dq = np.einsum("bhqk,bkhd->bqhd", slopes, k)
    dk = np.einsum("bhqk,bqhd->bkhd", slopes, q)
    dv = np.einsum("bhqk,bqhd->bkhd", weights, grad)
    grouped = (*dk.shape[:2], heads, dk.shape[2] // heads, dk.shape[3])
    return dq, dk.reshape(grouped).sum(3), dv.reshape(grouped).sum(3)


def varlen(
    function: Callable[..., tuple[Any, ...]], of_queries: tuple[Any, ...], of_keys: tuple[Any, ...],
    starts_q: Any, starts_k: Any, scale: float, *, causal: bool = False,
    window: tuple[int | None, int | None] = (None, None),
) -> list[tuple[Any, ...]]:  # fmt: skip
    """A function of above for each of some sequences that lie end to end.

    Args:
        of_queries, of_keys: its arguments, arrays (total, H, D).
    """
    out: list[tuple[Any, ...]] = []
    for i in range(len(starts_q) - 1):
        at_q, at_k = (slice(s[i], s[i + 1]) for s in (starts_q, starts_k))
        parts = [x[None, at_q] for x in of_queries] + [x[None, at_k] for x in of_keys]
        out.append(function(*parts, scale, causal=causal, window=window))
    return out
