# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix products on tensor cores with `mma.sync`: sm_80 and everything after it.

A block computes a tile of D. Tiles of A and B travel along k: asynchronously from global to
swizzled shared memory, several stages ahead; with ldmatrix to registers, one step of k ahead; then
through the tensor cores into accumulators that stay in registers. The epilogue works on the
accumulators and goes to D through shared memory, in vectors of 128 bits.

Floor: 2 M N K operations over what `mma.sync` reaches in a loop on registers (`ceiling.py`).
Shared memory has to follow: a warp's tile of 64x64 reads 2 bytes for 16 fma.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute, utils
from opencute.kernels.gemm.parts import (
    Ring,
    Walk,
    as_matrices,
    block_of,
    combine,
    copy_atom,
    copy_where,
    fill_stages,
    gmem_copy,
    grid_of,
    operand_loads,
    row_inside,
    spread_bias,
    tile_at,
)
from opencute.kernels.gemm.share import Share, give, take
from opencute.kernels.gemm.sm80_order import Event, Order

__all__ = [
    "TensorCorePlan", "gemm_kernel", "shared_gemm_kernel", "shared_tensor_core_gemm",
    "tensor_core_gemm",
]  # fmt: skip

warp = cute.nvgpu.warp


@dataclass(frozen=True)
class TensorCorePlan:
    """What is fixed when a product is compiled.

    Args:
        dtype: type of the elements of A and B: Float16, BFloat16, TFloat32 (f32 in memory), Int8.
        tile: rows, columns and depth of a block's tile.
        warps: warps along rows and along columns.
        stages: tiles of A and B in shared memory.
        group: tiles that neighbouring blocks go down before they go to the next column.
        k_major: whether neighbours in memory of A, and of B, are neighbours along k. Without that,
            Int8 is read byte by byte.
        vec: elements of A, of B and of D that are moved at once.
        even: whether the tiles cover the matrices exactly.
        scaled: whether the product is multiplied with alpha.
        bias_axis: 1 where the bias belongs to columns of D, 0 where to rows.
        activation: a function on vectors of Float32, or None.
        rounded: TFloat32 only: whether f32 is rounded to nearest rather than cut off.
        pieces: as in `GemmConfig`.
    """

    dtype: Any
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
    rounded: bool = True
    ahead: int = 0
    gap: int = 0
    turning: bool = True
    together: int = 1
    level: int = 3
    overlap: bool = False
    pieces: int = 0

    @property
    def walks(self) -> bool:
        """Whether a thread holds one address of an operand, and goes from copy to copy, rather than
        one for each: fewer registers wait for copies to read them."""
        return self.ahead > 0 and self.even

    def order(self, rD: Any, rA: Any, copies: int) -> Order:
        """What a warp does with a tile, in order."""
        m, n, steps = (cute.size(t, mode=[i]) for t, i in ((rD, 1), (rD, 2), (rA, 2)))
        return Order(
            m, n, steps, copies, self.ahead, self.gap, self.turning, self.together
        )  # fmt: skip

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps[0] * self.warps[1]

    @property
    def acc(self) -> Any:
        """Type of the accumulators."""
        return cutlass.Int32 if self.dtype is cutlass.Int8 else cutlass.Float32

    def operand_bytes(self, which: int) -> int:
        """Shared memory of an operand: 0 is A, 1 is B."""
        return self.tile[which] * self.tile[2] * self.stages * self.dtype.width // 8

    def smem_bytes(self, out: Any) -> int:
        """Shared memory of a block, whose results have type `out`."""
        d = self.tile[0] * self.tile[1] * out.width // 8
        return max(self.operand_bytes(0) + self.operand_bytes(1), d)

    def tiled_mma(self) -> Any:
        """The instruction, and the warps that repeat it."""
        if self.dtype is cutlass.Int8:
            op, k = warp.MmaI8Op(cutlass.Int8, cutlass.Int8, (16, 8, 32)), 32
        elif self.dtype is cutlass.TFloat32:
            op, k = warp.MmaTF32Op((16, 8, 8)), 8
        else:
            op, k = warp.MmaF16BF16Op(self.dtype, cutlass.Float32, (16, 8, 16)), 16
        m, n = self.warps
        # Two instructions side by side along n: one ldmatrix then feeds both.
        return cute.make_tiled_mma(op, (m, n, 1), permutation_mnk=(m * 16, n * 16, k))

    def operand_smem(self, which: int) -> Any:
        """Swizzled shared memory (rows, k, stages): whole lines of up to 128 bytes, in which the
        vectors of eight neighbouring lines meet different banks."""
        rows, depth, k_major = self.tile[which], self.tile[2], self.k_major[which]
        chunk = 128 // self.dtype.width
        line = min(depth if k_major else rows, 8 * chunk)
        base = chunk
        if self.dtype.width == 32 and not k_major:  # read one by one: four k, eight rows
            swizzle = cute.make_swizzle(2, 3, 2)
        else:
            bits = (line // chunk).bit_length() - 1
            swizzle = cute.make_swizzle(bits, base.bit_length() - 1, 3)
        shape, stride = ((8, line), (line, 1)) if k_major else ((line, 8), (1, line))
        atom = cute.make_composed_layout(swizzle, 0, cute.make_layout(shape, stride=stride))
        return cute.tile_to_shape(atom, (rows, depth, self.stages), (0, 1, 2))

    def operand_read(self, which: int) -> Any:
        """From shared memory to registers."""
        if self.dtype.width == 16 or self.k_major[which]:
            # Elements of 32 or 8 bits as matrices of 16-bit pieces: lanes get what they should.
            op = warp.LdMatrix8x8x16bOp(not self.k_major[which], 4)
            return cute.make_copy_atom(op, self.dtype)
        return cute.make_copy_atom(
            cute.nvgpu.CopyUniversalOp(), self.dtype, num_bits_per_copy=self.dtype.width
        )

    def result_smem(self, out: Any) -> Any:
        """Swizzled shared memory for a tile of D, row by row."""
        line = min(1024 // out.width, self.tile[1])
        if out.width == 32:  # a warp writes eight bytes per lane, 32 to a row
            swizzle = cute.make_swizzle(2, 3, 2)
        else:
            chunk = 128 // out.width
            bits = (line // chunk).bit_length() - 1
            swizzle = cute.make_swizzle(bits, chunk.bit_length() - 1, 3)
        atom = cute.make_composed_layout(swizzle, 0, cute.make_layout((8, line), stride=(line, 1)))
        return cute.tile_to_shape(atom, self.tile[:2], (0, 1))

    def result_copy(self, out: Any, atom: Any) -> Any:
        """Moves a tile of D, or of what is added to it."""
        return gmem_copy(out, self.vec[2], self.tile[:2], True, self.threads, atom)


@cute.kernel
def gemm_kernel(
    mA: cute.Tensor,
    mB: cute.Tensor,
    mC: Any,
    mBias: Any,
    mR: Any,
    mD: cute.Tensor,
    alpha: cutlass.Float32,
    beta: cutlass.Float32,
    mma: cute.TiledMma,
    plan: cutlass.Constexpr[TensorCorePlan],
):
    """A block for each tile of D."""
    tid, _, _ = cute.arch.thread_idx()
    at = block_of(mD, plan.tile[:2], plan.group)
    memory = utils.SmemAllocator().allocate(plan.smem_bytes(mD.element_type), 1024)
    rD = multiply(mA, mB, at, 0, 0, memory, mma, tid, plan, True)
    finish(rD, mC, mBias, mR, mD, alpha, beta, at, memory, mma, tid, plan)


@cute.kernel
def shared_gemm_kernel(
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
    plan: cutlass.Constexpr[TensorCorePlan],
):
    """An equal part of all steps for each block."""
    tid, _, _ = cute.arch.thread_idx()
    memory = utils.SmemAllocator().allocate(plan.smem_bytes(mD.element_type), 1024)
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
            finish(rD, mC, mBias, mR, mD, alpha, beta, at, memory, mma, tid, plan)


@cute.jit
def multiply(
    mA: Any, mB: Any, at: Any, first: Any, count: Any, memory: Any, mma: Any, tid: Any,
    plan: cutlass.Constexpr[TensorCorePlan], whole: cutlass.Constexpr[bool],
):  # fmt: skip
    """The accumulators of a tile.

    Args:
        at: row and column of the tile, and which matrix of the batch.
        first, count: which tiles along k are summed.
        memory: shared memory of the block.
        whole: whether all of them are; `first` and `count` do not matter then.
    """
    # The epilogue reuses the memory of the operands.
    sA = cute.make_tensor(cute.recast_ptr(memory, dtype=plan.dtype), plan.operand_smem(0))
    sB = cute.make_tensor(
        cute.recast_ptr(memory + plan.operand_bytes(0), dtype=plan.dtype), plan.operand_smem(1)
    )
    loads, k_tiles = operand_loads((mA, mB), at, (sA, sB), plan.dtype, tid, plan)
    if cutlass.const_expr(whole):
        count = k_tiles
    fill_stages(loads, first, count, plan.stages, whole)

    thr_mma = mma.get_slice(tid)
    rA = mma.make_fragment_A(thr_mma.partition_A(sA)[None, None, None, 0])
    rB = mma.make_fragment_B(thr_mma.partition_B(sB)[None, None, None, 0])
    rD = mma.make_fragment_C(mma.partition_shape_C(plan.tile[:2]))
    rD.fill(0)
    read_A = cute.make_tiled_copy_A(plan.operand_read(0), mma)
    read_B = cute.make_tiled_copy_B(plan.operand_read(1), mma)
    thr_A, thr_B = read_A.get_slice(tid), read_B.get_slice(tid)
    from_A, from_B = thr_A.partition_S(sA), thr_B.partition_S(sB)
    into_A, into_B = thr_A.retile(rA), thr_B.retile(rB)

    def held(event: Event) -> Any:
        return (rA if event.what == "A" else rB)[None, event.m + event.n, event.step]

    def read(event: Event, stage: Any) -> None:
        copy, source, into, i = read_A, from_A, into_A, event.m
        if event.what == "B":
            copy, source, into, i = read_B, from_B, into_B, event.n // order.pair
        cute.copy(copy, source[None, i, event.step, stage], into[None, i, event.step])

    copies = sum(load.each if plan.walks else load.count for load in loads)
    order = plan.order(rD, rA, copies if plan.ahead else 1)
    ring = Ring(plan.stages)
    walks = []
    if cutlass.const_expr(plan.walks):
        ahead = plan.stages - 1 if whole else first + (plan.stages - 1)
        walks = [Walk(load, ahead) for load in loads]
    ring.wait()
    for event in order.before():
        read(event, 0)
    for k_tile in range(count):
        if cutlass.const_expr(plan.walks):
            there = k_tile + (plan.stages - 1) < count
            pieces = [piece for walk in walks for piece in walk.pieces(ring.write, there)]
        else:
            pieces = ring.pieces(loads, first, k_tile, count, whole, apart=plan.ahead > 0)
        for event in order.trip():
            if cutlass.const_expr(event.what == "wait"):
                ring.turn(commit=plan.ahead > 0)
            elif cutlass.const_expr(event.what == "copy"):
                pieces[event.m]()
            elif cutlass.const_expr(event.what == "mma"):
                if cutlass.const_expr(plan.dtype is cutlass.TFloat32 and plan.rounded):
                    for fragment in order.new_needs(event):
                        round_to_tf32(held(fragment))
                acc = rD[None, event.m, event.n]
                a, b = rA[None, event.m, event.step], rB[None, event.n, event.step]
                cute.gemm(mma, acc, a, b, acc)
            else:
                read(event, ring.stage)
    cute.arch.cp_async_wait_group(0)
    return rD


@cute.jit
def finish(
    rD: Any, mC: Any, mBias: Any, mR: Any, mD: Any, alpha: Any, beta: Any, at: Any, memory: Any,
    mma: Any, tid: Any, plan: cutlass.Constexpr[TensorCorePlan],
):  # fmt: skip
    """The epilogue of a tile, in the shared memory of its operands."""
    cute.arch.sync_threads()
    sD = cute.make_tensor(
        cute.recast_ptr(memory, dtype=mD.element_type), plan.result_smem(mD.element_type)
    )
    epilogue(rD, sD, mC, mBias, mR, mD, alpha, beta, at, mma.get_slice(tid), tid, plan)


def round_to_tf32(held: Any) -> None:
    """Round registers that hold f32, in place."""
    plain = cute.recast_tensor(held, cutlass.Float32)
    held.store(plain.load().to(cutlass.TFloat32))


@cute.jit
def epilogue(
    rD: Any, sD: Any, mC: Any, mBias: Any, mR: Any, mD: Any, alpha: Any, beta: Any, at: Any,
    thr_mma: Any, tid: Any, plan: cutlass.Constexpr[TensorCorePlan],
):  # fmt: skip
    """D = activation(alpha acc + beta C + bias) + R, of one tile.

    C and R come through the shared memory of the results, where each thread finds what belongs to
    its accumulators, and leaves its results in their place. Instructions are done row by row, so
    that few registers are needed besides the accumulators.
    """
    out = mD.element_type
    coords = tile_at(cute.make_identity_tensor((mD.shape[0], mD.shape[1])), at, plan)
    piece = cute.make_copy_atom(
        cute.nvgpu.CopyUniversalOp(), out, num_bits_per_copy=plan.vec[2] * out.width
    )
    store = plan.result_copy(out, piece)
    thr = store.get_slice(tid)
    mine = thr_mma.partition_C(sD)  # where this thread's accumulators belong
    whose = thr_mma.partition_C(coords)
    rows = cute.size(rD, mode=[1])
    if cutlass.const_expr(mC is not None):
        fetch(mC, sD, at, coords, tid, plan)
    held = rD
    if cutlass.const_expr(mR is not None):
        held = cute.make_rmem_tensor(rD.layout, cutlass.Float32)
        for i in cutlass.range_constexpr(rows):
            acc = rD[None, i, None]
            c, bias = addends(mC, mBias, mine, whose, acc, i, plan)
            value = combine(acc.load(), plan, alpha, c, beta, bias, None)
            held[None, i, None].store(value.to(cutlass.Float32))
        cute.arch.sync_threads()
        fetch(mR, sD, at, coords, tid, plan)
    for i in cutlass.range_constexpr(rows):
        acc = held[None, i, None]
        if cutlass.const_expr(mR is not None):
            value = acc.load() + read_piece(mine[None, i, None], acc)
        else:
            c, bias = addends(mC, mBias, mine, whose, acc, i, plan)
            value = combine(acc.load(), plan, alpha, c, beta, bias, None)
        done = cute.make_rmem_tensor(acc.layout, out)
        done.store(value.to(out))
        cute.autovec_copy(done, mine[None, i, None])

    cute.arch.sync_threads()
    gD = tile_at(mD[None, None, at[2]], at, plan)
    from_smem, to_gmem, where = thr.partition_S(sD), thr.partition_D(gD), thr.partition_S(coords)
    if cutlass.const_expr(plan.vec[2] > 1):
        for i in cutlass.range_constexpr(cute.size(to_gmem, mode=[1])):
            store_row(store, from_smem, to_gmem, where, i, mD, at, plan)
    else:
        for i in cutlass.range(cute.size(to_gmem, mode=[1]), unroll=1):
            store_row(store, from_smem, to_gmem, where, i, mD, at, plan)


def store_row(copy: Any, s: Any, g: Any, where: Any, i: Any, m: Any, at: Any, plan: Any) -> None:
    """A thread's part of a row of copies, from shared to global memory."""
    row = cute.make_fragment_like(s[None, i, None])
    cute.autovec_copy(s[None, i, None], row)
    copy_where(copy, row, g[None, i, None], row_inside(where, i, m, at, plan))


def fetch_row(copy: Any, g: Any, s: Any, where: Any, i: Any, m: Any, at: Any, plan: Any) -> None:
    """A thread's part of a row of copies, from global to shared memory."""
    copy_where(copy, g[None, i, None], s[None, i, None], row_inside(where, i, m, at, plan))


def addends(mC: Any, mBias: Any, mine: Any, whose: Any, acc: Any, i: int, plan: Any) -> Any:
    """What is added to a row of instructions: parts of C and of the bias, or None."""
    c = None if mC is None else read_piece(mine[None, i, None], acc)
    bias = None
    if mBias is not None:
        bias = spread_bias(mBias, whose, acc, i, plan.bias_axis, plan.even)
    return c, bias


def read_piece(piece: Any, like: Any) -> Any:
    """Elements of shared memory, as Float32, in the order of a fragment."""
    held = cute.make_rmem_tensor(like.layout, piece.element_type)
    cute.autovec_copy(piece, held)
    return held.load().to(cutlass.Float32)


@cute.jit
def fetch(
    m: Any, sD: Any, at: Any, coords: Any, tid: Any, plan: cutlass.Constexpr[TensorCorePlan]
):  # fmt: skip
    """Bring a tile of another matrix to the shared memory of the results."""
    out = m.element_type
    copy = plan.result_copy(out, copy_atom(out, plan.vec[2]))
    thr = copy.get_slice(tid)
    g = tile_at(m[None, None, at[2]], at, plan)
    from_gmem, to_smem, where = (thr.partition_S(g), thr.partition_D(sD), thr.partition_S(coords))
    if cutlass.const_expr(plan.vec[2] > 1):
        for i in cutlass.range_constexpr(cute.size(to_smem, mode=[1])):
            fetch_row(copy, from_gmem, to_smem, where, i, m, at, plan)
    else:  # the addresses of single elements do not all fit in registers
        for i in cutlass.range(cute.size(to_smem, mode=[1]), unroll=1):
            fetch_row(copy, from_gmem, to_smem, where, i, m, at, plan)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()


@cute.jit
def tensor_core_gemm(
    a: cute.Tensor,
    b: cute.Tensor,
    c: Any,
    bias: Any,
    residual: Any,
    d: cute.Tensor,
    alpha: cutlass.Float32,
    beta: cutlass.Float32,
    plan: cutlass.Constexpr[TensorCorePlan],
):
    """Launch the kernel.

    Args:
        a, b: (batch, M, K) and (batch, N, K), in any major.
        c, residual, d: (batch, M, N), row-major, of one type; c and residual may be None.
        bias: a vector along the rows or columns of D, or None.
    """
    mA, mB, mC, mR, mD = as_matrices(a, b, c, residual, d, plan, plan.dtype)
    gemm_kernel(mA, mB, mC, bias, mR, mD, alpha, beta, plan.tiled_mma(), plan).launch(
        grid=grid_of(mD, plan.tile[:2]), block=[plan.threads, 1, 1], opt_level=plan.level
    )


@cute.jit
def shared_tensor_core_gemm(
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
    plan: cutlass.Constexpr[TensorCorePlan],
):
    """Launch the kernel with blocks that share all steps; arguments as for `tensor_core_gemm`.

    Args:
        sums: (blocks, tile_m * tile_n) in the accumulators' type.
        flags: (blocks,) in i32, all 0.
    """
    mA, mB, mC, mR, mD = as_matrices(a, b, c, residual, d, plan, plan.dtype)
    shared_gemm_kernel(
        mA, mB, mC, bias, mR, mD, alpha, beta, sums, flags, plan.tiled_mma(), plan
    ).launch(grid=[flags.shape[0], 1, 1], block=[plan.threads, 1, 1], opt_level=plan.level)
