# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The way of dQ from registers of warpgroups to sums in memory, to which all keys' blocks add.

In: a warpgroup's part of dQ for a tile of queries. Out: added, by threads or by TMA, in any order
or in the order of the blocks::

    sums = Sums((atom, coordinates, shared), turns, heads, block)
    add_to_dq(worker, sums, head, tile)
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.attention.sm90 import GROUP
from opencute.kernels.attention.sm90_backward_plan import GROUPS, LINE
from opencute.kernels.attention.sm90_backward_worker import Worker

__all__ = ["Sums", "add_by_threads", "add_to_dq"]

EACH = 2  # the first named barrier of those of one warpgroup

cpasync = cute.nvgpu.cpasync


class Sums:
    """Where a warpgroup's halves of dQ go.

    Args:
        reduce: the atom, coordinates in the workspace, shared memory, or for atomics the workspace.
        turns: (T, H, parts), or None.
        heads: of queries, in the workspace.
        block: this block.
    """

    def __init__(self, reduce: Any, turns: Any, heads: Any, block: Any) -> None:
        self.atom, self.coords, self.shared = reduce
        self.turns, self.heads, self.block = turns, heads, block


@cute.jit
def add_by_threads(
    worker: cutlass.Constexpr[Worker], sums: cutlass.Constexpr[Sums], head: Any, tile: Any,
    part: cutlass.Constexpr[int] = 0,
):  # fmt: skip
    """Add the warpgroup's half of dQ, or of a part of its columns, to the workspace from registers.

    In order, a warp takes the turn for the first part, and passes it on after the last one.
    """
    plan, at = worker.plan, worker.reach.base + tile
    target, held = plan.sums_of(sums.shared[at, head, None], worker.tid), worker.rQ[part]
    count = cute.size(held)
    if cutlass.const_expr(plan.ordered):
        if cutlass.const_expr(part == 0):
            if worker.stores():
                turn = sums.turns[at, head, None].iterator + worker.which
                take_turn(turn, worker.reach.turn(tile, sums.block))
            together(worker)
    for v in cutlass.range_constexpr(count):
        cute.arch.red_add(target.iterator + (part * count + v) * GROUP, held[v])
    if cutlass.const_expr(plan.ordered and part == plan.rounds - 1):
        together(worker)
        if worker.stores():
            turn = sums.turns[at, head, None].iterator + worker.which
            pass_turn(turn, worker.reach.turn(tile, sums.block) + 1)


def together(worker: Worker) -> None:
    """Wait for all threads of the warpgroup."""
    cute.arch.barrier(barrier_id=EACH + worker.which, number_of_threads=GROUP)


@cute.jit
def add_to_dq(
    worker: cutlass.Constexpr[Worker], sums: cutlass.Constexpr[Sums], head: Any, tile: Any
):
    """Bring the warpgroup's half of dQ to shared memory, and let TMA add it to the workspace."""
    plan = worker.plan
    mine = plan.sums_of(sums.shared, worker.tid)
    cute.autovec_copy(cute.make_tensor(worker.rQ[0].iterator, cute.make_layout(mine.shape)), mine)
    cute.arch.fence_proxy("async.shared", space="cta")
    together(worker)
    if worker.stores():
        at = worker.reach.base + tile
        shape = (plan.piece // LINE, LINE)
        place = ((at * sums.heads + head) * GROUPS + worker.which, 0)
        from_smem, to_gmem = cpasync.tma_partition(
            sums.atom, 0, cute.make_layout(1),
            cute.group_modes(sums.shared[None, None, worker.which], 0, 2),
            cute.group_modes(cute.local_tile(sums.coords, shape, place), 0, 2),
        )  # fmt: skip
        if cutlass.const_expr(plan.ordered):
            turn = sums.turns[at, head, None].iterator + worker.which
            mine_now = worker.reach.turn(tile, sums.block)
            take_turn(turn, mine_now)
            cute.copy(sums.atom, from_smem, to_gmem)
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0)
            pass_turn(turn, mine_now + 1)
        else:
            cute.copy(sums.atom, from_smem, to_gmem)
            cute.arch.cp_async_bulk_commit_group()


@cute.jit
def take_turn(turn: Any, number: Any):
    """Wait, as a warp, until the blocks of all keys before this one's have added to a tile.

    Blocks start in this order, so that one that waits is waited for by later ones only.
    """
    if cute.arch.lane_idx() == 0:
        while cute.arch.load(turn, cutlass.Int32, sem="acquire", scope="gpu") != number:
            pass
    cute.arch.sync_warp()


@cute.jit
def pass_turn(turn: Any, number: Any):
    """Let the block of the keys after these add."""
    cute.arch.sync_warp()
    if cute.arch.lane_idx() == 0:
        cute.arch.store(turn, number, sem="release", scope="gpu")
