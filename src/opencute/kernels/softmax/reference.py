# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Softmax in NumPy, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["softmax", "softmax_backward"]


def softmax(x: Any) -> Any:
    """As `opencute.kernels.softmax.softmax`, in f64."""
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax_backward(grad: Any, y: Any) -> Any:
    """As `opencute.kernels.softmax.softmax_backward`, in f64."""
    g, p = grad.astype(np.float64), y.astype(np.float64)
    return p * (g - (g * p).sum(-1, keepdims=True))
