# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: norms of torch or NumPy arrays over their last axis."""

from __future__ import annotations

from typing import Any

from opencute.base.errors import ArgumentError
from opencute.kernels.arrays import as_rows, empty_like, item_bits, same_shape, vector_elements
from opencute.kernels.norm.sm80 import norm
from opencute.kernels.row_config import RowConfig, heuristic

__all__ = ["layer_norm", "rms_norm"]


def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *, out: Any = None,
    config: RowConfig | None = None,
) -> Any:  # fmt: skip
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` over the last axis.

    Args:
        x: array (..., N) of f16, bf16 or f32 whose last axis is contiguous.
        weight, bias: arrays (N,), or None.
        eps: added to the variance.
        out: where the result goes; a new array when omitted.
        config: how the work is shared; a good choice when omitted.

    Returns:
        The result, in the type of `x`; sums are taken in f32.

    Raises:
        ArgumentError: shapes do not fit, or a row is longer than 65,536 elements.

    Source: Ba, Kiros, Hinton, "Layer Normalization", 2016.
    """
    return _norm(x, weight, bias, eps, out, config, centred=True)


def rms_norm(
    x: Any, weight: Any = None, eps: float = 1e-6, *, out: Any = None,
    config: RowConfig | None = None,
) -> Any:  # fmt: skip
    """``x / sqrt(mean(x * x) + eps) * weight`` over the last axis.

    Arguments, result and errors are those of `layer_norm`.

    Source: Zhang, Sennrich, "Root Mean Square Layer Normalization", 2019.
    """
    return _norm(x, weight, None, eps, out, config, centred=False)


def _norm(
    x: Any, weight: Any, bias: Any, eps: float, out: Any, config: RowConfig | None, *, centred: bool
) -> Any:
    out = empty_like(x) if out is None else out
    same_shape(x=x, out=out)
    n = int(x.shape[-1]) if len(x.shape) else 0
    for name, given in (("weight", weight), ("bias", bias)):
        if given is not None and tuple(given.shape) != (n,):
            raise ArgumentError(
                f"{name} does not fit the last axis", code="OC2505", expected=(n,),
                found=tuple(given.shape),
            )  # fmt: skip
    if 0 in x.shape:
        return out
    rows, into = as_rows("x", x), as_rows("out", out)
    given = [a for a in (rows, into, weight, bias) if a is not None]
    if config is None:
        config = heuristic(n, vector_elements(n, max(map(item_bits, given)), *given))
    norm(rows, weight, bias, into, float(eps), config.rows(n), centred)
    return out
