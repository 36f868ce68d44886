# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Cumulative sums in NumPy, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["cumsum"]


def cumsum(x: Any, axis: int = -1, *, exclusive: bool = False) -> Any:
    """As `opencute.kernels.scan.cumsum`, in f64."""
    wide = x.astype(np.float64)
    sums = np.cumsum(wide, axis)
    if exclusive:
        sums = np.roll(sums, 1, axis)
        sums[(slice(None),) * (axis % x.ndim) + (slice(0, 1),)] = 0.0
    return sums
