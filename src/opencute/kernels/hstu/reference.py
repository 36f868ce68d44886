# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""HSTU attention in NumPy, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["hstu_attention"]


def hstu_attention(
    q: Any, k: Any, v: Any, bias: Any = None, *, causal: bool = False, scale: float = 1.0,
    divisor: float = 1.0,
) -> Any:  # fmt: skip
    """As `opencute.kernels.hstu.hstu_attention`, in f64."""
    group = q.shape[2] // k.shape[2]
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, group, 2) for x in (k, v))
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * scale
    if bias is not None:
        scores = scores + bias.astype(np.float64)
    weights = scores / (1.0 + np.exp(-scores))
    if causal:
        rows, columns = scores.shape[-2:]
        seen = np.arange(columns)[None] <= np.arange(rows)[:, None] + columns - rows
        weights = np.where(seen, weights, 0.0)
    return np.einsum("bhqk,bkhd->bqhd", weights, v) / divisor
