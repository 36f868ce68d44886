# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The derivatives of norms: each block takes every so many-th row and keeps its part of the sums
over rows, which are the gradients of weight and bias, in registers until its last row.

With ``h = (x - mean) * scale`` and ``g = grad * weight``, the gradient of `x` is
``scale * (g - mean(g) - h * mean(g * h))``; RMSNorm has neither mean. The statistics are taken
again from `x`, which is there anyway.

Floor: bytes of `x`, `grad` and the result over the bandwidth.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.lib.long_rows import LongRows
from opencute.lib.rows import Rows

__all__ = ["norm_backward"]


@cute.kernel
def _backward(
    gGrad: cute.Tensor,
    gX: cute.Tensor,
    gW: Any,
    gAdd: Any,
    gDx: cute.Tensor,
    gDw: Any,
    gDb: Any,
    eps: cutlass.Float32,
    blocks: cutlass.Int32,
    rows: cutlass.Constexpr[Rows],
    centred: cutlass.Constexpr[bool],
):
    thread, group, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    buffers = rows.buffers(4)
    dw = cute.make_rmem_tensor((rows.vec, rows.reps), cutlass.Float32)
    db = cute.make_rmem_tensor((rows.vec, rows.reps), cutlass.Float32)
    dw.fill(0.0)
    db.fill(0.0)
    weight: Any = None
    if cutlass.const_expr(gW is not None):
        weight = rows.load_raw(gW, thread, 0.0)

    last = gX.shape[0] - 1
    for first in range(block * rows.groups, gX.shape[0], blocks * rows.groups):
        inside = first + group <= last
        row = cutlass.min(first + group, last)
        x = rows.load(gX[row, None], thread, 0.0)
        grad = rows.load(gGrad[row, None], thread, 0.0)
        g = grad
        if cutlass.const_expr(gW is not None):
            g = grad * weight.load().to(cutlass.Float32)
        mean_g = cutlass.Float32(0.0)
        if cutlass.const_expr(centred):
            total, total_g = rows.sum((x, g), (buffers[None, 0], buffers[None, 1]))
            x = rows.inside(x - total / rows.n, thread, 0.0)
            mean_g = total_g / rows.n
        squares, dot = rows.sum((x * x, g * x), (buffers[None, 2], buffers[None, 3]))
        scale = cute.math.rsqrt(squares / rows.n + eps)
        h = x * scale
        dx = (g - mean_g - h * (dot * scale / rows.n)) * scale
        if cutlass.const_expr(gAdd is not None):
            dx = dx + rows.load(gAdd[row, None], thread, 0.0)
        if inside:
            rows.store(gDx[row, None], thread, dx)
            if cutlass.const_expr(gDw is not None):
                dw.store(dw.load() + grad * h)
            if cutlass.const_expr(gDb is not None):
                db.store(db.load() + grad)
        # The next row writes the buffers that this one reads; two sums in turn are in step anyway.
        if cutlass.const_expr(not centred and rows.threads > 32):
            cute.arch.sync_threads()

    at = block * rows.groups + group
    if cutlass.const_expr(gDw is not None):
        rows.store(gDw[at, None], thread, dw.load())
    if cutlass.const_expr(gDb is not None):
        rows.store(gDb[at, None], thread, db.load())


