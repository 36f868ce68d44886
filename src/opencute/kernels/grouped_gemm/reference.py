# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Grouped products in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["grouped_gemm", "moe_gemm", "moe_gemm_weights"]


def grouped_gemm(a: Sequence[Any], b: Sequence[Any], *, alpha: float = 1.0) -> list[Any]:
    """As `opencute.kernels.grouped_gemm.grouped_gemm`."""
    wide = np.float32
    return [
        (alpha * (x.astype(wide) @ y.astype(wide))).astype(x.dtype)
        for x, y in zip(a, b, strict=True)
    ]


def moe_gemm(a: Any, b: Any, offsets: Any, *, alpha: float = 1.0) -> Any:
    """As `opencute.kernels.grouped_gemm.moe_gemm`, with zeros behind the last group."""
    out = np.zeros((a.shape[0], b.shape[2]), np.float32)
    start = 0
    for weights, end in zip(b, offsets, strict=True):
        part = a[start:end].astype(np.float32) @ weights.astype(np.float32)
        out[start:end] = alpha * part
        start = int(end)
    return out.astype(a.dtype)


def moe_gemm_weights(a: Any, b: Any, offsets: Any, *, alpha: float = 1.0) -> Any:
    """As `opencute.kernels.grouped_gemm.moe_gemm_weights`."""
    out = np.zeros((len(offsets), a.shape[1], b.shape[1]), np.float32)
    start = 0
    for g, end in enumerate(offsets):
        out[g] = alpha * (a[start:end].astype(np.float32).T @ b[start:end].astype(np.float32))
        start = int(end)
    return out.astype(a.dtype)
