# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix products in f32 with plain fma.

A block computes a tile of D; each thread keeps small squares of it in registers. Tiles of A and B
travel along k: asynchronously to shared memory, where their columns are contiguous, several stages
ahead; to registers, 128 bits at a time, one step of k ahead.

Floor: M N K fma over 128 per multiprocessor and cycle. Each step of k loads (m + n) / 4 vectors of
shared memory for m n fma of a thread, so that threads with 8x8 elements need one for 16.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute, utils
from opencute.kernels.gemm.parts import (
    Ring,
    as_matrices,
    block_of,
    combine,
    fill_stages,
    grid_of,
    operand_loads,
    spread_bias,
)
from opencute.kernels.gemm.share import Share, give, take

__all__ = ["SimtPlan", "sgemm", "sgemm_kernel", "shared_sgemm", "shared_sgemm_kernel"]


@dataclass(frozen=True)
class SimtPlan:
    """What is fixed when a product is compiled.

    Args:
        tile: rows, columns and depth of a block's tile.
        warps: warps along rows and along columns. The threads of a warp are 4 along rows and 8
            along columns; each has squares of 4x4 elements.
        interleaved: whether the first eight threads of a warp are two along rows and four along
            columns, rather than eight along columns.
        stages, group, k_major, vec, even, scaled, bias_axis, activation, pieces: as in
            `TensorCorePlan`.
    """

    tile: tuple[int, int, int]
    warps: tuple[int, int]
    stages: int
    group: int
    k_major: tuple[bool, bool]
    vec: tuple[int, int, int]
    even: bool
    scaled: bool = False
    bias_axis: int = 1
    activation: Callable[[Any], Any] | None = None
    interleaved: bool = True
    level: int = 3
    overlap: bool = False
    pieces: int = 0

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps[0] * self.warps[1]

    def smem_bytes(self) -> int:
        """Shared memory of a block."""
        return sum(4 * cute.cosize(self.operand_smem(i)) for i in (0, 1))

    def operand_smem(self, which: int) -> Any:
        """Shared memory (rows, k, stages), its columns contiguous.

        Where the elements come one by one along k, columns are four elements longer: the eight of
        a line then are in different banks.
        """
        rows, depth = self.tile[which], self.tile[2]
        line = rows + (4 if self.k_major[which] else 0)
        return cute.make_layout((rows, depth, self.stages), stride=(1, line, line * depth))

    def tiled_mma(self) -> Any:
        """Threads with squares of 4x4 elements."""
        m, n = self.warps
        if self.interleaved:
            rows, columns = ((2, 2), (1, 16)), (8, 2)
        else:
            rows, columns = (4, 8), (8, 1)
        atoms = cute.make_layout(
            ((rows[0], m), (columns[0], n), 1),
            stride=((rows[1], 32), (columns[1], 32 * m), 0),
        )
        return cute.make_tiled_mma(
            cute.nvgpu.MmaUniversalOp(cutlass.Float32), atoms,
            permutation_mnk=(
                cute.make_layout((4 * m, 4), stride=(4, 1)),
                cute.make_layout((8 * n, 4), stride=(4, 1)),
                None,
            ),
        )  # fmt: skip


@cute.kernel
def sgemm_kernel(
    mA: cute.Tensor,
    mB: cute.Tensor,
    mC: Any,
    mBias: Any,
    mR: Any,
    mD: cute.Tensor,
    alpha: cutlass.Float32,
    beta: cutlass.Float32,
    mma: cute.TiledMma,
    plan: cutlass.Constexpr[SimtPlan],
):
    """A block for each tile of D."""
    tid, _, _ = cute.arch.thread_idx()
    at = block_of(mD, plan.tile[:2], plan.group)
    rD = multiply(mA, mB, at, 0, 0, operands_smem(plan), mma, tid, plan, True)
    epilogue(rD, mC, mBias, mR, mD, alpha, beta, at, mma.get_slice(tid), plan)


