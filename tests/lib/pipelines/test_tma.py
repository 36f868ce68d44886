# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Loads and stores by TMA through pipelines: whole, and with one thing wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutlass
import cutlass.cute as cute
from cutlass import pipeline, utils
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack
from opencute.base.errors import (
    ArgumentError,
    DeadlockError,
    LayoutError,
    OpenCuTeError,
    RaceError,
    SimulationError,
)
from opencute.base.knobs import KNOBS

pytestmark = pytest.mark.t0

TILE, STAGES, WARPS = (16, 64), 2, 2
BYTES = 2 * TILE[0] * TILE[1]


def group(size: int) -> pipeline.CooperativeGroup:
    return pipeline.CooperativeGroup(pipeline.Agent.Thread, size)


@cute.jit
def produce(
    load: Any, loads: Any, sched: Any, g_in: Any, s_in: Any, mask: Any, fault: cutlass.Constexpr
) -> None:
    """Load the block's tiles into the ring."""
    state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
    work = sched.initial_work_tile_info()
    while work.is_valid_tile:
        m, n, _ = work.tile_idx
        loads.producer_acquire(state)
        copies = {"no load": 0, "second copy": 2}.get(fault, 1)
        for _ in cutlass.range_constexpr(copies):
            cute.copy(
                load,
                g_in[None, m, n],
                s_in[None, state.index],
                tma_bar_ptr=loads.producer_get_barrier(state),
                mcast_mask=mask,
            )
        if cutlass.const_expr("bytes" not in fault):
            loads.producer_commit(state)
        state.advance()
        sched.advance_to_next_work()
        work = sched.get_current_work()
    loads.producer_tail(state)


@cute.jit
def consume(
    store: Any, loads: Any, sched: Any, tiles: Any, g_out: Any, s_out: Any, stores_here: Any,
    fault: cutlass.Constexpr,
) -> None:  # fmt: skip
    """Add one to each tile and store it from a ring of its own."""
    ring, done = tiles
    tidx, _, _ = cute.arch.thread_idx()
    stores = pipeline.PipelineTmaStore.create(num_stages=STAGES, producer_group=group(32 * WARPS))
    meet = pipeline.NamedBarrier(barrier_id=1, num_threads=32 * WARPS)
    state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
    work = sched.initial_work_tile_info()
    while work.is_valid_tile:
        m, n, _ = work.tile_idx
        if cutlass.const_expr(fault != "no wait"):
            loads.consumer_wait(state, loads.consumer_try_wait(state))
        at = sched.num_tiles_executed % STAGES
        for i in range(tidx, cute.size(TILE), 32 * WARPS):
            done[i % 16, i // 16, at] = ring[i % 16, i // 16, state.index] + cutlass.Float16(1)
        if cutlass.const_expr(fault != "no release"):
            loads.consumer_release(state)
        state.advance()
        if cutlass.const_expr(fault != "no fence"):
            cute.arch.fence_proxy("async.shared", space="cta")
        meet.arrive_and_wait()
        if stores_here:
            cute.copy(store, s_out[None, at], g_out[None, m, n])
            if cutlass.const_expr(fault != "no commit"):
                stores.producer_commit()
            if cutlass.const_expr(fault != "no acquire"):
                stores.producer_acquire()
        meet.arrive_and_wait()
        sched.advance_to_next_work()
        work = sched.get_current_work()
    if cutlass.const_expr(fault != "no tail"):
        stores.producer_tail()


@cute.kernel
def add_one(
    load: cute.CopyAtom,
    src: cute.Tensor,
    store: cute.CopyAtom,
    dst: cute.Tensor,
    params: utils.PersistentTileSchedulerParams,
    layout: cute.ComposedLayout,
    cluster: cutlass.Constexpr,
    fault: cutlass.Constexpr,
) -> None:
    """Each block loads tiles, adds one and stores them. In a cluster, all blocks work on the same
    tiles, and each loads a part of them for all; the first one stores."""
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    smem = utils.SmemAllocator()
    bars = smem.allocate_array(cutlass.Int64, 2 * STAGES)
    ring = smem.allocate_tensor(cutlass.Float16, layout.outer, 1024, swizzle=layout.inner)
    done = smem.allocate_tensor(cutlass.Float16, layout.outer, 1024, swizzle=layout.inner)
    warps = {"more consumers": 1, "fewer consumers": -1}.get(fault, 0) + WARPS
    loads = pipeline.PipelineTmaAsync.create(
        barrier_storage=bars,
        num_stages=STAGES,
        producer_group=group(1),
        consumer_group=group(warps * cluster),
        tx_count={"more bytes": BYTES + 16, "fewer bytes": BYTES - 16}.get(fault, BYTES),
        cta_layout_vmnk=cute.make_layout((1, 1, cluster, 1)),
        defer_sync=True,
    )
    pipeline.pipeline_init_arrive(cluster_shape_mn=(1, cluster), is_relaxed=True)
    if cutlass.const_expr(fault != "no sync"):
        pipeline.pipeline_init_wait(cluster_shape_mn=(1, cluster))
    g_src = cute.group_modes(cute.local_tile(src, TILE, (None, None)), 0, 2)
    g_dst = cute.group_modes(cute.local_tile(dst, TILE, (None, None)), 0, 2)
    blocks, one = cute.make_layout(cluster), cute.make_layout(1)
    s_in, g_in = cpasync.tma_partition(load, rank, blocks, cute.group_modes(ring, 0, 2), g_src)
    s_out, g_out = cpasync.tma_partition(store, 0, one, cute.group_modes(done, 0, 2), g_dst)
    sched = utils.StaticPersistentTileScheduler.create(
        params, (0, 0, cute.arch.block_idx()[2]), (1, 1, cute.arch.grid_dim()[2])
    )
    if warp == WARPS:
        mask = (1 << cluster) - 1 if cluster > 1 else None
        produce(load, loads, sched, g_in, s_in, mask, fault)
    else:
        mine = cutlass.Boolean(warp == 0) & cutlass.Boolean(rank == 0)
        consume(store, loads, sched, (ring, done), g_out, s_out, mine, fault)


@cute.jit
def launch(
    src: cute.Tensor, dst: cute.Tensor, cluster: cutlass.Constexpr, fault: cutlass.Constexpr
) -> None:
    layout = utils.hopper_helpers.make_smem_layout_epi(
        cutlass.Float16, utils.LayoutEnum.ROW_MAJOR, TILE, STAGES
    )
    one = cute.slice_(layout, (None, None, 0))
    many = cpasync.CopyBulkTensorTileG2SMulticastOp()
    load_op = cpasync.CopyBulkTensorTileG2SOp() if cluster == 1 else many
    load, s = cpasync.make_tiled_tma_atom(load_op, src, one, TILE, num_multicast=cluster)
    store, d = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), dst, one, TILE)
    tiles = (*cute.ceil_div(src.shape, TILE), 1)
    params = utils.PersistentTileSchedulerParams(tiles, (1, 1, 1))
    grid = utils.StaticPersistentTileScheduler.get_grid_shape(params, 2)
    add_one(load, s, store, d, params, layout, cluster, fault).launch(
        grid=[1, cluster, grid[2]], block=[32 * (WARPS + 1), 1, 1], cluster=[1, cluster, 1]
    )


