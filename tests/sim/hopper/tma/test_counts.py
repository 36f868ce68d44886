# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What copies of units ask of memory is counted by whole copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute, utils
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import cpasync
from opencute.cute.runtime import from_dlpack
from opencute.jit.runners import simulated
from opencute.sim.report import RunReport
from opencute.tools.check import table

pytestmark = pytest.mark.t0


@cute.kernel
def fill_kernel(atom: cute.CopyAtom, coords: cute.Tensor, tile: cutlass.Constexpr):
    tid, _, _ = cute.arch.thread_idx()
    memory = utils.SmemAllocator()
    smem = memory.allocate_tensor(cutlass.Float32, cute.make_layout(tile, stride=(tile[1], 1)), 128)
    for i in cutlass.range(tid, cute.size(tile), 32):
        smem[i // tile[1], i % tile[1]] = cutlass.Float32(i)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    source, target = cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(smem, 0, 2),
        cute.group_modes(cute.local_tile(coords, tile, (0, 0)), 0, 2),
    )  # fmt: skip
    cute.copy(atom, source, target)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def fill(out: cute.Tensor, op: cutlass.Constexpr, tile: cutlass.Constexpr):
    layout = cute.make_layout(tile, stride=(tile[1], 1))
    atom, coords = cpasync.make_tiled_tma_atom(op, out, layout, tile)
    fill_kernel(atom, coords, tile).launch(grid=[1, 1, 1], block=[32, 1, 1])


def counted() -> dict[Any, Any]:
    """Copies, bytes, sectors, passes and conflicts of wide accesses, by verb, space and width."""
    found: dict[Any, Any] = {}
    for key, r in simulated().by_line.items():
        if key[3] > 16:
            counts = np.array((r.instructions, r.bytes, r.sectors, r.passes, r.conflicts))
            found[key[1:]] = found.get(key[1:], 0) + counts
    return found


def counts(out: Any, op: Any, tile: tuple[int, int]) -> dict[Any, list[int]]:
    with KNOBS.override(target="sim:sm_90a", sim_profile=True):
        before = counted()
        fill(from_dlpack(out, assumed_align=16), op, tile)
        after = counted()
    changes = {key: after[key] - before.get(key, 0) for key in after}
    return {key: x.tolist() for key, x in changes.items() if x.any()}


STORE, ADD = cpasync.CopyBulkTensorTileS2GOp(), cpasync.CopyReduceBulkTensorTileS2GOp()


def test_a_contiguous_tile_is_as_many_sectors_as_it_has_bytes() -> None:
    """And its map, which is 128 bytes, four; it is counted as a map."""
    assert counts(np.zeros((16, 32), np.float32), STORE, (16, 32)) == {
        ("read", "maps", 128): [1, 128, 4, 0, 0],
        ("read", "smem", 2048): [1, 2048, 0, 16, 0],
        ("write", "gmem", 2048): [1, 2048, 64, 0, 0],
    }


def test_rows_shorter_than_a_sector_waste_the_rest() -> None:
    found = counts(np.zeros((16, 32), np.float32), STORE, (8, 4))
    assert found["write", "gmem", 128] == [1, 128, 8, 0, 0]


def test_what_is_outside_of_the_tensor_is_not_counted() -> None:
    found = counts(np.zeros((6, 32), np.float32), STORE, (16, 32))
    assert found["write", "gmem", 2048] == [1, 6 * 128, 24, 0, 0]


def test_reductions_read_and_write() -> None:
    found = counts(np.ones((16, 32), np.float32), ADD, (16, 32))
    assert found["read", "gmem", 2048] == found["write", "gmem", 2048] == [1, 2048, 64, 0, 0]


@cute.kernel
def run_kernel(x: cute.Tensor, y: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    memory = utils.SmemAllocator()
    smem = memory.allocate_tensor(cutlass.Float32, cute.make_layout(64), 128)
    bar = memory.allocate_array(cutlass.Int64, 1)
    if tid == 0:
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(bar, 256)
        cute.copy(cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32), x, smem,
                  mbar_ptr=bar)  # fmt: skip
    cute.arch.sync_warp()
    cute.arch.mbarrier_wait(bar, 0)
    y[tid] = smem[tid]


@cute.jit
def run(x: cute.Tensor, y: cute.Tensor):
    run_kernel(x, y).launch(grid=[1, 1, 1], block=[32, 1, 1])


def test_runs() -> None:
    x, y = np.ones(64, np.float32), np.zeros(32, np.float32)
    with KNOBS.override(target="sim:sm_90a", sim_profile=True):
        before = counted()
        run(from_dlpack(x, assumed_align=16), y)
        after = counted()
    key = "read", "gmem", 256
    assert (after[key] - before.get(key, 0)).tolist() == [1, 256, 8, 0, 0] and y.all()


@cute.kernel
def fetch_kernel(atom: cute.CopyAtom, warps: cutlass.Constexpr):
    if cute.arch.warp_idx() < warps:
        cpasync.prefetch_descriptor(atom)


@cute.jit
def fetch(out: cute.Tensor, warps: cutlass.Constexpr):
    layout = cute.make_layout((8, 8), stride=(8, 1))
    atom, _ = cpasync.make_tiled_tma_atom(STORE, out, layout, (8, 8))
    fetch_kernel(atom, warps).launch(grid=[2, 1, 1], block=[96, 1, 1])


@pytest.mark.parametrize("warps", [1, 3])
def test_a_warp_fetches_a_map_once(warps: int) -> None:
    """Not once for each of its threads."""
    out = from_dlpack(np.zeros((16, 32), np.float32), assumed_align=16)
    with KNOBS.override(target="sim:sm_90a", sim_profile=True):
        before = counted()
        fetch(out, warps)
        after = counted()
    key, n = ("read", "maps", 128), 2 * warps
    assert (after[key] - before.get(key, 0)).tolist() == [n, n * 128, n * 4, 0, 0]


def test_totals_name_maps_apart() -> None:
    report = RunReport(launches=1)
    assert "tensor maps" not in table(report)
    report.read_bytes.update(gmem=64, maps=256)
    assert "gmem: 64 bytes read" in table(report)
    assert "tensor maps: 2 read, 0 written" in table(report)
