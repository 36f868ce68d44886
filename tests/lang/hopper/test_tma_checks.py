# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What the simulator says of copies that are used wrongly: each fault beside the whole kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute, utils
from opencute.base.errors import DeadlockError, RaceError, SimulationError
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import cpasync
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0
TILE, BYTES = (16, 64), 2048


@cute.kernel
def through_kernel(
    load: cute.CopyAtom,
    src: cute.Tensor,
    store: cute.CopyAtom,
    dst: cute.Tensor,
    fault: cutlass.Constexpr,
):
    """Load a tile, add one to it, store it from the same memory; then fill that with zeros."""
    tid, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    memory = utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    smem = memory.allocate_tensor(cutlass.Float16, cute.make_layout(TILE, stride=(64, 1)), 128)
    expected = {"more bytes": BYTES + 16, "fewer bytes": BYTES - 16}.get(fault, BYTES)
    if tid == 0:
        cute.arch.mbarrier_init(bar, 1)
        if cutlass.const_expr(fault == "no expect"):
            cute.arch.mbarrier_arrive(bar)
        else:
            cute.arch.mbarrier_arrive_and_expect_tx(bar, expected)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    one = cute.make_layout(1)
    s, g = cpasync.tma_partition(
        load, 0, one, cute.group_modes(smem, 0, 2), cute.group_modes(src, 0, 2)
    )
    _, d = cpasync.tma_partition(
        store, 0, one, cute.group_modes(smem, 0, 2), cute.group_modes(dst, 0, 2)
    )
    if warp == 0:
        cute.copy(load, g, s, tma_bar_ptr=bar)
    if cutlass.const_expr(fault != "no wait"):
        cute.arch.mbarrier_wait(bar, 0)
    for i in range(tid, cute.size(smem), 64):
        smem[i] = smem[i] + 1
    if cutlass.const_expr(fault != "no fence"):
        cute.arch.fence_proxy("async.shared", space="cta")
    if cutlass.const_expr(fault != "no barrier"):
        cute.arch.sync_threads()
    if warp == 0:
        cute.copy(store, s, d)
        cute.arch.cp_async_bulk_commit_group()
        if cutlass.const_expr(fault not in ("reuse", "no end")):
            cute.arch.cp_async_bulk_wait_group(0, read=True)
    if cutlass.const_expr(fault != "no end"):
        cute.arch.sync_threads()
        for i in range(tid, cute.size(smem), 64):
            smem[i] = cutlass.Float16(0)
        cute.arch.sync_threads()
        if warp == 0:
            cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def through(a: cute.Tensor, b: cute.Tensor, fault: cutlass.Constexpr):
    layout = cute.make_layout(TILE, stride=(64, 1))
    load, s = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), a, layout, TILE)
    store, d = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), b, layout, TILE)
    through_kernel(load, s, store, d, fault).launch(grid=(1, 1, 1), block=(64, 1, 1))


def go(fault: str, check: bool = True) -> Any:
    a, b = np.ones(TILE, np.float16), np.zeros(TILE, np.float16)
    with KNOBS.override(target="sim:sm_90a", sim_check=check):
        through(from_dlpack(a, assumed_align=16), from_dlpack(b, assumed_align=16), fault)
    return b


@pytest.mark.parametrize("check", [False, True])
def test_the_whole_kernel(check: bool) -> None:
    assert (go("", check) == 2).all()


@pytest.mark.parametrize(
    ("fault", "kind", "text"),
    [
        ("no wait", RaceError, "a load of a tile"),
        ("no expect", SimulationError, "a load of a tile"),
        ("more bytes", DeadlockError, "16 bytes have not come"),
        ("fewer bytes", SimulationError, "16 bytes more than expected"),
        ("no fence", RaceError, "proxy fence"),
        ("no barrier", RaceError, "with no order between them"),
        ("reuse", RaceError, "a store of a tile"),
    ],
)
def test_faults(fault: str, kind: type[SimulationError], text: str) -> None:
    with pytest.raises(kind) as e:
        go(fault)
    assert text in str(e.value), e.value


