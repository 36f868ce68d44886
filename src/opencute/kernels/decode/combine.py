# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The results of blocks that share the keys of a sequence, put together.

In: for each split the result of its keys in f32, and the logarithm of the sum of its weights. Out:
the result of all keys. A row's threads share the splits and the row's vectors, so that reads of all
splits are on their way at a time; with few splits a thread has all of them, and a block several
rows.

Floor: bytes of the parts and of the result over the bandwidth. They are few, and in the L2 cache:
what counts is how often one read waits for another. Where the launch is a dependent one, the blocks
are there when the last part is written.
"""

from __future__ import annotations

import math
from typing import Any

import opencute as cutlass
from opencute import cute, utils

__all__ = ["combine", "slots_for"]

VEC = 4
AHEAD = 4  # reads of splits that a thread has on their way; twice as many where there are more
LOWEST = -1e30  # below all logarithms
# Of the L1, in percent: as much shared memory as the kernel before has. A multiprocessor that
# divides the two in another way has to be empty first.
CARVEOUT = 100
THREADS, MOST = 128, 1024  # of a block: about so many; at most


def slots_for(splits: int, size: int) -> int:
    """Threads along splits for a row of `size` elements: 1, 4 or more, so that few kernels are
    compiled."""
    if splits <= AHEAD:
        return 1
    most = MOST // across_for(size)
    return 4 if splits <= 4 * AHEAD else min(16, most)


def across_for(size: int) -> int:
    """Threads along a row of `size` elements, a power of two."""
    across = 2
    while across * VEC < size and across < 128:
        across *= 2
    return across


@cute.kernel
def combine_kernel(
    gParts: cute.Tensor,
    gLogs: cute.Tensor,
    gOut: cute.Tensor,
    gLse: Any,
    size: cutlass.Constexpr[int],
    slots: cutlass.Constexpr[int],
    dependent: cutlass.Constexpr[bool],
):
    tid, _, _ = cute.arch.thread_idx()
    block, query, batch = cute.arch.block_idx()
    across = across_for(size)
    rows = rows_of(across, slots)
    own, column, slot = tid // (across * slots), tid % across, tid // across % slots
    heads = gOut.shape[2]
    head = cutlass.min(block * rows + own, heads - 1)  # one row twice rather than a branch
    memory = utils.SmemAllocator()
    sSums: Any = None
    sStats: Any = None
    if cutlass.const_expr(slots > 1):
        sSums = memory.allocate_tensor(
            cutlass.Float32, cute.make_layout((VEC, across, slots, rows)), 16
        )[None, None, None, own]
        sStats = memory.allocate_tensor(cutlass.Float32, cute.make_layout((2, slots, rows)), 16)[
            None, None, own
        ]
    if cutlass.const_expr(dependent):
        cute.arch.griddepcontrol_wait()
    for first in cutlass.range_constexpr(0, size // VEC, across):
        vector = first + column
        inside = vector < size // VEC
        at = cutlass.min(vector, size // VEC - 1)  # read once more rather than not at all
        level, total, sums = some(gParts[None, batch, query, head, None], gLogs[
            None, batch, head, query], at, slot, slots)  # fmt: skip
        if cutlass.const_expr(slots > 1):
            if cutlass.const_expr(first):
                cute.arch.sync_threads()  # everybody has read the sums before
            cute.autovec_copy(sums, sSums[None, column, slot])
            if column == 0:
                sStats[0, slot] = level
                sStats[1, slot] = total
            cute.arch.sync_threads()
        if slot == 0:
            if cutlass.const_expr(slots > 1):
                together(sums, sSums[None, column, None], sStats)
            else:
                sums.store(sums.load() * inverse(total))
            if inside:
                result = cute.make_rmem_tensor(VEC, gOut.element_type)
                result.store(sums.load().to(gOut.element_type))
                into = cute.local_tile(gOut[batch, query, head, None], (VEC,), (vector,))
                cute.autovec_copy(result, into)
        if cutlass.const_expr(gLse is not None):
            if cutlass.const_expr(first == 0):
                if (slot == 0) & (column == 0):
                    if cutlass.const_expr(slots > 1):
                        level, total = weights(sStats)
                    log = level + cute.math.log2(total, fastmath=True) * math.log(2.0)
                    gLse[batch, head, query] = log


def rows_of(across: int, slots: int) -> int:
    """Rows of a block."""
    return max(1, THREADS // (across * slots))


def inverse(total: Any) -> Any:
    """What is multiplied with instead of divided by a sum of weights; 1 if there is no weight."""
    return 1.0 / cute.where(total == 0.0, 1.0, total)


def weight_of(log: Any, level: Any) -> Any:
    """The weight of a logarithm relative to a level."""
    return cute.math.exp2((log - level) * math.log2(math.e), fastmath=True)


@cute.jit
def some(parts: Any, logs: Any, at: Any, slot: Any, slots: cutlass.Constexpr[int]) -> Any:
    """A level, the sum of weights relative to it, and of weighted vectors, of some splits.

    Args:
        parts: (splits, D); logs: (splits,).
        at: which vector.
        slot, slots: the first split, and how far it is to the next.
    """
    splits = parts.shape[0]
    ahead = AHEAD if slots <= AHEAD else 2 * AHEAD
    level = cutlass.Float32(LOWEST)
    total = cutlass.Float32(0.0)
    sums = cute.make_rmem_tensor(VEC, cutlass.Float32)
    sums.fill(0.0)
    held = cute.make_rmem_tensor((VEC, ahead), cutlass.Float32)
    known = cute.make_rmem_tensor(ahead, cutlass.Float32)
    for first in range(slot, splits, ahead * slots):
        for i in cutlass.range_constexpr(ahead):  # all of these reads before one is used
            s = cutlass.min(first + i * slots, splits - 1)
            cute.autovec_copy(cute.local_tile(parts[s, None], (VEC,), (at,)), held[None, i])
            known[i] = logs[s]
        for i in cutlass.range_constexpr(ahead):
            there = (known[i] > -cutlass.Float32.inf) & (first + i * slots < splits)
            log = cute.where(there, known[i], -cutlass.Float32.inf)
            # A split that had no key may have left anything: it is read to lose no time.
            values = cute.where(there, held[None, i].load(), 0.0)
            before = level
            level = cute.arch.fmax(before, log)
            old, new = weight_of(before, level), weight_of(log, level)
            total = total * old + new
            sums.store(sums.load() * old + values * new)
    return level, total, sums


def weights(stats: Any) -> tuple[Any, Any]:
    """The level of all, and the sum of weights."""
    slots = stats.shape[1]
    level = stats[0, 0]
    for i in range(1, slots):
        level = cute.arch.fmax(level, stats[0, i])
    total = cutlass.Float32(0.0)
    for i in range(slots):
        total = total + stats[1, i] * weight_of(stats[0, i], level)
    return level, total


def together(sums: Any, others: Any, stats: Any) -> None:
    """The result of all slots: their weighted vectors (VEC, slots) over the sum of weights."""
    level, total = weights(stats)
    factor = inverse(total)
    own = cute.make_rmem_tensor(VEC, cutlass.Float32)
    sums.fill(0.0)
    for i in range(others.shape[1]):
        cute.autovec_copy(others[None, i], own)
        sums.store(sums.load() + own.load() * weight_of(stats[0, i], level))
    sums.store(sums.load() * factor)


def combine(
    parts: Any, logs: Any, out: Any, lse: Any, size: int, slots: int, *, dependent: bool = False
) -> None:
    """Launch the kernel, from a function that is compiled.

    Args:
        parts: (splits, B, Sq, H, D) in f32; logs: (splits, B, H, Sq) in f32, -inf where a split had
            no key.
        out: (B, Sq, H, D); lse: (B, H, Sq) in f32, or None.
        size: D.
        slots: of `slots_for`.
        dependent: whether the kernel may start while the one before still runs, which says when.
    """
    _, batches, queries, heads, _ = parts.shape
    across = across_for(size)
    rows = rows_of(across, slots)
    combine_kernel(
        _aligned(parts, VEC), logs, _aligned(out, VEC), lse, size, slots, dependent
    ).launch(
        grid=[cute.ceil_div(heads, rows), queries, batches],
        block=[across * slots * rows, 1, 1],
        use_pdl=dependent,
        preferred_smem_carveout=CARVEOUT,
        min_blocks_per_mp=1,  # or ptxas saves registers, and reads one after the other
    )


def _aligned(t: Any, vec: int) -> Any:
    """A tensor with what is known of it: rows start at multiples of vectors."""
    strides = tuple(cute.assume(s, divby=vec) for s in t.stride[:-1])
    return cute.make_tensor(t.iterator.align(vec * t.element_type.width // 8),
                            cute.make_layout(t.shape, stride=(*strides, 1)))  # fmt: skip
