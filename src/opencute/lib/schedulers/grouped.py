# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Persistent blocks over many problems of different sizes, which stand in memory.

All clusters of tiles of all problems have one number: those of the first problem come first. A warp
finds the problem of a number together: each lane looks at one problem, 32 of them at a time.

    tile_sched = utils.StaticPersistentGroupTileScheduler.create(
        params, bid, grid_dim, cluster_tile_shape_mnk, utils.create_initial_search_state(),
        group_count, problem_sizes_mnkl,
    )
    work_tile = tile_sched.initial_work_tile_info()
    while work_tile.is_valid_tile:
        group = work_tile.group_search_result
        m, n = group.cta_tile_idx_m, group.cta_tile_idx_n      # of problem group.group_idx
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.lang.numbers import Boolean, Int32
from opencute.lib.schedulers.raster import PersistentTileSchedulerParams
from opencute.lib.schedulers.static import StaticPersistentTileScheduler

__all__ = [
    "GroupSearchResult",
    "GroupSearchState",
    "GroupWorkTileInfo",
    "GroupedGemmTileSchedulerHelper",
    "StaticPersistentGroupTileScheduler",
    "create_initial_search_state",
]

_LANES = 32


class GroupSearchState:
    """How far the search has come. Numbers of clusters only grow, so it never goes back.

    Args:
        start_group_idx: the first of the 32 problems looked at last.
        tile_count_prev_group: clusters of the problems before it.
    """

    def __init__(self, start_group_idx: Any, tile_count_prev_group: Any) -> None:
        self.start_group_idx = start_group_idx
        self.tile_count_prev_group = tile_count_prev_group


def create_initial_search_state(*, loc: Any = None, ip: Any = None) -> GroupSearchState:
    """A search that starts at the first problem."""
    return GroupSearchState(Int32(0), Int32(0))


class GroupSearchResult:
    """A block's tile of a problem.

    Args:
        group_idx: which problem.
        cta_tile_idx_m, cta_tile_idx_n: the tile, in tiles of one block.
        problem_shape_m, problem_shape_n, problem_shape_k: the problem's size.
        cta_tile_count_k: tiles along K.
    """

    def __init__(
        self,
        group_idx: Any,
        cta_tile_idx_m: Any,
        cta_tile_idx_n: Any,
        problem_shape_m: Any,
        problem_shape_n: Any,
        problem_shape_k: Any,
        cta_tile_count_k: Any,
    ) -> None:
        self.group_idx = group_idx
        self.cta_tile_idx_m = cta_tile_idx_m
        self.cta_tile_idx_n = cta_tile_idx_n
        self.problem_shape_m = problem_shape_m
        self.problem_shape_n = problem_shape_n
        self.problem_shape_k = problem_shape_k
        self.cta_tile_count_k = cta_tile_count_k


class GroupWorkTileInfo:
    """What `WorkTileInfo` is, for a tile of one of many problems."""

    def __init__(self, tile_idx: Any, is_valid_tile: Any, group_search_result: Any) -> None:
        self._tile_idx = tile_idx
        self._is_valid_tile = Boolean(is_valid_tile)
        self.group_search_result = group_search_result

    @property
    def tile_idx(self) -> Any:
        """The coordinate of the tile in the order of all tiles: its last entry is the number."""
        return self._tile_idx

    @property
    def is_valid_tile(self) -> Any:
        """Whether there is such a tile, as Boolean."""
        return self._is_valid_tile


class GroupedGemmTileSchedulerHelper:
    """Finds the problem that a cluster of tiles belongs to.

    Args:
        group_count: how many problems.
        tile_sched_params: the tiles of all problems, as (cluster's M, cluster's N, clusters).
        cluster_tile_shape_mnk: the tile of a whole cluster; K is that of one block.
        search_state: where to start.

    Raises:
        ArgumentError: the number of problems is not positive, or the tile not static.
    """

    def __init__(
        self,
        group_count: Any,
        tile_sched_params: PersistentTileSchedulerParams,
        cluster_tile_shape_mnk: Any,
        search_state: GroupSearchState,
    ) -> None:
        if isinstance(group_count, int) and group_count < 1:
            raise ArgumentError(
                "a grouped scheduler needs a problem", code="OC2182", found=group_count
            )
        tile = tuple(cute.size(t) for t in cluster_tile_shape_mnk)
        if len(tile) != 3 or any(not isinstance(t, int) or t < 1 for t in tile):
            raise ArgumentError(
                "the tile of a cluster is of three positive ints", code="OC2182",
                found=cluster_tile_shape_mnk,
            )  # fmt: skip
        self.group_count = group_count
        self.params = tile_sched_params
        self.cluster_tile_shape_mnk = tile
        self.search_state = search_state

    def delinearize_z(
        self, cta_tile_coord: Any, problem_shape_mnkl: Any, *, loc: Any = None, ip: Any = None
    ) -> GroupSearchResult:
        """The tile of a problem that a coordinate stands for. All lanes of the warp take part, with
        the same coordinate; coordinates of one search only grow.

        Args:
            cta_tile_coord: (m, n, z): the block in its cluster, and the cluster's number.
            problem_shape_mnkl: a tensor (groups, 4) of the problems' sizes.
        """
        x, y, number = cta_tile_coord
        group, before, first, total = _search(
            Int32(number), self.search_state, self.group_count, self.cluster_tile_shape_mnk,
            problem_shape_mnkl,
        )  # fmt: skip
        self.search_state.start_group_idx = first
        self.search_state.tile_count_prev_group = total
        m, n, k = (Int32(problem_shape_mnkl[group, i]) for i in range(3))
        tile_m, _, tile_k = self.cluster_tile_shape_mnk
        down = cutlass.max(cute.ceil_div(m, tile_m), 1)
        column = (Int32(number) - before) // down
        row = Int32(number) - before - column * down
        across_m, across_n = self.params.cluster_shape_mn
        return GroupSearchResult(
            group, row * across_m + x, column * across_n + y, m, n, k, cute.ceil_div(k, tile_k)
        )


