# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A tile of work, as schedulers hand it out.

work_tile = tile_sched.initial_work_tile_info()
while work_tile.is_valid_tile:
    m, n, l = work_tile.tile_idx
"""

from __future__ import annotations

from typing import Any

from opencute.lang.numbers import Boolean

__all__ = ["WorkTileInfo"]


class WorkTileInfo:
    """A tile's coordinate, and whether there is such a tile.

    Args:
        tile_idx: the coordinate, (m, n, l) in tiles; a scheduler of one's own may give any other.
        is_valid_tile: a condition; the coordinate means nothing where it does not hold.
    """

    def __init__(self, tile_idx: Any, is_valid_tile: Any) -> None:
        self._tile_idx = tile_idx
        self._is_valid_tile = Boolean(is_valid_tile)

    @property
    def tile_idx(self) -> Any:
        """The tile's coordinate."""
        return self._tile_idx

    @property
    def is_valid_tile(self) -> Any:
        """Whether there is such a tile, as Boolean."""
        return self._is_valid_tile
