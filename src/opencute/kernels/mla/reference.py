# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention with a latent cache in NumPy, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.kernels.decode.reference import decode_attention

__all__ = ["mla_decode"]


def mla_decode(
    q_nope: Any, q_rope: Any, cache: Any, lengths: Any, scale: float, *, causal: bool = True,
    table: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """As `opencute.kernels.mla.mla_decode` with ``return_lse=True``, in f64."""
    q = np.concatenate([q_nope, q_rope], -1)
    keys = cache[:, :, None, :]
    values = np.concatenate([keys[..., : q_nope.shape[-1]], np.zeros_like(keys[..., 512:])], -1)
    out, lse = decode_attention(q, keys, values, lengths, scale, causal=causal, table=table)
    return out[..., : q_nope.shape[-1]], lse
