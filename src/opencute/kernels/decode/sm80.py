# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention for decoding with `cp.async` and `mma.sync`: sm_80 and everything after it.

A block has the rows that one head of keys of one sequence serves, and a share of the keys. Each of
its groups of warps has a ring of tiles of K and V in shared memory that only it fills and reads:
no barrier of the block is needed before the end.

Floor: bytes of keys and values over the bandwidth. 4 D operations for each key and row are little
beside it: for 16 rows of 128 elements 33 clocks of a multiprocessor for 8 keys, which take 200 to
arrive. Two blocks of a multiprocessor of an H200 have about 130 KB on the way.
"""

from __future__ import annotations

import math
from typing import Any

import opencute as cutlass
from opencute import cute, utils
from opencute.kernels.attention.parts import RowCopy, as_heads, tile_from
from opencute.kernels.attention.sm80 import Softmax
from opencute.kernels.decode.block import Block, scaled
from opencute.kernels.decode.combine import combine
from opencute.kernels.decode.narrow import read_rows, store_rows, walk_over
from opencute.kernels.decode.parts import (
    DecodePlan,
    Walk,
    finish,
    packed,
    split_mode,
    synchronise,
    visit,
)

__all__ = ["decode_forward", "decode_kernel"]

cpasync = cute.nvgpu.cpasync


class Loads:
    """Copies of tiles into a group's ring.

    Args:
        tensors: K and V, (keys, D, B) of the block's head, or (keys of a page, D, pages).
        memory: (n, depth, tiles) of each.
        table: (B, pages) or None.
    """

    def __init__(
        self, tensors: Any, memory: Any, table: Any, block: Block, plan: DecodePlan
    ) -> None:
        self.plan, self.table, self.batch = plan, table, block.batch
        op = cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL)
        atom = cute.make_copy_atom(op, plan.stored, num_bits_per_copy=128)
        across = math.gcd(plan.depth // plan.vec, 8)
        down = min(plan.threads // across, plan.config.n)
        self.tid, self.threads = block.tid % plan.threads, down * across  # those that copy
        where = cute.make_layout((down, across), stride=(across, 1))
        copy = cute.make_tiled_copy_tv(atom, where, cute.make_layout((1, plan.vec)))
        self.tile = (plan.config.n, plan.depth)
        extents, at = (block.keys, plan.head_dim), self.tid
        if self.threads < plan.threads:
            at = at % self.threads
        self.copies = RowCopy(copy, self.tile, extents, at)
        self.parts = [
            (m, self.copies.part.partition_D(s)) for m, s in zip(tensors, memory, strict=True)
        ]

    @cute.jit
    def start(self, tile: Any, place: Any) -> None:
        """Start the copy of a tile to a place; keys that there are not become zero."""
        if cutlass.const_expr(self.threads == self.plan.threads):
            self._start(tile, place)
        elif self.tid < self.threads:
            self._start(tile, place)

    def _start(self, tile: Any, place: Any) -> None:
        row = tile * self.plan.config.n
        first, outer = row, self.batch
        if self.plan.page is not None:
            first, outer = row % self.plan.page, self.table[self.batch, row // self.plan.page]
        for m, into in self.parts:
            source = self.copies.part.partition_S(tile_from(m[None, None, outer], first, self.tile))
            self.copies.move(source, into[None, None, None, place], row)


@cute.jit
def begin(loads: cutlass.Constexpr[Loads], block: cutlass.Constexpr[Block]):
    """Start the copies of a group's first tiles."""
    config = loads.plan.config
    for i in cutlass.range_constexpr(config.stages - 1):
        tile = block.start + i * block.step
        if tile < block.end:
            loads.start(tile, block.which * config.stages + i)
        cute.arch.cp_async_commit_group()


@cute.jit
def consume(
    walk: cutlass.Constexpr[Walk], loads: cutlass.Constexpr[Loads],
    softmax: cutlass.Constexpr[Softmax], rO: Any, block: cutlass.Constexpr[Block],
):  # fmt: skip
    """All tiles of a group."""
    plan, config, which = walk.plan, walk.plan.config, block.which
    own = which * config.stages
    stage = cutlass.Int32(0)
    free = cutlass.Int32(config.stages - 1)
    for tile in range(block.start, block.end, block.step):
        cute.arch.cp_async_wait_group(config.stages - 2)
        synchronise(which, plan)  # the tile has arrived, and nobody reads the one before any more
        ahead = tile + (config.stages - 1) * block.step
        if ahead < block.end:
            loads.start(ahead, own + free)
        cute.arch.cp_async_commit_group()
        visit(
            walk, softmax, rO, own + stage, which, block.first, block.keys - tile * config.n, True
        )
        free = stage
        stage = 0 if stage == config.stages - 1 else stage + 1
    cute.arch.cp_async_wait_group(0)


