# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What matrix products of every kind share: blocks, copies into shared memory, the epilogue's ends.

In: matrices of a batch, as tensors (rows, columns, batch). Out: what a thread block works on::

    bm, bn, batch = block_of(mD, (128, 128), group=8)
    load = TileLoad(copy, gA, sA, cA, extents, tid, even=False)
    load.first(); load.tile(k, stage)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.kernels.functions import applied

__all__ = [
    "Ring", "TileLoad", "Walk", "as_matrices", "as_matrix", "block_of", "combine", "copy_atom",
    "copy_where", "fill_stages", "gmem_copy", "grid_of", "k_tiles_of", "operand_loads", "place_of",
    "row_inside", "spread_bias", "start_of", "tile_at",
]  # fmt: skip

cpasync = cute.nvgpu.cpasync
MOST_COPIES = 8  # of a thread, for a tile of an operand, whose addresses stay in registers
AT_ONCE = 4


def as_matrix(t: Any, row_major: bool, vec: int, dtype: Any = None) -> Any:
    """A tensor (batch, rows, columns) as (rows, columns, batch), with what is known of it.

    Args:
        row_major: whether neighbours in memory are neighbours of a row.
        vec: elements that rows (or columns) and addresses are aligned to.
        dtype: another type of the same width to read the elements as.
    """
    bits = t.element_type.width
    at = t.iterator.align(max(vec * bits // 8, 1))
    if dtype is not None:
        at = cute.recast_ptr(at, dtype=dtype)
    batch, rows, columns = t.shape
    by = lambda x: cute.assume(x, divby=vec)  # noqa: E731
    if row_major:
        columns, stride = by(columns), (by(t.stride[1]), 1, by(t.stride[0]))
    else:
        rows, stride = by(rows), (1, by(t.stride[2]), by(t.stride[0]))
    return cute.make_tensor(at, cute.make_layout((rows, columns, batch), stride=stride))


def as_matrices(
    a: Any, b: Any, c: Any, residual: Any, d: Any, plan: Any, dtype: Any = None
) -> tuple[Any, ...]:
    """A, B, C, R and D of a launch, as `as_matrix` has them; C and R may be None.

    Args:
        dtype: what elements of A and B are read as, if not as what they are.
    """
    mA, mB = (as_matrix(t, plan.k_major[i], plan.vec[i], dtype) for i, t in enumerate((a, b)))
    mC, mR, mD = (None if t is None else as_matrix(t, True, plan.vec[2]) for t in (c, residual, d))
    return mA, mB, mC, mR, mD


def grid_of(d: Any, tile: tuple[int, int]) -> list[Any]:
    """Blocks of a launch: the tiles of a matrix in one dimension, the batch in another."""
    tiles = [cute.ceil_div(d.shape[i], tile[i]) for i in (0, 1)]
    return [tiles[0] * tiles[1], 1, d.shape[2]]


def block_of(d: Any, tile: tuple[int, int], group: int) -> tuple[Any, Any, Any]:
    """Row and column of a block's tile, and its matrix of the batch.

    Blocks that run at the same time share rows and columns of the operands when they cover a
    square: they go down `group` tiles, then to the next column, so that the L2 cache serves them.
    """
    pid, _, batch = cute.arch.block_idx()
    return (*place_of(pid, d, tile, group), batch)


def place_of(pid: Any, d: Any, tile: tuple[int, int], group: int) -> tuple[Any, Any]:
    """Row and column of a tile by its number, in the order of `block_of`."""
    tiles_m, tiles_n = (cute.ceil_div(d.shape[i], tile[i]) for i in (0, 1))
    band = pid // (tiles_n * group)
    rest = pid - band * (tiles_n * group)
    height = cutlass.min(tiles_m - band * group, group)
    column = rest // height
    return band * group + rest - column * height, column


def copy_atom(dtype: Any, vec: int) -> Any:
    """Moves `vec` elements from global to shared memory: asynchronously, if they fill 32 bits."""
    bits = vec * dtype.width
    if bits < 32:
        return cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), dtype, num_bits_per_copy=bits)
    mode = cpasync.LoadCacheMode.GLOBAL if bits == 128 else cpasync.LoadCacheMode.ALWAYS
    return cute.make_copy_atom(cpasync.CopyG2SOp(cache_mode=mode), dtype, num_bits_per_copy=bits)