@cute.kernel
def _backward_long(
    gGrad: cute.Tensor,
    gX: cute.Tensor,
    gW: Any,
    gAdd: Any,
    gDx: cute.Tensor,
    gDw: Any,
    gDb: Any,
    eps: cutlass.Float32,
    blocks: cutlass.Int32,
    long: cutlass.Constexpr[LongRows],
    centred: cutlass.Constexpr[bool],
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    buffers = long.whole.buffers(4)
    sums = cute.make_rmem_tensor((2,), cutlass.Float32)

    # The sums over rows do not fit in registers: they stay where they go, in the L2 cache.
    def clear(rows: Any, part: Any, _):
        zeros = cute.make_rmem_tensor((rows.vec, rows.reps), cutlass.Float32)
        zeros.fill(0.0)
        for target in (gDw, gDb):
            if target is not None:
                rows.store(part(target[block, None]), thread, zeros.load())

    long.each(clear)

    for row in range(block, gX.shape[0], blocks):

        def load(rows: Any, part: Any, row: Any = row):
            x = rows.load(part(gX[row, None]), thread, 0.0)
            grad = rows.load(part(gGrad[row, None]), thread, 0.0)
            return x, grad, grad if gW is None else grad * rows.load(part(gW), thread, 0.0)

        def add_means(rows: Any, part: Any, _):
            x, _, g = load(rows, part)
            sums[0] = sums[0] + rows.own_sum(x)
            sums[1] = sums[1] + rows.own_sum(g)

        mean = cutlass.Float32(0.0)
        mean_g = cutlass.Float32(0.0)
        if cutlass.const_expr(centred):
            sums.fill(0.0)
            long.each(add_means)
            total, total_g = long.whole.combine_sums(
                (sums[0], sums[1]), (buffers[None, 0], buffers[None, 1])
            )
            mean = total / long.n
            mean_g = total_g / long.n

        def add_squares(rows: Any, part: Any, _, mean: Any = mean):
            x, _, g = load(rows, part)
            x = rows.inside(x - mean, thread, 0.0)
            sums[0] = sums[0] + rows.own_sum(x * x)
            sums[1] = sums[1] + rows.own_sum(g * x)

        sums.fill(0.0)
        long.each(add_squares)
        squares, dot = long.whole.combine_sums(
            (sums[0], sums[1]), (buffers[None, 2], buffers[None, 3])
        )
        scale = cute.math.rsqrt(squares / long.n + eps)
        slope = dot * scale / long.n

        def write(
            rows: Any,
            part: Any,
            _,
            mean: Any = mean,
            mean_g: Any = mean_g,
            scale: Any = scale,
            slope: Any = slope,
            row: Any = row,
        ):
            x, grad, g = load(rows, part)
            h = (x - mean) * scale
            dx = (g - mean_g - h * slope) * scale
            if gAdd is not None:
                dx = dx + rows.load(part(gAdd[row, None]), thread, 0.0)
            rows.store(part(gDx[row, None]), thread, dx)
            for target, value in ((gDw, grad * h), (gDb, grad)):
                if target is not None:
                    sum_part = part(target[block, None])
                    rows.store(sum_part, thread, rows.load(sum_part, thread, 0.0) + value)

        long.each(write)
        if cutlass.const_expr(not centred):  # as above
            cute.arch.sync_threads()


@cute.jit
def norm_backward(
    grad: cute.Tensor,
    x: cute.Tensor,
    weight: Any,
    prenorm_grad: Any,
    dx: cute.Tensor,
    dw: Any,
    db: Any,
    eps: cutlass.Float32,
    blocks: cutlass.Int32,
    rows: cutlass.Constexpr,
    centred: cutlass.Constexpr[bool],
):
    """Launch the kernel on matrices (M, rows.n).

    Args:
        weight: (rows.n,), or None.
        prenorm_grad: what is added to `dx`, a matrix, or None.
        dw, db: sums over the rows of a block, matrices (blocks * rows.groups, rows.n) of f32, or
            None.
        rows: `Rows`, or `LongRows` for rows that do not fit in registers.
        centred: LayerNorm rather than RMSNorm.
    """
    whole = rows.whole
    arguments = (
        whole.matrix(grad), whole.matrix(x), whole.vector(weight),
        *(whole.matrix(t) for t in (prenorm_grad, dx, dw, db)), eps, blocks, rows, centred,
    )  # fmt: skip
    kernel = _backward_long if cutlass.const_expr(isinstance(rows, LongRows)) else _backward
    kernel(*arguments).launch(
        grid=[blocks, 1, 1], block=[rows.threads, rows.groups, 1],
        min_blocks_per_mp=2 if cutlass.const_expr(rows.threads == 256) else whole.least_blocks,
        # The grid has two blocks for each multiprocessor.
    )  # fmt: skip
