# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The derivatives of norms of long rows by clusters that stay.

As in `sm90_ring`, block r of a cluster has the r-th part of every row that the cluster takes; its
part of the sums over rows, which are the gradients of weight and bias, stays in registers. The
formulas are those of `sm80_backward`; a warp tells sums relative to its own mean, from which those
relative to the row's follow.

A block has a multiprocessor for itself, since those sums take so many registers. So that it need
not wait for the others, its warps tell the sums of the next row before they finish this one, which
they read again from shared memory: of the parts there, two are in use and one is done with.

Floor: bytes of `x`, `grad` and the result over the bandwidth. 22 instructions for an element of
f16 take 0.8 us for a part of 8192, whose 48 KB take 1.5 us.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.norm.parts import matrix_of, vector_of
from opencute.kernels.norm.sm90_ring import Ring, RingPlan, begin
from opencute.lib.hopper.exchange import Exchange

__all__ = ["ring_backward"]

_SETS = 4  # of numbers: those of a row are told before the row before is waited for


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
    plan: cutlass.Constexpr[RingPlan],
):
    rows = plan.rows
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    rank, first = block % plan.blocks, block // plan.blocks
    step = cute.arch.grid_dim()[0] // plan.blocks
    count = gX.shape[0]
    given = (gX, gGrad) if cutlass.const_expr(gAdd is None) else (gX, gGrad, gAdd)
    ring = Ring(given, rank, plan)
    exchange = Exchange(rows.warps, plan.blocks, 4 if plan.centred else 2, _SETS)
    begin(ring, exchange, thread, first, step, count)
    weight: Any = None if gW is None else rows.load_raw(gW[rank, None], thread, 0.0)
    dw = cute.make_rmem_tensor((rows.vec, rows.reps), cutlass.Float32)
    db = cute.make_rmem_tensor((rows.vec, rows.reps), cutlass.Float32)
    dw.fill(0.0)
    db.fill(0.0)
    tell(ring, exchange, weight, cutlass.Int32(0), rank, thread)
    turn = cutlass.Int32(0)
    for row in range(first, count, step):
        if row + step < count:
            tell(ring, exchange, weight, turn + 1, rank, thread)
        told = exchange.wait(turn)
        # All warps have told sums of this row, after they had finished the one before the last.
        if thread == 0:
            ahead = row + (plan.stages - 2) * step
            if (turn >= 2) & (ahead < count):
                ring.start(ahead, (turn + plan.stages - 2) % plan.stages)
        mean, scale, mean_g, slope = statistics(told, eps, plan)
        x, grad = load(ring, turn % plan.stages, thread)
        h = (x - mean) * scale if cutlass.const_expr(plan.centred) else x * scale
        g = grad
        if cutlass.const_expr(weight is not None):
            g = grad * weight.load().to(cutlass.Float32)
        if cutlass.const_expr(plan.centred):
            g = g - mean_g
        dx = (g - h * slope) * scale
        if cutlass.const_expr(gAdd is not None):
            dx = dx + rows.load(ring.part(2, turn % plan.stages), thread, 0.0)
        rows.store(gDx[row, rank, None], thread, dx)
        if cutlass.const_expr(gDw is not None):
            dw.store(dw.load() + grad * h)
        if cutlass.const_expr(gDb is not None):
            db.store(db.load() + grad)
        turn += 1
    if cutlass.const_expr(gDw is not None):
        rows.store(gDw[first, rank, None], thread, dw.load())
    if cutlass.const_expr(gDb is not None):
        rows.store(gDb[first, rank, None], thread, db.load())


def load(ring: Ring, stage: Any, thread: Any) -> tuple[Any, Any]:
    """A thread's elements of `x` and of the gradient."""
    rows = ring.plan.rows
    x, grad = (rows.load(ring.part(i, stage), thread, 0.0) for i in (0, 1))
    return x, grad


