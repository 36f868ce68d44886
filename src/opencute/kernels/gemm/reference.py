# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix products in NumPy, in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["gemm"]


def gemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    bias: Any = None,
    activation: Callable[[Any], Any] | None = None,
    residual: Any = None,
) -> Any:
    """As `opencute.kernels.gemm.gemm`, in f64; `activation` is a function on arrays."""
    wide = lambda x: x.astype(np.float64)  # noqa: E731
    out = alpha * np.matmul(*(wide(x) if alpha else np.zeros(x.shape) for x in (a, b)))
    out = out if c is None or beta == 0 else out + beta * wide(c)
    out = out if bias is None else out + wide(bias)
    out = out if activation is None else activation(out)
    return out if residual is None else out + wide(residual)
