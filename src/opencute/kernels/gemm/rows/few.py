# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of a few rows with a wide matrix of 16-bit floats whose rows begin anywhere, such as
those of an odd extent: what neither TMA nor vectors of 16 bytes can read row by row.

Rows of the wide matrix that are a multiple of eight apart begin at the same place of 16 bytes, so a
block takes those: its vectors go straight to the registers of `mma.sync`, several steps ahead. The
few rows are what is moved to fit, on their way to shared memory. Warps share the steps along k, and
add up what they have at the end.

Floor: bytes of the wide matrix over the bandwidth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.cute.nvgpu import warp
from opencute.kernels.checked import typed_fields
from opencute.kernels.gemm.pad import elements, load_around, moved, place
from opencute.kernels.gemm.rows.gemv import activated
from opencute.lib.smem_allocator import SmemAllocator

__all__ = [
    "FewConfig", "FewPlan", "few_heuristic", "few_product", "few_room",
    "few_search_space",
]  # fmt: skip

_VEC = 8  # elements of 16 bytes
_CLASSES = 8  # places of 16 bytes where a row may begin
_PROCESSORS = 132  # multiprocessors that the heuristic fills
_ROOM = 4096  # vectors of the few rows in shared memory, in each of two buffers
_MORE = 4  # vectors from the end of a row to the next


@dataclass(frozen=True)
class FewConfig:
    """Choices of a product of few rows.

    Args:
        groups: of eight rows of the wide matrix, for a block.
        warps: of a block, which share the steps along k.
        loads: steps, of 32 elements along k, that are on their way.
    """

    groups: int = 4
    warps: int = 8
    loads: int = 4

    def check(self) -> FewConfig:
        """The configuration itself, if it is possible.

        Raises:
            ArgumentError: it is not.
        """
        typed_fields(self, "OC2536")
        good = (
            self.groups >= 1 and self.warps in (4, 8, 16) and self.loads in (1, 2, 4, 8)
            and self.groups * self.loads <= 32
        )  # fmt: skip
        if not good:
            raise ArgumentError(
                "no such blocks of a product of few rows", code="OC2536", found=self,
                expected="4, 8 or 16 warps, 1, 2, 4 or 8 loads, at most 32 vectors of a thread",
            )  # fmt: skip
        return self


