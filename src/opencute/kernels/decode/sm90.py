# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention for decoding with tiles loaded by TMA: sm_90 to sm_110.

As with `cp.async`, each group of warps has a ring of tiles of its own. One of its threads starts
the load of a tile as soon as the group has used the one before in the same place, so that all
tiles but one are on their way while that is worked on; nobody else computes an address. An mbarrier
for each place says when K and V are there.

Floor: bytes of keys and values over what an H200 reads, 4.1 to 4.6 TB/s. What is on the way must
cover a latency of about 1 us with 35 bytes for each ns and multiprocessor: 35 KB. Two blocks of
four groups with three tiles of 8 KB have 130 KB to 190 KB. More than that is in the way: queries
that were asked for after tiles came 2 us late, and blocks ended 4 us after others.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute, utils
from opencute.kernels.attention.parts import as_heads
from opencute.kernels.attention.sm80 import Softmax
from opencute.kernels.decode.block import Block, scaled
from opencute.kernels.decode.combine import combine
from opencute.kernels.decode.merge import ClusterMerge, FlagMerge
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
from opencute.utils import hopper_helpers

__all__ = ["decode_forward", "decode_kernel"]

cpasync = cute.nvgpu.cpasync


def tiles_layout(plan: DecodePlan) -> Any:
    """Shared memory for K or V: (n, depth, tiles), swizzled."""
    shape = (1, plan.config.n, plan.depth)
    return hopper_helpers.make_smem_layout_b(
        utils.LayoutEnum.ROW_MAJOR, shape, plan.stored, plan.tiles
    )