def _add(a: Any, b: Any) -> Any:
    return a + b


def _all(*values: Any) -> tuple[Any, ...]:
    return tuple(cute.arch.warp_reduction(v, _add) for v in values)


def tell(ring: Ring, exchange: Exchange, weight: Any, turn: Any, rank: Any, thread: Any) -> None:
    """Wait for the parts of a row, and tell a warp's sums of it.

    They are those of squares and of products with gradients, relative to the warp's own mean if a
    mean is taken; then also those of elements and of gradients.
    """
    plan, rows = ring.plan, ring.plan.rows
    stage = turn % plan.stages
    cute.arch.mbarrier_wait(ring.bars + stage, turn // plan.stages % 2)
    x, g = load(ring, stage, thread)
    if weight is not None:
        g = g * weight.load().to(cutlass.Float32)
    if not plan.centred:
        told = _all(rows.own_sum(x * x), rows.own_sum(g * x))
    else:
        total, total_g = _all(rows.own_sum(x), rows.own_sum(g))
        many = cutlass.Float32(cutlass.max(plan.elements_of(cute.arch.warp_idx()), 1))
        apart = rows.inside(x - total / many, thread, 0.0)
        told = (*_all(rows.own_sum(apart * apart), rows.own_sum(g * apart)), total, total_g)
    exchange.tell(turn, told, rank, thread)


def statistics(told: Any, eps: Any, plan: RingPlan) -> tuple[Any, Any, Any, Any]:
    """Of the sums of all warps: the mean, what to multiply with, the mean of gradients, and the
    share of a normalised row in them."""
    lane, n = cute.arch.lane_idx(), float(plan.n)
    zero = cutlass.Float32(0.0)
    mean, squares, dot, total_g = zero, zero, zero, zero
    many = told.shape[1]
    if plan.centred:
        for j in range(many):
            mean = mean + told[2, j]
            total_g = total_g + told[3, j]
        mean, total_g = _all(mean, total_g)
        mean = mean / n
    for j in range(many):
        squares = squares + told[0, j]
        dot = dot + told[1, j]
        if plan.centred:
            place = lane + 32 * j
            own = plan.elements_of(place // plan.blocks)
            own = cutlass.Float32(cute.where(place < plan.rows.warps * plan.blocks, own, 0))
            away = told[2, j] / cute.arch.fmax(own, 1.0) - mean
            squares = squares + away * away * own
            dot = dot + away * told[3, j]
    squares, dot = _all(squares, dot)
    scale = cute.math.rsqrt(squares / n + eps)
    return mean, scale, total_g / n, dot * scale / n


@cute.jit
def ring_backward(
    grad: cute.Tensor,
    x: cute.Tensor,
    weight: Any,
    prenorm_grad: Any,
    dx: cute.Tensor,
    dw: Any,
    db: Any,
    eps: cutlass.Float32,
    clusters: cutlass.Int32,
    plan: cutlass.Constexpr[RingPlan],
):
    """Launch the kernel: as `sm80_backward.norm_backward`, by so many clusters.

    Args:
        dw, db: sums over the rows of a cluster, matrices (clusters, n) of f32, or None.
        clusters: no more than there are rows.
        plan: the plan; at least four stages, or a row would be waited for before it is asked for.

    Rows of `x`, `grad` and `prenorm_grad`, and parts of them, start at multiples of 16 bytes.
    """
    rows, blocks = plan.rows, plan.blocks
    _backward(
        *(matrix_of(t, rows, blocks) for t in (grad, x)), vector_of(weight, rows, blocks),
        *(matrix_of(t, rows, blocks) for t in (prenorm_grad, dx, dw, db)), eps, plan,
    ).launch(
        grid=[clusters * blocks, 1, 1], block=[rows.threads, 1, 1],
        cluster=[blocks, 1, 1], min_blocks_per_mp=plan.beside,
    )  # fmt: skip
