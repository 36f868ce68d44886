# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Norms: a row is read once, kept in registers, and written once.

Floor: bytes of `x` and of the result over the bandwidth; weights stay in the cache.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.lib.rows import Rows

__all__ = ["norm", "norm_kernel"]


@cute.kernel
def norm_kernel(
    gX: cute.Tensor,
    gW: Any,
    gB: Any,
    gOut: cute.Tensor,
    eps: cutlass.Float32,
    rows: cutlass.Constexpr[Rows],
    centred: cutlass.Constexpr[bool],
):
    thread, row, inside, buffers = rows.place(gX)
    x = rows.load(gX[row, None], thread, 0.0)
    if cutlass.const_expr(gW is not None):
        weight = rows.load_raw(gW, thread, 0.0)  # on its way while the sums are taken
    if cutlass.const_expr(gB is not None):
        bias = rows.load_raw(gB, thread, 0.0)

    if cutlass.const_expr(centred):
        x = rows.inside(x - rows.sum(x, buffers[None, 0]) / rows.n, thread, 0.0)
    scale = cute.math.rsqrt(rows.sum(x * x, buffers[None, 1]) / rows.n + eps)
    y = x * scale
    if cutlass.const_expr(gW is not None):
        y = y * weight.load().to(cutlass.Float32)
    if cutlass.const_expr(gB is not None):
        y = y + bias.load().to(cutlass.Float32)
    if inside:
        rows.store(gOut[row, None], thread, y)


@cute.jit
def norm(
    x: cute.Tensor,
    weight: Any,
    bias: Any,
    out: cute.Tensor,
    eps: cutlass.Float32,
    rows: cutlass.Constexpr[Rows],
    centred: cutlass.Constexpr[bool],
):
    """Launch the kernel on matrices (M, rows.n).

    Args:
        weight, bias: (rows.n,), or None.
        centred: LayerNorm rather than RMSNorm.
    """
    gX, gOut = rows.matrix(x), rows.matrix(out)
    gW, gB = rows.vector(weight), rows.vector(bias)
    norm_kernel(gX, gW, gB, gOut, eps, rows, centred).launch(
        grid=[cute.ceil_div(x.shape[0], rows.groups), 1, 1], block=[rows.threads, rows.groups, 1]
    )