def gmem_copy(
    dtype: Any, vec: int, tile: tuple[int, int], row_major: bool, threads: int, atom: Any = None
) -> Any:
    """A tiled copy of a tile of global memory: neighbouring threads take neighbouring vectors."""
    atom = copy_atom(dtype, vec) if atom is None else atom
    along = math.gcd(tile[1 if row_major else 0] // vec, threads)
    across = threads // along
    if row_major:
        where = cute.make_layout((across, along), stride=(along, 1))
        return cute.make_tiled_copy_tv(atom, where, cute.make_layout((1, vec)))
    where = cute.make_layout((along, across), stride=(1, along))
    return cute.make_tiled_copy_tv(atom, where, cute.make_layout((vec, 1)))


def start_of(index: Any, tile: int, extent: Any, vec: int) -> Any:
    """Where a tile starts that is moved back if it would end after the last row or column."""
    return cute.assume(cutlass.min(index * tile, extent - tile), divby=math.gcd(vec, tile))


def tile_at(t: Any, at: tuple[Any, Any, Any], plan: Any) -> Any:
    """The tile of a tensor (rows, columns) that is a block's."""
    bm, bn, _ = at
    tile = plan.tile[:2]
    if not plan.overlap:
        return cute.local_tile(t, tile, (bm, bn))
    start = [start_of(at[i], tile[i], t.shape[i], plan.vec[2] if i else 1) for i in (0, 1)]
    moved = cute.domain_offset((start[0], start[1]), t)
    if not isinstance(moved.iterator, tuple):
        moved = cute.make_tensor(moved.iterator.align(t.iterator.alignment), moved.layout)
    return cute.local_tile(moved, tile, (0, 0))


def k_tiles_of(
    m: Any, tile: tuple[int, int], at: tuple[Any, Any], even: bool, start: Any = None
) -> tuple[Any, Any]:
    """The tiles along k of a block's rows, and the coordinates of their elements.

    Where k is no multiple of the tile, it is the first tile that is not whole: its missing
    elements have negative coordinates, and all other tiles need no check along k.
    """
    row, batch = at
    one = m[None, None, batch]
    aligned = one.iterator.alignment
    if start is not None:
        one, row = cute.domain_offset((start, 0), one), 0
        one = cute.make_tensor(one.iterator.align(aligned), one.layout)
    g = cute.local_tile(one, tile, (row, None))
    c = cute.local_tile(cute.make_identity_tensor(one.shape), tile, (row, None))
    if not even:
        residue = one.shape[1] - tile[1] * cute.size(g, mode=[2])
        g, c = (cute.domain_offset((0, residue, 0), t) for t in (g, c))
        # Tiles are multiples of vectors, and so is what is missing where vectors lie along k.
        g = cute.make_tensor(g.iterator.align(aligned), g.layout)
    return g, c


class TileLoad:
    """One thread's part of the copies of an operand's tiles.

    Args:
        copy: the tiled copy.
        g, c: tiles (rows, k, number of tiles) and their coordinates, of `k_tiles_of`.
        s: shared memory (rows, k, stages).
        rows: rows that the operand has.
        tid: index of the thread.
        even: whether all tiles are whole, so that nothing needs a check.
        vec: elements moved at once.
    """

    def __init__(
        self, copy: Any, g: Any, c: Any, s: Any, rows: Any, tid: Any, *, even: bool, vec: int
    ) -> None:
        part = copy.get_slice(tid)
        self.copy, self.even, self.rows = copy, even, rows
        self.g, self.s = part.partition_S(g), part.partition_D(s)
        self.zero = not even and vec * s.element_type.width < 32
        m, k = (cute.size(self.s, mode=[i]) for i in (1, 2))
        # Addresses of many copies do not fit in registers: a loop computes them.
        self.looped = m * k > MOST_COPIES
        self.each = m * k  # copies of a thread
        self.count = 1 if self.looped else m * k  # pieces
        self.c: Any = None if even else part.partition_S(c)
        if not even and not self.looped:
            coords = self.c
            self.inside = cute.make_rmem_tensor(
                cute.make_layout((1, m, k), stride=(0, 1, 0)), cutlass.Boolean
            )
            self.inside_first = cute.make_rmem_tensor(
                cute.make_layout((1, m, k), stride=(0, 1, m)), cutlass.Boolean
            )
            for i in range(m):
                self.inside[0, i, 0] = coords[0, i, 0, 0][0] < rows
                for j in range(k):
                    at = coords[0, i, j, 0]
                    self.inside_first[0, i, j] = cute.elem_less((at[0], -1), (rows, at[1]))

    def clear(self, stage: Any) -> None:
        """Make a stage's elements zero, where copies leave those that do not exist as they are."""
        if self.zero:
            self.s[None, None, None, stage].fill(0)

    def first(self) -> None:
        """Start the copy of tile 0 to stage 0; elements that do not exist become zero."""
        s = self.s[None, None, None, 0]
        if self.zero:
            s.fill(0)  # asynchronous copies fill with zeros themselves
        if self.looped:
            copy_in_loop(self, 0, s, True)
            return
        copy_where(
            self.copy, self.g[None, None, None, 0], s, None if self.even else self.inside_first
        )

    def tile(self, k: Any, stage: Any) -> None:
        """Start the copy of tile `k` > 0 to a stage."""
        if self.looped:
            copy_in_loop(self, k, self.s[None, None, None, stage], False)
            return
        copy_where(
            self.copy,
            self.g[None, None, None, k],
            self.s[None, None, None, stage],
            None if self.even else self.inside,
        )

    def pieces(self, k: Any, stage: Any, there: Any) -> list[Callable[[], None]]:
        """`tile` in pieces that may be started apart; nothing is read unless `there`."""
        if self.looped:
            return [lambda: tiles_where([self], k, stage, there)]
        m, columns = (cute.size(self.s, mode=[i]) for i in (1, 2))

        def piece(i: int, j: int) -> None:
            pred = cute.make_rmem_tensor((1,), cutlass.Boolean)
            pred[0] = there if self.even else there & self.inside[0, i, 0]
            cute.copy(self.copy, self.g[None, i, j, k], self.s[None, i, j, stage], pred=pred)

        return [lambda i=i, j=j: piece(i, j) for j in range(columns) for i in range(m)]


class Walk:
    """The pieces of one tile after the other: where each is read is a step from the one before, so
    that a thread holds one address for all of them. For tiles that are whole.

    Args:
        load: of an operand.
        k: the tile that comes first.
    """

    def __init__(self, load: TileLoad, k: Any) -> None:
        self.load = load
        m, columns = (cute.size(load.s, mode=[i]) for i in (1, 2))
        one = load.g[None, 0, 0, k]
        self.places = [(i, j) for j in range(columns) for i in range(m)]
        self.view, self.align = one.layout, one.iterator.alignment
        self.at = one.iterator.toint()
        down, right, next_tile = (self._bytes(load.g.stride[i]) for i in (1, 2, 3))
        back = right - (m - 1) * down if columns > 1 else 0
        self.steps = [down if i + 1 < m else back for i, _ in self.places]
        self.steps[-1] = next_tile - (m - 1) * down - ((columns - 1) * right if columns > 1 else 0)

    def _bytes(self, stride: Any) -> Any:
        return cutlass.Int64(stride) * (self.load.s.element_type.width // 8)

    def pieces(self, stage: Any, there: Any) -> list[Callable[[], None]]:
        """The next tile in pieces, which have to be started in this order."""

        def piece(n: int) -> None:
            i, j = self.places[n]
            pred = cute.make_rmem_tensor((1,), cutlass.Boolean)
            pred[0] = there
            dtype = self.load.s.element_type
            at = cute.make_ptr(dtype, self.at, cute.AddressSpace.gmem, assumed_align=self.align)
            into = self.load.s[None, i, j, stage]
            cute.copy(self.load.copy, cute.make_tensor(at, self.view), into, pred=pred)
            self.at = self.at + self.steps[n]

        return [lambda n=n: piece(n) for n in range(len(self.places))]


def operand_loads(
    matrices: tuple[Any, Any], at: Any, smem: tuple[Any, Any], dtype: Any, tid: Any, plan: Any
) -> tuple[tuple[TileLoad, TileLoad], Any]:
    """A thread's copies of the tiles of A and B, and how many tiles there are along k.

    Args:
        matrices: A and B.
        at: row and column of the tile of D, and which matrix of the batch.
        smem: shared memory of A and of B.
        dtype: type of their elements.
    """
    tiles = [(plan.tile[i], plan.tile[2]) for i in (0, 1)]
    parts = [
        k_tiles_of(
            m, tile, (at[i], at[2]), plan.even,
            start_of(at[i], tile[0], m.shape[0], 1 if plan.k_major[i] else plan.vec[i])
            if plan.overlap else None,
        )
        for i, (m, tile) in enumerate(zip(matrices, tiles, strict=True))
    ]  # fmt: skip
    copies = [
        gmem_copy(dtype, plan.vec[i], tiles[i], plan.k_major[i], plan.threads) for i in (0, 1)
    ]
    a, b = (
        TileLoad(
            copies[i], *parts[i], smem[i], matrices[i].shape[0], tid, even=plan.even,
            vec=plan.vec[i],
        )
        for i in (0, 1)
    )  # fmt: skip
    return (a, b), cute.size(parts[0][0], mode=[2])


@cute.jit
def copy_in_loop(load: Any, k: Any, s: Any, first: cutlass.Constexpr[bool]):
    """Start the copy of tile `k`, `AT_ONCE` instructions in each turn of a loop."""
    m, columns = (cute.size(s, mode=[i]) for i in (1, 2))
    turns = m * columns // AT_ONCE  # powers of two
    for turn in cutlass.range(turns, unroll=1):
        for each in cutlass.range_constexpr(AT_ONCE):
            n = turn * AT_ONCE + each
            copy_one(load, load.g[None, n % m, n // m, k], s[None, n % m, n // m],
                     None if load.c is None else load.c[0, n % m, n // m, 0], first)  # fmt: skip


def copy_one(load: Any, g: Any, s: Any, at: Any, first: bool) -> None:
    """One instruction of a copy, and whether the coordinate `at` is inside."""
    pred = None
    if at is not None:
        pred = cute.make_rmem_tensor((1,), cutlass.Boolean)
        pred[0] = cute.elem_less((at[0], -1), (load.rows, at[1])) if first else at[0] < load.rows
    copy_where(load.copy, g, s, pred)


def copy_where(copy: Any, g: Any, s: Any, pred: Any) -> None:
    """Copy a thread's part of a tile where it is allowed to."""
    if pred is None:
        cute.copy(copy, g, s)
    else:
        cute.copy(copy, g, s, pred=pred)


def row_inside(where: Any, i: Any, m: Any, at: Any, plan: Any) -> Any:
    """Which of a thread's vectors in a row of copies are a block's own; None if all are.

    Args:
        where: coordinates of the vectors, (values, rows, columns).
        m: the matrix; what is not inside of it is nobody's.
        at: the block's tile; what is before it, in a tile that was moved back, is another's.
    """
    if plan.even and not plan.overlap:
        return None
    columns = cute.size(where, mode=[2])
    pred = cute.make_rmem_tensor((1, columns), cutlass.Boolean)
    for j in range(columns):
        if plan.overlap:
            before = (at[0] * plan.tile[0] - 1, at[1] * plan.tile[1] - 1)
            pred[0, j] = cute.elem_less(before, where[0, i, j])
        else:
            pred[0, j] = cute.elem_less(where[0, i, j], (m.shape[0], m.shape[1]))
    return pred


def spread_bias(bias: Any, coords: Any, like: Any, i: int, axis: int, even: bool) -> Any:
    """The elements of a vector that belong to some of a thread's accumulators, as Float32.

    Args:
        bias: a vector along rows (`axis` 0) or columns (1).
        coords: the coordinates of all accumulators, (values, m, n).
        like: those of one m, (values, n).
        i: which m.
    """
    held = cute.make_rmem_tensor(like.layout, cutlass.Float32)
    known: dict[Any, Any] = {}
    for j in range(cute.size(like, mode=[1])):
        for v in range(cute.size(like, mode=[0])):
            # Of an instruction's four values, pairs are in one row; a plain fma has one value.
            key = (v % 2, j) if axis else v // 2
            if key not in known:
                at = coords[v, i, j][axis]
                at = at if even else cutlass.min(at, bias.shape[0] - 1)
                known[key] = bias[at].to(cutlass.Float32)
            held[v, j] = known[key]
    return held.load()


def combine(values: Any, plan: Any, alpha: Any, c: Any, beta: Any, bias: Any, residual: Any) -> Any:
    """activation(alpha values + beta c + bias) + residual; what is None is left out."""
    if plan.scaled:
        values = values.to(cutlass.Float32) * alpha
    if c is not None:
        values = values.to(cutlass.Float32) + c * beta
    if bias is not None:
        values = values.to(cutlass.Float32) + bias
    if plan.activation is not None:
        values = applied("the function on the sums", plan.activation, values.to(cutlass.Float32))
    if residual is not None:
        values = values.to(cutlass.Float32) + residual
    return values


class Ring:
    """The stages of shared memory that tiles travel through, and where a block is in it.

    Args:
        stages: how many.
    """

    def __init__(self, stages: int) -> None:
        self.stages = stages
        self.stage = cutlass.Int32(0)  # that is read
        self.write = cutlass.Int32(stages - 1)  # that is written

    def pieces(
        self, loads: Any, first: Any, k_tile: Any, count: Any, whole: bool, *, apart: bool
    ) -> list[Callable[[], None]]:
        """The copies of the tile that comes when all others there have been used.

        Args:
            loads, first, count, whole: as in `fill_stages`.
            k_tile: how many tiles have been used.
            apart: whether they are to be started one by one, rather than all at once as a group.
        """
        after = k_tile + (self.stages - 1)
        tile, there, stage = after if whole else first + after, after < count, self.write
        if apart:
            return [p for load in loads for p in load.pieces(tile, stage, there)]

        def group() -> None:
            tiles_where(loads, tile, stage, there)
            cute.arch.cp_async_commit_group()

        return [group]

    def wait(self) -> None:
        """The oldest tile that has been started is there, for all threads."""
        cute.arch.cp_async_wait_group(self.stages - 2)
        cute.arch.sync_threads()

    def turn(self, *, commit: bool) -> None:
        """Go on to the next tile, when it has arrived and nobody reads the one before any more.

        Args:
            commit: whether copies have been started one by one, and are a group now.
        """
        if commit:
            cute.arch.cp_async_commit_group()
        next_stage(self)
        self.wait()


@cute.jit
def next_stage(ring: cutlass.Constexpr):
    """The stage that has been read is written next, and the one behind it is read."""
    ring.write = ring.stage
    ring.stage = ring.stage + 1
    if ring.stage == ring.stages:
        ring.stage = cutlass.Int32(0)


@cute.jit
def fill_stages(
    loads: cutlass.Constexpr, first: Any, count: Any, stages: cutlass.Constexpr[int],
    whole: cutlass.Constexpr[bool],
):  # fmt: skip
    """Start the copies of the first tiles along k to all stages but one.

    Args:
        loads: `TileLoad` of each operand.
        first, count: which tiles there are for this block.
        whole: whether that is all of them.
    """
    # Sums of rows that do not exist are not stored, but left for other blocks: they are numbers.
    for stage in range(0 if whole else stages):
        for load in loads:
            load.clear(stage)
    if cutlass.const_expr(all(load.even for load in loads)):  # the first tile is as all others
        for load in loads:
            load.tile(0 if whole else first, 0)
    elif cutlass.const_expr(whole) or first == 0:
        for load in loads:
            load.first()
    else:
        for load in loads:
            load.tile(first, 0)
    cute.arch.cp_async_commit_group()
    for stage in cutlass.range_constexpr(1, stages - 1):
        if stage < count:
            for load in loads:
                load.tile(stage if whole else first + stage, stage)
        cute.arch.cp_async_commit_group()


@cute.jit
def tiles_where(loads: cutlass.Constexpr, k: Any, stage: Any, there: Any):
    """Start the copies of tile `k` to a stage if there is such a tile."""
    if there:
        for load in loads:
            load.tile(k, stage)
