# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The epilogue of Hopper's products: parts of 64 rows, each with what a visitor asks for.

A warpgroup has its own buffers, its own barrier and its own store thread. For each part of its tile
it waits for what TMA loads, lets the visitor work on the accumulators, writes the results to
swizzled shared memory, meets, and lets TMA store them. Loads of the first parts start before the
tile's sums, so that they are there when those are::

    epilogue = Epilogue(plan, where, matrices, extra, part_mma)
    epilogue.start(tile)
    ...                      # sums
    epilogue.finish(sums, tile)
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute, pipeline
from opencute.cute.nvgpu import cpasync, warp
from opencute.kernels.functions import applied
from opencute.kernels.gemm.sm90_plan import CONSUMERS, ROWS
from opencute.kernels.gemm.visitors import declared, visit

__all__ = [
    "Epilogue", "Part", "finish_tile", "full_barriers", "leave", "memory_of", "start_tile",
    "store_part",
]  # fmt: skip


class _Matrix:
    """A matrix that goes through shared memory in parts.

    Args:
        atom: how TMA moves a part.
        coords: the coordinates of its elements, (rows, columns, batch).
        smem: shared memory, (rows, columns, buffers of all warpgroups).
    """

    def __init__(self, atom: Any, coords: Any, smem: Any) -> None:
        self.atom, self.smem, self.coords = atom, smem, coords
        self.tile = (cute.size(smem, mode=[0]), cute.size(smem, mode=[1]))
        self.dtype = smem.element_type
        self.bytes = self.tile[0] * self.tile[1] * self.dtype.width // 8
        self.s, self.g = self.parts(coords)

    def parts(self, coords: Any) -> Any:
        """Shared memory, and coordinates, as TMA moves them: (part, buffers), (part, rows, columns,
        batch)."""
        parts = cute.local_tile(coords, self.tile, (None, None, None))
        return cpasync.tma_partition(
            self.atom, 0, cute.make_layout(1), cute.group_modes(self.smem, 0, 2),
            cute.group_modes(parts, 0, 2),
        )  # fmt: skip


def narrowed(values: Any, dtype: Any) -> Any:
    """A vector in another type: of what does not fit, the nearest that does; of fractions, the
    nearest whole number where the type has no others."""
    if dtype not in (cutlass.Int8, cutlass.Uint8):
        return values.to(dtype)
    if values.dtype is cutlass.Float32:
        values = values.to(cutlass.Int32, rounding="rn")
    return values.to(dtype, saturate=True)


class _Plain:
    """A matrix that threads read and write themselves.

    Args:
        matrix: (rows, columns, batch).
    """

    bytes = 0

    def __init__(self, matrix: Any) -> None:
        self.matrix, self.dtype = matrix, matrix.element_type

    def view(self, at: tuple[Any, Any, Any], vec: int, apart: tuple[int, ...], shape: Any) -> Any:
        """A thread's elements, from a coordinate on.

        Args:
            at: row, column and batch.
            vec: elements that are neighbours, if more than 1.
            apart: how many rows apart elements of each mode are; columns, where negative.
            shape: of the view.
        """
        here = cute.domain_offset(at, self.matrix)
        rows, columns, _ = self.matrix.stride
        stride = tuple(-x * columns if x < 0 else x * rows for x in apart)
        at_least = vec * self.dtype.width // 8
        return cute.make_tensor(
            here.iterator.align(at_least), cute.make_layout(shape, stride=stride)
        )


