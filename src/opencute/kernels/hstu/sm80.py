# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""HSTU attention on tensor cores with `mma.sync`: sm_80 and everything after it.

A block walks over the keys as that of `attention.sm80` does. Nothing of a row is needed before its
scores become weights, so that there are no maxima, no sums and nothing to rescale. The bias of a
tile comes to shared memory with its values.

Floor: 4 B H Sq Sk D operations over 620 Tflop/s of `mma.sync` on an H200, or the bias, 2 B H Sq Sk
bytes, over 4.2 TB/s: with heads of 128 elements and a bias for each batch the products take 1.7
times as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute, utils
from opencute.kernels.attention.parts import (
    RowCopy,
    as_heads,
    by_rows,
    columns_of,
    write,
)
from opencute.kernels.attention.sm80 import AttentionPlan, Pieces, Walk, tiles_seen

__all__ = ["HstuPlan", "hstu_forward", "hstu_kernel"]

LOWEST = -1.0e30  # the SiLU of which is 0

cpasync = cute.nvgpu.cpasync


@dataclass(frozen=True)
class HstuPlan(AttentionPlan):
    """What is fixed when HSTU attention is compiled: `AttentionPlan`, and

    Args:
        biased: whether there is a bias.
    """

    ahead: int = 2  # the bias takes registers as well
    biased: bool = False

    def bias_smem(self) -> Any:
        """Shared memory (queries, keys); rows are an odd number of 16-byte units apart."""
        return cute.make_layout((self.m, self.n), stride=(self.n + 8, 1))

    def bias_copy(self) -> Any:
        """Moves the bias, 16 bytes for each thread."""
        atom = cute.make_copy_atom(
            cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL), self.dtype,
            num_bits_per_copy=128,
        )  # fmt: skip
        across = self.n // 8
        while 32 * self.warps % across or self.m % (32 * self.warps // across):
            across -= 1  # of the divisors of n / 8, the largest that threads and rows allow
            while self.n // 8 % across:
                across -= 1
        where = cute.make_layout((32 * self.warps // across, across), stride=(across, 1))
        return cute.make_tiled_copy_tv(atom, where, cute.make_layout((1, 8)))


class Bias:
    """The bias of a block's queries: where it comes from, and what this thread reads of it."""

    def __init__(self, m: Any, s: Any, first: Any, mma: Any, tid: Any, plan: HstuPlan) -> None:
        self.m, self.first, self.plan = m, first, plan
        self.copy = plan.bias_copy()
        self.part = self.copy.get_slice(tid)
        self.into = self.part.partition_D(s)
        self.coords = self.part.partition_S(cute.make_identity_tensor((plan.m, plan.n)))
        self.mine = mma.get_slice(tid).partition_C(s)

    def load(self, tile: Any) -> None:
        """Start the copy of a tile; what is past the last query or key is not read."""
        plan = self.plan
        queries, keys = self.m.shape
        row, key = self.first, tile * plan.n
        step = self.m.stride[0]
        start = self.m.iterator + cute.assume(step * cutlass.Int64(row) + key, divby=8)
        layout = cute.make_layout(
            (plan.m, plan.n), stride=(cute.assume(cutlass.Int32(step), divby=8), 1)
        )
        source = self.part.partition_S(cute.make_tensor(start, layout))
        m, n = (cute.size(self.coords, mode=[i]) for i in (1, 2))
        pred = cute.make_rmem_tensor(cute.make_layout((1, m, n), stride=(0, 1, m)), cutlass.Boolean)
        for i in cutlass.range_constexpr(m):
            for j in cutlass.range_constexpr(n):
                pred[0, i, j] = cute.elem_less(self.coords[0, i, j], (queries - row, keys - key))
        cute.copy(self.copy, source, self.into, pred=pred)

    def of(self, first: int, count: int) -> Any:
        """The bias of some of the accumulators along n, as a vector of Float32."""
        values, m, _ = self.mine.shape
        read = cute.make_rmem_tensor((values, m, count), self.plan.dtype)
        for c in range(count):
            cute.autovec_copy(self.mine[None, None, first + c], read[None, None, c])
        return read.load().to(cutlass.Float32)


@cute.jit
def hide(
    scores: Any, coords: Any, first_query: Any, first_key: Any, keys: Any,
    causal: cutlass.Constexpr,
):  # fmt: skip
    """Scores of keys that a query does not see become so low that their weight is 0; arguments as
    for `attention.sm80.mask`."""
    for r in cutlass.range_constexpr(cute.size(scores, mode=[0])):
        limit = keys - first_key
        if cutlass.const_expr(causal):
            limit = cutlass.min(limit, coords[r, 0][0] + (first_query - first_key + 1))
        for c in cutlass.range_constexpr(cute.size(scores, mode=[1])):
            if coords[0, c][1] >= limit:
                scores[r, c] = cutlass.Float32(LOWEST)


def add_bias(bias: Bias, scores: Any) -> None:
    """The scores with their bias, 16 keys at a time."""
    for k in range(scores.shape[2] // 2):
        part = columns_of(scores, 2 * k, 2)
        part.store(part.load() + bias.of(2 * k, 2))


def add_weighted(walk: Walk, bias: Any, scores: Any, rO: Any) -> None:
    """O += silu(S + bias) V, 16 keys at a time: x sigmoid(x) is h + h tanh(h) with h = x / 2."""
    _, m, n = scores.shape
    from_V = walk.from_V[None, None, None, 0]
    for k in range(n // 2):
        part = columns_of(scores, 2 * k, 2)
        half = (part.load() if bias is None else part.load() + bias.of(2 * k, 2)) * 0.5
        weights = half * cute.math.tanh(half, fastmath=True) + half
        p = cute.make_rmem_tensor(part.layout, walk.plan.dtype)
        p.store(weights.to(walk.plan.dtype))
        # Neighbouring accumulators along n are what an MMA takes along k.
        rP = cute.make_tensor(p.iterator, cute.make_layout(((4, 2), m), stride=((1, 4 * m), 4)))
        at = (None, None, k)
        cute.copy(walk.read_V, from_V[at], walk.into_V[at])
        cute.gemm(walk.mma, rO, rP, walk.rV[at], rO)


@cute.jit
def visit(
    walk: cutlass.Constexpr, bias: cutlass.Constexpr, rO: Any, tile: Any, first_query: Any,
    keys: Any, scale: Any, masked: cutlass.Constexpr,
):  # fmt: skip
    """One tile of keys."""
    plan = walk.plan
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()  # K has arrived, and nobody reads the V and bias before this any more
    if cutlass.const_expr(plan.biased):
        bias.load(tile)
    pieces: Pieces = []
    if cutlass.const_expr(masked):  # V may end within the tile
        walk.load_V(tile)
    else:
        pieces = walk.pieces_of_V(tile)
    acc = walk.scores(tile, pieces)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()  # V and bias have arrived, and nobody reads this K any more
    if tile > 0:
        walk.load_K(tile - 1, False)
    acc.store(acc.load() * scale)
    if cutlass.const_expr(masked):  # after the bias, which may be NaN where a key is hidden
        if cutlass.const_expr(plan.biased):
            add_bias(bias, acc)
        hide(by_rows(acc), walk.coords, first_query, tile * plan.n, keys, plan.causal)
        add_weighted(walk, None, acc, rO)
    else:
        add_weighted(walk, bias, acc, rO)


@cute.kernel
def hstu_kernel(
    mQ: cute.Tensor,
    mK: cute.Tensor,
    mV: cute.Tensor,
    mO: cute.Tensor,
    mBias: Any,
    scale: cutlass.Float32,
    factor: cutlass.Float32,
    mma: cute.TiledMma,
    plan: cutlass.Constexpr[HstuPlan],
):
    tid, _, _ = cute.arch.thread_idx()
    block, head, batch = cute.arch.block_idx()
    if cutlass.const_expr(plan.causal):  # the blocks with most keys start first
        block = cute.arch.grid_dim()[0] - 1 - block
    tile_q, tile_k = (plan.m, plan.depth), (plan.n, plan.depth)
    queries, keys = mQ.shape[0], mK.shape[0]
    gQ = cute.local_tile(mQ[None, None, head, batch], tile_q, (block, 0))
    keys_of, values_of = (t[None, None, head // plan.group, batch] for t in (mK, mV))

    first_query = block * plan.m + (keys - queries)
    tiles, whole = tiles_seen(first_query, keys, plan)

    memory = utils.SmemAllocator()
    sQ = memory.allocate_tensor(plan.dtype, plan.smem(plan.m), 1024)
    sK = memory.allocate_tensor(plan.dtype, plan.stacked(plan.n), 1024)
    sV = memory.allocate_tensor(plan.dtype, plan.stacked(plan.n), 1024)
    copy = plan.tiled_copy(cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL))
    load_Q = RowCopy(copy, tile_q, (queries, plan.head_dim), tid)
    load_Q.move(load_Q.part.partition_S(gQ), load_Q.part.partition_D(sQ), block * plan.m)
    copies = RowCopy(copy, tile_k, (keys, plan.head_dim), tid)
    walk = Walk(keys_of, values_of, sQ, sK, sV, copies, mma, tid, plan)
    bias = None
    if cutlass.const_expr(plan.biased):
        sBias = memory.allocate_tensor(plan.dtype, plan.bias_smem(), 1024)
        bias = Bias(mBias[None, None, head, batch], sBias, block * plan.m, mma, tid, plan)
    if tiles > 0:
        walk.load_K(tiles - 1)
    cute.arch.cp_async_commit_group()

    rO = mma.make_fragment_C(mma.partition_shape_C(tile_q))
    rO.fill(0.0)
    for i in range(tiles - whole):
        visit(walk, bias, rO, tiles - 1 - i, first_query, keys, scale, True)
    for i in range(whole):
        visit(walk, bias, rO, whole - 1 - i, first_query, keys, scale, False)
    cute.arch.cp_async_wait_group(0)

    rD = cute.make_fragment_like(rO, plan.dtype)
    rD.store((rO.load() * factor).to(plan.dtype))
    write(rD, sQ, mO[None, None, head, batch], block, plan.m, mma, tid, plan)


@cute.jit
def hstu_forward(
    q: cute.Tensor,
    k: cute.Tensor,
    v: cute.Tensor,
    out: cute.Tensor,
    bias: Any,
    scale: cutlass.Float32,
    factor: cutlass.Float32,
    plan: cutlass.Constexpr[HstuPlan],
):
    """Launch the kernel.

    Args:
        q, out: (B, Sq, H, D); k, v: (B, Sk, Hk, D). Rows start at multiples of 16 bytes.
        bias: (B, H, Sq, Sk), strides of the first two may be 0; or None.
        scale: of the products, before the bias is added.
        factor: of the result.
    """
    mQ, mK, mV, mO = (as_heads(t, plan.head_dim) for t in (q, k, v, out))
    mBias = None
    if cutlass.const_expr(plan.biased):
        b, h, s, _ = (cute.assume(x, divby=8) if i < 3 else 1 for i, x in enumerate(bias.stride))
        batch, heads, rows, columns = bias.shape
        layout = cute.make_layout((rows, columns, heads, batch), stride=(s, 1, h, b))
        mBias = cute.make_tensor(bias.iterator.align(16), layout)
    grid = [cute.ceil_div(mQ.shape[0], plan.m), mQ.shape[2], mQ.shape[3]]
    hstu_kernel(mQ, mK, mV, mO, mBias, scale, factor, plan.tiled_mma(), plan).launch(
        grid=grid, block=[32 * plan.warps, 1, 1]
    )
