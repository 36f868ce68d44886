# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What attention and its derivatives share: heads of sequences, tiles of their rows, copies.

In: tensors (B, S, H, D), or (1, S, H, D) with the places where sequences start. Out: matrices
(rows, D) of one head of one sequence, and tiles of them in shared memory::

    queries = sequence(as_heads(q, 128), starts, head, batch)
    load = RowCopy(plan.tiled_copy(op), (64, 128), queries.shape, tid)
    load.move(load.part.partition_S(tile), load.part.partition_D(s), start=first_row)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.attention.config import padded

__all__ = [
    "HeadTiles", "RowCopy", "as_heads", "by_rows", "columns_of", "sequence", "span", "tile_from",
    "two_of", "write",
]  # fmt: skip

warp = cute.nvgpu.warp


class HeadTiles:
    """Tiles of rows of a head, which a plan has.

    Args:
        dtype: Float16 or BFloat16.
        head_dim: elements of a head.
        warps: warps of a block.
    """

    dtype: Any
    head_dim: int
    warps: int

    @property
    def depth(self) -> int:
        """Elements of a row in shared memory."""
        return padded(self.head_dim)

    @property
    def line(self) -> int:
        """Elements that lie together in shared memory: 128 bytes, or 64."""
        return 64 if self.depth % 64 == 0 else 32

    def smem(self, rows: int) -> Any:
        """Shared memory (rows, depth).

        Rows are an odd number of 16-byte units apart, so that the eight rows of a matrix meet
        different banks. Unlike with a swizzle, one register then reaches the whole tile: with
        results and scores in registers there are none to spare.
        """
        return cute.make_layout((rows, self.depth), stride=(self.depth + 8, 1))

    def tiled_mma(self) -> Any:
        """Warps one below the other; two instructions along n, which one ldmatrix feeds."""
        return self.mma_of(self.warps, 1)

    def mma_of(self, m: int, n: int) -> Any:
        """Warps in `m` rows and `n` columns, each as above."""
        op = warp.MmaF16BF16Op(self.dtype, cutlass.Float32, (16, 8, 16))
        return cute.make_tiled_mma(op, (m, n, 1), permutation_mnk=(16 * m, 16 * n, 16))

    def tiled_copy(self, op: Any) -> Any:
        """Moves rows, 16 bytes for each thread."""
        atom = cute.make_copy_atom(op, self.dtype, num_bits_per_copy=128)
        across = self.line // 8
        where = cute.make_layout((32 * self.warps // across, across), stride=(across, 1))
        return cute.make_tiled_copy_tv(atom, where, cute.make_layout((1, 8)))

    def matrices(self, transpose: bool) -> Any:
        """From shared memory to the registers of an MMA."""
        return cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose, 4), self.dtype)


class RowCopy:
    """One thread's part of the copies of tiles of rows.

    Args:
        copy: the tiled copy.
        tile: rows and depth of a tile.
        shape: rows and elements that there are.
        tid: index of the thread.
    """

    def __init__(self, copy: Any, tile: tuple[int, int], shape: tuple[Any, int], tid: Any) -> None:
        self.copy, self.part = copy, copy.get_slice(tid)
        self.rows, self.whole = shape[0], shape[1] == tile[1]
        self.coords = self.part.partition_S(cute.make_identity_tensor(tile))
        self.shape = shape

    def move(self, src: Any, dst: Any, start: Any = None) -> None:
        """Copy a tile; what its rows lack in length becomes zero, or stays as it is.

        Args:
            start: index of the tile's first row where it may reach past the last one. Rows that
                there are not are treated alike.
        """
        if start is None and self.whole:
            cute.copy(self.copy, src, dst)
            return
        m, k = (cute.size(self.coords, mode=[i]) for i in (1, 2))
        steps = (0, 0 if start is None else 1, 0 if self.whole else m)
        pred = cute.make_rmem_tensor(cute.make_layout((1, m, k), stride=steps), cutlass.Boolean)
        for i in range(1 if start is None else m):
            for j in range(1 if self.whole else k):
                row, column = self.coords[0, i, j]
                if start is None:
                    pred[0, i, j] = column < self.shape[1]
                elif self.whole:
                    pred[0, i, j] = row < self.rows - start
                else:
                    at = (self.rows - start, self.shape[1])
                    pred[0, i, j] = cute.elem_less((row, column), at)
        cute.copy(self.copy, src, dst, pred=pred)

    def pieces(self, src: Any, dst: Any, there: Any) -> list[Callable[[], None]]:
        """`move` of a tile that has all its rows, in pieces that may be started apart.

        Args:
            there: whether there is such a tile, or None if so; nothing is read otherwise.
        """
        m, k = (cute.size(self.coords, mode=[i]) for i in (1, 2))

        def piece(i: int) -> None:
            part = (src[None, i, None], dst[None, i, None])
            if there is None and self.whole:
                cute.copy(self.copy, *part)
                return
            steps = (0, 0 if self.whole else 1)
            pred = cute.make_rmem_tensor(cute.make_layout((1, k), stride=steps), cutlass.Boolean)
            for j in range(1 if self.whole else k):
                inside = self.coords[0, i, j][1] < self.shape[1]
                pred[0, j] = inside if there is None else there if self.whole else there & inside
            cute.copy(self.copy, *part, pred=pred)

        return [lambda i=i: piece(i) for i in range(m)]