def memory_of(
    smem: Any, d: Any, extra: tuple[Any, ...], plan: Any
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """D, and what the visitor loads and stores, by name, with shared memory for them; and shared
    memory for vectors.

    Args:
        smem: the allocator.
        d: the atom and the coordinates of D.
        extra: the visitor's operands.
    """
    if plan.direct:
        of = zip(plan.visitor.names, plan.visitor.kinds, extra, strict=True)
        others = {n: _Plain(o[1]) for n, k, o in of if k in ("load", "store")}
        return _Plain(d[1]), others, _vectors(smem, plan)
    layout = plan.part_smem(plan.types[2], plan.result_columns)
    buffers = smem.allocate_tensor(plan.types[2], layout.outer, 1024, swizzle=layout.inner)
    out = _Matrix(d[0], d[1], buffers)
    others: dict[str, Any] = {}
    types = iter(plan.aux)
    for name, kind, operand in zip(plan.visitor.names, plan.visitor.kinds, extra, strict=True):
        if kind in ("load", "store"):
            dtype = next(types)
            if not plan.inplace:
                layout = plan.part_smem(dtype, plan.columns)
                buffers = smem.allocate_tensor(dtype, layout.outer, 1024, swizzle=layout.inner)
            others[name] = _Matrix(operand[0], operand[1], buffers)
    return out, others, _vectors(smem, plan)


def _vectors(smem: Any, plan: Any) -> dict[str, Any]:
    """Shared memory for vectors along the columns of a tile, of each warpgroup."""
    layout = cute.make_layout((plan.tile[1], CONSUMERS))
    return {name: smem.allocate_tensor(cutlass.Float32, layout, 16) for name in plan.kept}


class Epilogue:
    """One thread's part of the epilogue of all its tiles.

    Args:
        plan: the plan.
        who: index of the warpgroup, uniform in the warp, and of the thread in it.
        matrices: of `memory_of`.
        full: barriers for what is loaded, one for each buffer of each warpgroup; or None.
        extra: the visitor's operands.
        extents: rows and columns of the product.
        mma: of `part_mma`.
    """

    def __init__(
        self, plan: Any, who: tuple[Any, Any], matrices: Any, full: Any, extra: Any, extents: Any,
        mma: Any,
    ) -> None:  # fmt: skip
        self.plan, self.extents, self.full = plan, extents, full
        self.rank: Any = 0  # of the block, where several finish a tile
        self.map: Any = None  # of the stores, where it is another than their atom's
        self.rows: Any = None  # of matrices, which begin and end anywhere in those that TMA moves
        self.group, self.tid = who
        self.out, self.others, self.vectors = matrices
        # What a thread brings there: read before the sums are taken, written when they are.
        self.brought = {
            name: cute.make_rmem_tensor((-(-plan.tile[1] // 128),), vector.element_type)
            for name, vector in zip(plan.visitor.names, extra, strict=True) if name in self.vectors
        }  # fmt: skip
        self.extra = dict(zip(plan.visitor.names, extra, strict=True))
        kinds = dict(zip(plan.visitor.names, plan.visitor.kinds, strict=True))
        self.loads = [m for name, m in self.others.items() if kinds[name] == "load"]
        self.stores = [m for name, m in self.others.items() if kinds[name] == "store"]
        self.mma = mma
        self.layout = cute.make_layout(mma.partition_shape_C((ROWS, plan.columns)))
        self.matrix_copy = cute.make_tiled_copy_C(
            cute.make_copy_atom(
                warp.StMatrix8x8x16bOp(not plan.row_major, 4 if plan.columns % 16 == 0 else 2),
                cutlass.Float16,
            ),
            mma,
        )  # fmt: skip
        self.matrix_load = cute.make_tiled_copy_C(
            cute.make_copy_atom(
                warp.LdMatrix8x8x16bOp(not plan.row_major, 4 if plan.columns % 16 == 0 else 2),
                cutlass.Float16,
            ),
            mma,
        )  # fmt: skip
        self.stored_by = cute.arch.make_warp_uniform(cute.arch.warp_idx()) % 4 == 0
        self.barrier = pipeline.NamedBarrier(self.group + 1, 128)
        lane = cute.arch.lane_idx()
        self.row_at = (self.tid // 32) * 16 + lane // 4
        self.column_at = lane % 4
        self.peaks: dict[str, Any] = {}
        for name, kind in kinds.items():
            if kind == "amax":
                self.peaks[name] = cute.make_rmem_tensor((1,), cutlass.Float32)
                self.peaks[name][0] = cutlass.Float32(0.0)

    def coords(self, matrix: Any) -> Any:
        """Coordinates of the parts of a matrix."""
        return matrix.g if self.rows is None else self.rows.coords(matrix)

    def place(self, tile: Any, part: Any) -> tuple[Any, Any, Any]:
        """Which part of a matrix belongs to a part of this block's of a tile."""
        m, n, batch = tile
        part = self.number(part)
        config = self.plan.config
        across = self.plan.pieces[1] // self.plan.columns
        row, column = m * (config.tile[0] // ROWS), n * (config.tile[1] // self.plan.columns)
        down = part // across
        if config.beside:
            column = column + self.group * across
        elif not config.pingpong:
            down = down * config.owners + self.group
        return row + down, column + part % across, batch

    def number(self, part: int) -> Any:
        """Which part of a tile this block's part is."""
        return part * self.plan.config.split + self.rank

    def buffer(self, part: int) -> Any:
        """Index of this warpgroup's buffer for a part of its block's."""
        buffers = self.plan.buffers
        return self.group * buffers + part % buffers

    def piece(self, matrix: Any, part: int) -> Any:
        """This thread's elements of a part in shared memory, in the order of accumulators."""
        mine = self.mma.get_slice(self.tid).partition_C(matrix.smem)
        return mine[None, None, None, self.buffer(part)]

    def get(self, matrix: Any, held: Any, part: int) -> None:
        """Read 16-bit elements of a part from shared memory."""
        thread = self.matrix_load.get_slice(self.tid)
        typed = cute.recast_tensor(matrix.smem, cutlass.Float16)
        source = thread.partition_S(typed)[None, None, None, self.buffer(part)]
        into = thread.retile(cute.recast_tensor(held, cutlass.Float16))
        cute.copy(self.matrix_load, source, into)

    def put(self, matrix: Any, values: Any, part: int) -> None:
        """Write a vector of a part to shared memory."""
        held = cute.make_rmem_tensor(self.layout, matrix.dtype)
        held.store(narrowed(values, matrix.dtype))
        at = self.buffer(part)
        if matrix.dtype.width == 16:
            copy = self.matrix_copy
            thread = copy.get_slice(self.tid)
            typed = cute.recast_tensor(matrix.smem, cutlass.Float16)
            into = thread.partition_D(typed)[None, None, None, at]
            cute.copy(copy, thread.retile(cute.recast_tensor(held, cutlass.Float16)), into)
        else:
            cute.autovec_copy(held, self.piece(matrix, part))

    def gate(self, values: Any) -> Any:
        """Half as many results, in registers: of neighbouring columns, one gates the other."""
        held = cute.make_rmem_tensor(self.layout, cutlass.Float32)
        held.store(values.to(cutlass.Float32))
        count = cute.size(self.layout) // 2
        gates, others = (cute.make_rmem_tensor((count,), cutlass.Float32) for _ in range(2))
        for i in range(count):
            gates[i], others[i] = held[2 * i], held[2 * i + 1]
        dtype = self.out.dtype
        results = cute.make_rmem_tensor((count,), dtype)
        gate = applied("the gate", self.plan.visitor.gated, gates.load())
        products = gate * others.load()
        results.store(narrowed(products, dtype))
        return results

    def put_gated(self, values: Any, part: int) -> None:
        """Write half as many results to shared memory."""
        results = self.gate(values)
        for i in range(cute.size(results)):
            row, column = self.row_at + 8 * (i % 2), self.column_at + 4 * (i // 2)
            self.out.smem[row, column, self.buffer(part)] = results[i]


class Part:
    """What a visitor sees of a tile, besides the accumulators.

    Args:
        epilogue: of this thread.
        tile: row, column and batch of the tile.
        index: which part of this block's.
    """

    def __init__(self, epilogue: Epilogue, tile: Any, index: int) -> None:
        self.epilogue, self.index = epilogue, index
        row, column, self._batch = epilogue.place(tile, index)
        plan = epilogue.plan
        self._row = row * ROWS + epilogue.row_at
        self._column = column * plan.columns + 2 * epilogue.column_at
        # Column of the tile.
        wide = plan.pieces[1]
        self._inside = epilogue.number(index) % (wide // plan.columns) * plan.columns
        self._inside = self._inside + 2 * epilogue.column_at
        if plan.config.beside:
            self._inside = self._inside + epilogue.group * wide
        self._swapped = plan.visitor.swapped
        self._known: dict[tuple[str, str], Any] = {}
        self.stored: set[str] = set()

    def floats(self, x: Any) -> Any:
        """A vector as one of Float32."""
        return x.to(cutlass.Float32)

    def _spread(self, name: str, kind: str) -> Any:
        """Elements of a vector where they count: value i is of row `i // 2 % 2`, of column
        `i % 2 + 8 (i // 4)`."""
        key = (name, kind)
        if key in self._known:
            return self._known[key]
        held = cute.make_rmem_tensor(self.epilogue.layout, cutlass.Float32)
        if kind == "column" and name in self.epilogue.vectors:
            # Neighbours, eight columns apart, in both rows.
            kept = self.epilogue.vectors[name][None, self.epilogue.group]
            here = cute.domain_offset((self._inside,), kept)
            shape = (2, cute.size(held) // 4)
            two = cute.make_layout(shape, stride=(1, 8))
            source = cute.make_tensor(here.iterator.align(8), two)
            into = cute.make_rmem_tensor(cute.make_layout(shape), cutlass.Float32)
            cute.autovec_copy(source, into)
            for i in range(cute.size(held)):
                held[i] = into[i % 2, i // 4]
            self._known[key] = held.load()
            return self._known[key]
        vector = self.epilogue.extra[name]
        seen: dict[int, Any] = {}
        for i in range(cute.size(held)):
            rows = kind == "row"
            offset = i // 2 % 2 * 8 if rows else i % 2 + i // 4 * 8
            if offset not in seen:
                at = (self._row if rows else self._column) + offset
                at = cutlass.min(at, vector.shape[0] - 1)
                seen[offset] = vector[at].to(cutlass.Float32)
            held[i] = seen[offset]
        self._known[key] = held.load()
        return self._known[key]

    def row(self, name: str) -> Any:
        """The numbers of the rows, as a vector of Float32."""
        declared(self.epilogue.plan.visitor, name, "row")
        return self._spread(name, "column" if self._swapped else "row")

    def column(self, name: str) -> Any:
        """The numbers of the columns, as a vector of Float32."""
        declared(self.epilogue.plan.visitor, name, "column")
        return self._spread(name, "row" if self._swapped else "column")

    def scalar(self, name: str) -> Any:
        """A number, as Float32."""
        declared(self.epilogue.plan.visitor, name, "scalar")
        return self.epilogue.extra[name]

    def load(self, name: str) -> Any:
        """A matrix's elements, as a vector of Float32."""
        declared(self.epilogue.plan.visitor, name, "load")
        epilogue = self.epilogue
        matrix = epilogue.others[name]
        held = cute.make_rmem_tensor(epilogue.layout, matrix.dtype)
        if epilogue.plan.direct:
            held.fill(0)
            self._move(matrix, held, False)
            return held.load().to(cutlass.Float32)
        if matrix.dtype.width == 16:
            epilogue.get(matrix, held, self.index)
        else:
            cute.autovec_copy(epilogue.piece(matrix, self.index), held)
        return held.load().to(cutlass.Float32)

    def store(self, name: str, x: Any) -> None:
        """Store a vector to a matrix."""
        declared(self.epilogue.plan.visitor, name, "store")
        self.stored.add(name)
        self.put(self.epilogue.others[name], x)

    def put(self, matrix: Any, x: Any) -> None:
        """Store a vector to a matrix, or to shared memory from which it will be."""
        if self.epilogue.plan.direct:
            held = cute.make_rmem_tensor(self.epilogue.layout, matrix.dtype)
            held.store(narrowed(x, matrix.dtype))
            self._move(matrix, held, True)
        else:
            self.epilogue.put(matrix, x, self.index)

    def put_gated(self, x: Any) -> None:
        """Store half as many results."""
        epilogue = self.epilogue
        if epilogue.plan.direct:
            results = epilogue.gate(x)
            at = (self._row, self._column // 2, self._batch)
            shape = (1, 2, cute.size(results) // 2)
            view = epilogue.out.view(at, 1, (-1, 8, -4), shape)
            _move(view, cute.make_tensor(results.iterator, cute.make_layout(shape)), at, 4,
                  epilogue.out.matrix.shape, True, 1)  # fmt: skip
        else:
            epilogue.put_gated(x, self.index)

    def _move(self, matrix: Any, held: Any, out: bool) -> None:
        """Read or write those of a thread's elements of a part that there are."""
        vec = self.epilogue.plan.direct
        at = (self._row, self._column, self._batch)
        shape = (2, 2, cute.size(held) // 4)
        view = matrix.view(at, vec, (-1, 8, -8), shape)
        mine = cute.make_tensor(held.iterator, cute.make_layout(shape))
        _move(view, mine, at, 8, matrix.matrix.shape, out, vec)

    def inside(self) -> Any:
        """Which elements belong to the product, as a vector of Boolean."""
        rows, columns = self.epilogue.extents
        held = cute.make_rmem_tensor(self.epilogue.layout, cutlass.Boolean)
        in_row = [self._row + 8 * i < rows for i in range(2)]
        for i in range(cute.size(held)):
            held[i] = in_row[i // 2 % 2] & (self._column + (i % 2 + i // 4 * 8) < columns)
        return held.load()

    def amax(self, name: str, x: Any) -> None:
        """Note the largest magnitude of a vector."""
        declared(self.epilogue.plan.visitor, name, "amax")
        self.stored.add(name)
        zero = cutlass.Float32(0.0)
        sizes = cute.where(self.inside(), cute.math.absf(self.floats(x)), zero)
        peak = self.epilogue.peaks[name]
        peak[0] = sizes.reduce(cute.ReductionOp.MAX, peak[0], 0)


@cute.jit
def _move(
    view: Any, held: Any, at: Any, apart: cutlass.Constexpr[int], extents: Any,
    out: cutlass.Constexpr[bool], vec: cutlass.Constexpr[int],
):  # fmt: skip
    """Copy elements (neighbours, rows, columns) of which some may be outside of a matrix.

    Args:
        view, held: in memory and in registers.
        at: coordinate of the first.
        apart: columns from one group of neighbours to the next.
        out: whether to memory.
        vec: neighbours that are moved at once, or 1.
    """
    many, rows, groups = held.shape
    for r in cutlass.range_constexpr(rows):
        if at[0] + 8 * r < extents[0]:
            for c in cutlass.range_constexpr(groups):
                if cutlass.const_expr(vec > 1):
                    if at[1] + apart * c < extents[1]:
                        pair, mine = view[None, r, c], held[None, r, c]
                        pair = cute.make_tensor(pair.iterator, cute.make_layout(vec))
                        cute.autovec_copy(*((mine, pair) if out else (pair, mine)))
                else:
                    for i in cutlass.range_constexpr(many):
                        if at[1] + apart * c + i < extents[1]:
                            if cutlass.const_expr(out):
                                view[i, r, c] = held[i, r, c]
                            else:
                                held[i, r, c] = view[i, r, c]


@cute.jit
def load_parts(
    epilogue: Any, tile: Any, first: cutlass.Constexpr[int], count: cutlass.Constexpr[Any]
):
    """Start to load what the visitor needs of some parts of a tile, by one warp."""
    if cutlass.const_expr(epilogue.full is not None):
        if epilogue.stored_by:
            for part in cutlass.range_constexpr(first, first + count):
                if epilogue.number(part) < epilogue.plan.parts:
                    at = epilogue.buffer(part)
                    epilogue.full.arrive(at)
                    for matrix in epilogue.loads:
                        cute.copy(
                            matrix.atom,
                            epilogue.coords(matrix)[(None, *epilogue.place(tile, part))],
                            matrix.s[None, at],
                            tma_bar_ptr=epilogue.full.get_barrier(at),
                        )


@cute.jit
def start_tile(epilogue: Any, tile: Any, plan: cutlass.Constexpr[Any]):
    """Start to bring what the epilogue of a tile needs, while its sums are taken."""
    if cutlass.const_expr(plan.inplace):
        if epilogue.stored_by:
            cute.arch.cp_async_bulk_wait_group(0, read=True)  # the results of the tile before
        if cutlass.const_expr(epilogue.rows is not None):
            epilogue.barrier.arrive_and_wait()  # which threads may read as well
    load_parts(epilogue, tile, 0, min(plan.buffers, plan.shares))
    for name, brought in epilogue.brought.items():
        vector = epilogue.extra[name]
        for i in cutlass.range_constexpr(cute.size(brought)):
            at = tile[1] * plan.tile[1] + epilogue.tid + 128 * i
            brought[i] = vector[cutlass.min(at, vector.shape[0] - 1)]


@cute.jit
def keep_vectors(epilogue: Any):
    """Write what was brought to shared memory."""
    if cutlass.const_expr(len(epilogue.brought) > 0):
        for name, brought in epilogue.brought.items():
            into = epilogue.vectors[name]
            for i in cutlass.range_constexpr(cute.size(brought)):
                at = epilogue.tid + 128 * i
                if at < into.shape[0]:
                    into[at, epilogue.group] = brought[i].to(cutlass.Float32)
        epilogue.barrier.arrive_and_wait()


@cute.jit
def store_part(epilogue: Any, tile: Any, part: cutlass.Constexpr[int]):
    """Store a part of a tile from shared memory, by one warp."""
    at = epilogue.buffer(part)
    place = epilogue.place(tile, part)
    for matrix in (epilogue.out, *epilogue.stores):
        into = epilogue.coords(matrix)[(None, *place)]
        cute.copy(matrix.atom, matrix.s[None, at], into, tma_desc_ptr=epilogue.map)
    cute.arch.cp_async_bulk_commit_group()


@cute.jit
def finish_tile(acc: Any, epilogue: Any, tile: Any, turn: Any, plan: cutlass.Constexpr[Any]):
    """The epilogue of a tile.

    Args:
        acc: the sums of those parts of the tile that this block finishes.
        tile: row, column and batch of the tile.
        turn: how many tiles this warpgroup has done.
    """
    keep_vectors(epilogue)
    if cutlass.const_expr(plan.direct == 0 and plan.whole and not plan.inplace):
        if epilogue.stored_by:
            cute.arch.cp_async_bulk_wait_group(0, read=True)  # the results of the tile before
        epilogue.barrier.arrive_and_wait()
    for part in cutlass.range_constexpr(plan.shares):
        if epilogue.number(part) < plan.parts:
            finish_part(acc, epilogue, tile, part, turn, plan)


@cute.jit
def finish_part(
    acc: Any, epilogue: Any, tile: Any, part: cutlass.Constexpr[int], turn: Any,
    plan: cutlass.Constexpr[Any],
):  # fmt: skip
    """The epilogue of a part of a tile."""
    values = cute.size(epilogue.layout)
    if cutlass.const_expr(plan.direct == 0 and plan.wide and not plan.inplace):
        if epilogue.stored_by:
            cute.arch.cp_async_bulk_wait_group(0, read=True)  # the part before
        epilogue.barrier.arrive_and_wait()
    if cutlass.const_expr(epilogue.full is not None):
        phase = (turn * (plan.shares // plan.buffers) + part // plan.buffers) & 1
        epilogue.full.wait(epilogue.buffer(part), phase)
    held = cute.make_rmem_tensor(epilogue.layout, plan.acc)
    for i in cutlass.range_constexpr(values):
        held[i] = acc[part * values + i]
    seen = Part(epilogue, tile, part)
    result = visit(plan.visitor, held.load(), seen)
    if cutlass.const_expr(plan.inplace):
        cute.arch.sync_warp()  # which has read what it now writes over
    if cutlass.const_expr(plan.visitor.gated is not None):
        seen.put_gated(result)
    else:
        seen.put(epilogue.out, result)
    if cutlass.const_expr(plan.direct == 0):
        cute.arch.fence_proxy("async.shared", space="cta")
        turns = not (plan.wide or plan.inplace or plan.whole)
        if cutlass.const_expr(turns) and epilogue.stored_by:
            # The part before has been read, so that all may write the next one after they meet.
            cute.arch.cp_async_bulk_wait_group(plan.buffers - 2, read=True)
        epilogue.barrier.arrive_and_wait()
        if cutlass.const_expr(epilogue.rows is not None):
            epilogue.rows.store(epilogue, tile, part)
        elif epilogue.stored_by:
            store_part(epilogue, tile, part)
        if cutlass.const_expr(part + plan.buffers < plan.shares):
            load_parts(epilogue, tile, part + plan.buffers, 1)


@cute.jit
def leave(epilogue: Any):
    """What is left to do after the last tile: stores that still read, and what was noted."""
    if cutlass.const_expr(epilogue.plan.direct == 0):
        if epilogue.stored_by:
            cute.arch.cp_async_bulk_wait_group(0, read=True)
    for name in cutlass.range_constexpr(len(epilogue.peaks)):
        cell, peak = list(epilogue.peaks.items())[name]
        most = cute.arch.warp_reduction_max(peak[0])
        if cute.arch.lane_idx() == 0:
            cute.arch.atomic_fmax(epilogue.extra[cell].iterator, most)


def full_barriers(plan: Any, matrices: dict[str, Any]) -> Any:
    """Barriers for what is loaded, or None."""
    kinds = dict(zip(plan.visitor.names, plan.visitor.kinds, strict=True))
    count = sum(m.bytes for name, m in matrices.items() if kinds[name] == "load")
    if not count:
        return None
    one = pipeline.CooperativeGroup(pipeline.Agent.Thread, 1)
    return pipeline.MbarrierArray(
        None, plan.buffers * CONSUMERS, (pipeline.PipelineOp.TmaLoad, one), count
    )
