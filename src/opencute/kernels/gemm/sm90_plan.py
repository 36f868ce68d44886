# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How Hopper's products are cut up, and the shared memory that this takes.

In: types, majors and a configuration. Out: layouts, instructions, sizes::

    config = HopperConfig((128, 256), cluster=(2, 1))
    plan = HopperPlan(config, Float16, Float16, Float16, (True, True), visitor)
    plan.stages(232448)          # 4
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import cute, utils
from opencute.base.errors import ArgumentError
from opencute.cute.nvgpu import cpasync, warpgroup
from opencute.kernels.checked import typed_fields
from opencute.kernels.gemm.visitors import VisitorPlan
from opencute.lib.hopper import operations, smem_layouts

__all__ = ["CONSUMERS", "MOST_STAGES", "ROWS", "HopperConfig", "HopperPlan"]

CONSUMERS = 2
"""Warpgroups that multiply."""
ROWS = 64
"""Rows of an instruction, and of a part of the epilogue."""
_LINE = 128  # bytes of a swizzled row of shared memory
MOST_STAGES = 12
"""Tiles of operands in shared memory, at most, unless a configuration says how many."""
_MOST_SUMS = 144  # of a thread, of tiles whose parts take turns in buffers
_MOST_PARTS = 4  # whose buffers take no more than two for each of two matrices
_BARRIERS = 1024  # bytes of shared memory for barriers, more than enough


