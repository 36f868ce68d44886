# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of a matrix and a vector, for every processor: each row is read once, in vectors.

A thread has several loads on its way before it multiplies, and a multiprocessor many threads; the
vector comes from the cache.

Floor: bytes of the matrix over the bandwidth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.kernels.checked import typed_fields
from opencute.kernels.functions import applied
from opencute.lib.rows import group_reduce
from opencute.lib.smem_allocator import SmemAllocator

__all__ = ["GemvConfig", "GemvPlan", "gemv", "gemv_heuristic", "gemv_search_space"]

_LANES = 32


@dataclass(frozen=True)
class GemvConfig:
    """Choices of a product with a vector.

    Args:
        row: threads of a row: 32, or a multiple of it that divides those of a block.
        threads: of a block.
        loads: vectors of the matrix that a thread has on its way.
    """

    row: int = 32
    threads: int = 256
    loads: int = 8

    def check(self) -> GemvConfig:
        """The configuration itself, if it is possible.

        Raises:
            ArgumentError: it is not.
        """
        typed_fields(self, "OC2536")
        good = self.row % _LANES == 0 and self.row > 0 and 1 <= self.loads <= 32
        if not good or self.threads % self.row or not 0 < self.threads <= 1024:
            raise ArgumentError(
                "these threads cannot share rows", code="OC2536", found=self,
                expected="warps of a row, rows of a block of at most 1024 threads, 1 to 32 loads",
            )  # fmt: skip
        return self


def gemv_heuristic(rows: int, k: int, vec: int, batch: int) -> GemvConfig:
    """A good choice: a warp for each row where there are rows enough for all threads."""
    row, vectors = _LANES, -(-k // vec)
    while row < 256 and rows * batch * row < 132 * 1024 and vectors >= row * 4:
        row *= 2
    return GemvConfig(row, 256, max(min(8, vectors // row), 1))


def gemv_search_space() -> Iterator[GemvConfig]:
    """Choices worth trying."""
    for threads in (128, 256, 512):
        for row in (32, 64, 128, 256):
            for loads in (2, 4, 8, 16):
                if threads % row == 0:
                    yield GemvConfig(row, threads, loads)


@dataclass(frozen=True)
class GemvPlan:
    """What is fixed when the product is compiled.

    Args:
        config: the choices.
        vec: elements that are moved at once.
        scaled: whether sums are multiplied with a number.
        one_bias: whether one number is added to all results rather than one to each.
        activation: a function on Float32, or None.
    """

    config: GemvConfig
    vec: int
    scaled: bool
    one_bias: bool
    activation: Callable[[Any], Any] | None


@cute.kernel
def _gemv(
    gM: cute.Tensor,
    gX: cute.Tensor,
    gC: Any,
    gBias: Any,
    gR: Any,
    gOut: cute.Tensor,
    alpha: cutlass.Float32,
    beta: cutlass.Float32,
    plan: cutlass.Constexpr[GemvPlan],
):
    """Block (rows, 1, matrix)."""
    config = plan.config
    tid, _, _ = cute.arch.thread_idx()
    block, _, batch = cute.arch.block_idx()
    lane = tid % config.row
    at = block * (config.threads // config.row) + tid // config.row
    rows, k = gM.shape[1], gM.shape[2]
    row = cutlass.min(at, rows - 1)  # so that all meet
    total = dot(gM[batch, row, None].iterator, gX[batch, None].iterator, k, lane, plan)
    buffer = SmemAllocator().allocate_tensor(
        cutlass.Float32, cute.make_layout(config.threads // _LANES), byte_alignment=16
    )
    total = group_reduce(total, lambda a, b: a + b, buffer, threads=config.row, start=0.0)
    if lane == 0 and at < rows:
        x = total
        if cutlass.const_expr(plan.scaled):
            x = x * alpha
        if cutlass.const_expr(gC is not None):
            x = x + gC[batch, row].to(cutlass.Float32) * beta
        if cutlass.const_expr(gBias is not None):
            x = x + gBias[0 if plan.one_bias else row].to(cutlass.Float32)
        if cutlass.const_expr(plan.activation is not None):
            x = activated(plan.activation, x)
        if cutlass.const_expr(gR is not None):
            x = x + gR[batch, row].to(cutlass.Float32)
        gOut[batch, row] = x.to(gOut.element_type)


def activated(function: Any, x: Any) -> Any:
    """A function on vectors, of a number."""
    held = cute.make_rmem_tensor((1,), cutlass.Float32)
    held[0] = x
    held.store(applied("the function on the sums", function, held.load()))
    return held[0]


@cute.jit
def dot(row: Any, vector: Any, k: Any, lane: Any, plan: cutlass.Constexpr[GemvPlan]) -> Any:
    """A thread's part of the product of a row with the vector."""
    loads, step = plan.config.loads, plan.config.row * plan.vec
    sums = cute.make_rmem_tensor((plan.vec,), cutlass.Float32)
    sums.fill(0.0)
    whole = k // (step * loads)
    for turn in cutlass.range(whole, unroll=1):
        first = turn * (step * loads) + lane * plan.vec
        add_products(sums, (row, vector), first, k, loads, True, plan)
    for turn in cutlass.range(whole * loads, cute.ceil_div(k, step), unroll=1):
        add_products(sums, (row, vector), turn * step + lane * plan.vec, k, 1, False, plan)
    return sums.load().reduce(cute.ReductionOp.ADD, 0.0, 0)


@cute.jit
def add_products(
    sums: Any, sources: Any, first: Any, k: Any, loads: cutlass.Constexpr[int],
    whole: cutlass.Constexpr[bool], plan: cutlass.Constexpr[GemvPlan],
):  # fmt: skip
    """Load some vectors of the row and of the vector, then multiply.

    Args:
        first: the first element.
        whole: whether all of them are there.
    """
    vec, step = plan.vec, plan.config.row * plan.vec
    held = [cute.make_rmem_tensor((vec, loads), source.dtype) for source in sources]
    align = vec * sources[0].dtype.width // 8
    for source, into in zip(sources, held, strict=True):
        if cutlass.const_expr(not whole):
            into.fill(0)
        for i in cutlass.range_constexpr(loads):
            at = first + i * step
            if cutlass.const_expr(whole) or at < k:
                here = cute.make_tensor((source + at).align(align), cute.make_layout(vec))
                cute.autovec_copy(here, into[None, i])
    for i in cutlass.range_constexpr(loads):
        wide = [into[None, i].load().to(cutlass.Float32) for into in held]
        sums.store(sums.load() + wide[0] * wide[1])


@cute.jit
def gemv(
    matrix: cute.Tensor,
    vector: cute.Tensor,
    c: Any,
    bias: Any,
    residual: Any,
    out: cute.Tensor,
    alpha: cutlass.Float32,
    beta: cutlass.Float32,
    plan: cutlass.Constexpr[GemvPlan],
):
    """Launch the kernel.

    Args:
        matrix: (batch, rows, k), contiguous along k.
        vector: (batch, k), contiguous.
        c, residual, out: (batch, rows); c and residual may be None.
        bias: (rows,) or (1,), or None.
    """
    batch, rows, _ = matrix.shape
    each = plan.config.threads // plan.config.row
    _gemv(matrix, vector, c, bias, residual, out, alpha, beta, plan).launch(
        grid=[cute.ceil_div(rows, each), 1, batch], block=[plan.config.threads, 1, 1]
    )