class Loads:
    """Loads of tiles into a group's ring.

    Args:
        atoms: of K and of V.
        tensors: theirs, (keys, D, B) of the block's head, or (keys of a page, D, pages).
        memory: (n, depth, tiles) of each.
        barriers: an mbarrier for each place.
        table: (B, pages) or None.
    """

    def __init__(
        self, atoms: Any, tensors: Any, memory: Any, barriers: Any, table: Any, batch: Any,
        plan: DecodePlan,
    ) -> None:  # fmt: skip
        self.plan, self.table, self.batch, self.barriers = plan, table, batch, barriers
        self.loads = list(zip(atoms, tensors, memory, strict=True))
        self.early = plan.page is None
        self.policy = "evict_first" if plan.config.once else None

    def start(self, tile: Any, place: Any) -> None:
        """Start the load of a tile to a place; for one warp."""
        plan, n = self.plan, self.plan.config.n
        outer = self.batch
        if plan.page is not None:
            outer = self.table[self.batch, tile * n // plan.page]
            tile = tile % (plan.page // n)
        barrier = self.barriers + place
        with cute.arch.elect_one():
            size = 2 * n * plan.depth * plan.stored.width // 8
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, size)
        for atom, t, memory in self.loads:
            g = cute.local_tile(t[None, None, outer], (n, plan.depth), (tile, 0))
            into, source = cpasync.tma_partition(
                atom, 0, cute.make_layout(1), cute.group_modes(memory[None, None, place], 0, 2),
                cute.group_modes(g, 0, 2),
            )  # fmt: skip
            cute.copy(atom, source, into, tma_bar_ptr=barrier, cache_policy=self.policy)


@cute.jit
def begin(loads: cutlass.Constexpr[Loads], block: cutlass.Constexpr[Block]):
    """Make a group's barriers, and start the loads of its first tiles; for one warp of it.

    The first one is on its way before it is known how many keys there are, and waited for in vain
    if it lies behind them; but with pages, where that says which ones are used.
    """
    config = loads.plan.config
    own = block.which * config.stages
    with cute.arch.elect_one():
        for i in cutlass.range_constexpr(config.stages):
            cute.arch.mbarrier_init(loads.barriers + (own + i), 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_warp()  # another thread may be elected next
    for i in cutlass.range_constexpr(config.stages):
        tile = block.start + i * block.step
        if tile < (block.room if loads.early and i == 0 else block.end):
            loads.start(tile, own + i)


@cute.jit
def consume(
    walk: cutlass.Constexpr[Walk], loads: cutlass.Constexpr[Loads],
    softmax: cutlass.Constexpr[Softmax], rO: Any, block: cutlass.Constexpr[Block],
):  # fmt: skip
    """All tiles of a group."""
    plan, config, which = walk.plan, walk.plan.config, block.which
    own = which * config.stages
    leads = cute.arch.make_warp_uniform(walk.tid // 32) == 0
    stage = cutlass.Int32(0)
    phase = cutlass.Int32(0)
    for tile in range(block.start, block.end, block.step):
        cute.arch.mbarrier_wait(loads.barriers + (own + stage), phase)
        visit(
            walk, softmax, rO, own + stage, which, block.first, block.keys - tile * config.n, False
        )
        synchronise(which, plan)  # nobody reads the tile any more
        ahead = tile + config.stages * block.step
        if leads:
            if ahead < block.end:
                loads.start(ahead, own + stage)
        stage += 1
        if stage == config.stages:
            stage = 0
            phase = 1 - phase
    if cutlass.const_expr(loads.early):
        if (block.start >= block.end) & (block.start < block.room):
            cute.arch.mbarrier_wait(loads.barriers + own, 0)


@cute.kernel
def decode_kernel(
    atoms: Any,
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
    shared: Any,
    plan: cutlass.Constexpr[DecodePlan],
    leads: cutlass.Constexpr[bool],
):
    """A block for some rows of a head of keys, and for some tiles.

    Args:
        mO, mLogs: where its results go, or those of all splits, where these put them together.
        shared: with flags, parts, their logarithms, the flags, and the call's number.
        leads: whether a kernel that puts splits together is next.
    """
    memory = utils.SmemAllocator()
    layout = tiles_layout(plan)
    size = cute.cosize(layout.outer)
    tiles = memory.allocate_array(plan.stored, 2 * size, 1024)
    sK, sV = (
        cute.make_tensor(cute.recast_ptr(t, layout.inner, plan.stored), layout.outer)
        for t in (tiles, tiles + size)
    )
    block = Block(memory, lengths, room, plan, leads)
    rows = read_rows(mQ[None, None, block.head, block.batch], block, plan)
    barriers = memory.allocate_array(cutlass.Int64, plan.tiles, 8)
    merge: Any = None
    if cutlass.const_expr(plan.config.merge == "cluster"):
        merge = ClusterMerge(memory, block, plan)
    elif cutlass.const_expr(plan.config.merge == "flags"):
        parts, part_logs, flags, tag = shared
        merge = FlagMerge(
            parts[None, None, block.head, block.batch, None],
            part_logs[None, block.batch, None, None], flags[block.batch, block.place, None], tag,
            block.split, plan,
        )  # fmt: skip
    heads = [t[None, None, block.head, None] for t in (mK, mV)]
    loads = Loads(atoms, heads, (sK, sV), barriers, table, block.batch, plan)
    if cute.arch.make_warp_uniform(block.tid // 32) % plan.config.warps == 0:
        for atom in atoms:
            cpasync.prefetch_descriptor(atom)
        begin(loads, block)
    if cutlass.const_expr(plan.config.merge == "cluster"):
        merge.begin(block.tid, plan.rows_from(block.first))
    store_rows(rows, block, plan)
    cute.arch.sync_threads()  # queries and barriers are there
    walk = walk_over(block, sK, sV, mma, plan)
    rO = walk.results()
    scale_log2 = scaled(scale_log2, k_scales, block.head)
    scale = None if plan.cache is None else scaled(v_scale, v_scales, block.head)
    softmax = Softmax(2 * rO.shape[1], scale_log2)
    consume(walk, loads, softmax, rO, block)
    into: Any = block.results(mO, mLogs, scale, None if merge is None else 0)
    if merge is not None:
        into = merge.results(into)
    finish(walk, softmax, rO, tiles, block.sStats, block.which, into, block.tid)
    if merge is not None:
        merge.end(block.tid, plan.rows_from(block.first))


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
    flags: Any = None,
    tag: Any = None,
):
    """Launch the kernel, and with several splits the one that puts them together.

    Arguments are those of `opencute.kernels.decode.sm80.decode_forward`; strides of `k` and `v`
    are positive. With flags there are besides (B, blocks, splits) of them, and the call's number;
    the blocks of a cluster have no parts in memory.
    """
    mK, mV = (as_heads(t, plan.head_dim, plan.vec) for t in (k, v))
    room = mK.shape[0] if plan.page is None else table.shape[1] * plan.page
    config = plan.config
    into, into_logs = split_mode(out), split_mode(logs)
    splits = config.splits if config.merge == "cluster" else 1
    shared: Any = None
    if cutlass.const_expr(parts is not None):
        splits = parts.shape[0]
        if cutlass.const_expr(config.merge == "flags"):
            shared = (packed(parts, plan.group), part_logs, flags, tag)
        else:
            into, into_logs = parts, part_logs
    follows = parts is not None and shared is None
    place = cute.slice_(tiles_layout(plan), (None, None, 0))
    tile = (plan.config.n, plan.depth)
    made = [
        cpasync.make_tiled_tma_atom(
            cpasync.CopyBulkTensorTileG2SOp(), t, place, tile, l2_promotion=f"{config.promote}b"
        )
        for t in (mK, mV)
    ]
    blocks = cute.ceil_div(plan.queries * plan.group, plan.config.rows)
    heads, batches = plan.beyond
    decode_kernel(
        tuple(atom for atom, _ in made), packed(q, plan.group), *(t for _, t in made),
        packed(into, plan.group), into_logs, lengths, table, room, scale_log2, v_scale, k_scales,
        v_scales, plan.tiled_mma(), shared, plan, follows,
    ).launch(
        grid=[mK.shape[2] * blocks, splits, q.shape[0]],
        cluster=[heads, splits, batches] if config.merge == "cluster" else None,
        block=[plan.threads * plan.config.groups, 1, 1], min_blocks_per_mp=plan.beside,
    )  # fmt: skip
    if cutlass.const_expr(follows):
        combine(parts, part_logs, out, logs, plan.head_dim, plan.slots, dependent=True)
