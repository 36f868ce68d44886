# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The scheduler of many problems: every tile of every problem once."""

from __future__ import annotations

import numpy as np
import pytest

import cutlass
import cutlass.cute as cute
from cutlass import Int32, utils
from opencute.base.errors import ArgumentError

pytestmark = pytest.mark.t0

TILE = (64, 32, 16)


@cute.kernel
def visit(
    params: utils.PersistentTileSchedulerParams,
    sizes: cute.Tensor,
    out: cute.Tensor,
    groups: cutlass.Constexpr,
    cluster: cutlass.Constexpr,
) -> None:
    whole = (TILE[0] * cluster[0], TILE[1] * cluster[1], TILE[2])
    sched = utils.StaticPersistentGroupTileScheduler.create(
        params, cute.arch.block_idx(), cute.arch.grid_dim(), whole,
        utils.create_initial_search_state(), groups, sizes,
    )  # fmt: skip
    work = sched.initial_work_tile_info()
    last = Int32(-1)
    while work.is_valid_tile:
        group = work.group_search_result
        if cute.arch.lane_idx() == 0:
            m, n = group.cta_tile_idx_m, group.cta_tile_idx_n
            at = (group.group_idx, m, n)
            out[at] = out[at] + 1
            if group.problem_shape_m != sizes[group.group_idx, 0]:
                out[at] = -1000
            if group.cta_tile_count_k * TILE[2] < group.problem_shape_k:
                out[at] = -2000
            if group.group_idx < last:
                out[at] = -3000
        last = group.group_idx
        sched.advance_to_next_work()
        work = sched.get_current_work()


@cute.jit
def launch_visit(
    sizes: cute.Tensor,
    out: cute.Tensor,
    groups: cutlass.Constexpr,
    cluster: cutlass.Constexpr,
    clusters: Int32,
    active: cutlass.Constexpr,
) -> None:
    params = utils.PersistentTileSchedulerParams((*cluster, clusters), (*cluster, 1))
    grid = utils.StaticPersistentGroupTileScheduler.get_grid_shape(params, active)
    visit(params, sizes, out, groups, cluster).launch(grid=grid, block=[32, 1, 1])


@pytest.mark.parametrize("cluster", [(1, 1), (2, 1)])
@pytest.mark.parametrize(("groups", "active"), [(1, 3), (7, 5), (45, 4), (70, 1)])
def test_every_tile_of_every_problem_once(
    groups: int, active: int, cluster: tuple[int, int]
) -> None:
    random = np.random.default_rng(groups)
    sizes = np.ones((groups, 4), np.int32)
    sizes[:, 0] = random.integers(0, 200, groups)
    sizes[:, 1] = random.integers(1, 100, groups)
    sizes[:, 2] = random.integers(1, 90, groups)
    sizes[random.integers(0, groups, groups // 5), 0] = 0  # problems without rows
    whole = (TILE[0] * cluster[0], TILE[1] * cluster[1])
    down, across = -(-sizes[:, 0] // whole[0]), -(-sizes[:, 1] // whole[1])
    expected = np.zeros((groups, 8, 8), np.int32)
    for g in range(groups):
        expected[g, : down[g] * cluster[0], : across[g] * cluster[1]] = 1
    out = np.zeros_like(expected)
    launch_visit(sizes, out, groups, cluster, int((down * across).sum()), active)
    np.testing.assert_array_equal(out, expected)


def test_refused() -> None:
    params = utils.PersistentTileSchedulerParams((1, 1, 4), (1, 1, 1))
    state = utils.create_initial_search_state()
    with pytest.raises(ArgumentError, match="needs a problem"):
        utils.GroupedGemmTileSchedulerHelper(0, params, (64, 64, 64), state)
    with pytest.raises(ArgumentError, match="three positive ints"):
        utils.GroupedGemmTileSchedulerHelper(4, params, (64, 64), state)