@cute.kernel
def shared_sgemm_kernel(
    mA: cute.Tensor,
    mB: cute.Tensor,
    mC: Any,
    mBias: Any,
    mR: Any,
    mD: cute.Tensor,
    alpha: cutlass.Float32,
    beta: cutlass.Float32,
    mSums: cute.Tensor,
    mFlags: cute.Tensor,
    mma: cute.TiledMma,
    plan: cutlass.Constexpr[SimtPlan],
):
    """An equal part of all steps for each block."""
    tid, _, _ = cute.arch.thread_idx()
    memory = operands_smem(plan)
    share = Share(mA, mD, mSums, mFlags, plan)
    for i in range(share.items):
        tile, first, count = share.item(i)
        at = share.place(tile)
        cute.arch.sync_threads()  # nobody needs the shared memory of the part before
        rD = multiply(mA, mB, at, first, count, memory, mma, tid, plan, False)
        if first + count < share.k_tiles:
            give(share, rD, tid)
        else:
            take(share, rD, tile, first, tid)
            epilogue(rD, mC, mBias, mR, mD, alpha, beta, at, mma.get_slice(tid), plan)


def operands_smem(plan: SimtPlan) -> tuple[Any, Any]:
    """The shared memory of A and of B."""
    smem = utils.SmemAllocator()
    a, b = (smem.allocate_tensor(cutlass.Float32, plan.operand_smem(i), 128) for i in (0, 1))
    return a, b


@cute.jit
def multiply(
    mA: Any, mB: Any, at: Any, first: Any, count: Any, memory: Any, mma: Any, tid: Any,
    plan: cutlass.Constexpr[SimtPlan], whole: cutlass.Constexpr[bool],
):  # fmt: skip
    """The accumulators of a tile; arguments as in `sm80.multiply`."""
    sA, sB = memory
    loads, k_tiles = operand_loads((mA, mB), at, memory, cutlass.Float32, tid, plan)
    if cutlass.const_expr(whole):
        count = k_tiles
    fill_stages(loads, first, count, plan.stages, whole)

    thr_mma = mma.get_slice(tid)
    from_A, from_B = thr_mma.partition_A(sA), thr_mma.partition_B(sB)
    rA = mma.make_fragment_A(from_A[None, None, None, 0])
    rB = mma.make_fragment_B(from_B[None, None, None, 0])
    rD = mma.make_fragment_C(mma.partition_shape_C(plan.tile[:2]))
    rD.fill(0.0)

    ring = Ring(plan.stages)
    ring.wait()
    read_step(from_A, from_B, rA, rB, 0, 0)
    steps = cute.size(rA, mode=[2])
    for k_tile in range(count):
        (copies,) = ring.pieces(loads, first, k_tile, count, whole, apart=False)
        for step in cutlass.range_constexpr(steps):
            if cutlass.const_expr(step == steps - 1):
                ring.turn(commit=False)
            read_step(from_A, from_B, rA, rB, (step + 1) % steps, ring.stage)
            if cutlass.const_expr(step == 0):
                copies()
            cute.gemm(mma, rD, rA[None, None, step], rB[None, None, step], rD)
    cute.arch.cp_async_wait_group(0)
    return rD


def read_step(from_A: Any, from_B: Any, rA: Any, rB: Any, step: int, stage: Any) -> None:
    """Read a thread's parts of a step of k from shared memory."""
    cute.autovec_copy(from_A[None, None, step, stage], rA[None, None, step])
    cute.autovec_copy(from_B[None, None, step, stage], rB[None, None, step])


@cute.jit
def epilogue(
    rD: Any, mC: Any, mBias: Any, mR: Any, mD: Any, alpha: Any, beta: Any, at: Any, thr_mma: Any,
    plan: cutlass.Constexpr[SimtPlan],
):  # fmt: skip
    """D = activation(alpha acc + beta C + bias) + R, of one tile."""
    bm, bn, _ = at
    tile = plan.tile[:2]
    extents = (mD.shape[0], mD.shape[1])
    coords = thr_mma.partition_C(
        cute.local_tile(cute.make_identity_tensor(extents), tile, (bm, bn))
    )
    out = mD.element_type
    gD = tile_part(mD, at, thr_mma, plan)
    gC = None if cutlass.const_expr(mC is None) else tile_part(mC, at, thr_mma, plan)
    gR = None if cutlass.const_expr(mR is None) else tile_part(mR, at, thr_mma, plan)
    for i in cutlass.range_constexpr(cute.size(rD, mode=[1])):  # few registers besides rD
        acc = rD[None, i, None]
        c = r = bias = None
        if cutlass.const_expr(mC is not None):
            c = read_row(gC, coords, extents, i, plan)
        if cutlass.const_expr(mR is not None):
            r = read_row(gR, coords, extents, i, plan)
        if cutlass.const_expr(mBias is not None):
            bias = spread_bias(mBias, coords, acc, i, plan.bias_axis, plan.even)
        done = cute.make_rmem_tensor(acc.layout, out)
        done.store(combine(acc.load(), plan, alpha, c, beta, bias, r).to(out))
        move_row(done, gD[None, i, None], coords, extents, i, plan)


