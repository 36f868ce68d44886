# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Persistent schedulers against brute force: every tile once, in the promised order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutlass
import cutlass.cute as cute
from cutlass import Int32, utils
from opencute.base.errors import ArgumentError

pytestmark = pytest.mark.t0

EXTENTS = st.integers(1, 9)
CLUSTERS = st.sampled_from([(1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 2, 1), (4, 1)])


def number_to_cluster(
    clusters: tuple[int, int, int], swizzle: int, along_m: bool
) -> list[tuple[int, int, int]]:
    """The order by its definition: bands of `swizzle` columns, the last one narrower, and in each
    of them row after row."""
    m, n, batches = clusters
    fast, slow = (m, n) if along_m else (n, m)
    order = []
    for batch in range(batches):
        for start in range(0, slow, swizzle):
            band = range(start, min(start + swizzle, slow))
            for i in range(fast):
                for j in band:
                    order.append((i, j, batch) if along_m else (j, i, batch))
    return order


@settings(max_examples=60, deadline=None)
@given(
    tiles=st.tuples(EXTENTS, EXTENTS, st.integers(1, 3)),
    cluster=CLUSTERS,
    swizzle=st.integers(1, 4),
    along_m=st.booleans(),
    active=st.integers(1, 12),
)
def test_every_tile_once_in_order(
    tiles: Any, cluster: Any, swizzle: int, along_m: bool, active: int
) -> None:
    params = utils.PersistentTileSchedulerParams(tiles, cluster, swizzle, along_m)
    clusters = tuple(-(-t // c) for t, c in zip(tiles, (*cluster[:2], 1), strict=True))
    order = number_to_cluster(clusters, swizzle, along_m)
    assert params.num_clusters == len(order)
    grid = utils.StaticPersistentTileScheduler.get_grid_shape(params, active)
    assert grid == (cluster[0], cluster[1], min(active, len(order)))
    seen: list[tuple[int, ...]] = []
    for x in range(grid[0]):
        for y in range(grid[1]):
            for z in range(grid[2]):
                sched = utils.StaticPersistentTileScheduler.create(params, (x, y, z), grid)
                work = sched.initial_work_tile_info()
                at = z
                while work.is_valid_tile:
                    m, n, batch = order[at]
                    got = tuple(int(t) for t in work.tile_idx)
                    assert got == (m * cluster[0] + x, n * cluster[1] + y, batch)
                    seen.append(got)
                    sched.advance_to_next_work()
                    at += grid[2]
                    work = sched.get_current_work()
                assert at >= len(order)
                assert int(sched.num_tiles_executed) == len(range(z, len(order), grid[2]))
    assert len(seen) == len(set(seen)) == len(order) * cluster[0] * cluster[1]
    assert {t for t in np.ndindex(*tiles)} <= set(seen)


def test_more_than_one_step_at_a_time() -> None:
    params = utils.PersistentTileSchedulerParams((8, 1, 1), (1, 1, 1))
    sched = utils.StaticPersistentTileScheduler.create(params, (0, 0, 1), (1, 1, 2))
    sched.advance_to_next_work(advance_count=2)
    assert int(sched.get_current_work().tile_idx[0]) == 5


def test_grids_whose_clusters_extend_along_x() -> None:
    params = utils.PersistentTileSchedulerParams((8, 2, 1), (2, 1, 1))
    seen = set()
    for x in range(6):
        sched = utils.StaticPersistentTileScheduler.create(params, (x, 0, 0), (6, 1, 1))
        work = sched.initial_work_tile_info()
        while work.is_valid_tile:
            seen.add(tuple(int(t) for t in work.tile_idx))
            sched.advance_to_next_work()
            work = sched.get_current_work()
    assert seen == set(np.ndindex(8, 2, 1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: utils.PersistentTileSchedulerParams((4, 4), (1, 1, 1)), "M, N and L"),
        (lambda: utils.PersistentTileSchedulerParams((4, 4, 1), (0, 1, 1)), "positive ints"),
        (lambda: utils.PersistentTileSchedulerParams((4, 4, 1), (1, 1, 2)), "M and N only"),
        (lambda: utils.PersistentTileSchedulerParams((4, 4, 1), (1, 1, 1), 0), "swizzle_size"),
        (
            lambda: utils.StaticPersistentTileScheduler.get_grid_shape(
                utils.PersistentTileSchedulerParams((4, 4, 1), (1, 1, 1)), 0
            ),
            "at least one active cluster",
        ),
    ],
)
def test_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


# ---------------------------------------------------------------- in kernels
@cute.kernel
def count_tiles(params: utils.PersistentTileSchedulerParams, out: cute.Tensor) -> None:
    sched = utils.StaticPersistentTileScheduler.create(
        params, cute.arch.block_idx(), cute.arch.grid_dim()
    )
    work = sched.initial_work_tile_info()
    while work.is_valid_tile:
        m, n, batch = work.tile_idx
        if m < out.shape[0] and n < out.shape[1]:
            out[m, n, batch] = out[m, n, batch] + 1 + sched.num_tiles_executed * 100
        sched.advance_to_next_work()
        work = sched.get_current_work()


@cute.jit
def launch_count(
    out: cute.Tensor,
    swizzle: cutlass.Constexpr,
    along_m: cutlass.Constexpr,
    active: cutlass.Constexpr,
    m: Int32,
    n: Int32,
    batches: Int32,
) -> None:
    params = utils.PersistentTileSchedulerParams((m, n, batches), (1, 1, 1), swizzle, along_m)
    grid = utils.StaticPersistentTileScheduler.get_grid_shape(params, active)
    count_tiles(params, out).launch(grid=grid, block=[1, 1, 1])


@pytest.mark.parametrize("along_m", [True, False])
@pytest.mark.parametrize("swizzle", [1, 3])
def test_sizes_at_run_time(swizzle: int, along_m: bool) -> None:
    for shape in ((5, 7, 2), (1, 1, 1), (4, 6, 1)):
        out = np.zeros(shape, np.int32)
        launch_count(out, swizzle, along_m, 6, *shape)
        order = number_to_cluster(shape, swizzle, along_m)
        expected = np.zeros(shape, np.int32)
        for number, at in enumerate(order):
            expected[at] = 1 + number // min(6, len(order)) * 100
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("inner", [0, 1])
def test_work_without_an_end(inner: int) -> None:
    params = utils.PersistentTileSchedulerParams((6, 5, 1), (2, 1, 1))
    wide = params.problem_shape_ncluster_mnl[inner]
    grid = (2, 1, 4)
    for z in range(4):
        sched = utils.StaticPersistentRuntimeTileScheduler.create(
            params, (1, 0, z), grid, inner_mode=inner
        )
        work = sched.initial_work_tile_info()
        for at in range(z, 60, 4):
            m, n, batch = (int(t) for t in work.tile_idx)
            assert (m, n)[inner] == at % wide and (m, n)[1 - inner] == at // wide
            assert batch == 0 and work.is_valid_tile
            sched.advance_to_next_work()
            work = sched.get_current_work()


def test_there_are_two_inner_modes() -> None:
    params = utils.PersistentTileSchedulerParams((6, 5, 1), (2, 1, 1))
    with pytest.raises(ArgumentError) as e:
        utils.StaticPersistentRuntimeTileScheduler.create(params, (0, 0, 0), (2, 1, 4), 2)
    assert e.value.code == "OC2180"