def run(cluster: int = 1, fault: str = "", seed: int = 0, shape: Any = (40, 136)) -> Any:
    x = np.random.default_rng(0).integers(-8, 8, shape).astype(np.float16)
    out = np.zeros_like(x)
    with KNOBS.override(target="sim", sim_check=True, sim_seed=seed):
        launch(from_dlpack(x, assumed_align=16), from_dlpack(out, assumed_align=16), cluster, fault)
    return x, out


@pytest.mark.parametrize("cluster", [1, 2])
def test_tiles_go_through(cluster: int) -> None:
    for seed in range(2):
        x, out = run(cluster, seed=seed)
        np.testing.assert_array_equal(out, x + 1)


@pytest.mark.parametrize(
    ("fault", "error", "text"),
    [
        ("more bytes", SimulationError, "16 bytes"),
        ("fewer bytes", SimulationError, "bytes"),
        ("no sync", SimulationError, "init"),
        ("no load", DeadlockError, f"{BYTES} bytes"),
        ("no wait", SimulationError, "uninitialised|no order|read"),
        ("no release", DeadlockError, f"0 of {WARPS} arrivals"),
        ("more consumers", DeadlockError, f"{WARPS} of {WARPS + 1} arrivals"),
        ("fewer consumers", SimulationError, "arriv|no order|more"),
        ("no fence", RaceError, "fence|proxy"),
        ("no acquire", RaceError, "read"),
        ("no tail", RuntimeWarning, "OC3407.*may end while"),
        ("no commit", RaceError, "without waiting"),
    ],
)
def test_what_is_wrong_is_reported(fault: str, error: Any, text: str) -> None:
    with pytest.raises(error, match=text) as raised:
        run(1, fault)
    # A warning carries its place beside its text.
    assert "test_tma.py" in str(raised.value) or error is RuntimeWarning


def test_a_second_copy_that_is_not_counted_is_seen_while_tracing() -> None:
    with pytest.raises(OpenCuTeError, match="another number of bytes") as raised:
        run(1, "second copy")
    assert isinstance(raised.value, ArgumentError)
    assert (raised.value.expected, raised.value.found) == (
        f"{BYTES} bytes (tx_count)",
        f"{2 * BYTES} bytes",
    )


# ---------------------------------------------------------------- what is checked while tracing
def create(**changed: Any) -> None:
    given: dict[str, Any] = {
        "num_stages": 2, "producer_group": group(1), "consumer_group": group(2), "tx_count": 64,
    }  # fmt: skip
    given.update(changed)

    @cute.kernel
    def kernel() -> None:
        pipeline.PipelineTmaAsync.create(**given)

    @cute.jit
    def host() -> None:
        kernel().launch(grid=[1, 1, 1], block=[64, 1, 1])

    with KNOBS.override(target="sim"):
        host()


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        ({"tx_count": 0}, ArgumentError, "bring some bytes"),
        ({"tx_count": 1 << 20}, ArgumentError, "so many bytes"),
        ({"consumer_group": group(64)}, ArgumentError, "more arrivals than the block has warps"),
        (
            {"consumer_group": group(4), "cta_layout_vmnk": cute.make_layout((1, 2, 2, 1))},
            ArgumentError,
            "do not fit the cluster",
        ),
        ({"cta_layout_vmnk": cute.make_layout((2, 1))}, LayoutError, "V, M, N, K"),
    ],
)
def test_refused(changed: Any, error: Any, text: str) -> None:
    with pytest.raises(OpenCuTeError, match=text) as raised:
        create(**changed)
    assert isinstance(raised.value, error)