def tile_part(m: Any, at: Any, thr_mma: Any, plan: SimtPlan) -> Any:
    """A thread's part of a tile of a matrix."""
    bm, bn, batch = at
    return thr_mma.partition_C(cute.local_tile(m[None, None, batch], plan.tile[:2], (bm, bn)))


def read_row(g: Any, coords: Any, extents: Any, i: int, plan: SimtPlan) -> Any:
    """What a thread has in one row of another matrix."""
    row = g[None, i, None]
    held = cute.make_rmem_tensor(cute.make_layout(row.shape), g.element_type)
    if not plan.even:
        held.fill(0.0)
    move_row(row, held, coords, extents, i, plan)
    return held.load().to(cutlass.Float32)


@cute.jit
def move_row(
    source: Any, target: Any, coords: Any, extents: Any, i: cutlass.Constexpr[int],
    plan: cutlass.Constexpr[SimtPlan],
):  # fmt: skip
    """Copy a thread's part of a row: vectors of four columns, or of fewer at odd extents."""
    if cutlass.const_expr(plan.even):
        cute.autovec_copy(source, target)
    else:
        for j in cutlass.range_constexpr(0, cute.size(coords, mode=[2]), plan.vec[2]):
            if cute.elem_less(coords[0, i, j], extents):
                move(source, target, j, plan.vec[2])


def move(source: Any, target: Any, j: int, vec: int) -> None:
    """Copy `vec` elements of neighbouring columns."""
    parts = []
    for t in (source, target):
        # Columns j, j + 1, ... of a square are neighbours wherever the square lies.
        at = cute.crd2idx((0, j), t.layout)
        step = cute.crd2idx((0, 1), t.layout)
        parts.append(cute.make_tensor(t.iterator + at, cute.make_layout(vec, stride=step)))
    cute.autovec_copy(*parts)


@cute.jit
def sgemm(
    a: cute.Tensor,
    b: cute.Tensor,
    c: Any,
    bias: Any,
    residual: Any,
    d: cute.Tensor,
    alpha: cutlass.Float32,
    beta: cutlass.Float32,
    plan: cutlass.Constexpr[SimtPlan],
):
    """Launch the kernel; arguments as for `tensor_core_gemm`, all of f32."""
    mA, mB, mC, mR, mD = as_matrices(a, b, c, residual, d, plan)
    sgemm_kernel(mA, mB, mC, bias, mR, mD, alpha, beta, plan.tiled_mma(), plan).launch(
        grid=grid_of(mD, plan.tile[:2]), block=[plan.threads, 1, 1], opt_level=plan.level
    )


@cute.jit
def shared_sgemm(
    a: cute.Tensor,
    b: cute.Tensor,
    c: Any,
    bias: Any,
    residual: Any,
    d: cute.Tensor,
    alpha: cutlass.Float32,
    beta: cutlass.Float32,
    sums: cute.Tensor,
    flags: cute.Tensor,
    plan: cutlass.Constexpr[SimtPlan],
):
    """Launch the kernel with blocks that share all steps, as `shared_tensor_core_gemm`."""
    mA, mB, mC, mR, mD = as_matrices(a, b, c, residual, d, plan)
    shared_sgemm_kernel(
        mA, mB, mC, bias, mR, mD, alpha, beta, sums, flags, plan.tiled_mma(), plan
    ).launch(grid=[flags.shape[0], 1, 1], block=[plan.threads, 1, 1], opt_level=plan.level)
