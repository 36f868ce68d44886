# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Persistent blocks: as many clusters as fit on the GPU, each takes every n-th cluster of tiles.

params = utils.PersistentTileSchedulerParams(num_ctas_mnl, (*cluster_shape_mn, 1))
grid = utils.StaticPersistentTileScheduler.get_grid_shape(params, max_active_clusters)

tile_sched = utils.StaticPersistentTileScheduler.create(
    params, cute.arch.block_idx(), cute.arch.grid_dim()
)
work_tile = tile_sched.initial_work_tile_info()
while work_tile.is_valid_tile:
    m, n, l = work_tile.tile_idx
    ...
    tile_sched.advance_to_next_work()
    work_tile = tile_sched.get_current_work()
"""

from __future__ import annotations

from typing import Any

from opencute.base.errors import ArgumentError
from opencute.lang.mathfns import min as min_
from opencute.lang.numbers import Int32
from opencute.lib.schedulers.raster import PersistentTileSchedulerParams, divided
from opencute.lib.schedulers.work import WorkTileInfo

__all__ = ["StaticPersistentTileScheduler"]


class StaticPersistentTileScheduler:
    """The tiles of one block; made by `create`.

    Args:
        params: the tiles and their order.
        num_persistent_clusters: clusters of the grid.
        current_work_linear_idx: number of the cluster of tiles that is worked on.
        cta_id_in_cluster: the block's coordinate in its cluster, (m, n, 0).
        num_tiles_executed: tiles that are done.
    """

    def __init__(
        self,
        params: PersistentTileSchedulerParams,
        num_persistent_clusters: Any,
        current_work_linear_idx: Any,
        cta_id_in_cluster: Any,
        num_tiles_executed: Any,
    ) -> None:
        self.params = params
        self.num_persistent_clusters = num_persistent_clusters
        self.cta_id_in_cluster = cta_id_in_cluster
        self._current_work_linear_idx = current_work_linear_idx
        self._num_tiles_executed = num_tiles_executed

    @classmethod
    def create(
        cls,
        params: PersistentTileSchedulerParams,
        block_idx: Any,
        grid_dim: Any,
        *,
        loc: Any = None,
        ip: Any = None,
    ) -> StaticPersistentTileScheduler:
        """The scheduler of a block, at its first tile.

        Args:
            params: the tiles and their order.
            block_idx: the block's index in the grid.
            grid_dim: the grid's shape, that of `get_grid_shape` or another one whose clusters
                extend along x and y.
        """
        across, down = params.cluster_shape_mn
        (x, in_x), (y, in_y) = divided(block_idx[0], across), divided(block_idx[1], down)
        columns, rows = divided(grid_dim[0], across)[0], divided(grid_dim[1], down)[0]
        number = _plus(_times(_plus(_times(block_idx[2], rows), y), columns), x)
        clusters = _times(_times(columns, rows), grid_dim[2])
        at = Int32(number)
        at.nonneg = True
        return cls(params, Int32(clusters), at, (in_x, in_y, 0), Int32(0))

    @staticmethod
    def get_grid_shape(
        params: PersistentTileSchedulerParams,
        max_active_clusters: Any,
        *,
        loc: Any = None,
        ip: Any = None,
    ) -> tuple[Any, Any, Any]:
        """The grid of a launch: a cluster in x and y, the clusters in z.

        Args:
            params: the tiles and their order.
            max_active_clusters: how many clusters run at a time; no more are launched.

        Raises:
            ArgumentError: no cluster may run.
        """
        if isinstance(max_active_clusters, int) and max_active_clusters < 1:
            raise ArgumentError(
                "a persistent kernel needs at least one active cluster", code="OC2181",
                found=max_active_clusters,
                hint="utils.HardwareInfo().get_max_active_clusters(cluster_size) says how many",
            )  # fmt: skip
        clusters = params.num_clusters
        both = isinstance(clusters, int) and isinstance(max_active_clusters, int)
        least = min if both else min_
        return (*params.cluster_shape_mn, least(clusters, max_active_clusters))

    def get_current_work(self, *, loc: Any = None, ip: Any = None) -> Any:
        """The tile to work on, as `WorkTileInfo`."""
        number = self._current_work_linear_idx
        coord = self.params.cluster_coord(number)
        tile = tuple(
            Int32(_plus(_times(c, size), inside))
            for c, size, inside in zip(
                coord, self.params.cluster_shape_mnk, self.cta_id_in_cluster, strict=True
            )
        )
        for index in tile:
            if index.is_dynamic:
                index.nonneg = True
        return WorkTileInfo(tile, number < self.params.num_clusters)

    def initial_work_tile_info(self, *, loc: Any = None, ip: Any = None) -> Any:
        """The block's first tile."""
        return self.get_current_work()

    def advance_to_next_work(
        self, *, advance_count: Any = 1, loc: Any = None, ip: Any = None
    ) -> None:
        """Go on to the block's next tile, or to the one `advance_count` further."""
        step = _times(self.num_persistent_clusters, advance_count)
        self._current_work_linear_idx = self._current_work_linear_idx + step
        if self._current_work_linear_idx.is_dynamic:
            self._current_work_linear_idx.nonneg = True
        self._num_tiles_executed = self._num_tiles_executed + 1

    @property
    def num_tiles_executed(self) -> Any:
        """How often the block went on."""
        return self._num_tiles_executed


def _times(a: Any, b: Any) -> Any:
    """A product; that with a static 1 or 0 costs nothing."""
    for x, y in ((a, b), (b, a)):
        if isinstance(x, int):
            if x == 1:
                return y
            if x == 0:
                return 0
    return a * b


def _plus(a: Any, b: Any) -> Any:
    if isinstance(a, int) and a == 0:
        return b
    return a if isinstance(b, int) and b == 0 else a + b
