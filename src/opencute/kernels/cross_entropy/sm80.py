# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Cross-entropy: a row of logits is read once; losses are a number each.

Floor: bytes of the logits over the bandwidth; twice that for the derivative.
"""

from __future__ import annotations

import math

import opencute as cutlass
from opencute import cute
from opencute.lib.rows import Rows

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
    rows: cutlass.Constexpr[Rows],
):
    thread, row, inside, buffers = rows.place(gX)
    target = cutlass.Int32(gTarget[row])
    known = target >= 0 and target < rows.n
    picked = cutlass.Float32(math.nan)
    if known:
        picked = gX[row, target].to(cutlass.Float32)

    x = rows.load(gX[row, None], thread, -cutlass.Float32.inf)
    m = rows.max(x, buffers[None, 0])
    e = cute.math.exp2((x - m) * LOG2_E, fastmath=True)
    lse = m + cute.math.log2(rows.sum(e, buffers[None, 1]), fastmath=True) * LN_2
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
    rows: cutlass.Constexpr[Rows],
):
    thread, row, inside, _ = rows.place(gX)
    target = cutlass.Int32(gTarget[row])
    grad, lse = gGrad[row], gLse[row]
    if target == ignore_index:
        grad = cutlass.Float32(0.0)

    x = rows.load(gX[row, None], thread, -cutlass.Float32.inf)
    p = cute.math.exp2((x - lse) * LOG2_E, fastmath=True)
    held = cute.make_rmem_tensor((rows.vec, rows.reps), cutlass.Float32)
    held.store(p)
    for r in cutlass.range_constexpr(rows.reps):
        for v in cutlass.range_constexpr(rows.vec):
            if rows.coordinate(thread, r) + v == target:
                held[v, r] = held[v, r] - 1.0
    if inside:
        rows.store(gOut[row, None], thread, held.load() * grad)


@cute.jit
def cross_entropy(
    logits: cute.Tensor,
    target: cute.Tensor,
    loss: cute.Tensor,
    lse: cute.Tensor,
    ignore_index: cutlass.Int32,
    rows: cutlass.Constexpr[Rows],
):
    """Launch the kernel on logits (M, rows.n); the others are (M,)."""
    _forward(rows.matrix(logits), target, loss, lse, ignore_index, rows).launch(
        grid=[cute.ceil_div(logits.shape[0], rows.groups), 1, 1],
        block=[rows.threads, rows.groups, 1],
    )


@cute.jit
def cross_entropy_backward(
    grad: cute.Tensor,
    logits: cute.Tensor,
    target: cute.Tensor,
    lse: cute.Tensor,
    out: cute.Tensor,
    ignore_index: cutlass.Int32,
    rows: cutlass.Constexpr[Rows],
):
    """Launch the kernel of the derivative on logits (M, rows.n)."""
    gX, gOut = rows.matrix(logits), rows.matrix(out)
    _backward(grad, gX, target, lse, gOut, ignore_index, rows).launch(
        grid=[cute.ceil_div(logits.shape[0], rows.groups), 1, 1],
        block=[rows.threads, rows.groups, 1],
    )
