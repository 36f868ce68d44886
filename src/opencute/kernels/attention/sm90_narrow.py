# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Values of eight bits for attention with warpgroups, whose instructions want keys next to keys.

In: tiles (elements, keys) of values in shared memory as TMA brings them, elements of a key next to
each other. Out: the same with 16 keys of an element together, in the order in which a thread has
weights: it has two neighbours of each eight scores, and an instruction takes four at a time.

Three warps do it beside the one that loads. Pairs of elements are transposed by `ldmatrix`: of 16
keys a thread then has two neighbours of each eight, of a pair. Bytes of the two words are parted
into a word of each element, and those are what `stmatrix` puts next to each other: rows of 16 keys.
The upper half of a warp's threads gives its two words the other way round, so that the eight rows
of a matrix lie in different banks.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute, pipeline
from opencute.kernels.attention.sm90 import WarpgroupPlan

__all__ = ["TURNERS", "turn_values", "turned_pipeline"]

TURNERS = 96  # threads of the three warps
WARPS = TURNERS // 32

warp = cute.nvgpu.warp


class Turned(pipeline.PipelineAsync):
    """A pipeline whose warps arrive once each."""

    def producer_commit(self, state: Any, *, loc: Any = None, ip: Any = None) -> None:
        """Say that this warp has filled its part of the buffer."""
        cute.arch.sync_warp()
        _arrive_once(self.sync_object_full, state.index)

    def consumer_release(self, state: Any, *, loc: Any = None, ip: Any = None) -> None:
        """Say that the products of this warp have read the buffer."""
        cute.arch.sync_warp()
        _arrive_once(self.sync_object_empty, state.index)


@cute.jit
def _arrive_once(row: Any, index: Any) -> None:
    if cute.arch.lane_idx() == 0:
        row.arrive(index)


def turned_pipeline(plan: WarpgroupPlan) -> Turned:
    """The pipeline from the warps that turn values to those that multiply them."""
    turners, takers = (
        pipeline.CooperativeGroup(pipeline.Agent.Thread, warps)
        for warps in (WARPS, 4 * plan.groups)
    )
    made = pipeline.PipelineAsync.create(
        num_stages=plan.turned or plan.stages, producer_group=turners, consumer_group=takers,
        defer_sync=True,
    )  # fmt: skip
    return Turned(made.sync_object_full, made.sync_object_empty, made.num_stages)


def row_of(tensor: Any, at: Any) -> Any:
    """16 bytes of shared memory."""
    piece = cute.local_tile(tensor, (16, 1, 1) if at[0] == "down" else (1, 16, 1), at[1:])
    return cute.make_tensor(piece.iterator, cute.make_layout(16))


@cute.jit
def turn_values(
    arrived: Any, turned: Any, raw: Any, sV: Any, order: Any, tid: Any,
    plan: cutlass.Constexpr[WarpgroupPlan],
):  # fmt: skip
    """All tiles of values of this block.

    Args:
        arrived, turned: pipelines of what TMA brings, and of what products take.
        raw, sV: shared memory of both, (elements, keys, places).
        tid: 0 to 95.
    """
    values, ready = arrived.make_consumer(), turned.make_producer()
    reads = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(True, 4), cutlass.Int16)
    writes = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), cutlass.Int16)
    which, lane = cute.arch.make_warp_uniform(tid // 32), tid % 32
    matrix, row = lane // 8, lane % 8
    upper = lane // 16  # has words of rows 4 to 7
    parts = tuple(0x6420 + 0x1111 * x for x in (upper, 1 - upper))
    element = 16 * (matrix // 2) + 2 * row + ((matrix + row // 4) & 1)
    for turn in range(order.count()):
        tile, _, batch = order.tile(turn)
        places = order.places(tile, batch)
        start, count = places.tiles()
        for i in range(count):
            source, into = values.wait_and_advance(), ready.acquire_and_advance()
            left = places.keys - (start + count - 1 - i) * plan.n - 2 * (lane % 4)
            for chunk in range(which, plan.n // 16, WARPS):
                found = []
                for part in cutlass.range_constexpr(plan.head_dim // 32):
                    held = cute.make_rmem_tensor(4, cutlass.Int32)
                    line = row_of(raw, ("down", 2 * part + matrix // 2,
                                        16 * chunk + 8 * (matrix & 1) + row, source.index))
                    cute.copy(reads, cute.recast_tensor(line, cutlass.Int16),
                              cute.recast_tensor(held, cutlass.Int16))
                    found.append(held)
                for part in cutlass.range_constexpr(plan.head_dim // 32):
                    held = found[part]
                    words = [held[j] for j in range(4)]
                    if cutlass.const_expr(order.ragged):  # what lies behind may be no number
                        words = [
                            w & kept(left - 16 * chunk - 8 * (j & 1)) for j, w in enumerate(words)
                        ]
                    given = cute.make_rmem_tensor(4, cutlass.Int32)
                    for j in cutlass.range_constexpr(4):
                        pair = words[j // 2 * 2 : j // 2 * 2 + 2]
                        given[j] = cute.arch.prmt(*pair, parts[j % 2])
                    line = row_of(sV, ("across", 32 * part + element, chunk, into.index))
                    cute.copy(writes, cute.recast_tensor(given, cutlass.Int16),
                              cute.recast_tensor(line, cutlass.Int16))
            cute.arch.fence_proxy("async.shared", space="cta")
            into.commit()
            source.release()


def kept(left: Any) -> Any:
    """Of a word of two keys, the bits of those that there are.

    Args:
        left: how many there are, from the first one on.
    """
    zero = cutlass.Int32(0)
    first = cute.where(left > 0, cutlass.Int32(0xFFFF), zero)
    return first | cute.where(left > 1, cutlass.Int32(-65536), zero)
