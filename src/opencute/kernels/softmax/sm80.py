# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Softmax: a row is read once, kept in registers, and written once.

Floor: bytes of argument and result over the bandwidth.
"""

from __future__ import annotations

import math

import opencute as cutlass
from opencute import cute
from opencute.lib.rows import Rows

__all__ = ["softmax", "softmax_backward"]

LOG2_E = math.log2(math.e)


@cute.kernel
def _forward(gX: cute.Tensor, gOut: cute.Tensor, rows: cutlass.Constexpr[Rows]):
    thread, row, inside, buffers = rows.place(gX)
    x = rows.load(gX[row, None], thread, -cutlass.Float32.inf)
    # 2 ** (x * log2(e) - m) is one fma and one instruction for each element.
    m = rows.max(x, buffers[None, 0]) * LOG2_E
    e = cute.math.exp2(x * LOG2_E - m, fastmath=True)
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


@cute.jit
def softmax(x: cute.Tensor, out: cute.Tensor, rows: cutlass.Constexpr[Rows]):
    """Launch the kernel on matrices (M, rows.n)."""
    _forward(rows.matrix(x), rows.matrix(out), rows).launch(
        grid=[cute.ceil_div(x.shape[0], rows.groups), 1, 1], block=[rows.threads, rows.groups, 1]
    )


@cute.jit
def softmax_backward(
    grad: cute.Tensor, y: cute.Tensor, out: cute.Tensor, rows: cutlass.Constexpr[Rows]
):
    """Launch the kernel of the derivative on matrices (M, rows.n)."""
    _backward(rows.matrix(grad), rows.matrix(y), rows.matrix(out), rows).launch(
        grid=[cute.ceil_div(y.shape[0], rows.groups), 1, 1], block=[rows.threads, rows.groups, 1]
    )