@dataclass(frozen=True)
class FewPlan:
    """What is fixed when the product is compiled.

    Args:
        config: the choices.
        tiles: of 16 rows that the few are.
        dtype: of the operands.
        scaled: whether sums are multiplied with a number.
        bias_axis: 0 where a number belongs to one of the few rows, 1 to one of the wide matrix.
        activation: a function on Float32, or None.
        room: vectors of a row of the few in shared memory, in each of two buffers, but for whole
            rounds of all warps and for what there is room for.
    """

    config: FewConfig
    tiles: int
    dtype: Any
    scaled: bool
    bias_axis: int
    activation: Callable[[Any], Any] | None
    room: int = _ROOM

    def check(self, smem: int) -> FewPlan:
        """The plan itself, if it is possible.

        Args:
            smem: bytes of shared memory that a block may have.

        Raises:
            ArgumentError: the few rows do not fit.
        """
        self.config.check()
        need = _row_bytes(self.tiles) * self.pitch
        if need > smem:
            raise ArgumentError(
                "the few rows do not fit in shared memory", code="OC2511",
                expected=f"at most {smem} bytes", found=need, hint="fewer warps or loads",
            )  # fmt: skip
        return self

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.config.warps

    @property
    def vectors(self) -> int:
        """Vectors of a row in a buffer: whole rounds of all warps, whose sums lie there at last."""
        config = self.config
        unit = 4 * config.warps * config.loads
        rounds = min(_ROOM // (16 * self.tiles), self.room) // unit
        return max(rounds, -(-config.groups // (4 * config.loads))) * unit

    @property
    def rounds(self) -> int:
        """Rounds of `loads` steps that a warp takes of a buffer."""
        return self.vectors // (4 * self.config.warps * self.config.loads)

    @property
    def ahead(self) -> int:
        """Vectors of the few rows that a thread brings at a time."""
        return math.gcd(2 * self.tiles * self.config.loads, 8 if self.config.warps < 16 else 4)

    @property
    def turns(self) -> int:
        """How often it does so in a round."""
        return 2 * self.tiles * self.config.loads // self.ahead

    @property
    def pitch(self) -> int:
        """Vectors from row to row: four more, so that two rows meet different banks."""
        return self.vectors + _MORE

    @property
    def sums(self) -> int:
        """Sums of a thread."""
        return 4 * self.tiles * self.config.groups

    def mma(self) -> Any:
        """The instruction."""
        op = warp.MmaF16BF16Op(self.dtype, cutlass.Float32, (16, 8, 16))
        return cute.make_tiled_mma(op, (1, 1, 1))


def _row_bytes(tiles: int) -> int:
    """Bytes of a vector of each of the few rows, in both buffers."""
    return 2 * 16 * tiles * 16


def few_room(k: int, few: int, smem: int) -> int:
    """Vectors of a row to have room for: a power of two that is enough for so many elements, or
    what so much shared memory holds."""
    return min(1 << (-(-k // _VEC)).bit_length(), smem // _row_bytes(-(-few // 16)) - _MORE)


def few_heuristic(few: int, rows: int, batch: int, smem: int) -> FewConfig:
    """A good choice: as few groups as fill the device once, up to four, and as many loads as there
    is shared memory for."""
    tiles, groups = -(-few // 16), 1
    while groups < 4 and -(-rows // (8 * groups)) * batch > _PROCESSORS:
        groups *= 2
    warps = 16 if tiles == 1 else 8
    loads = min(64 // (warps * tiles), 128 // (warps * groups))
    while loads > 1 and 4 * warps * loads + _MORE > smem // _row_bytes(tiles):
        loads //= 2
    return FewConfig(groups, warps, loads)


def few_search_space(few: int) -> Iterator[FewConfig]:
    """Choices worth trying."""
    tiles = -(-few // 16)
    for warps in (8, 16):
        for groups in (2, 4, 8):
            for loads in (1, 2, 4, 8):
                room = loads * warps * tiles <= 64 and loads * groups <= 128 // warps
                if room and groups * tiles * warps <= 128:
                    yield FewConfig(groups, warps, loads)


class _Part:
    """What a thread knows of its block's part.

    Args:
        gX, gW: (batch, rows, k).
        kind: of the rows of the wide matrix that the block takes, and of the batch.
    """

    def __init__(self, gX: Any, gW: Any, plan: FewPlan) -> None:
        self.plan, self.gX, self.gW = plan, gX, gW
        tid, _, _ = cute.arch.thread_idx()
        block, _, self.batch = cute.arch.block_idx()
        self.tid, self.warp = tid, cute.arch.make_warp_uniform(cute.arch.warp_idx())
        lane = cute.arch.lane_idx()
        self.g, self.t = lane // 4, lane % 4
        self.kind = block % _CLASSES  # where rows begin
        self.first = block // _CLASSES * (8 * plan.config.groups)
        self.k, self.rows = gW.shape[2], gW.shape[1]
        start = gW[self.batch, cutlass.min(self.kind, self.rows - 1), None].iterator
        self.shift = place(start) // 2  # elements of a row's first vector that are before it
        self.begin = cute.where(self.shift > 0, cutlass.Int32(1), cutlass.Int32(0))
        self.end = (self.k + self.shift) // _VEC  # whole vectors

    def row(self, index: Any) -> Any:
        """Number of one of the block's rows of the wide matrix."""
        return self.kind + _CLASSES * (self.first + index)

    def wide(self, group: int) -> Any:
        """Where this thread's row of a group begins; of those that there are not, the last."""
        last = (self.rows - 1 - self.kind) // _CLASSES
        row = self.kind + _CLASSES * cutlass.min(self.first + 8 * group + self.g, last)
        return self.gW[self.batch, row, None].iterator


def words(t: Any) -> Any:
    """A tensor's registers."""
    return cute.recast_tensor(t, cutlass.Uint32)


@cute.jit
def load_step(part: Any, starts: Any, step: Any, held: Any, plan: cutlass.Constexpr[FewPlan]):
    """Start to load a step of the wide matrix."""
    at = 4 * step + part.t
    for j in cutlass.range_constexpr(plan.config.groups):
        into = held[None, j]
        into.fill(0)
        if (at >= part.begin) & (at < part.end):
            source = (starts[j] + (_VEC * at - part.shift)).align(16)
            cute.autovec_copy(cute.make_tensor(source, cute.make_layout(_VEC)), into)


def vectors_of(part: Any, turn: Any, chunk: Any, plan: FewPlan) -> list[tuple[Any, ...]]:
    """The vectors of a buffer that a thread brings at a time."""
    return [
        vector_of(part, part.tid + (turn * plan.ahead + i) * plan.threads, chunk, plan)
        for i in range(plan.ahead)
    ]


@cute.jit
def bring(items: Any, both: Any, plan: cutlass.Constexpr[FewPlan]):
    """Start to load vectors of the few rows."""
    for i in cutlass.range_constexpr(plan.ahead):
        load_around(*items[i][:3], both[None, None, i])


@cute.jit
def put(items: Any, both: Any, sX: Any, chunk: Any, plan: cutlass.Constexpr[FewPlan]):
    """Write them to a buffer, moved to where those of the wide matrix are."""
    one = cute.make_rmem_tensor((_VEC,), plan.dtype)
    for i in cutlass.range_constexpr(plan.ahead):
        pointer, first, k, row, vector = items[i]
        moved(pointer, first, k, both[None, None, i], one)
        cute.autovec_copy(one, sX[None, vector, row, chunk % 2])


def vector_of(part: Any, item: Any, chunk: Any, plan: FewPlan) -> tuple[Any, ...]:
    """One of the vectors of a buffer: where its row begins, its first element there, elements of
    the row, and its row and number in the buffer."""
    row, vector = item // plan.vectors, item % plan.vectors
    few = part.gX.shape[1]
    pointer = part.gX[part.batch, cutlass.min(row, few - 1), None].iterator
    first = _VEC * (chunk * plan.vectors + vector) - part.shift
    return pointer, first, cute.where(row < few, part.k, 0), row, vector


def add_step(acc: Any, x: Any, w: Any, plan: FewPlan) -> None:
    """Multiply a step: x (8, two rows, tiles), w (8, groups), both in registers."""
    mma = plan.mma()
    a = cute.make_rmem_tensor(mma.partition_shape_A((16, 16)), plan.dtype)
    b = cute.make_rmem_tensor(mma.partition_shape_B((8, 16)), plan.dtype)
    wx, ww, wa, wb = words(x), words(w), words(a), words(b)
    for half in range(2):
        for tile in range(plan.tiles):
            for i in range(4):
                wa[i] = wx[2 * half + i // 2, i % 2, tile]
            for j in range(plan.config.groups):
                for i in range(2):
                    wb[i] = ww[2 * half + i, j]
                one = acc[None, None, None, tile, j]
                cute.gemm(mma, one, a, b, one)


@cute.jit
def add_edges(part: Any, starts: Any, acc: Any, plan: cutlass.Constexpr[FewPlan]):
    """Multiply the elements before the first and after the last whole vector."""
    more = (part.k + part.shift) % _VEC
    tail = (more > 0) & ((part.begin == 0) | (part.end > 0))
    first = cutlass.Int32(part.k)  # nothing
    if (part.t == 0) & (part.begin > 0):
        first = -part.shift
    if (part.t == 1) & tail:
        first = _VEC * part.end - part.shift
    x = cute.make_rmem_tensor((_VEC, 2, plan.tiles), plan.dtype)
    w = cute.make_rmem_tensor((_VEC, plan.config.groups), plan.dtype)
    x.fill(0)
    w.fill(0)
    few = part.gX.shape[1]
    for i in cutlass.range_constexpr(2 * plan.tiles):
        row = 16 * (i // 2) + 8 * (i % 2) + part.g
        source = part.gX[part.batch, cutlass.min(row, few - 1), None].iterator
        elements(source, first, cute.where(row < few, part.k, 0), x[None, i % 2, i // 2])
    for j in cutlass.range_constexpr(plan.config.groups):
        elements(starts[j], first, part.k, w[None, j])
    add_step(acc, x, w, plan)


@cute.jit
def multiply_all(part: Any, sX: Any, acc: Any, plan: cutlass.Constexpr[FewPlan]):
    """A warp's sums."""
    config = plan.config
    starts = [part.wide(j) for j in range(config.groups)]
    held = cute.make_rmem_tensor((_VEC, config.groups, config.loads), plan.dtype)
    x = cute.make_rmem_tensor((_VEC, 2, plan.tiles), plan.dtype)
    for i in cutlass.range_constexpr(config.loads):
        load_step(part, starts, part.warp + i * config.warps, held[None, None, i], plan)
    both = cute.make_rmem_tensor((_VEC, 2, plan.ahead), plan.dtype)
    for turn in cutlass.range(plan.rounds * plan.turns, unroll=1):
        items = vectors_of(part, turn, cutlass.Int32(0), plan)
        bring(items, both, plan)
        put(items, both, sX, cutlass.Int32(0), plan)
    if part.warp == 0:
        add_edges(part, starts, acc, plan)
    cute.arch.sync_threads()
    chunks = cute.ceil_div(part.end, plan.vectors)
    step = part.warp + config.loads * config.warps  # that is loaded next
    for chunk in cutlass.range(chunks, unroll=1):
        for turn in cutlass.range(plan.rounds, unroll=1):
            items = vectors_of(part, turn * plan.turns, chunk + 1, plan)
            both.fill(0)
            if chunk + 1 < chunks:
                bring(items, both, plan)
            for i in cutlass.range_constexpr(config.loads):
                vector = 4 * (part.warp + (turn * config.loads + i) * config.warps) + part.t
                for r in cutlass.range_constexpr(2 * plan.tiles):
                    row = 16 * (r // 2) + 8 * (r % 2) + part.g
                    cute.autovec_copy(sX[None, vector, row, chunk % 2], x[None, r % 2, r // 2])
                add_step(acc, x, held[None, None, i], plan)
                load_step(part, starts, step, held[None, None, i], plan)
                step = step + config.warps
            if chunk + 1 < chunks:
                put(items, both, sX, chunk + 1, plan)
                for more in cutlass.range_constexpr(1, plan.turns):
                    items = vectors_of(part, turn * plan.turns + more, chunk + 1, plan)
                    bring(items, both, plan)
                    put(items, both, sX, chunk + 1, plan)
        cute.arch.sync_threads()


@cute.kernel
def _few(
    gX: cute.Tensor,
    gW: cute.Tensor,
    gC: Any,
    gBias: Any,
    gR: Any,
    gOut: cute.Tensor,
    alpha: cutlass.Float32,
    beta: cutlass.Float32,
    plan: cutlass.Constexpr[FewPlan],
):
    """Block (rows of the wide matrix that begin alike, 1, matrix)."""
    part = _Part(gX, gW, plan)
    config = plan.config
    smem = SmemAllocator()
    layout = cute.make_layout(
        (_VEC, plan.vectors, 16 * plan.tiles, 2),
        stride=(1, _VEC, _VEC * plan.pitch, _VEC * plan.pitch * 16 * plan.tiles),
    )
    sX = smem.allocate_tensor(plan.dtype, layout, byte_alignment=128)
    shape = plan.mma().partition_shape_C((16, 8))
    acc = cute.make_rmem_tensor((*shape, plan.tiles, config.groups), cutlass.Float32)
    acc.fill(0.0)
    if part.kind < part.rows:
        multiply_all(part, sX, acc, plan)
        sums = cute.make_tensor(
            cute.recast_ptr(sX.iterator, dtype=cutlass.Float32),
            cute.make_layout((32, plan.sums, config.warps)),
        )
        lane = cute.arch.lane_idx()
        for i in cutlass.range_constexpr(plan.sums):
            sums[lane, i, part.warp] = acc[i]
        cute.arch.sync_threads()
        finish(part, sums, (gC, gBias, gR, gOut), (alpha, beta), plan)


@cute.jit
def finish(
    part: Any, sums: Any, arrays: Any, numbers: Any, plan: cutlass.Constexpr[FewPlan]
):  # fmt: skip
    """Add up what warps have, and store results."""
    gC, gBias, gR, gOut = arrays
    config, few = plan.config, part.gX.shape[1]
    for turn in cutlass.range_constexpr(-(-32 * plan.sums // plan.threads)):
        item = part.tid + turn * plan.threads
        if item < 32 * plan.sums:
            lane, cell = item % 32, item // 32
            x = sums[lane, cell, 0]
            for w in cutlass.range_constexpr(1, config.warps):
                x = x + sums[lane, cell, w]
            tile, group = cell // 4 % plan.tiles, cell // (4 * plan.tiles)
            row = 16 * tile + lane // 4 + cell % 4 // 2 * 8
            column = part.row(8 * group + 2 * (lane % 4) + cell % 2)
            if (row < few) & (column < part.rows):
                if cutlass.const_expr(plan.scaled):
                    x = x * numbers[0]
                if cutlass.const_expr(gC is not None):
                    x = x + gC[part.batch, row, column].to(cutlass.Float32) * numbers[1]
                if cutlass.const_expr(gBias is not None):
                    x = x + gBias[column if plan.bias_axis else row].to(cutlass.Float32)
                if cutlass.const_expr(plan.activation is not None):
                    x = activated(plan.activation, x)
                if cutlass.const_expr(gR is not None):
                    x = x + gR[part.batch, row, column].to(cutlass.Float32)
                gOut[part.batch, row, column] = x.to(gOut.element_type)


@cute.jit
def few_product(
    x: cute.Tensor,
    wide: cute.Tensor,
    c: Any,
    bias: Any,
    residual: Any,
    out: cute.Tensor,
    alpha: cutlass.Float32,
    beta: cutlass.Float32,
    plan: cutlass.Constexpr[FewPlan],
):
    """Launch the kernel.

    Args:
        x: (batch, few rows, k), contiguous along k.
        wide: (batch, rows, k), contiguous along k.
        c, residual, out: (batch, few rows, rows); c and residual may be None.
        bias: a number for each row of either, or None.
    """
    batch, rows, _ = wide.shape
    each = _CLASSES * 8 * plan.config.groups
    blocks = cute.ceil_div(rows, each) * _CLASSES
    _few(x, wide, c, bias, residual, out, alpha, beta, plan).launch(
        grid=[blocks, 1, batch], block=[plan.threads, 1, 1]
    )
