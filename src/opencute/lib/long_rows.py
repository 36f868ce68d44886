# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rows too long for the registers of a block: read chunk by chunk, as often as it takes.

`LongRows` cuts a row into chunks that fit, each of them a `Rows`, and a rest. What is kept from
chunk to chunk lives in a register tensor::

    long = LongRows(n=200_000, threads=512, vec=8, reps=4)
    total = cute.make_rmem_tensor((1,), cutlass.Float32)
    total.fill(0.0)

    def add(rows, part, c):
        total[0] = total[0] + rows.own_sum(rows.load(part(gX[row, None]), thread, 0.0))

    long.each(add)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.lib.rows import Rows

__all__ = ["LongRows"]


@dataclass(frozen=True)
class LongRows:
    """How the threads of a block share a row that they read in chunks.

    Args:
        n: elements of a row.
        threads: threads of a block, which works on one row.
        vec: neighbouring elements that a thread moves at once; divides `n`.
        reps: vectors of a thread in a chunk.
    """

    n: int
    threads: int
    vec: int
    reps: int

    groups = 1

    @property
    def chunk(self) -> Rows:
        """A chunk that every thread fills."""
        return Rows(self.threads * self.vec * self.reps, self.threads, self.vec)

    @property
    def whole(self) -> Rows:
        """The row as one: for its matrices, vectors and buffers, not to be held in registers."""
        return Rows(self.n, self.threads, self.vec)

    def first(self, row: Any) -> Any:
        """The first chunk of a row."""
        return cute.make_tensor(row.iterator, cute.make_layout(self.chunk.n))

    def each(self, do: Callable[[Rows, Callable[[Any], Any], Any], None]) -> None:
        """Call `do` for the chunks of a row, in order.

        Args:
            do: takes the `Rows` of the chunk; a function that cuts the chunk out of a row (a
                tensor of `n` elements, or None, which stays None); and where the chunk begins.
        """
        chunk = self.chunk
        count, rest = divmod(self.n, chunk.n)

        def cut(row: Any, index: Any, n: int) -> Any:
            if row is None:
                return None
            # Past the row for the last chunk: a layout only, `n` says what is addressed.
            chunks = cute.make_tensor(row.iterator, cute.make_layout((chunk.n, count + 1)))
            return cute.make_tensor(chunks[None, index].iterator, cute.make_layout(n))

        if count:
            _loop(count, lambda c: do(chunk, lambda row: cut(row, c, chunk.n), c * chunk.n))
        if rest:
            last = Rows(rest, self.threads, self.vec)
            do(last, lambda row: cut(row, count, rest), count * chunk.n)


@cute.jit
def _loop(count: cutlass.Constexpr[int], do: cutlass.Constexpr) -> None:
    for c in range(count):
        do(c)
