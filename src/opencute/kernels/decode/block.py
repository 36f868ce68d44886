# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A block of attention for decoding: whose rows and keys it has, and where its results go.

In: what is launched. Out: what its groups of warps need besides tiles, however those are loaded::

    block = Block(memory, lengths, room, plan)    # once tiles have their shared memory
    rows = read_rows(mQ[None, None, block.head, block.batch], block, plan)
    store_rows(rows, block, plan)
    walk = walk_over(block, sK, sV, mma, plan)
    for tile in range(block.start, block.end, block.step): ...
    into = block.results(mO, mLogs, scale)
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.decode.parts import DecodePlan, Results

__all__ = ["Block", "scaled"]


class Block:
    """A block, and the group of warps of a thread.

    Args:
        memory: the shared memory that tiles have left.
        lengths: keys of each sequence, or None: all that there is room for.
        room: for keys.
        leads: whether a kernel follows that may begin, and waits until all blocks are done.

    Attributes:
        tid: index of the thread.
        split, batch: which share of the keys of which sequence it has.
        place: of its rows, among those of all heads.
        head: of keys.
        first: the first of its rows.
        which: the thread's group.
        sQ: (rows, depth); powers: (rows,), what rows are divided by, or None.
        sStats: (rows, groups, 2) in f32, levels and sums of groups.
        keys: how many the sequence has.
        start, step: the group's first tile, and how far it is to its next one. Splits and their
            groups take turns, so that all have equally many of a sequence of any length, and a
            group's first tile is known before that is.
        room, end: tiles that there is room for, and that there are.
    """

    def __init__(
        self, memory: Any, lengths: Any, room: Any, plan: DecodePlan, leads: bool = False
    ) -> None:
        config = plan.config
        self.tid, _, _ = cute.arch.thread_idx()
        self.place, self.split, self.batch = cute.arch.block_idx()
        if leads:
            cute.arch.griddepcontrol_launch_dependents()
        blocks = cute.ceil_div(plan.queries * plan.group, config.rows)
        self.head, self.first = self.place // blocks, self.place % blocks * config.rows
        self.group = plan.group
        self.which = cute.arch.make_warp_uniform(self.tid // plan.threads)

        self.sQ = memory.allocate_tensor(plan.computed, plan.rows_layout(config.rows), 16)
        of_stats = cute.make_layout((config.rows, config.groups, 2))
        self.sStats = memory.allocate_tensor(cutlass.Float32, of_stats, 16)
        self.powers = None
        if plan.divided:
            of_rows = cute.make_layout(config.rows)
            self.powers = memory.allocate_tensor(cutlass.Float32, of_rows, 16)

        self.keys = room
        if lengths is not None:
            self.keys = cutlass.min(cutlass.max(lengths[self.batch], 0), room)
        self.start = self.split * config.groups + self.which
        self.step = cute.arch.grid_dim()[1] * config.groups
        self.room, self.end = (cute.ceil_div(x, config.n) for x in (room, self.keys))

    def results(self, mO: Any, mLogs: Any, scale: Any, part: Any = None) -> Results:
        """Where the block's results go.

        Args:
            mO: (rows, D, Hk, B, splits); mLogs: (splits, B, H, Sq), or None.
            scale: what results are multiplied with, or None.
            part: of `mO`, where it is not that of the block's share of the keys.
        """
        part = self.split if part is None else part
        logs = None if mLogs is None else mLogs[part, self.batch, None, None]
        out = mO[None, None, self.head, self.batch, part]
        return Results(out, logs, self.first, self.head, scale, self.group)


def scaled(factor: Any, scales: Any, head: Any) -> Any:
    """A factor times the scale of a head, where heads have some: that of all if there is one."""
    if scales is None:
        return factor
    return factor * scales[cutlass.min(head, scales.shape[0] - 1)]
