# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Persistent blocks whose work ends where the kernel finds out: groups of sizes that only the
device knows, one after the other along one mode.

In: as for `StaticPersistentTileScheduler`. Out: clusters of tiles without end, inner mode first;
the kernel looks for the group that each belongs to, and stops behind the last one::

    sched = StaticPersistentRuntimeTileScheduler.create(params, bidx, grid_dim, inner_mode=0)
    work = sched.initial_work_tile_info()     # work.tile_idx counts clusters
"""

from __future__ import annotations

from typing import Any

from opencute.base.errors import ArgumentError
from opencute.lang.numbers import Boolean, Int32
from opencute.lib.schedulers.raster import PersistentTileSchedulerParams, divided
from opencute.lib.schedulers.static import StaticPersistentTileScheduler
from opencute.lib.schedulers.work import WorkTileInfo

__all__ = ["StaticPersistentRuntimeTileScheduler"]


class StaticPersistentRuntimeTileScheduler(StaticPersistentTileScheduler):
    """The clusters of tiles of one block; made by `create`.

    Args:
        params, num_persistent_clusters, current_work_linear_idx, cta_id_in_cluster: as for
            `StaticPersistentTileScheduler`.
        num_tiles_executed: likewise.
    """

    inner_mode: Any = 0

    @classmethod
    def create(
        cls,
        params: PersistentTileSchedulerParams,
        block_idx: Any,
        grid_dim: Any,
        inner_mode: Any = 0,
        *,
        loc: Any = None,
        ip: Any = None,
    ) -> StaticPersistentRuntimeTileScheduler:
        """The scheduler of a block, at its first cluster.

        Args:
            params: the tiles; of the inner mode they are all there are, along the other one there
                is no end.
            block_idx: the block's index in the grid.
            grid_dim: the grid's shape.
            inner_mode: the mode that goes on first, 0 for M or 1 for N.

        Raises:
            ArgumentError: another mode.
        """
        if inner_mode not in (0, 1):
            raise ArgumentError(
                "the inner mode is M or N", code="OC2180", expected="0 or 1", found=inner_mode
            )
        made = super().create(params, block_idx, grid_dim)
        assert isinstance(made, cls)
        made.inner_mode = int(inner_mode)
        return made

    def get_current_work(self, *, loc: Any = None, ip: Any = None) -> Any:
        """The cluster to work on, as `WorkTileInfo` whose coordinate counts clusters; it is valid
        whatever it is."""
        inner = self.params.problem_shape_ncluster_mnl[self.inner_mode]
        outer, at = divided(self._current_work_linear_idx, inner)
        coord = [Int32(at), Int32(outer)]
        for index in coord:
            if index.is_dynamic:
                index.nonneg = True
        m, n = coord if self.inner_mode == 0 else coord[::-1]
        return WorkTileInfo((m, n, Int32(0)), Boolean(True))
