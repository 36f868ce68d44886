# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The results of blocks that share the keys of a sequence, put together.

In: for each split the result of its keys in f32, and the logarithm of the sum of its weights. Out:
the result of all keys. A block has a row; its threads share the splits and the row's vectors, so
that reads of all splits are on their way at a time.

Floor: bytes of the parts and of the result over the bandwidth. They are few, and in the L2 cache:
what counts is how often one read waits for another. Where the launch is a dependent one, the blocks
are there when the last part is written.
"""

from __future__ import annotations

import math
from typing import Any

import opencute as cutlass
from opencute import cute, utils

__all__ = ["combine"]

VEC = 4
AHEAD = 4  # reads of splits that a thread has on their way
LOWEST = -1e30  # below all logarithms


def shares(size: int) -> tuple[int, int]:
    """Threads along a row of `size` elements, a power of two, and threads along splits."""
    across = 2
    while across * VEC < size and across < 128:
        across *= 2
    return across, max(2, min(16, 256 // across))


@cute.kernel
def combine_kernel(
    gParts: cute.Tensor,
    gLogs: cute.Tensor,
    gOut: cute.Tensor,
    gLse: Any,
    size: cutlass.Constexpr[int],
    dependent: cutlass.Constexpr[bool],
):
    tid, _, _ = cute.arch.thread_idx()
    head, query, batch = cute.arch.block_idx()
    splits = gParts.shape[0]
    across, slots = shares(size)
    column, slot = tid % across, tid // across
    memory = utils.SmemAllocator()
    sSums = memory.allocate_tensor(cutlass.Float32, cute.make_layout((VEC, across, slots)), 16)
    sStats = memory.allocate_tensor(cutlass.Float32, cute.make_layout((2, slots)), 16)
    if cutlass.const_expr(dependent):
        cute.arch.griddepcontrol_wait()
    for first in cutlass.range_constexpr(0, size // VEC, across):
        vector = first + column
        inside = vector < size // VEC
        at = cutlass.min(vector, size // VEC - 1)  # read once more rather than not at all
        level, total, sums = some(gParts[None, batch, query, head, None], gLogs[
            None, batch, head, query], at, slot, slots, splits)  # fmt: skip
        if cutlass.const_expr(first):
            cute.arch.sync_threads()  # everybody has read the sums before
        cute.autovec_copy(sums, sSums[None, column, slot])
        if column == 0:
            sStats[0, slot] = level
            sStats[1, slot] = total
        cute.arch.sync_threads()
        if tid < across:
            together(sums, sSums[None, column, None], sStats)
            if inside:
                result = cute.make_rmem_tensor(VEC, gOut.element_type)
                result.store(sums.load().to(gOut.element_type))
                into = cute.local_tile(gOut[batch, query, head, None], (VEC,), (vector,))
                cute.autovec_copy(result, into)
    if cutlass.const_expr(gLse is not None):
        if tid == 0:
            level, total = weights(sStats)
            log = level + cute.math.log2(total, fastmath=True) * math.log(2.0)
            gLse[batch, head, query] = log


def weight_of(log: Any, level: Any) -> Any:
    """The weight of a logarithm relative to a level."""
    return cute.math.exp2((log - level) * math.log2(math.e), fastmath=True)


@cute.jit
def some(
    parts: Any, logs: Any, at: Any, slot: Any, slots: cutlass.Constexpr[int], splits: Any
) -> Any:
    """A level, the sum of weights relative to it, and of weighted vectors, of some splits.

    Args:
        parts: (splits, D); logs: (splits,).
        at: which vector.
        slot, slots: the first split, and how far it is to the next.
    """
    level = cutlass.Float32(LOWEST)
    total = cutlass.Float32(0.0)
    sums = cute.make_rmem_tensor(VEC, cutlass.Float32)
    sums.fill(0.0)
    held = cute.make_rmem_tensor((VEC, AHEAD), cutlass.Float32)
    known = cute.make_rmem_tensor(AHEAD, cutlass.Float32)
    for first in range(slot, splits, AHEAD * slots):
        for i in cutlass.range_constexpr(AHEAD):  # all of these reads before one is used
            s = cutlass.min(first + i * slots, splits - 1)
            cute.autovec_copy(cute.local_tile(parts[s, None], (VEC,), (at,)), held[None, i])
            known[i] = logs[s]
        for i in cutlass.range_constexpr(AHEAD):
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
    factor = 1.0 / cute.where(total == 0.0, 1.0, total)
    own = cute.make_rmem_tensor(VEC, cutlass.Float32)
    sums.fill(0.0)
    for i in range(others.shape[1]):
        cute.autovec_copy(others[None, i], own)
        sums.store(sums.load() + own.load() * weight_of(stats[0, i], level))
    sums.store(sums.load() * factor)


def combine(
    parts: Any, logs: Any, out: Any, lse: Any, size: int, *, dependent: bool = False
) -> None:
    """Launch the kernel, from a function that is compiled.

    Args:
        parts: (splits, B, Sq, H, D) in f32; logs: (splits, B, H, Sq) in f32, -inf where a split had
            no key.
        out: (B, Sq, H, D); lse: (B, H, Sq) in f32, or None.
        size: D.
        dependent: whether the kernel may start while the one before still runs, which says when.
    """
    _, batches, queries, heads, _ = parts.shape
    across, slots = shares(size)
    combine_kernel(_aligned(parts, VEC), logs, _aligned(out, VEC), lse, size, dependent).launch(
        grid=[heads, queries, batches],
        block=[across * slots, 1, 1],
        use_pdl=dependent,
        min_blocks_per_mp=1,  # or ptxas saves registers, and reads one after the other
    )


def _aligned(t: Any, vec: int) -> Any:
    """A tensor with what is known of it: rows start at multiples of vectors."""
    strides = tuple(cute.assume(s, divby=vec) for s in t.stride[:-1])
    return cute.make_tensor(t.iterator.align(vec * t.element_type.width // 8),
                            cute.make_layout(t.shape, stride=(*strides, 1)))  # fmt: skip
