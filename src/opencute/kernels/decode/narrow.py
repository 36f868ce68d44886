# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention for decoding with keys and values of e4m3 or e5m2, which are multiplied as f16.

A warp reads two neighbouring elements as one of 16 bits. Of a matrix of 8 keys and 16 elements
lane 4 u + t gets four elements of key u, from 4 t on: of an instruction for 16 elements those are
numbers 2 t, 2 t + 1, 2 t + 8, 2 t + 9. Which element has which number does not matter, as long as
it is the same for queries, which `store_narrow_queries` stores in that order. Transposed, the lane
gets elements 2 u and 2 u + 1 of keys 2 t and 2 t + 1: one instruction has the even columns of the
result, one the odd ones.

Queries of bf16 become numbers of f16 relative to a power of two near the largest of their row; what
is lost there is less than 2 ** -24 of it.

Conversions take one instruction for two elements, beside 4 D operations for each row and key.
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.attention.parts import by_rows
from opencute.kernels.decode.block import Block
from opencute.kernels.decode.parts import (
    DecodePlan,
    Walk,
    read_vectors,
    store_queries,
    vectors,
)

__all__ = ["NarrowWalk", "read_rows", "store_narrow_queries", "store_rows", "walk_over"]

_PAIRS = 0x3120  # bytes 0, 2, 1, 3