def by_rows(acc: Any) -> Any:
    """Accumulators ((2, 2), M, N), or their coordinates, as (rows of a thread, columns)."""
    _, m, n = acc.shape
    order = cute.make_layout(((2, m), (2, n)), stride=((2, 4), (1, 4 * m)))
    return cute.composition(acc, order)


def columns_of(acc: Any, start: int, count: int) -> Any:
    """Some of the accumulators along n."""
    values, m, _ = acc.shape
    return cute.make_tensor(acc.iterator + 4 * m * start, cute.make_layout((values, m, count)))


def two_of(operand: Any, n: int, k: int) -> Any:
    """Two neighbours along n of a fragment B (values, n, k)."""
    part = operand[None, n, k]
    step = operand.layout((0, 1, 0)) if cute.size(operand, mode=[1]) > 1 else 0
    layout = cute.make_layout((part.shape, 2), stride=(part.stride, step))
    return cute.make_tensor(part.iterator, layout)


def tile_from(t: Any, row: Any, tile: tuple[int, int]) -> Any:
    """A tile of a tensor (keys, elements) from a row on.

    The address of its first element is the same for all threads, and what they add has 32 bits.
    """
    step = t.stride[0]
    start = t.iterator + cute.assume(step * cutlass.Int64(row), divby=8)
    layout = cute.make_layout(tile, stride=(cute.assume(cutlass.Int32(step), divby=8), 1))
    return cute.make_tensor(start, layout)


def as_heads(t: Any, head_dim: int, vector: int = 8) -> Any:
    """A tensor (B, S, H, D) as (S, D, H, B), with what is known of it: `vector` elements have 16
    bytes."""
    batch, length, heads, _ = t.shape
    b, s, h, _ = (cute.assume(x, divby=vector) if i < 3 else 1 for i, x in enumerate(t.stride))
    layout = cute.make_layout((length, head_dim, heads, batch), stride=(s, 1, h, b))
    return cute.make_tensor(t.iterator.align(16), layout)


def span(t: Any, starts: Any, batch: Any) -> tuple[Any, Any]:
    """Where a sequence starts along a tensor's first axis, and its length.

    Args:
        t: a tensor (S, ...).
        starts: where sequences start and the last one ends, or None: each batch has its own S.
    """
    if starts is None:
        return 0, t.shape[0]
    first = starts[batch]
    return first, starts[batch + 1] - first


def sequence(t: Any, starts: Any, head: Any, batch: Any) -> Any:
    """One head of one sequence, (length, D), of a tensor of `as_heads`; `starts` as for `span`."""
    if starts is None:
        return t[None, None, head, batch]
    first, length = span(t, starts, batch)
    step = t.stride[0]
    start = t[None, None, head, 0].iterator + cute.assume(step * cutlass.Int64(first), divby=8)
    return cute.make_tensor(start, cute.make_layout((length, t.shape[1]), stride=(step, 1)))


@cute.jit
def write(
    rD: Any, sD: Any, mD: Any, block: Any, rows: cutlass.Constexpr[int], mma: Any, tid: Any,
    plan: cutlass.Constexpr[HeadTiles],
):  # fmt: skip
    """Write a tile of rows from accumulators: through shared memory, in vectors of 128 bits.

    Args:
        rD: fragment of the MMA, in the type of the result.
        sD: shared memory for the tile, which nobody needs after the next barrier.
        mD: matrix (length, D); block: which tile of `rows` rows of it.
    """
    tile = (rows, plan.depth)
    cute.arch.sync_threads()
    cute.autovec_copy(rD, mma.get_slice(tid).partition_C(sD))
    cute.arch.sync_threads()
    store = plan.tiled_copy(cute.nvgpu.CopyUniversalOp())
    thr = store.get_slice(tid)
    gD = thr.partition_D(cute.local_tile(mD, tile, (block, 0)))
    held = cute.make_fragment_like(gD, plan.dtype)
    cute.copy(store, thr.partition_S(sD), held)
    copies = RowCopy(store, tile, (mD.shape[0], plan.head_dim), tid)
    copies.move(held, gD, block * rows)
