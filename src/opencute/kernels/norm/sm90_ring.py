# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Norms of long rows by clusters that stay: their blocks keep weight and bias of their part.

Block r of each cluster has the r-th part of every row that the cluster takes. Bulk copies bring the
parts of the rows to come into a ring in shared memory while sums of this one are taken; the warps
of the cluster tell them to each other through `Exchange`, so that no barrier of a block or of the
cluster is met, and blocks of a multiprocessor are at different places.

Floor: as for `sm80`. Blocks that take one row each read weight and bias of their part again from
the L2 cache, three times as many bytes as those of `x` in all: 2048 rows of 65536 took 242 us, of
which 126 us are the floor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.norm.parts import both, matrix_of, vector_of
from opencute.lib.hopper.exchange import Exchange
from opencute.lib.rows import Rows
from opencute.lib.smem_allocator import SmemAllocator

__all__ = ["Ring", "RingPlan", "begin", "ring_norm"]

cpasync = cute.nvgpu.cpasync


@dataclass(frozen=True)
class RingPlan:
    """What is fixed when the kernel is compiled.

    Args:
        rows: how a block's threads share its part of a row.
        blocks: of a cluster.
        stages: parts of rows that are on their way, or there.
        beside: blocks of a multiprocessor.
        centred: LayerNorm rather than RMSNorm.
        policy: of the L2 cache, for rows.
    """

    rows: Rows
    blocks: int
    stages: int
    beside: int
    centred: bool
    policy: str | None = None

    @property
    def n(self) -> int:
        """Elements of a row."""
        return self.rows.n * self.blocks

    def keeps(self, *vectors: Any) -> bool:
        """Whether there are registers for weight and bias, from row to row."""
        rows, bits = self.rows, sum(t.element_type.width for t in vectors if t is not None)
        registers = min(65536 // (rows.threads * self.beside), 255)
        return rows.reps * rows.vec * (32 + bits) // 32 + 16 <= registers

    def elements_of(self, warp: Any) -> Any:
        """How many elements of a part a warp has."""
        rows = self.rows
        whole, rest = divmod(rows.n, rows.threads * rows.vec)
        own = 32 * rows.vec
        last = cutlass.min(cutlass.max(rest - warp * own, 0), own) if rest else 0
        return whole * own + last


class Ring:
    """Bulk copies of parts of rows into shared memory.

    Args:
        tensors: (rows, parts, n) in memory.
        rank: which part.
        plan: the plan.
    """

    def __init__(self, tensors: tuple[Any, ...], rank: Any, plan: RingPlan) -> None:
        memory, n, stages = SmemAllocator(), plan.rows.n, plan.stages
        self.plan = plan
        layout = cute.make_layout((n, stages))
        self.sources = [t[None, rank, None] for t in tensors]
        self.places = [memory.allocate_tensor(t.element_type, layout, 128) for t in tensors]
        self.bars = memory.allocate_array(cutlass.Int64, stages, 8)

    def start(self, row: Any, stage: Any) -> None:
        """Start the copies of a row's parts; for one thread."""
        bar = self.bars + stage
        size = sum(self.plan.rows.n * t.element_type.width // 8 for t in self.places)
        cute.arch.mbarrier_arrive_and_expect_tx(bar, size)
        for source, place in zip(self.sources, self.places, strict=True):
            atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), place.element_type)
            cute.copy(
                atom, source[row, None], place[None, stage], mbar_ptr=bar,
                cache_policy=self.plan.policy,
            )  # fmt: skip

    def part(self, which: int, stage: Any) -> Any:
        """A part that has come."""
        return self.places[which][None, stage]


@cute.jit
def begin(
    ring: cutlass.Constexpr[Ring], exchange: cutlass.Constexpr[Exchange], thread: Any, first: Any,
    step: Any, count: Any,
):  # fmt: skip
    """Make the barriers, start the first copies, and meet the cluster.

    Args:
        first, step, count: rows of the cluster.
    """
    if thread == 0:
        for i in cutlass.range_constexpr(ring.plan.stages):
            cute.arch.mbarrier_init(ring.bars + i, 1)
        exchange.begin()
        cute.arch.mbarrier_init_fence()
        for i in cutlass.range_constexpr(ring.plan.stages):
            if first + i * step < count:
                ring.start(first + i * step, i)
    cute.arch.cluster_arrive_relaxed()
    cute.arch.cluster_wait()


