# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Cross-entropy in NumPy, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["cross_entropy", "cross_entropy_backward"]


def cross_entropy(logits: Any, target: Any, ignore_index: int = -100) -> tuple[Any, Any]:
    """As `opencute.kernels.cross_entropy.cross_entropy`, in f64; targets are classes."""
    wide = logits.astype(np.float64)
    top = wide.max(-1)
    lse = top + np.log(np.exp(wide - top[:, None]).sum(-1))
    kept = target != ignore_index
    picked = wide[np.arange(len(wide)), np.where(kept, target, 0)]
    return np.where(kept, lse - picked, 0.0), lse


def cross_entropy_backward(
    grad: Any, logits: Any, target: Any, lse: Any, ignore_index: int = -100
) -> Any:
    """As `opencute.kernels.cross_entropy.cross_entropy_backward`, in f64."""
    kept = target != ignore_index
    out = np.exp(logits.astype(np.float64) - lse[:, None])
    out[np.arange(len(out))[kept], target[kept]] -= 1.0
    return out * np.where(kept, grad, 0.0)[:, None]
