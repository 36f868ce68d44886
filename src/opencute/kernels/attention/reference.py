# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention in NumPy, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["attention"]


def attention(q: Any, k: Any, v: Any, scale: float, *, causal: bool = False) -> tuple[Any, Any]:
    """As `opencute.kernels.attention.attention` with ``lse=True``, in f64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[2] // k.shape[2]
    k, v = (np.repeat(x, group, axis=2) for x in (k, v))
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * scale
    if causal:
        rows, columns = scores.shape[-2:]
        seen = np.arange(columns)[None] <= np.arange(rows)[:, None] + columns - rows
        scores = np.where(seen, scores, -np.inf)
    most = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(most), 0.0, most))
    total = weights.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = np.where(total > 0, np.log(total) + most, -np.inf)[..., 0]
    out = np.einsum("bhqk,bkhd->bqhd", weights / np.where(total > 0, total, 1.0), v)
    return out, lse