@cute.kernel
def _norm(
    gX: cute.Tensor,
    gR: Any,
    gW: Any,
    gB: Any,
    gSum: Any,
    gOut: cute.Tensor,
    eps: cutlass.Float32,
    plan: cutlass.Constexpr[RingPlan],
):
    rows = plan.rows
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    rank, first = block % plan.blocks, block // plan.blocks
    step = cute.arch.grid_dim()[0] // plan.blocks
    count = gX.shape[0]
    given = (gX,) if cutlass.const_expr(gR is None) else (gX, gR)
    ring = Ring(given, rank, plan)
    exchange = Exchange(rows.warps, plan.blocks, 2 if plan.centred else 1)
    begin(ring, exchange, thread, first, step, count)
    kept = cutlass.const_expr(plan.keeps(gW, gB))
    vectors: Any = (None, None)
    if cutlass.const_expr(kept):
        vectors = both(gW, gB, rows, rank, thread)
    stage = cutlass.Int32(0)
    phase = cutlass.Int32(0)
    turn = cutlass.Int32(0)
    for row in range(first, count, step):
        cute.arch.mbarrier_wait(ring.bars + stage, phase)
        held = rows.load_raw(ring.part(0, stage), thread, 0.0)
        x = held.load().to(cutlass.Float32)
        if cutlass.const_expr(gR is not None):
            x = x + rows.load(ring.part(1, stage), thread, 0.0)
        if cutlass.const_expr(gSum is not None):
            rows.store(gSum[row, rank, None], thread, x)
        exchange.tell(turn, own_sums(x, thread, plan), rank, thread)
        told = exchange.wait(turn)
        # All warps of the block have told theirs, after they had read their parts.
        if thread == 0:
            if row + plan.stages * step < count:
                ring.start(row + plan.stages * step, stage)
        mean, scale = statistics(told, eps, plan)
        if cutlass.const_expr(gR is None):
            x = held.load().to(cutlass.Float32)
        weight, bias = vectors
        if cutlass.const_expr(not kept):
            weight, bias = both(gW, gB, rows, rank, thread)
        y = (x - mean) * scale if cutlass.const_expr(plan.centred) else x * scale
        if cutlass.const_expr(weight is not None):
            y = y * weight.load().to(cutlass.Float32)
        if cutlass.const_expr(bias is not None):
            y = y + bias.load().to(cutlass.Float32)
        rows.store(gOut[row, rank, None], thread, y)
        turn += 1
        stage += 1
        if stage == plan.stages:
            stage = 0
            phase = phase ^ 1


def _add(a: Any, b: Any) -> Any:
    return a + b


def own_sums(x: Any, thread: Any, plan: RingPlan) -> tuple[Any, ...]:
    """What a warp tells of its elements: the sum, and that of squares, relative to its own mean if
    a mean is taken, so that nothing cancels."""
    rows = plan.rows
    if not plan.centred:
        return (cute.arch.warp_reduction(rows.own_sum(x * x), _add),)
    total = cute.arch.warp_reduction(rows.own_sum(x), _add)
    many = cutlass.Float32(cutlass.max(plan.elements_of(cute.arch.warp_idx()), 1))
    apart = rows.inside(x - total / many, thread, 0.0)
    return total, cute.arch.warp_reduction(rows.own_sum(apart * apart), _add)


def statistics(told: Any, eps: Any, plan: RingPlan) -> tuple[Any, Any]:
    """Mean and what to multiply with, of the sums of all warps."""
    lane, n = cute.arch.lane_idx(), float(plan.n)
    mean = cutlass.Float32(0.0)
    squares = cutlass.Float32(0.0)
    if not plan.centred:
        for j in range(told.shape[1]):
            squares = squares + told[0, j]
    else:
        for j in range(told.shape[1]):
            mean = mean + told[0, j]
        mean = cute.arch.warp_reduction(mean, _add) / n
        places = plan.rows.warps * plan.blocks
        for j in range(told.shape[1]):
            place = lane + 32 * j
            many = plan.elements_of(place // plan.blocks)
            many = cutlass.Float32(cute.where(place < places, many, 0))
            away = told[0, j] / cute.arch.fmax(many, 1.0) - mean
            squares = squares + told[1, j] + away * away * many
    squares = cute.arch.warp_reduction(squares, _add)
    return mean, cute.math.rsqrt(squares / n + eps)


@cute.jit
def ring_norm(
    x: cute.Tensor,
    residual: Any,
    weight: Any,
    bias: Any,
    total: Any,
    out: cute.Tensor,
    eps: cutlass.Float32,
    clusters: cutlass.Int32,
    plan: cutlass.Constexpr[RingPlan],
):
    """Launch the kernel: as `sm80.norm`, by so many clusters.

    Rows of `x` and `residual`, and parts of them, start at multiples of 16 bytes.
    """
    rows, blocks = plan.rows, plan.blocks
    _norm(
        *(matrix_of(t, rows, blocks) for t in (x, residual)),
        *(vector_of(t, rows, blocks) for t in (weight, bias)),
        *(matrix_of(t, rows, blocks) for t in (total, out)), eps, plan,
    ).launch(
        grid=[clusters * blocks, 1, 1], block=[rows.threads, 1, 1], cluster=[blocks, 1, 1],
        min_blocks_per_mp=plan.beside,
    )  # fmt: skip