@cute.jit
def _search(
    number: Any,
    state: Any,
    group_count: Any,
    tile: cutlass.Constexpr[Any],
    sizes: Any,
) -> Any:
    """The problem of a cluster, the clusters before that problem, and where the search ends. Past
    the last cluster it is the last problem."""
    lane = cute.arch.lane_idx()
    first = Int32(state.start_group_idx)
    total = Int32(state.tile_count_prev_group)
    own, up_to = _clusters(first, lane, group_count, tile, sizes)
    last = total + cute.arch.shuffle_sync(up_to, _LANES - 1)
    while number >= last and first + _LANES < group_count:
        first += _LANES
        total = last
        own, up_to = _clusters(first, lane, group_count, tile, sizes)
        last = total + cute.arch.shuffle_sync(up_to, _LANES - 1)
    # Problems that end before the number come before the one that it belongs to.
    done = cute.arch.popc(cute.arch.vote_ballot_sync(number >= total + up_to))
    done = cutlass.min(Int32(done), cutlass.min(group_count - first, _LANES) - 1)
    before = total + cute.arch.shuffle_sync(up_to - own, done)
    return first + done, before, first, total


@cute.jit
def _clusters(
    first: Any, lane: Any, group_count: Any, tile: cutlass.Constexpr[Any], sizes: Any
) -> Any:
    """Clusters of this lane's problem, and of those from `first` to it."""
    own = Int32(0)
    group = first + lane
    if group < group_count:
        own = cute.ceil_div(Int32(sizes[group, 0]), tile[0]) * cute.ceil_div(
            Int32(sizes[group, 1]), tile[1]
        )
    up_to = own
    for step in cutlass.range_constexpr(5):
        below = cute.arch.shuffle_sync_up(up_to, 1 << step)
        if lane >= 1 << step:
            up_to += below
    return own, up_to


class StaticPersistentGroupTileScheduler:
    """The tiles of one block, of all problems; made by `create`.

    Args:
        tile_sched: gives the numbers.
        group_helper: finds their problems.
        problem_sizes_mnkl: a tensor (groups, 4) of the problems' sizes.
    """

    def __init__(
        self,
        tile_sched: StaticPersistentTileScheduler,
        group_helper: GroupedGemmTileSchedulerHelper,
        problem_sizes_mnkl: Any,
    ) -> None:
        self._tile_sched = tile_sched
        self._group_helper = group_helper
        self._problem_sizes_mnkl = problem_sizes_mnkl

    @classmethod
    def create(
        cls,
        params: PersistentTileSchedulerParams,
        block_idx: Any,
        grid_dim: Any,
        cluster_tile_shape_mnk: Any,
        initial_search_state: GroupSearchState,
        group_count: Any,
        problem_shape_mnkl: Any,
        *,
        loc: Any = None,
        ip: Any = None,
    ) -> StaticPersistentGroupTileScheduler:
        """The scheduler of a block, at its first tile.

        Args:
            params: the tiles of all problems, as (cluster's M, cluster's N, clusters).
            block_idx, grid_dim: of the block, as `cute.arch` gives them.
            cluster_tile_shape_mnk: the tile of a whole cluster; K is that of one block.
            initial_search_state: where the search for problems starts.
            group_count: how many problems.
            problem_shape_mnkl: a tensor (groups, 4) of the problems' sizes.

        Raises:
            ArgumentError: the number of problems is not positive, or the tile not static.
        """
        return cls(
            StaticPersistentTileScheduler.create(params, block_idx, grid_dim),
            GroupedGemmTileSchedulerHelper(
                group_count, params, cluster_tile_shape_mnk, initial_search_state
            ),
            problem_shape_mnkl,
        )

    @staticmethod
    def get_grid_shape(
        params: PersistentTileSchedulerParams,
        max_active_clusters: Any,
        *,
        loc: Any = None,
        ip: Any = None,
    ) -> tuple[Any, Any, Any]:
        """As `StaticPersistentTileScheduler.get_grid_shape`.

        Args:
            params: the tiles.
            max_active_clusters: how many clusters the device runs at a time.
        """
        return StaticPersistentTileScheduler.get_grid_shape(params, max_active_clusters)

    def get_current_work(self, *, loc: Any = None, ip: Any = None) -> GroupWorkTileInfo:
        """The tile to work on. All lanes of the warp take part."""
        work = self._tile_sched.get_current_work()
        found = self._group_helper.delinearize_z(work.tile_idx, self._problem_sizes_mnkl)
        return GroupWorkTileInfo(work.tile_idx, work.is_valid_tile, found)

    def initial_work_tile_info(self, *, loc: Any = None, ip: Any = None) -> GroupWorkTileInfo:
        """The block's first tile."""
        return self.get_current_work()

    def advance_to_next_work(
        self, *, advance_count: Any = 1, loc: Any = None, ip: Any = None
    ) -> None:
        """Go on to the block's next tile.

        Args:
            advance_count: how many tiles further.
        """
        self._tile_sched.advance_to_next_work(advance_count=advance_count)

    @property
    def num_tiles_executed(self) -> Any:
        """How often the block went on."""
        return self._tile_sched.num_tiles_executed
