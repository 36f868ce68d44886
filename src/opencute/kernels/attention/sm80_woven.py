# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention on `mma.sync` as a pipeline within each warp, written in the order in which it runs.

A warp works on 16 keys at a time. While the tensor cores make scores of the next 16, it makes the
weights of these; while they add these weights times values, it looks for the largest of the next
scores. What a product reads from shared memory was asked for some products before, and copies of
later tiles start in between. Some of Q stays in registers, because with 16 keys at a time all of
it is read four times as often as with 64.

In: what `sm80.attention_kernel` has made. Out: its result and sums::

    woven = Woven(walk, softmax, rO, plan)
    woven.start(tiles - 1, first_query, keys)
    woven_tile(woven, tile, first_query, keys, True)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.attention.parts import by_rows, columns_of, two_of

__all__ = ["Woven", "start_woven", "woven_tile"]

KEYS = 16  # at a time


class Woven:
    """The state of the pipeline: scores of the next 16 keys, and what is on its way.

    Args:
        walk: tiles in memory and this thread's parts of them.
        softmax: levels and sums.
        rO: the result.
        kept: how many steps of Q, of 16 elements each, stay in registers.
        ahead: how many steps before a product its operands are read.
    """

    def __init__(self, walk: Any, softmax: Any, rO: Any, kept: int, ahead: int) -> None:
        self.walk, self.softmax, self.rO = walk, softmax, rO
        self.kept, self.ahead = kept, ahead
        self.chunks, self.steps = walk.plan.n // KEYS, cute.size(walk.rQ, mode=[2])
        self.pieces = walk.plan.depth // 16
        self.scores = self.fresh()
        identity = cute.make_identity_tensor((walk.plan.m, KEYS))
        self.coords = by_rows(walk.thread.partition_C(identity))
        self.m = walk.rQ.shape[1]

    def fresh(self) -> Any:
        """Scores of 16 keys, all 0."""
        mma = self.walk.mma
        acc = mma.make_fragment_C(mma.partition_shape_C((self.walk.plan.m, KEYS)))
        acc.fill(0.0)
        return acc

    def read_Q(self, k: int) -> None:
        """16 elements of the queries."""
        at, walk = (None, None, k), self.walk
        cute.copy(walk.read_Q, walk.from_Q[at], walk.into_Q[at])

    def read_K(self, tile: Any, chunk: int, k: int) -> None:
        """16 elements of 16 keys."""
        walk = self.walk
        at = (None, chunk, k)
        cute.copy(walk.read_K, walk.from_K[(*at, walk.stage(tile))], walk.into_K[at])

    def read_V(self, tile: Any, chunk: int, j: int) -> None:
        """16 elements of 16 values."""
        walk = self.walk
        at = (None, j, chunk)
        cute.copy(walk.read_V, walk.from_V[(*at, walk.stage(tile))], walk.into_V[at])

    def product(self, acc: Any, chunk: int, k: int) -> None:
        """What 16 elements add to the scores."""
        walk = self.walk
        cute.gemm(walk.mma, acc, walk.rQ[None, None, k], two_of(walk.rK, 2 * chunk, k), acc)

    def begin(self, tile: Any) -> None:
        """Plan a tile: its steps, what each reads, and what starts meanwhile."""
        walk, last = self.walk, self.chunks - 1
        self.reads: list[Callable[[], None]] = []
        self.at = 0
        following = cutlass.max(tile - 1, 0)  # after the last tile: a product that nobody uses
        for c in range(self.chunks):
            for k in range(self.steps):
                if c < last:
                    self.reads.append(lambda c=c, k=k: self._read_A(tile, c + 1, k))
                else:
                    self.reads.append(lambda k=k: self._read_A(following, 0, k))
            for j in range(self.pieces):
                self.reads.append(lambda c=c, j=j: self.read_V(tile, c, j))
        self.turn = last * (self.steps + self.pieces)  # where keys of the next tile are read
        cute.arch.cp_async_wait_group(1)
        cute.arch.sync_threads()  # V has arrived, and nobody reads the V before this any more
        self.copies = walk.pieces_of_V(tile - 1, tile > 0)
        self.tile = tile
        self.loading = 0
        for i in range(min(self.ahead, len(self.reads))):
            self._read(i)

    def _read_A(self, tile: Any, chunk: int, k: int) -> None:
        if k >= self.kept:
            self.read_Q(k)
        self.read_K(tile, chunk, k)

    def _read(self, i: int) -> None:
        if i == self.turn:
            self._finish_copies()
            cute.arch.cp_async_wait_group(1)
            cute.arch.sync_threads()  # the next K has arrived, and nobody reads this one any more
            self.copies = self.walk.pieces_of_K(self.tile - 2)
        self.reads[i]()

    def _finish_copies(self) -> None:
        for start in self.copies:
            start()
        self.copies = []
        cute.arch.cp_async_commit_group()

    def step(self) -> None:
        """What comes before each step: reads for later ones, and now and then a copy."""
        if self.at + self.ahead < len(self.reads):
            self._read(self.at + self.ahead)
        if self.copies and self.at % 2:
            self.copies.pop(0)()
        self.at += 1

    def products(self, scores: Any, chunk: int) -> Any:
        """Scores of the next 16 keys, and between them the weights of these."""
        new = self.fresh()
        self.weights = cute.make_rmem_tensor(scores.layout, self.walk.plan.dtype)
        pairs = cute.size(scores) // 2
        for k in range(self.steps):
            self.step()
            self.product(new, (chunk + 1) % self.chunks, k)
            for i in range(share(pairs, k, self.steps - 1), share(pairs, k + 1, self.steps - 1)):
                self.softmax.weigh_pair(scores, 2 * i, self.m, self.weights)
        return new

    def values(self, scores: Any, chunk: int) -> Any:
        """O += P V of 16 keys, and between that the largest of the next scores.

        Returns:
            Whether a row has scores that are far above its level.
        """
        walk = self.walk
        order = cute.make_layout(((4, 2), self.m), stride=((1, 4 * self.m), 4))
        rP = cute.make_tensor(self.weights.iterator, order)
        rows = by_rows(scores)
        largest: list[Any] = [None] * self.softmax.rows
        total = cute.size(rows)
        for j in range(self.pieces):
            self.step()
            part = columns_of(self.rO, 2 * j, 2)
            cute.gemm(walk.mma, part, rP, two_of(walk.rV, 2 * j, chunk), part)
            for i in range(share(total, j - 1, self.pieces - 1), share(total, j, self.pieces - 1)):
                r, c = i % self.softmax.rows, i // self.softmax.rows
                x, most = rows[r, c], largest[r]
                largest[r] = x if most is None else cute.arch.fmax(most, x)
        return self.softmax.far(largest)

    def end(self, scores: Any) -> None:
        """The scores are those that the next tile begins with."""
        self._finish_copies()
        self.scores.store(scores.load())


