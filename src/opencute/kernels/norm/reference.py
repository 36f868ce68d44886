# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The norms and their derivatives in NumPy, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["layer_norm", "layer_norm_backward", "rms_norm", "rms_norm_backward"]


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


def layer_norm_backward(grad: Any, x: Any, weight: Any = None, eps: float = 1e-5) -> Any:
    """As `opencute.kernels.norm.layer_norm_backward` with a bias, in f64."""
    grad, wide = grad.astype(np.float64), x.astype(np.float64)
    scale = 1.0 / np.sqrt(wide.var(-1, keepdims=True) + eps)
    h = (wide - wide.mean(-1, keepdims=True)) * scale
    g = grad if weight is None else grad * weight.astype(np.float64)
    dx = scale * (g - g.mean(-1, keepdims=True) - h * (g * h).mean(-1, keepdims=True))
    axes = tuple(range(x.ndim - 1))
    return dx, None if weight is None else (grad * h).sum(axes), grad.sum(axes)


def rms_norm_backward(grad: Any, x: Any, weight: Any = None, eps: float = 1e-6) -> Any:
    """As `opencute.kernels.norm.rms_norm_backward`, in f64."""
    grad, wide = grad.astype(np.float64), x.astype(np.float64)
    scale = 1.0 / np.sqrt((wide * wide).mean(-1, keepdims=True) + eps)
    h = wide * scale
    g = grad if weight is None else grad * weight.astype(np.float64)
    dx = scale * (g - h * (g * h).mean(-1, keepdims=True))
    return dx, None if weight is None else (grad * h).sum(tuple(range(x.ndim - 1)))
