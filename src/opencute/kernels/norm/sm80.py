# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Norms: a row is read once, kept in registers, and written once.

Floor: bytes of `x` and of the result over the bandwidth, and of the residual and the sum where
there are any; weights stay in the cache.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.lib.long_rows import LongRows
from opencute.lib.rows import Rows

__all__ = ["early", "norm"]


def early(rows: Rows, *vectors: Any) -> bool:
    """Whether there are registers for a part of a row and those of weight and bias."""
    bits = sum(t.element_type.width for t in vectors if t is not None)
    registers = min(65536 // (rows.threads * rows.groups), 255)
    return rows.reps * rows.vec * (32 + bits) // 32 < registers * 3 // 4


@cute.kernel
def _norm(
    gX: cute.Tensor,
    gR: Any,
    gW: Any,
    gB: Any,
    gSum: Any,
    gOut: cute.Tensor,
    eps: cutlass.Float32,
    rows: cutlass.Constexpr[Rows],
    centred: cutlass.Constexpr[bool],
):
    thread, row, inside, buffers = rows.place(gX)
    x = rows.load(gX[row, None], thread, 0.0)
    if cutlass.const_expr(gR is not None):
        x = x + rows.load(gR[row, None], thread, 0.0)
    weight: Any = None
    bias: Any = None
    soon = cutlass.const_expr(early(rows, gW, gB))
    if cutlass.const_expr(soon and gW is not None):
        weight = rows.load_raw(gW, thread, 0.0)  # on its way while the sums are taken
    if cutlass.const_expr(soon and gB is not None):
        bias = rows.load_raw(gB, thread, 0.0)
    if cutlass.const_expr(gSum is not None):
        if inside:
            rows.store(gSum[row, None], thread, x)

    if cutlass.const_expr(centred):
        x = rows.inside(x - rows.sum(x, buffers[None, 0]) / rows.n, thread, 0.0)
    scale = cute.math.rsqrt(rows.sum(x * x, buffers[None, 1]) / rows.n + eps)
    y = x * scale
    if cutlass.const_expr(not soon and gW is not None):
        weight = rows.load_raw(gW, thread, 0.0)
    if cutlass.const_expr(not soon and gB is not None):
        bias = rows.load_raw(gB, thread, 0.0)
    if cutlass.const_expr(gW is not None):
        y = y * weight.load().to(cutlass.Float32)
    if cutlass.const_expr(gB is not None):
        y = y + bias.load().to(cutlass.Float32)
    if inside:
        rows.store(gOut[row, None], thread, y)


@cute.kernel
def _norm_long(
    gX: cute.Tensor,
    gR: Any,
    gW: Any,
    gB: Any,
    gSum: Any,
    gOut: cute.Tensor,
    eps: cutlass.Float32,
    long: cutlass.Constexpr[LongRows],
    centred: cutlass.Constexpr[bool],
):
    thread, row, _, buffers = long.whole.place(gX, 3)
    residual = None if cutlass.const_expr(gR is None) else gR[row, None]

    def load(rows: Any, part: Any):
        x = rows.load(part(gX[row, None]), thread, 0.0)
        return x if residual is None else x + rows.load(part(residual), thread, 0.0)

    # Squares are summed relative to the mean of the first chunk, so that nothing cancels.
    shift = cutlass.Float32(0.0)
    if cutlass.const_expr(centred):
        first = long.chunk
        x = load(first, long.first)
        shift = first.sum(x, buffers[None, 0]) / first.n
    sums = cute.make_rmem_tensor((2,), cutlass.Float32)
    sums.fill(0.0)

    def add(rows: Any, part: Any, _):
        x = rows.inside(load(rows, part) - shift, thread, 0.0)
        sums[0] = sums[0] + rows.own_sum(x)
        sums[1] = sums[1] + rows.own_sum(x * x)

    long.each(add)
    total, squares = long.whole.combine_sums(
        (sums[0], sums[1]), (buffers[None, 1], buffers[None, 2])
    )
    mean = cutlass.Float32(0.0)
    if cutlass.const_expr(centred):
        mean = total / long.n
    scale = cute.math.rsqrt(squares / long.n - mean * mean + eps)
    mean = mean + shift

    def write(rows: Any, part: Any, _):
        x = load(rows, part)
        if gSum is not None:
            rows.store(part(gSum[row, None]), thread, x)
        y = (x - mean) * scale
        if gW is not None:
            y = y * rows.load(part(gW), thread, 0.0)
        if gB is not None:
            y = y + rows.load(part(gB), thread, 0.0)
        rows.store(part(gOut[row, None]), thread, y)

    long.each(write)


@cute.jit
def norm(
    x: cute.Tensor,
    residual: Any,
    weight: Any,
    bias: Any,
    total: Any,
    out: cute.Tensor,
    eps: cutlass.Float32,
    rows: cutlass.Constexpr,
    centred: cutlass.Constexpr[bool],
):
    """Launch the kernel on matrices (M, rows.n).

    Args:
        residual: what is added to `x` before, a matrix, or None.
        weight, bias: (rows.n,), or None.
        total: where ``x + residual`` goes, a matrix, or None.
        rows: `Rows`, or `LongRows` for rows that do not fit in registers.
        centred: LayerNorm rather than RMSNorm.
    """
    whole = rows.whole
    arguments = (
        *(whole.matrix(t) for t in (x, residual)), *(whole.vector(t) for t in (weight, bias)),
        *(whole.matrix(t) for t in (total, out)), eps, rows, centred,
    )  # fmt: skip
    kernel = _norm_long if cutlass.const_expr(isinstance(rows, LongRows)) else _norm
    kernel(*arguments).launch(**rows.whole.launch(x.shape[0]))
