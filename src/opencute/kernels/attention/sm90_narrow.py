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
AT_ONCE = 4  # instructions that read before what they read is used: 16 registers

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


class Turner:
    """A thread that turns values.

    Args:
        raw, sV: shared memory, (elements, keys, places).
        ragged: whether keys may end within a tile, and be followed by what is no number.
    """

    def __init__(self, raw: Any, sV: Any, lane: Any, plan: WarpgroupPlan, ragged: bool) -> None:
        self.raw, self.sV, self.plan, self.ragged = raw, sV, plan, ragged
        self.reads = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(True, 4), cutlass.Int16)
        self.writes = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), cutlass.Int16)
        # What the thread points to: a row of 8 keys, and of 16, in which matrix of four.
        matrix, row = lane // 8, lane % 8
        self.part, self.key = matrix // 2, 8 * (matrix & 1) + row
        self.element = 16 * self.part + 2 * row + ((matrix + row // 4) & 1)
        upper = lane // 16  # has words of rows 4 to 7
        self.bytes = tuple(0x6420 + 0x1111 * x for x in (upper, 1 - upper))
        self.first = 2 * (lane % 4)  # of the keys it has

    def turn(self, chunk: Any, left: Any, source: Any, into: Any) -> None:
        """Turn 16 keys.

        Args:
            left: keys from the first one of these on.
            source, into: places.
        """
        parts = range(self.plan.head_dim // 32)
        for first in parts[::AT_ONCE]:
            some = parts[first : first + AT_ONCE]
            found = [self._read(part, chunk, source) for part in some]
            for part, words in zip(some, found, strict=True):
                if self.ragged:
                    words = [w & kept(left - 8 * (j & 1)) for j, w in enumerate(words)]
                self._write(part, chunk, words, into)

    def _read(self, part: int, chunk: Any, place: Any) -> list[Any]:
        held = cute.make_rmem_tensor(4, cutlass.Int32)
        at = (2 * part + self.part, 16 * chunk + self.key, place)
        line = _pairs(cute.local_tile(self.raw, (16, 1, 1), at))
        cute.copy(self.reads, line, cute.recast_tensor(held, cutlass.Int16))
        return [held[j] for j in range(4)]

    def _write(self, part: int, chunk: Any, words: list[Any], place: Any) -> None:
        held = cute.make_rmem_tensor(4, cutlass.Int32)
        for j in range(4):
            held[j] = cute.arch.prmt(words[j & 2], words[j | 1], self.bytes[j & 1])
        at = (32 * part + self.element, chunk, place)
        line = _pairs(cute.local_tile(self.sV, (1, 16, 1), at))
        cute.copy(self.writes, cute.recast_tensor(held, cutlass.Int16), line)


def _pairs(piece: Any) -> Any:
    """16 bytes of shared memory, as 8 pairs."""
    line = cute.make_tensor(piece.iterator, cute.make_layout(16))
    return cute.recast_tensor(line, cutlass.Int16)


def kept(left: Any) -> Any:
    """Of a word of two keys, the bits of those that there are.

    Args:
        left: how many there are, from the first one on.
    """
    zero = cutlass.Int32(0)
    first = cute.where(left > 0, cutlass.Int32(0xFFFF), zero)
    return first | cute.where(left > 1, cutlass.Int32(-65536), zero)


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
    which, lane = cute.arch.make_warp_uniform(tid // 32), tid % 32
    turner = Turner(raw, sV, lane, plan, order.ragged)
    for turn in range(order.count()):
        tile, _, batch = order.tile(turn)
        places = order.places(tile, batch)
        start, count = places.tiles()
        for i in range(count):
            source, into = values.wait_and_advance(), ready.acquire_and_advance()
            left = places.keys - (start + count - 1 - i) * plan.n - turner.first
            for chunk in range(which, plan.n // 16, WARPS):
                turner.turn(chunk, left - 16 * chunk, source.index, into.index)
            cute.arch.fence_proxy("async.shared", space="cta")
            into.commit()
            source.release()
