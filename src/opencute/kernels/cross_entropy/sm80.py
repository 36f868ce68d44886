# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Cross-entropy: a row of logits is read once, however long it is; losses are a number each.

Floor: bytes of the logits over the bandwidth; twice that for the derivative.
"""

from __future__ import annotations

import math
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.softmax.sm80 import long_logsum
from opencute.lib.long_rows import LongRows

__all__ = ["cross_entropy", "cross_entropy_backward"]

LOG2_E = math.log2(math.e)
LN_2 = math.log(2.0)


@cute.kernel
def _forward(
    gX: cute.Tensor,
    gTarget: cute.Tensor,
    gLoss: cute.Tensor,
    gLse: cute.Tensor,
    ignore_index: cutlass.Int32,
    rows: cutlass.Constexpr,
):
    thread, row, inside, buffers = rows.whole.place(gX)
    target = gTarget[row]
    picked = cutlass.Float32(math.nan)
    if target >= 0 and target < rows.n:
        picked = gX[row, cutlass.Int32(target)].to(cutlass.Float32)

    if cutlass.const_expr(isinstance(rows, LongRows)):
        m, total = long_logsum(rows, gX[row, None], thread, buffers)
    else:
        x = rows.load(gX[row, None], thread, -cutlass.Float32.inf)
        m = rows.max(x, buffers[None, 0])
        e = cute.math.exp2((x - m) * LOG2_E, fastmath=True)
        total = rows.sum(e, buffers[None, 1])
    lse = m + cute.math.log2(total, fastmath=True) * LN_2
    if inside and thread == 0:
        gLse[row] = lse
        gLoss[row] = lse - picked
        if target == ignore_index:
            gLoss[row] = 0.0


@cute.kernel
def _backward(
    gGrad: cute.Tensor,
    gX: cute.Tensor,
    gTarget: cute.Tensor,
    gLse: cute.Tensor,
    gOut: cute.Tensor,
    ignore_index: cutlass.Int32,
    rows: cutlass.Constexpr,
):
    thread, row, inside, _ = rows.whole.place(gX)
    wanted = gTarget[row]
    grad, lse = gGrad[row], gLse[row]
    if wanted == ignore_index:
        grad = cutlass.Float32(0.0)
    target = cutlass.Int32(-1)
    if wanted >= 0 and wanted < rows.n:
        target = cutlass.Int32(wanted)
    gRow, gOutRow = gX[row, None], gOut[row, None]

    def slope(rows: Any, part: Any, begin: Any):
        x = rows.load(part(gRow), thread, -cutlass.Float32.inf)
        p = cute.math.exp2((x - lse) * LOG2_E, fastmath=True)
        return _less_one_at(p, rows, thread, target - begin) * grad

    if cutlass.const_expr(isinstance(rows, LongRows)):
        rows.each(lambda r, part, c: r.store(part(gOutRow), thread, slope(r, part, c)))
    else:
        dx = slope(rows, lambda row: row, 0)
        if inside:
            rows.store(gOutRow, thread, dx)


@cute.jit
def _less_one_at(p: Any, rows: cutlass.Constexpr, thread: Any, target: Any) -> Any:
    """A thread's part of a row, less one where the target is."""
    held = cute.make_rmem_tensor((rows.vec, rows.reps), cutlass.Float32)
    held.store(p)
    for r in cutlass.range_constexpr(rows.reps):
        for v in cutlass.range_constexpr(rows.vec):
            if rows.coordinate(thread, r) + v == target:
                held[v, r] = held[v, r] - 1.0
    return held.load()


@cute.jit
def cross_entropy(
    logits: cute.Tensor,
    target: cute.Tensor,
    loss: cute.Tensor,
    lse: cute.Tensor,
    ignore_index: cutlass.Int32,
    rows: cutlass.Constexpr,
):
    """Launch the kernel on logits (M, rows.n), the others (M,); `rows` is `Rows` or `LongRows`."""
    _forward(rows.whole.matrix(logits), target, loss, lse, ignore_index, rows).launch(
        **rows.whole.launch(logits.shape[0])
    )


@cute.jit
def cross_entropy_backward(
    grad: cute.Tensor,
    logits: cute.Tensor,
    target: cute.Tensor,
    lse: cute.Tensor,
    out: cute.Tensor,
    ignore_index: cutlass.Int32,
    rows: cutlass.Constexpr,
):
    """Launch the kernel of the derivative on logits (M, rows.n)."""
    gX, gOut = rows.whole.matrix(logits), rows.whole.matrix(out)
    _backward(grad, gX, target, lse, gOut, ignore_index, rows).launch(
        **rows.whole.launch(logits.shape[0])
    )
