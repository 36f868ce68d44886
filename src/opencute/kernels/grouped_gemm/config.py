# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How grouped products are cut into tiles: the choices, a good one, and what is worth trying.

In: extents. Out: a frozen configuration::

    heuristic(rows=16384, groups=64, n=4096)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from opencute.base.errors import ArgumentError
from opencute.kernels.checked import typed_fields
from opencute.kernels.gemm.sm90_plan import HopperConfig

__all__ = ["GroupedConfig", "heuristic", "search_space"]

_PROCESSORS = 132
# Tiles, and how fast they are when there is enough to do: as single products are.
_SPEEDS = (
    ((128, 256), 0.97), ((256, 128), 0.97), ((128, 192), 0.95), ((128, 128), 0.88),
    ((128, 64), 0.7),
)  # fmt: skip


@dataclass(frozen=True)
class GroupedConfig:
    """Choices of grouped products.

    Args:
        tile: rows and columns of a tile; two warpgroups have half of its rows each.
        most: blocks that are launched, or 0 for as many as run at a time.
        depth: tiles of operands in shared memory, or 0 for as many as there is room for.
    """

    tile: tuple[int, int] = (128, 256)
    most: int = 0
    depth: int = 0

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
        return HopperConfig(self.tile, most=self.most, depth=self.depth)


def heuristic(rows: int, groups: int, n: int) -> GroupedConfig:
    """A good choice.

    Args:
        rows: of all groups.
        groups: how many; how rows are spread over them may be known to the device only.
        n: columns of the results.
    """

    def cost(choice: tuple[tuple[int, int], float]) -> float:
        (down, across), speed = choice
        # Of the last tile of a group, half is used on the average.
        tiles = (rows / down + min(groups, rows) / 2) * -(-n // across)
        return max(tiles / _PROCESSORS, 1.0) * down * across / speed

    return GroupedConfig(min(_SPEEDS, key=cost)[0])


def search_space() -> Iterator[GroupedConfig]:
    """What is worth trying."""
    for tile, _ in _SPEEDS:
        yield GroupedConfig(tile)
    yield GroupedConfig((256, 64))