def share(count: int, step: int, steps: int) -> int:
    """How many of some things are done before a step."""
    return count * min(max(step, 0), steps) // steps


@cute.jit
def start_woven(
    woven: cutlass.Constexpr, tile: Any, first_query: Any, keys: Any, mask: cutlass.Constexpr
):
    """Scores of the first 16 keys; Q and K have arrived."""
    for k in cutlass.range_constexpr(woven.steps):
        woven.read_Q(k)
        woven.read_K(tile, 0, k)
        woven.product(woven.scores, 0, k)
    rows = by_rows(woven.scores)
    mask(rows, woven.coords, first_query, tile * woven.walk.plan.n, keys, woven.walk.plan.causal)
    woven.softmax.raise_to(rows, by_rows(woven.rO))


@cute.jit
def woven_tile(
    woven: cutlass.Constexpr, tile: Any, first_query: Any, keys: Any, masked: cutlass.Constexpr,
    mask: cutlass.Constexpr,
):  # fmt: skip
    """One tile of keys; the scores of its first 16 are there, those of the next tile's are made."""
    plan = woven.walk.plan
    woven.begin(tile)
    scores = woven.scores
    for c in cutlass.range_constexpr(woven.chunks):
        new = woven.products(scores, c)
        rows = by_rows(new)
        if cutlass.const_expr(masked):
            first = tile * plan.n + KEYS * (c + 1)
            if cutlass.const_expr(c + 1 == woven.chunks):
                first = cutlass.max(tile - 1, 0) * plan.n
            mask(rows, woven.coords, first_query, first, keys, plan.causal)
        if woven.values(new, c):
            woven.softmax.raise_to(rows, by_rows(woven.rO))
        scores = new
    woven.end(scores)
