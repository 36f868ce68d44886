# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The norms in NumPy, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["layer_norm", "rms_norm"]


def layer_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """As `opencute.kernels.norm.layer_norm`, in f64."""
    wide = x.astype(np.float64)
    out = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + eps)
    out = out if weight is None else out * weight.astype(np.float64)
    return out if bias is None else out + bias.astype(np.float64)


def rms_norm(x: Any, weight: Any = None, eps: float = 1e-6) -> Any:
    """As `opencute.kernels.norm.rms_norm`, in f64."""
    wide = x.astype(np.float64)
    out = wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + eps)
    return out if weight is None else out * weight.astype(np.float64)
