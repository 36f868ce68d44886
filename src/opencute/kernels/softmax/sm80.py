# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Softmax: a row is read once, kept in registers, and written once; a long row is read twice.

Floor: bytes of argument and result over the bandwidth.
"""

from __future__ import annotations

import math
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.lib.long_rows import LongRows
from opencute.lib.rows import Rows

__all__ = ["long_logsum", "softmax", "softmax_backward"]

LOG2_E = math.log2(math.e)


@cute.kernel
def _forward(gX: cute.Tensor, gOut: cute.Tensor, rows: cutlass.Constexpr[Rows]):
    thread, row, inside, buffers = rows.place(gX)
    x = rows.load(gX[row, None], thread, -cutlass.Float32.inf)
    m = rows.max(x, buffers[None, 0])
    if cutlass.const_expr(gX.element_type is cutlass.Float32):
        e = cute.math.exp2((x - m) * LOG2_E, fastmath=True)  # nothing overflows
    else:
        # 2 ** (x * log2(e) - m) is one fma and one instruction for each element.
        e = cute.math.exp2(x * LOG2_E - m * LOG2_E, fastmath=True)
    total = rows.sum(e, buffers[None, 1])
    if inside:
        rows.store(gOut[row, None], thread, e * (1.0 / total))


@cute.kernel
def _backward(
    gGrad: cute.Tensor, gY: cute.Tensor, gOut: cute.Tensor, rows: cutlass.Constexpr[Rows]
):
    thread, row, inside, buffers = rows.place(gY)
    grad = rows.load(gGrad[row, None], thread, 0.0)
    y = rows.load(gY[row, None], thread, 0.0)
    dot = rows.sum(grad * y, buffers[None, 0])
    if inside:
        rows.store(gOut[row, None], thread, y * (grad - dot))


@cute.kernel
def _forward_long(gX: cute.Tensor, gOut: cute.Tensor, long: cutlass.Constexpr[LongRows]):
    thread, row, _, buffers = long.whole.place(gX)
    greatest, total = long_logsum(long, gX[row, None], thread, buffers)
    factor = 1.0 / total

    def write(rows: Any, part: Any, _):
        x = rows.load(part(gX[row, None]), thread, -cutlass.Float32.inf)
        e = cute.math.exp2((x - greatest) * LOG2_E, fastmath=True)
        rows.store(part(gOut[row, None]), thread, e * factor)

    long.each(write)


@cute.jit
def long_logsum(long: cutlass.Constexpr, gRow: cute.Tensor, thread: Any, buffers: Any) -> Any:
    """The greatest of a row, and the sum of ``exp(x - greatest)``, in all threads of the block.

    The greatest so far and the sum that belongs to it are carried along, each thread for itself.
    """
    found = cute.make_rmem_tensor((2,), cutlass.Float32)
    found[0] = -cutlass.Float32.inf
    found[1] = 0.0

    def add(rows: Any, part: Any, _):
        x = rows.load(part(gRow), thread, -cutlass.Float32.inf)
        new = cute.arch.fmax(found[0], rows.own_max(x))
        base = _finite(new)
        e = rows.own_sum(cute.math.exp2((x - base) * LOG2_E, fastmath=True))
        found[1] = found[1] * cute.math.exp2((found[0] - base) * LOG2_E, fastmath=True) + e
        found[0] = new

    long.each(add)
    greatest = long.whole.combine_max(found[0], buffers[None, 0])
    own = found[1] * cute.math.exp2((found[0] - greatest) * LOG2_E, fastmath=True)
    return greatest, long.whole.combine_sums(own, buffers[None, 1])


@cute.jit
def _finite(x: Any) -> Any:
    """Zero for -inf, from which nothing can be subtracted."""
    return cutlass.Float32(0.0) if x == -cutlass.Float32.inf else x


@cute.kernel
def _backward_long(
    gGrad: cute.Tensor, gY: cute.Tensor, gOut: cute.Tensor, long: cutlass.Constexpr[LongRows]
):
    thread, row, _, buffers = long.whole.place(gY)
    own = cute.make_rmem_tensor((1,), cutlass.Float32)
    own[0] = 0.0

    def load(rows: Any, part: Any):
        return tuple(rows.load(part(g[row, None]), thread, 0.0) for g in (gGrad, gY))

    def add(rows: Any, part: Any, _):
        grad, y = load(rows, part)
        own[0] = own[0] + rows.own_sum(grad * y)

    long.each(add)
    dot = long.whole.combine_sums(own[0], buffers[None, 0])

    def write(rows: Any, part: Any, _):
        grad, y = load(rows, part)
        rows.store(part(gOut[row, None]), thread, y * (grad - dot))

    long.each(write)


@cute.jit
def softmax(x: cute.Tensor, out: cute.Tensor, rows: cutlass.Constexpr):
    """Launch the kernel on matrices (M, rows.n); `rows` is `Rows` or `LongRows`."""
    kernel = _forward_long if cutlass.const_expr(isinstance(rows, LongRows)) else _forward
    kernel(rows.whole.matrix(x), rows.whole.matrix(out), rows).launch(
        **rows.whole.launch(x.shape[0])
    )


@cute.jit
def softmax_backward(grad: cute.Tensor, y: cute.Tensor, out: cute.Tensor, rows: cutlass.Constexpr):
    """Launch the kernel of the derivative on matrices (M, rows.n)."""
    kernel = _backward_long if cutlass.const_expr(isinstance(rows, LongRows)) else _backward
    kernel(*(rows.whole.matrix(t) for t in (grad, y, out)), rows).launch(
        **rows.whole.launch(y.shape[0])
    )
