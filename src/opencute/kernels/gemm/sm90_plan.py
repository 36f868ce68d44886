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
from opencute.kernels.gemm.visitors import VisitorPlan
from opencute.lib.hopper import operations, smem_layouts

__all__ = ["CONSUMERS", "ROWS", "HopperConfig", "HopperPlan", "hopper_heuristic"]

CONSUMERS = 2
"""Warpgroups that multiply."""
ROWS = 64
"""Rows of an instruction, and of a part of the epilogue."""
_LINE = 128  # bytes of a swizzled row of shared memory
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
    """

    tile: tuple[int, int]
    cluster: tuple[int, int] = (1, 1)
    pingpong: bool = False
    twice: bool = False
    group: int = 8
    most: int = 0
    depth: int = 0

    @property
    def owners(self) -> int:
        """Warpgroups that share a tile."""
        return 1 if self.pingpong else CONSUMERS

    def check(self) -> HopperConfig:
        """The configuration itself, if it is possible.

        Raises:
            ArgumentError: it is not.
        """
        m, n = self.tile
        rows = ROWS * self.owners
        blocks = self.cluster[0] * self.cluster[1]
        results = m * n // (128 * self.owners) * (2 if self.twice else 1)
        fits = (
            m >= rows and m % rows == 0 and n % 32 == 0 and 32 <= n <= 256 and results <= 128
            and 1 <= blocks <= 8 and not blocks & (blocks - 1) and self.group >= 1
            and not (m // self.cluster[1]) % 8 and not (n // self.cluster[0]) % 8
        )  # fmt: skip
        if not fits:
            raise ArgumentError(
                "no such tiles of a product on Hopper", code="OC2538", found=self,
                expected=f"rows in multiples of {rows}, columns in multiples of 32 up to 256, at "
                "most 128 sums for a thread, at most 8 blocks in a cluster",
            )  # fmt: skip
        return self


def hopper_heuristic(m: int, n: int, batch: int, twice: bool) -> HopperConfig:
    """A good choice: the least work for the busiest multiprocessor.

    Args:
        m, n, batch: extents of the result.
        twice: see `HopperConfig`.
    """
    best, least = None, float("inf")
    for tile, cluster, pingpong, speed in _CHOICES:
        if twice and tile[0] * tile[1] > 128 * 128 // (2 if pingpong else 1):
            continue
        tiles = -(-m // tile[0]) * -(-n // tile[1]) * batch
        if cluster != (1, 1) and tiles < 132:
            cluster = (1, 1)
        cost = -(-tiles // 132) * tile[0] * tile[1] / speed
        if cost < least:
            best, least = HopperConfig(tile, cluster, pingpong, twice), cost
    assert best is not None  # the smallest is for everything
    return best


_CHOICES = (
    ((128, 256), (2, 1), False, 1.0), ((256, 128), (1, 2), False, 1.0),
    ((128, 128), (2, 1), False, 0.9), ((64, 256), (1, 1), True, 0.85),
    ((64, 128), (1, 1), True, 0.75), ((128, 64), (1, 1), False, 0.7),
    ((64, 64), (1, 1), True, 0.5),
)  # fmt: skip


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
    """

    config: HopperConfig
    types: tuple[Any, Any, Any]
    k_major: tuple[bool, bool]
    visitor: VisitorPlan
    aux: tuple[Any, ...]
    shared: tuple[bool, bool]
    clusters: int
    smem: int

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
    def columns(self) -> int:
        """Columns of the accumulators that the epilogue takes at a time: a line of shared memory
        at most, and an even number of parts."""
        m, n = self.config.tile
        widths = [t.width for t in (self.types[2], *self.aux)]
        parts = m // (ROWS * self.config.owners)
        wide = 8 * _LINE // max(widths)
        while n % wide or n // wide * parts % 2:
            wide //= 2
        return wide

    @property
    def parts(self) -> int:
        """Parts that a warpgroup's tile has in the epilogue."""
        m, n = self.config.tile
        return m // (ROWS * self.config.owners) * (n // self.columns)

    @property
    def result_columns(self) -> int:
        """Columns of the result in a part."""
        return self.columns // (2 if self.visitor.gated is not None else 1)

    @property
    def buffers(self) -> int:
        """Buffers that each warpgroup has for each matrix of its epilogue."""
        return 2

    def operand_bytes(self) -> int:
        """Bytes of a tile of A and of B."""
        return (self.tile[0] + self.tile[1]) * _LINE

    @property
    def stages(self) -> int:
        """Tiles of the operands in shared memory.

        Raises:
            ArgumentError: there is no room for two.
        """
        each = ROWS * self.buffers * CONSUMERS
        part = self.result_columns * self.types[2].width
        part += sum(self.columns * t.width for t in self.aux)
        room = self.smem - each * part // 8 - _BARRIERS
        fit = room // self.operand_bytes()
        stages = min(self.config.depth or 8, fit)
        if stages < 2:
            raise ArgumentError(
                "the tiles do not fit in shared memory", code="OC2511", found=self.config,
                expected=f"two of {self.operand_bytes()} bytes in {room}",
                hint="smaller tiles, or fewer matrices in the epilogue",
            )  # fmt: skip
        return stages

    def major(self, which: int) -> Any:
        """Of A or B, for instructions."""
        modes = warpgroup.OperandMajorMode
        return modes.K if self.k_major[which] else modes.MN

    def tiled_mma(self) -> Any:
        """The instruction, and the warpgroups that repeat it."""
        return operations.make_trivial_tiled_mma(
            *self.types[:2], self.major(0), self.major(1), self.acc, (self.config.owners, 1, 1),
            (ROWS, self.tile[1]),
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
        return smem_layouts.make_smem_layout(
            self.major(which), (self.tile[which], self.tile[2]), self.types[which], self.stages
        )

    def part_smem(self, dtype: Any, columns: int) -> Any:
        """Shared memory of the epilogue: (rows, columns, buffers of all warpgroups)."""
        return smem_layouts.make_smem_layout_epi(
            dtype, utils.LayoutEnum.ROW_MAJOR, (ROWS, columns), self.buffers * CONSUMERS
        )

    def operand_atom(self, t: Any, which: int) -> Any:
        """How tiles of A or B are loaded, and the tensor of their coordinates."""
        blocks = self.config.cluster[1 - which]
        op = cpasync.CopyBulkTensorTileG2SMulticastOp() if blocks > 1 else (
            cpasync.CopyBulkTensorTileG2SOp()
        )  # fmt: skip
        layout = cute.slice_(self.operand_smem(which), (None, None, 0))
        return cpasync.make_tiled_tma_atom(op, t, layout, (self.tile[which], self.tile[2]), blocks)

    def part_atom(self, t: Any, columns: int, loaded: bool) -> Any:
        """How parts of another matrix are loaded or stored."""
        op = cpasync.CopyBulkTensorTileG2SOp() if loaded else cpasync.CopyBulkTensorTileS2GOp()
        layout = cute.slice_(self.part_smem(t.element_type, columns), (None, None, 0))
        return cpasync.make_tiled_tma_atom(op, t, layout, (ROWS, columns))

    @property
    def threads(self) -> int:
        """Threads of a block: consumers, then one warpgroup that loads."""
        return 128 * (CONSUMERS + 1)