@cute.kernel
def decode_kernel(
    mQ: cute.Tensor,
    mK: cute.Tensor,
    mV: cute.Tensor,
    mO: cute.Tensor,
    mLogs: Any,
    lengths: Any,
    table: Any,
    room: cutlass.Int32,
    scale_log2: cutlass.Float32,
    v_scale: cutlass.Float32,
    k_scales: Any,
    v_scales: Any,
    mma: cute.TiledMma,
    plan: cutlass.Constexpr[DecodePlan],
):
    memory = utils.SmemAllocator()
    layout = plan.rows_layout(plan.config.n, plan.vec)
    between = plan.config.n * layout.stride[0]
    layout = cute.append(layout, cute.make_layout(plan.tiles, stride=between))
    tiles = memory.allocate_array(plan.stored, 2 * cute.cosize(layout), 1024)
    sK = cute.make_tensor(tiles, layout)
    sV = cute.make_tensor(tiles + cute.cosize(layout), layout)
    block = Block(memory, lengths, room, plan)
    rows = read_rows(mQ[None, None, block.head, block.batch], block, plan)
    heads = [t[None, None, block.head, None] for t in (mK, mV)]
    loads = Loads(heads, (sK, sV), table, block, plan)
    begin(loads, block)
    store_rows(rows, block, plan)
    cute.arch.sync_threads()
    walk = walk_over(block, sK, sV, mma, plan)
    rO = walk.results()
    scale_log2 = scaled(scale_log2, k_scales, block.head)
    scale = None if plan.cache is None else scaled(v_scale, v_scales, block.head)
    softmax = Softmax(2 * rO.shape[1], scale_log2)
    consume(walk, loads, softmax, rO, block)
    into = block.results(mO, mLogs, scale)
    finish(walk, softmax, rO, tiles, block.sStats, block.which, into, block.tid)


@cute.jit
def decode_forward(
    q: cute.Tensor,
    k: cute.Tensor,
    v: cute.Tensor,
    out: cute.Tensor,
    logs: Any,
    lengths: Any,
    table: Any,
    parts: Any,
    part_logs: Any,
    scale_log2: cutlass.Float32,
    plan: cutlass.Constexpr[DecodePlan],
    v_scale: cutlass.Float32 = 1.0,  # type: ignore[assignment]
    k_scales: Any = None,
    v_scales: Any = None,
):
    """Launch the kernel, and with several splits the one that puts them together.

    Args:
        q, out: (B, Sq, H, D); k, v: (B, S, Hk, D), or (pages, keys of a page, Hk, D). Rows start
            at multiples of 16 bytes.
        logs: (B, H, Sq) in f32, or None.
        lengths: keys of each sequence, (B,) of i32, or None.
        table: the pages of each sequence, (B, pages) of i32, or None.
        parts, part_logs: (splits, B, Sq, H, D) and (splits, B, H, Sq) in f32, with several splits.
        scale_log2: what scores are multiplied with before 2 is raised to them.
        v_scale: what results are multiplied with, where keys and values have a type of their own.
        k_scales, v_scales: for each head, or one for all, in f32: as those; or None.
    """
    mK, mV = (as_heads(t, plan.head_dim, plan.vec) for t in (k, v))
    room = mK.shape[0] if plan.page is None else table.shape[1] * plan.page
    into, into_logs = parts, part_logs
    if cutlass.const_expr(parts is None):
        into, into_logs = split_mode(out), split_mode(logs)
    blocks = cute.ceil_div(plan.queries * plan.group, plan.config.rows)
    decode_kernel(
        packed(q, plan.group), mK, mV, packed(into, plan.group), into_logs, lengths, table, room,
        scale_log2, v_scale, k_scales, v_scales, plan.tiled_mma(), plan,
    ).launch(
        grid=[mK.shape[2] * blocks, into.shape[0], q.shape[0]],
        block=[plan.threads * plan.config.groups, 1, 1],
    )  # fmt: skip
    if cutlass.const_expr(parts is not None):
        combine(parts, part_logs, out, logs, plan.head_dim, plan.slots)