class NarrowWalk(Walk):
    """As `Walk`, with tiles of eight bits.

    Args:
        powers: (rows,) in shared memory: what scores are multiplied with; None: nothing.
    """

    def __init__(
        self, sQ: Any, sK: Any, sV: Any, mma: Any, tid: Any, plan: DecodePlan, powers: Any
    ) -> None:
        sK, sV = (cute.recast_tensor(t, cutlass.Float16) for t in (sK, sV))
        super().__init__(sQ, sK, sV, mma, tid, plan)
        self.powers = None
        if powers is not None:
            count = cute.size(self.coords, mode=[0])
            self.powers = cute.make_rmem_tensor(count, cutlass.Float32)
            for r in range(count):
                self.powers[r] = powers[self.coords[r, 0][0]]

    def keep(self, rO: Any, r: int, results: Any) -> None:
        rows = by_rows(rO)[r, None]
        row, lane = self.coords[r, 0][0], self.tid % 4
        four = cute.make_rmem_tensor(4, cutlass.Float32)
        for block in range(self.plan.depth // 16):
            # Two neighbours of the even columns, and two of the odd ones.
            for i in range(4):
                four[i] = rows[4 * block + (0, 2, 1, 3)[i]]
            into = cute.local_tile(results[row, None], (4,), (4 * block + lane,))
            cute.autovec_copy(four, into)

    def scores(self, place: Any) -> Any:
        config, deep, tight = self.plan.config, self.plan.deep, self.plan.tight
        acc = self.mma.make_fragment_C(self.mma.partition_shape_C((config.rows, config.n)))
        acc.fill(0.0)
        at = [(None, None, k) for k in range(cute.size(self.rK, mode=[2]))]
        if not tight:
            for k in at:
                cute.copy(self.read_K, self.from_K[(*k, place)], self.into_K[k])
        for i, k in enumerate(at):
            if tight:
                cute.copy(self.read_K, self.from_K[(*k, place)], self.into_K[k])
            wide = _keys(self.rK[k], self.plan.stored)
            for j in (0, 1):
                q = (None, None, 2 * i + j)
                if deep:
                    cute.copy(self.read_Q, self.from_Q[q], self.into_Q[q])
                cute.gemm(self.mma, acc, self.rQ[q], wide[None, None, j], acc)
        if self.powers is not None:
            rows = by_rows(acc)
            for r in range(cute.size(rows, mode=[0])):
                rows[r, None] = rows[r, None].load() * self.powers[r]
        return acc

    def _add(self, rP: Any, rO: Any, place: Any, k: int) -> None:
        parts = cute.size(self.into_V, mode=[1])
        each = cute.size(self.rV, mode=[1]) // parts
        for j in range(parts):
            if self.plan.tight:
                cute.copy(self.read_V, self.from_V[None, j, k, place], self.into_V[None, j, k])
            for block in range(j * each, (j + 1) * each):
                wide = _values(self.rV[None, block, k], self.plan.stored)
                for n in (0, 1):
                    into = rO[None, 0, 2 * block + n]
                    cute.gemm(self.mma, into, rP[None, 0], wide[None, n], into)


def _keys(raw: Any, stored: Any) -> Any:
    """Pairs of keys' elements ((2, 2), keys / 8) as f16, ((2, 2), keys / 8, 2)."""
    n = cute.size(raw, mode=[1])
    wide = cute.make_rmem_tensor(8 * n, cutlass.Float16)
    flat = cute.make_rmem_tensor(4 * n, cutlass.Float16)
    cute.autovec_copy(raw, cute.make_tensor(flat.iterator, cute.make_layout(
        ((2, 2), n), stride=((1, 2), 4))))  # fmt: skip
    wide.store(cute.recast_tensor(flat, stored).load().to(cutlass.Float16))
    layout = cute.make_layout(((2, 2), n, 2), stride=((1, 2), 8, 4))
    return cute.make_tensor(wide.iterator, layout)


def _values(raw: Any, stored: Any) -> Any:
    """Pairs of values' elements ((2, 2),) as f16, ((2, 2), 2): even columns, and odd ones."""
    flat = cute.make_rmem_tensor(4, cutlass.Float16)
    cute.autovec_copy(raw, cute.make_tensor(flat.iterator, cute.make_layout((2, 2))))
    words = cute.recast_tensor(flat, cutlass.Int32)
    for i in range(2):
        words[i] = cute.arch.prmt(words[i], 0, _PAIRS)
    wide = cute.make_rmem_tensor(8, cutlass.Float16)
    wide.store(cute.recast_tensor(flat, stored).load().to(cutlass.Float16))
    return cute.make_tensor(wide.iterator, cute.make_layout(((2, 2), 2), stride=((1, 4), 2)))


def narrow_vectors(tid: Any, plan: DecodePlan) -> list[tuple[Any, Any]]:
    """As `vectors`: a lane's of the rows of its warp."""
    warps = plan.threads * plan.config.groups // 32
    first = cute.arch.make_warp_uniform(tid // 32)
    return [(first + i * warps, tid % 32) for i in range(-(-plan.config.rows // warps))]


@cute.jit
def store_narrow_queries(
    held: Any, sQ: Any, powers: Any, tid: Any, plan: cutlass.Constexpr[DecodePlan]
):  # fmt: skip
    """Store rows in shared memory as f16, in the order that keys are read in.

    Args:
        held: (8, rows of a warp), of `narrow_vectors`.
        powers: (rows,): gets the powers of two that rows were divided by; None: by nothing.
    """
    places = narrow_vectors(tid, plan)
    for i in cutlass.range_constexpr(len(places)):
        if places[i][0] < plan.config.rows:
            _store_row(held[None, i], sQ, powers, *places[i], plan)


@cute.jit
def _store_row(
    held: Any, sQ: Any, powers: Any, row: Any, lane: Any, plan: cutlass.Constexpr[DecodePlan]
):  # fmt: skip
    values = held.load().to(cutlass.Float32)
    if cutlass.const_expr(powers is not None):
        most = cute.math.absf(values).reduce(cute.ReductionOp.MAX, 0.0, 0)
        most = cute.arch.warp_reduction(most, cute.arch.fmax)
        power, inverse = power_below(most)
        values = values * inverse
        if lane == 0:
            powers[row] = power
    wide = cute.make_rmem_tensor(8, cutlass.Float16)
    wide.store(values.to(cutlass.Float16))
    if lane * 8 < plan.depth:
        # Of 16 elements, pairs 0 to 7 go to places 0, 4, 1, 5, 2, 6, 3, 7.
        start = lane // 2 * 16 + lane % 2 * 4
        for i in cutlass.range_constexpr(2):
            pairs = cute.make_tensor(wide.iterator + 2 * i, cute.make_layout((2, 2), stride=(1, 4)))
            four = cute.make_rmem_tensor(4, cutlass.Float16)
            four.store(pairs.load().reshape(4))
            into = sQ.iterator + sQ.layout((row, start + 8 * i))
            cute.autovec_copy(four, cute.make_tensor(into.align(8), cute.make_layout(4)))


def power_below(x: Any) -> tuple[Any, Any]:
    """The largest power of two that is not above a number, from 2 ** -126 to 2 ** 126, and what it
    gives 1 with."""
    bits = cutlass.min(cutlass.max(x.bitcast(cutlass.Int32) >> 23, 1), 253)
    return tuple((b << 23).bitcast(cutlass.Float32) for b in (bits, 254 - bits))  # type: ignore[return-value]


def read_rows(mQ: Any, block: Block, plan: DecodePlan) -> Any:
    """Ask for a block's rows: before tiles, behind which they would wait for memory."""
    places = (vectors if plan.cache is None else narrow_vectors)(block.tid, plan)
    return read_vectors(mQ, block.first, places, plan)


def store_rows(held: Any, block: Block, plan: DecodePlan) -> None:
    """Store what `read_rows` gives in shared memory, as the walk over these keys takes it."""
    if plan.cache is None:
        store_queries(held, block.sQ, block.tid, plan)
    else:
        store_narrow_queries(held, block.sQ, block.powers, block.tid, plan)


def walk_over(block: Block, sK: Any, sV: Any, mma: Any, plan: DecodePlan) -> Walk:
    """The walk over keys of this type."""
    tid = block.tid % plan.threads
    if plan.cache is None:
        return Walk(block.sQ, sK, sV, mma, tid, plan)
    return NarrowWalk(block.sQ, sK, sV, mma, tid, plan, block.powers)
