# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How grouped products are cut into tiles: the choices, a good one, and what is worth trying.

In: extents. Out: a frozen configuration::

    heuristic(rows=16384, groups=64, n=4096)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from opencute.base.errors import ArgumentError
from opencute.kernels.checked import typed_fields
from opencute.kernels.gemm.sm90_plan import HopperConfig

__all__ = ["GroupedConfig", "heuristic", "heuristic_of_sums", "search_space"]

_PROCESSORS = 132
# Tiles, and how fast they are when there is enough to do: as single products are. Those of 64 rows
# waste less of groups of few.
_SPEEDS = (
    ((128, 256), 0.97), ((256, 128), 0.97), ((128, 192), 0.95), ((128, 128), 0.88),
    ((128, 64), 0.7),
)  # fmt: skip
_LOW = ((64, 256), 0.83)


@dataclass(frozen=True)
class GroupedConfig:
    """Choices of grouped products.

    Args:
        tile: rows and columns of a tile; two warpgroups have half of its rows each, or of its
            columns.
        most: blocks that are launched, or 0 for as many as run at a time.
        depth: tiles of operands in shared memory, or 0 for as many as there is room for.
        twice: whether sums of 128 products are added up in f32 outside of the tensor cores, which
            keep fewer bits of sums of 8-bit floats.
        promote: bytes that L2 brings at once where a tile needs any of them: 64, 128 or 256.
        once: 1 or 2 where A, or B, is read once, which L2 is told, so that it keeps the other.
        beside: whether each of the two warpgroups has half of a tile's columns rather than of its
            rows, which may be 64 then.
    """

    tile: tuple[int, int] = (128, 256)
    most: int = 0
    depth: int = 0
    twice: bool = False
    promote: int = 128
    once: int = 0
    beside: bool = False

    def check(self) -> GroupedConfig:
        """The configuration itself, if it is possible.

        Raises:
            ArgumentError: it is not.
        """
        typed_fields(self, "OC2538")
        if self.most < 0 or self.depth < 0 or self.depth == 1:
            raise ArgumentError(
                "no such numbers of blocks or of tiles in shared memory", code="OC2538",
                found=self, expected="most of 0 or more, depth of 0, 2 or more",
            )  # fmt: skip
        self.hopper.check()
        return self

    @property
    def hopper(self) -> HopperConfig:
        """The same for the pieces of a single product."""
        return HopperConfig(
            self.tile, twice=self.twice, most=self.most, depth=self.depth, promote=self.promote,
            once=self.once, beside=self.beside,
        )  # fmt: skip


def heuristic(rows: int, groups: int, n: int, *, twice: bool = False) -> GroupedConfig:
    """A good choice where groups are rows.

    Args:
        rows: of all groups.
        groups: how many; how rows are spread over them may be known to the device only.
        n: columns of the results.
        twice: see `GroupedConfig`.
    """
    # Of the last tile of a group, half is used on the average.
    return _best(lambda down: rows / down + min(groups, rows) / 2, n, twice, not twice)


def heuristic_of_sums(groups: int, m: int, n: int) -> GroupedConfig:
    """A good choice where groups are sums, each of which gives a matrix (m, n)."""
    return _best(lambda down: groups * -(-m // down), n, False, False)


def _best(tiles_down: Callable[[int], float], n: int, twice: bool, low: bool) -> GroupedConfig:
    """The tile that takes the least time.

    Args:
        tiles_down: rows of a tile to how many there are along rows, of all groups.
        low: whether it may be one of 64 rows.
    """

    def cost(choice: tuple[tuple[int, int], float]) -> float:
        (down, across), speed = choice
        tiles = tiles_down(down) * -(-n // across)
        return max(tiles / _PROCESSORS, 1.0) * down * across / speed

    tile, _ = min([*_speeds(twice), *([_LOW] if low else [])], key=cost)
    return GroupedConfig(tile, twice=twice, beside=tile == _LOW[0])


def _speeds(twice: bool) -> list[tuple[tuple[int, int], float]]:
    """Tiles, and how fast they are; twice as many sums need twice as many registers."""
    return [(t, s) for t, s in _SPEEDS if not twice or t[0] * t[1] <= 128 * 192]


def search_space(*, twice: bool = False) -> Iterator[GroupedConfig]:
    """What is worth trying."""
    for tile in (*(t for t, _ in _speeds(twice)), (256, 64)):
        yield GroupedConfig(tile, twice=twice)
    for tile in ((128, 192), (128, 128)) if twice else ((128, 256), (128, 128)):
        yield GroupedConfig(tile, twice=twice, promote=256)
        yield GroupedConfig(tile, twice=twice, once=2)
    for tile in () if twice else ((64, 256), (64, 192)):
        yield GroupedConfig(tile, beside=True)
