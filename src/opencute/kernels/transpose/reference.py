# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Transposition in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["transpose"]


def transpose(x: Any) -> Any:
    """As `opencute.kernels.transpose.transpose`."""
    return np.ascontiguousarray(np.swapaxes(x, -1, -2))