@dataclass(frozen=True)
class HopperConfig:
    """Choices of a matrix product on Hopper.

    Args:
        tile: rows and columns of a tile. Its depth is 128 bytes.
        cluster: blocks along rows and along columns that share what they load.
        pingpong: whether each of the two warpgroups has tiles of its own, so that one stores while
            the other multiplies; otherwise each has half of a tile's rows.
        twice: whether sums of 128 products are added up in f32 outside of the tensor cores, which
            keep fewer bits of sums of 8-bit floats.
        group: clusters that neighbours go down before they go to the next column.
        most: clusters that are launched, or 0 for as many as run at a time.
        depth: tiles of operands in shared memory, or 0 for as many as there is room for.
        transposed: whether the transposed product is done: its rows, 64 of which are the least
            that an instruction multiplies, are the columns of the one that is asked for.
        split: blocks, a cluster of them, that share the steps along k of a tile, at most 8 and at
            most as many as there are steps. One of them reads the sums of the others.
        stream: whether blocks share the steps of the tiles of the last two waves equally: each
            leaves in memory what it has of a tile that another one finishes.
        promote: bytes that L2 brings at once where a tile needs any of them: 64, 128 or 256.
        once: 1 or 2 where A, or B, of the product that is done is read once, which L2 is told, so
            that it keeps the other.
        beside: whether each of the two warpgroups has half of a tile's columns rather than of its
            rows.
        push: whether sums of a split are sent so that they count their bytes where they come,
            rather than stored, fenced and told.
    """

    tile: tuple[int, int]
    cluster: tuple[int, int] = (1, 1)
    pingpong: bool = False
    twice: bool = False
    group: int = 8
    most: int = 0
    depth: int = 0
    transposed: bool = False
    split: int = 1
    stream: bool = False
    promote: int = 128
    once: int = 0
    beside: bool = False
    push: bool = False

    @property
    def shared(self) -> bool:
        """Whether blocks share tiles."""
        return self.stream or self.split > 1

    @property
    def blocks(self) -> tuple[int, int]:
        """Blocks of a cluster along x and y."""
        return (self.split, 1) if self.split > 1 else self.cluster

    def busy(self, m: int, n: int, batch: int, active: int = 132) -> int:
        """Blocks that have something to do at a time, of a product of these extents.

        Args:
            active: how many have room.
        """
        if self.stream:
            return active
        m, n = (n, m) if self.transposed else (m, n)
        tiles = -(-m // self.tile[0]) * -(-n // self.tile[1]) * batch
        return min(tiles * self.split, active)

    @property
    def owners(self) -> int:
        """Warpgroups that share a tile."""
        return 1 if self.pingpong else CONSUMERS

    def check(self) -> HopperConfig:
        """The configuration itself, if it is possible.

        Raises:
            ArgumentError: it is not.
        """
        typed_fields(self, "OC2538")
        m, n = self.tile
        rows = ROWS * (1 if self.beside else self.owners)
        # Half of them are those of a step, where sums are taken twice.
        most = (128 if self.pingpong or self.beside else 192) if self.twice else (
            _MOST_SUMS if self.beside else 128 if self.pingpong or self.shared else 176
        )  # fmt: skip
        blocks = self.cluster[0] * self.cluster[1]
        results = m * n // (128 * self.owners) * (2 if self.twice else 1)
        fits = (
            m >= rows and m % rows == 0 and n % 16 == 0 and 16 <= n <= 256 and results <= most
            and self.group >= 1
            and min(self.cluster) >= 1 and blocks <= 8 and not blocks & (blocks - 1)
            and not (m // self.cluster[1]) % 8 and not (n // self.cluster[0]) % 8
            and 1 <= self.split <= 8 and not ((self.shared or self.beside) and self.pingpong)
            and self.promote in (64, 128, 256) and self.once in (0, 1, 2)
            and not (self.split > 1 and (self.stream or blocks > 1))
            and not (self.push and self.split == 1)
        )  # fmt: skip
        if not fits:
            raise ArgumentError(
                "no such tiles of a product on Hopper", code="OC2538", found=self,
                expected=f"rows in multiples of {rows}, columns in multiples of 16 up to 256, at "
                "most 176 sums for a thread (144 of half of the columns, 128 of tiles in "
                "turns or shared, 192 with those of a step), at most 8 blocks in a cluster; tiles "
                "that are shared by a split or a stream, not both, and not in turns; 64, 128 or "
                "256 bytes for L2; sums of a split only are pushed",
            )  # fmt: skip
        return self


@dataclass(frozen=True)
class HopperPlan:
    """What is fixed when a product is compiled.

    Args:
        config: the tiles.
        types: of the elements of A, B and of the result; TFloat32 is f32 in memory.
        k_major: whether neighbours in memory of A, and of B, are neighbours along k.
        visitor: what becomes of the sums.
        aux: types of what the visitor loads and stores, in its order.
        shared: whether A, and B, serve a whole batch.
        clusters: how many are launched.
        smem: bytes of shared memory of a block.
        row_major: whether neighbours in memory of the result, and of what the visitor loads and
            stores, are neighbours along a row.
        direct: where TMA cannot move those matrices, how many elements threads move at once, 1
            or 2; else 0.
    """

    config: HopperConfig
    types: tuple[Any, Any, Any]
    k_major: tuple[bool, bool]
    visitor: VisitorPlan
    aux: tuple[Any, ...]
    shared: tuple[bool, bool]
    clusters: int
    smem: int
    row_major: bool = True
    direct: int = 0

    @property
    def acc(self) -> Any:
        """Type of the accumulators."""
        whole = self.types[0] in (cutlass.Int8, cutlass.Uint8)
        return cutlass.Int32 if whole else cutlass.Float32

    @property
    def tile(self) -> tuple[int, int, int]:
        """Rows, columns and depth of a tile."""
        return (*self.config.tile, 8 * _LINE // self.types[0].width)

    @property
    def pieces(self) -> tuple[int, int]:
        """Pieces of 64 rows that a warpgroup has of a tile, and columns of them."""
        m, n = self.config.tile
        if self.config.beside:
            return m // ROWS, n // CONSUMERS
        return m // (ROWS * self.config.owners), n

    @property
    def columns(self) -> int:
        """Columns of the accumulators that the epilogue takes at a time: a line of shared memory
        at most, and as many parts as buffers can serve in turns."""
        rows, n = self.pieces
        if self.wide:
            return n
        widths = [t.width for t in (self.types[2], *self.aux)]
        gated = self.visitor.gated is not None
        # TMA moves 16 bytes at least.
        least = max(128 // min(widths), 8) * (2 if gated else 1) if self.row_major else 8
        wide = 8 * _LINE // max(max(widths), 8 if self.row_major else 16)
        sizes = [least << i for i in range(8)] if self.row_major else range(least, wide + 1, 8)
        good = [w for w in sizes if w <= wide and n % w == 0] or [n]
        split = self.config.split
        if split > 1:  # the least that a block finishes, and of those the widest parts
            return min(good, key=lambda w: (-(-rows * (n // w) // split) * w, -w))
        three = self.config.beside
        turns = [w for w in good if rows * n // w % 2 == 0 or (three and rows * n // w % 3 == 0)]
        return max(turns or good)

    @property
    def parts(self) -> int:
        """Parts that a warpgroup's tile has in the epilogue."""
        rows, columns = self.pieces
        return rows * (columns // self.columns)

    @property
    def shares(self) -> int:
        """Parts of a tile that a warpgroup finishes: of a tile that is split, each block some."""
        return -(-self.parts // self.config.split)

    @property
    def result_columns(self) -> int:
        """Columns of the result in a part."""
        return self.columns // (2 if self.visitor.gated is not None else 1)

    @property
    def buffers(self) -> int:
        """Buffers that each warpgroup has for each matrix of its epilogue."""
        if self.inplace or self.whole:
            return self.shares
        if self.visitor.gated is not None and not self.wide and self.shares % 4 == 0:
            return 4  # whose results are half as wide
        return 1 if self.wide else 2 if self.shares % 2 == 0 else 3

    @property
    def wide(self) -> bool:
        """Whether a thread has so many sums that a part of the epilogue is as wide as the tile, of
        any width, and waits for the one before in the only buffer."""
        return self.sums > _MOST_SUMS

    @property
    def whole(self) -> bool:
        """Whether there are buffers for all that a block finishes of a tile: few of one that is
        split, or where no two or three can serve in turns."""
        split = self.config.split
        turns = self.parts % split == 0 and (self.shares % 2 == 0 or self.shares % 3 == 0)
        return not turns or (split > 1 and self.shares <= _MOST_PARTS)

    @property
    def inplace(self) -> bool:
        """Whether the result takes the place of the one matrix that is loaded, in buffers for a
        whole tile: all of it is loaded while sums are taken."""
        alone = [k for k in self.visitor.kinds if k in ("load", "store")] == ["load"]
        same = self.aux == self.types[2:] and self.visitor.gated is None and not self.direct
        return alone and same and self.shares <= _MOST_PARTS

    def operand_bytes(self) -> int:
        """Bytes of a tile of A and of B."""
        return (self.tile[0] + self.tile[1]) * _LINE

    @property
    def room(self) -> int:
        """Bytes of shared memory for operands."""
        each = 0 if self.direct else ROWS * self.buffers * CONSUMERS
        part = self.result_columns * self.types[2].width
        part += 0 if self.inplace else sum(self.columns * t.width for t in self.aux)
        return self.smem - each * part // 8 - _BARRIERS - 4 * self.slot

    @property
    def stages(self) -> int:
        """Tiles of the operands in shared memory.

        Raises:
            ArgumentError: there is no room for two.
        """
        room = self.room
        fit = room // self.operand_bytes()
        stages = min(self.config.depth or MOST_STAGES, fit)
        if stages < 2:
            raise ArgumentError(
                "the tiles do not fit in shared memory", code="OC2511", found=self.config,
                expected=f"two of {self.operand_bytes()} bytes in {room}",
                hint="smaller tiles, or fewer matrices in the epilogue",
            )  # fmt: skip
        return stages

    @property
    def sums(self) -> int:
        """Sums of a thread."""
        m, n = self.config.tile
        return m * n // (128 * self.config.owners)

    @property
    def slot(self) -> int:
        """Sums in shared memory that other blocks of the cluster leave there."""
        return (self.config.split - 1) * self.shares * ROWS * self.columns * CONSUMERS

    @property
    def push(self) -> bool:
        """Whether sums are sent and count their bytes: those of f32."""
        return self.config.push and self.config.split > 1 and self.acc is cutlass.Float32

    @property
    def kept(self) -> tuple[str, ...]:
        """Vectors along the columns of a tile that are kept in shared memory: as many as there is
        room for beside the operands."""
        along = "row" if self.visitor.swapped else "column"
        of = zip(self.visitor.names, self.visitor.kinds, strict=True)
        left = self.room - self.stages * self.operand_bytes()
        return tuple(n for n, k in of if k == along)[: left // (4 * CONSUMERS * self.tile[1])]

    def major(self, which: int) -> Any:
        """Of A or B, for instructions."""
        modes = warpgroup.OperandMajorMode
        return modes.K if self.k_major[which] else modes.MN

    def tiled_mma(self) -> Any:
        """The instruction, and the warpgroups that repeat it."""
        return operations.make_trivial_tiled_mma(
            *self.types[:2], self.major(0), self.major(1), self.acc,
            (1, CONSUMERS, 1) if self.config.beside else (self.config.owners, 1, 1),
            (ROWS, self.pieces[1]),
        )  # fmt: skip

    def part_mma(self) -> Any:
        """An instruction whose threads hold what they hold of a part of the epilogue."""
        k = warpgroup.OperandMajorMode.K
        half = cutlass.Float16
        return operations.make_trivial_tiled_mma(
            half, half, k, k, cutlass.Float32, (1, 1, 1), (ROWS, self.columns)
        )

    def operand_smem(self, which: int) -> Any:
        """Shared memory of A or B: (rows, k, stages)."""
        rows, k = self.tile[which], self.tile[2]
        if which == 1 and self.config.beside and not self.k_major[1]:
            # Each warpgroup's columns are whole rows of the swizzle, which may be narrower then.
            part, kind = (self.pieces[1], k), utils.LayoutEnum.COL_MAJOR
            return smem_layouts.make_smem_layout_epi(
                self.types[1], kind, part, self.stages, (rows, k, self.stages)
            )
        return smem_layouts.make_smem_layout(
            self.major(which), (rows, k), self.types[which], self.stages
        )

    def part_smem(self, dtype: Any, columns: int) -> Any:
        """Shared memory of the epilogue: (rows, columns, buffers of all warpgroups)."""
        kind = utils.LayoutEnum.ROW_MAJOR if self.row_major else utils.LayoutEnum.COL_MAJOR
        return smem_layouts.make_smem_layout_epi(
            dtype, kind, (ROWS, columns), self.buffers * CONSUMERS
        )

    def policy(self, which: int) -> Any:
        """How L2 keeps what is loaded of A or B."""
        once = self.config.once
        return None if once == 0 else "evict_first" if which == once - 1 else "evict_last"

    def operand_atom(self, t: Any, which: int) -> Any:
        """How tiles of A or B are loaded, and the tensor of their coordinates."""
        blocks = self.config.cluster[1 - which]
        op = cpasync.CopyBulkTensorTileG2SMulticastOp() if blocks > 1 else (
            cpasync.CopyBulkTensorTileG2SOp()
        )  # fmt: skip
        layout = cute.slice_(self.operand_smem(which), (None, None, 0))
        return cpasync.make_tiled_tma_atom(
            op, t, layout, (self.tile[which], self.tile[2]), blocks,
            l2_promotion=f"{self.config.promote}b",
        )  # fmt: skip

    def part_atom(self, t: Any, columns: int, loaded: bool) -> Any:
        """How parts of another matrix are loaded or stored."""
        op = cpasync.CopyBulkTensorTileG2SOp() if loaded else cpasync.CopyBulkTensorTileS2GOp()
        layout = cute.slice_(self.part_smem(t.element_type, columns), (None, None, 0))
        return cpasync.make_tiled_tma_atom(op, t, layout, (ROWS, columns))

    @property
    def threads(self) -> int:
        """Threads of a block: consumers, then one warpgroup that loads."""
        return 128 * (CONSUMERS + 1)