def test_a_store_that_outlives_its_block() -> None:
    """The manual asks for the wait, but published kernels leave it out, and GPUs run them right."""
    with pytest.warns(RuntimeWarning, match="still reads its shared memory") as seen:
        go("no end")
    assert {w.filename for w in seen} == {__file__}


def test_early_reads_and_late_stores_give_wrong_numbers_without_checks() -> None:
    with pytest.raises(SimulationError, match="uninitialised"):
        go("no wait", check=False)
    assert (go("reuse", check=False) != 2).any()


# ---------------------------------------------------------------------- clusters
@cute.kernel
def cast_kernel(
    load: cute.CopyAtom,
    src: cute.Tensor,
    dst: cute.Tensor,
    count: cutlass.Constexpr,
    fault: cutlass.Constexpr,
):
    """Each block of a cluster loads a part of the tile for all, then copies the whole out."""
    tid, _, _ = cute.arch.thread_idx()
    bx, _, _ = cute.arch.block_idx()
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    memory = utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    smem = memory.allocate_tensor(cutlass.Float16, cute.make_layout(TILE, stride=(64, 1)), 128)
    if tid == 0:
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(bar, BYTES)
    cute.arch.mbarrier_init_fence()
    if cutlass.const_expr(fault == "no begin"):
        cute.arch.sync_threads()
    else:
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
    tile = cute.local_tile(src, TILE, (bx // count, 0))
    s, g = cpasync.tma_partition(
        load,
        rank,
        cute.make_layout(count),
        cute.group_modes(smem, 0, 2),
        cute.group_modes(tile, 0, 2),
    )
    mask = cpasync.create_tma_multicast_mask(
        cute.make_layout((1, count, 1)), (0, rank, 0), mcast_mode=1
    )
    if cutlass.const_expr(fault == "own only"):
        mask = 1 << rank
    cute.copy(load, g, s, tma_bar_ptr=bar, mcast_mask=mask)
    if cutlass.const_expr(fault != "no wait") or rank == 0:
        cute.arch.mbarrier_wait(bar, 0)
        for i in range(tid, cute.size(smem), 32):
            dst[i % 16, i // 16, bx] = smem[i]


@cute.jit
def cast(a: cute.Tensor, b: cute.Tensor, count: cutlass.Constexpr, fault: cutlass.Constexpr):
    layout = cute.make_layout(TILE, stride=(64, 1))
    op = cpasync.CopyBulkTensorTileG2SMulticastOp()
    load, s = cpasync.make_tiled_tma_atom(op, a, layout, TILE, num_multicast=count)
    cast_kernel(load, s, b, count, fault).launch(
        grid=(a.shape[0] // 16 * count, 1, 1), block=(32, 1, 1), cluster=(count, 1, 1)
    )


def go_cast(count: int, fault: str = "", check: bool = True) -> Any:
    a = (np.arange(32 * 64) % 1021).astype(np.float16).reshape(32, 64)
    b = np.zeros((16, 64, 2 * count), np.float16)
    with KNOBS.override(target="sim:sm_90a", sim_check=check):
        cast(from_dlpack(a, assumed_align=16), from_dlpack(b, assumed_align=16), count, fault)
    return a, b


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("count", [2, 4])
def test_blocks_share_a_tile(count: int, check: bool) -> None:
    a, b = go_cast(count, check=check)
    for i in range(2 * count):
        np.testing.assert_array_equal(b[:, :, i], a[16 * (i // count) :][:16])


@pytest.mark.parametrize(
    ("fault", "kind", "text"),
    [
        ("own only", DeadlockError, "1024 bytes have not come"),
        ("no begin", RaceError, "initialised at"),
        ("no wait", RaceError, "may end while a load of a tile"),
    ],
)
def test_faults_of_clusters(fault: str, kind: type[SimulationError], text: str) -> None:
    with pytest.raises(kind) as e:
        go_cast(2, fault)
    assert text in str(e.value), e.value
