# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: cross-entropy of torch or NumPy arrays."""

from __future__ import annotations

import math
import operator
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.jit.recording import once_only
from opencute.kernels.arrays import (
    as_rows,
    element_name,
    empty,
    empty_like,
    fill,
    floating,
    same_shape,
)
from opencute.kernels.checked import checked, separate
from opencute.kernels.cross_entropy import sm80
from opencute.kernels.repeat.operators import repeated
from opencute.kernels.row_config import RowConfig, choose
from opencute.kernels.tuned import tuned

__all__ = ["cross_entropy", "cross_entropy_backward"]


@tuned("cross_entropy", "logits")
@checked(arrays="logits target", integers="ignore_index")
@repeated
def cross_entropy(
    logits: Any, target: Any, *, ignore_index: int = -100, config: RowConfig | None = None
) -> tuple[Any, Any]:
    """``log(sum(exp(logits))) - logits[target]`` of each row.

    Args:
        logits: array (M, N) of f16, bf16 or f32 whose last axis is contiguous.
        target: array (M,) of i32 or i64: the class of each row, 0 to N - 1, or `ignore_index`.
        ignore_index: rows with this target have loss 0; a number of 32 bits.
        config: how the work is shared; a good choice when omitted.

    Returns:
        The losses and the logarithms of the sums, both (M,) of f32; the latter are what
        `cross_entropy_backward` needs. A target that is no class gives NaN.

    Raises:
        ArgumentError: shapes or types do not fit.
    """
    m, n = _sizes(logits, target)
    ignored = _ignored(ignore_index)
    floating(logits=logits)
    loss, lse = (empty(logits, (m,), "float32") for _ in range(2))
    if m and n:
        rows = as_rows("logits", logits)
        config = config or choose(n, rows)
        sm80.cross_entropy(rows, target, loss, lse, ignored, config.rows(n))
    elif m:  # there are no classes, so that no target is one
        once_only("it looks for targets that are ignored")
        fill(lse, -math.inf)
        fill(loss, math.nan)
        loss[target == ignored] = 0.0
    return loss, lse


@tuned("cross_entropy_backward", "logits")
@checked(arrays="grad logits target lse", optional="out", integers="ignore_index")
@repeated
@separate(inplace="logits")
def cross_entropy_backward(
    grad: Any, logits: Any, target: Any, lse: Any, *, ignore_index: int = -100, out: Any = None,
    config: RowConfig | None = None,
) -> Any:  # fmt: skip
    """The gradient of the logits: ``(exp(logits - lse) - onehot(target)) * grad``.

    Args:
        grad: gradient of the losses, (M,) of f32.
        logits, target, ignore_index: as for `cross_entropy`.
        lse: what `cross_entropy` returned second.
        out: where the result goes, possibly `logits` itself; a new array when omitted.
        config: how the work is shared; a good choice when omitted.

    Returns:
        The gradient. A target that is no class is none here either.
    """
    m, n = _sizes(logits, target)
    ignored = _ignored(ignore_index)
    out = empty_like(logits) if out is None else out
    same_shape(logits=logits, out=out)
    floating(logits=logits, out=out, grad=grad, lse=lse)
    same_shape(target=target, grad=grad, lse=lse)
    if m and n:
        rows, into = as_rows("logits", logits), as_rows("out", out, written=True)
        config = config or choose(n, rows, into)
        sm80.cross_entropy_backward(grad, rows, target, lse, into, ignored, config.rows(n))
    return out


def _ignored(index: Any) -> int:
    """The target of rows that do not count.

    Raises:
        TypeError: it is no integer.
        ArgumentError: kernels, which take 32 bits, cannot have it.
    """
    index = operator.index(index)
    if not -(1 << 31) <= index < 1 << 31:
        raise ArgumentError(
            "ignore_index has more than 32 bits", code="OC2544", found=index,
            expected="-2**31 to 2**31 - 1",
        )  # fmt: skip
    return index


def _sizes(logits: Any, target: Any) -> tuple[int, int]:
    if len(logits.shape) != 2 or tuple(target.shape) != (logits.shape[0],):
        raise ArgumentError(
            "logits and target do not fit", code="OC2506", expected="(M, N) and (M,)",
            found=f"{tuple(logits.shape)} and {tuple(target.shape)}",
        )  # fmt: skip
    if element_name(target) not in ("int32", "int64"):
        raise ArgumentError(
            "targets are class indices", code="OC2507", expected="int32, int64",
            found=str(target.dtype),
        )  # fmt: skip
    return int(logits.shape[0]), int(logits.shape[1])
