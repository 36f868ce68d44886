# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: softmax of torch or NumPy arrays over their last axis."""

from __future__ import annotations

from typing import Any

from opencute.kernels.arrays import as_rows, empty_like, floating, same_shape
from opencute.kernels.checked import checked, separate
from opencute.kernels.repeat.operators import repeated
from opencute.kernels.row_config import RowConfig, choose
from opencute.kernels.softmax import sm80
from opencute.kernels.tuned import tuned

__all__ = ["softmax", "softmax_backward"]


@tuned("softmax", "x")
@checked(arrays="x", optional="out", rows="x")
@repeated
@separate(inplace="x")
def softmax(x: Any, *, out: Any = None, config: RowConfig | None = None) -> Any:
    """``exp(x) / sum(exp(x))`` over the last axis, without overflow.

    Args:
        x: array (..., N) of f16, bf16 or f32 whose last axis is contiguous.
        out: where the result goes; a new array when omitted.
        config: how the work is shared; a good choice when omitted.

    Returns:
        The result, in the type of `x`; exponentials and sums are taken in f32. A row of -inf gives
        NaN, as it does elsewhere.

    Raises:
        ArgumentError: shapes or types do not fit.
    """
    out = empty_like(x) if out is None else out
    same_shape(x=x, out=out)
    floating(x=x, out=out)
    if 0 in x.shape:
        return out
    rows, into = as_rows("x", x), as_rows("out", out, written=True)
    n = int(x.shape[-1])
    config = config or choose(n, rows, into)
    sm80.softmax(rows, into, config.rows(n))
    return out


@tuned("softmax_backward", "grad")
@checked(arrays="grad y", optional="out", rows="grad y")
@repeated
@separate(inplace="grad y")
def softmax_backward(grad: Any, y: Any, *, out: Any = None, config: RowConfig | None = None) -> Any:
    """The gradient of what went into `softmax`: ``y * (grad - sum(grad * y))``.

    Args:
        grad: gradient of the result, an array (..., N).
        y: what `softmax` returned.
        out, config: as for `softmax`.
    """
    out = empty_like(y) if out is None else out
    same_shape(y=y, grad=grad, out=out)
    floating(y=y, grad=grad, out=out)
    if 0 in y.shape:
        return out
    matrices = [as_rows("grad", grad), as_rows("y", y), as_rows("out", out, written=True)]
    n = int(y.shape[-1])
    config = config or choose(n, *matrices, numbers=2)
    sm80.softmax_backward(*matrices, config.rows(n, 2))
    return out
