# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention for decoding in NumPy, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.kernels.attention.reference import attention

__all__ = ["decode_attention", "gathered"]


def gathered(pages: Any, table: Any) -> Any:
    """A paged cache (P, page, ...) as one with a sequence for each row of the table."""
    rows = pages[np.maximum(table, 0)]
    return rows.reshape(rows.shape[0], -1, *pages.shape[2:])


def decode_attention(
    q: Any, k: Any, v: Any, lengths: Any, scale: float, *, causal: bool = False, table: Any = None
) -> tuple[Any, Any]:
    """As `opencute.kernels.decode.decode_attention` with ``return_lse=True``, in f64."""
    if table is not None:
        k, v = gathered(k, table), gathered(v, table)
    parts = []
    for b in range(q.shape[0]):
        length = k.shape[1] if lengths is None else int(lengths[b])
        at = (slice(b, b + 1), slice(0, length))
        parts.append(attention(q[b : b + 1], k[at], v[at], scale, causal=causal))
    out, lse = zip(*parts, strict=True)
    return np.concatenate(out), np.concatenate(lse)
