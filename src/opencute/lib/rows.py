# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rows that a group of threads holds in registers, and reductions over them.

A row of `n` elements is cut into vectors of `vec`; thread t of `threads` takes the vectors t,
t + threads, ... `Rows` says who has what; its methods move rows and reduce them::

    rows = Rows(n=8192, threads=256, vec=8, groups=1)
    x = rows.load(gX[row, None], 0.0)            # vector of Float32, shape (vec, reps)
    total = rows.sum(x, buffer)                  # in all threads of the row
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.lib.smem_allocator import SmemAllocator

__all__ = ["Rows", "group_reduce"]


def group_reduce(
    value: Any, op: Callable[[Any, Any], Any], buffer: Any, *, threads: int, start: Any
) -> Any:
    """A value of each thread of a group combined, in all of them.

    Args:
        value: a number, or a tuple of numbers that are combined each for itself.
        op: combines two values, in any order.
        buffer: shared memory for one number per warp of the block, for each value. It may be
            written again after the next barrier of the block only.
        threads: threads of a group: a power of two up to 32, or a multiple of 32. Larger groups
            meet at the barrier of the whole block, once.
        start: what a warp that is not there contributes.
    """
    many = isinstance(value, tuple)
    values = value if many else (value,)
    buffers = buffer if many else (buffer,)
    values = tuple(
        cute.arch.warp_reduction(v, op, threads_in_group=min(threads, 32)) for v in values
    )
    if threads > 32:
        _to_buffers(values, buffers)
        cute.arch.sync_threads()
        values = tuple(
            _from_buffer(b, type(v)(start), op, threads // 32)
            for v, b in zip(values, buffers, strict=True)
        )
    return values if many else values[0]


@cute.jit
def _to_buffers(values: Any, buffers: Any) -> None:
    warp = cute.arch.warp_idx()
    if cute.arch.lane_idx() == 0:
        for i in cutlass.range_constexpr(len(values)):
            buffers[i][warp] = values[i]


@cute.jit
def _from_buffer(buffer: Any, start: Any, op: cutlass.Constexpr, warps: cutlass.Constexpr) -> Any:
    lane = cute.arch.lane_idx()
    warp = cute.arch.warp_idx()
    width = 1
    while cutlass.const_expr(width < warps):
        width *= 2
    # Every `width` lanes read the same numbers, so that all lanes end with the same result.
    out = start
    if lane % width < warps:
        out = buffer[warp // warps * warps + lane % width]
    return cute.arch.warp_reduction(out, op, threads_in_group=width)


@dataclass(frozen=True)
class Rows:
    """How threads share rows.

    Args:
        n: elements of a row.
        threads: threads of a row.
        vec: neighbouring elements that a thread moves at once; divides `n`.
        groups: rows that a block works on at the same time.
    """

    n: int
    threads: int
    vec: int
    groups: int = 1

    @property
    def reps(self) -> int:
        """Vectors of a thread."""
        return -(-self.n // (self.threads * self.vec))

    @property
    def even(self) -> bool:
        """Whether all threads have equally many elements."""
        return self.reps * self.threads * self.vec == self.n

    @property
    def whole(self) -> Rows:
        """The row as one, as `LongRows` has it."""
        return self

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return max(self.threads * self.groups // 32, 1)

    @property
    def least_blocks(self) -> int:
        """What `launch` should be told of blocks per multiprocessor: of large blocks, that one is
        enough. Not told anything, ptxas may spill to make room for a second one."""
        return 1 if self.threads * self.groups >= 512 else 0

    def launch(self, m: Any) -> dict[str, Any]:
        """Keyword arguments of a launch on `m` rows, whose blocks are as `place` takes them."""
        return {
            "grid": [cute.ceil_div(m, self.groups), 1, 1],
            "block": [self.threads, self.groups, 1],
            "min_blocks_per_mp": self.least_blocks,
        }

    def place(self, matrix: Any, columns: int = 2) -> tuple[Any, Any, Any, Any]:
        """What a thread of a block (threads, groups) works on.

        Args:
            matrix: a tensor (M, n); blocks take its rows in order.
            columns: of shared memory.

        Returns:
            The thread's index in its row, the row, whether there is such a row, and shared memory
            as `buffers` gives it. Past the last row it is the last row again, so that all threads
            meet at the block's barriers; nothing should be written then.
        """
        thread, group, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        row = block * self.groups + group
        buffers = self.buffers(columns)
        return thread, cutlass.min(row, matrix.shape[0] - 1), row < matrix.shape[0], buffers

    def buffers(self, count: int) -> Any:
        """Shared memory for reductions: `count` columns of one number per warp."""
        return SmemAllocator().allocate_tensor(
            cutlass.Float32, cute.make_layout((self.warps, count)), byte_alignment=16
        )

    def matrix(self, t: Any) -> Any:
        """A tensor (M, n) with what is known of it: its extent, and that rows start at vectors.

        None stays None.
        """
        if t is None:
            return None
        stride = cute.assume(t.stride[0], divby=self.vec)
        layout = cute.make_layout((t.shape[0], self.n), stride=(stride, 1))
        return cute.make_tensor(t.iterator, layout)

    def vector(self, t: Any) -> Any:
        """A tensor (n,) with its extent known; None stays None."""
        return None if t is None else cute.make_tensor(t.iterator, cute.make_layout(self.n))

    def _pieces(self, row: Any, thread: Any) -> Any:
        """The thread's part of a row, as (vec, reps), and how far each vector starts."""
        step = self.vec * self.threads
        tiles = cute.make_layout((self.vec, self.threads, self.reps), stride=(1, self.vec, step))
        # The last repetition may reach past the row: its layout is only addressed where it is not.
        whole = cute.make_tensor(row.iterator, cute.make_layout(step * self.reps))
        return cute.composition(whole, tiles)[None, thread, None]

    def coordinate(self, thread: Any, rep: int) -> Any:
        """Where a thread's vector begins in the row."""
        return (thread + rep * self.threads) * self.vec

    def _each(self, thread: Any, do: Callable[[int], None]) -> None:
        for r in range(self.reps):
            if (r + 1) * self.threads * self.vec <= self.n:
                do(r)
            else:
                _when(self.coordinate(thread, r) < self.n, do, r)

    def load_raw(self, row: Any, thread: Any, fill: Any) -> Any:
        """A thread's part of a row as it stands in memory: a register tensor (vec, reps).

        Args:
            row: a tensor of `n` elements, neighbours in memory.
            thread: index of the thread in its row.
            fill: what stands past the end of the row.
        """
        source = self._pieces(row, thread)
        held = cute.make_rmem_tensor((self.vec, self.reps), row.element_type)
        if not self.even:
            held.fill(fill)
        self._each(thread, lambda r: cute.autovec_copy(source[None, r], held[None, r]))
        return held

    def load(self, row: Any, thread: Any, fill: Any) -> Any:
        """As `load_raw`, as a vector of Float32."""
        return self.load_raw(row, thread, fill).load().to(cutlass.Float32)

    def store(self, row: Any, thread: Any, values: Any) -> None:
        """Write a thread's part of a row, converted to the row's type."""
        held = cute.make_rmem_tensor((self.vec, self.reps), row.element_type)
        held.store(values.to(row.element_type))
        target = self._pieces(row, thread)
        self._each(thread, lambda r: cute.autovec_copy(held[None, r], target[None, r]))

    def sum(self, values: Any, buffer: Any) -> Any:
        """The sum over a row, in all of its threads; of tuples, each for itself."""
        if isinstance(values, tuple):
            return self.combine_sums(tuple(self.own_sum(v) for v in values), buffer)
        return self.combine_sums(self.own_sum(values), buffer)

    def max(self, values: Any, buffer: Any) -> Any:
        """The greatest of a row, in all of its threads."""
        return self.combine_max(self.own_max(values), buffer)

    def own_sum(self, values: Any) -> Any:
        """The sum of what this thread holds."""
        return values.reduce(cute.ReductionOp.ADD, 0.0, 0)

    def own_max(self, values: Any) -> Any:
        """The greatest of what this thread holds."""
        return values.reduce(cute.ReductionOp.MAX, -cutlass.Float32.inf, 0)

    def combine_sums(self, own: Any, buffer: Any) -> Any:
        """The sum of a number of each thread of a row; of tuples, each for itself."""
        return group_reduce(own, lambda a, b: a + b, buffer, threads=self.threads, start=0.0)

    def combine_max(self, own: Any, buffer: Any) -> Any:
        """The greatest of the numbers of the threads of a row."""
        return group_reduce(
            own, cute.arch.fmax, buffer, threads=self.threads, start=-cutlass.Float32.inf
        )

    def inside(self, values: Any, thread: Any, other: float) -> Any:
        """The values, with `other` past the end of the row."""
        if self.even:
            return values
        held = cute.make_rmem_tensor((self.vec, self.reps), values.dtype)
        held.store(values)
        last = self.reps - 1
        _when(self.coordinate(thread, last) >= self.n, lambda r: held[None, r].fill(other), last)
        return held.load()


@cute.jit
def _when(condition: Any, do: cutlass.Constexpr, rep: cutlass.Constexpr) -> None:
    if condition:
        do(rep)
