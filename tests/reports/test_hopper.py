# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What users of this and of similar languages ran into on Hopper; numbers are of NVIDIA/cutlass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_host
from opencute import cute, utils
from opencute.base.knobs import KNOBS
from opencute.compiler.artefacts import Artefacts
from opencute.cute.nvgpu import cpasync, warpgroup
from opencute.cute.runtime import from_dlpack
from opencute.utils import hopper_helpers

pytestmark = pytest.mark.t1
TILE = (8, 32)
BYTES = 4 * 8 * 32


def row_major() -> Any:
    return cute.make_layout(TILE, stride=(TILE[1], 1))


def assembled(host: Any, *args: Any) -> str:
    """PTX of a function, of which ptxas makes code without local memory."""
    with KNOBS.override(target="sim"):
        made = cute.compile(host, *args).artefacts
    made = Artefacts(made.name, made.module, "sm_90a", made.options)
    for report in made.device.report.functions:
        assert report.spill_loads == report.spill_stores == report.stack == 0
    return str(made.device.ptx)


# ---------------------------------------------------------------- 2701: the smallest copy by TMA
@cute.kernel
def hello_kernel(load: cute.CopyAtom, a: cute.Tensor, out: cute.Tensor):
    memory = utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    tile = memory.allocate_tensor(cutlass.Float32, row_major(), 128)
    thread = cute.arch.thread_idx()[0]
    if thread == 0:
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(bar, BYTES)
    cute.arch.sync_threads()
    there = cute.group_modes(cute.local_tile(a, TILE, (cute.arch.block_idx()[0], 0)), 0, 2)
    here, there = cpasync.tma_partition(
        load, 0, cute.make_layout(1), cute.group_modes(tile, 0, 2), there
    )
    cute.copy(load, there, here, tma_bar_ptr=bar)
    cute.arch.mbarrier_wait(bar, 0)
    for row in range(TILE[0]):
        out[cute.arch.block_idx()[0] * TILE[0] + row, thread] = tile[row, thread]


@cute.jit
def hello(a: cute.Tensor, out: cute.Tensor):
    load, coords = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SOp(), a, row_major(), TILE
    )
    hello_kernel(load, coords, out).launch(grid=a.shape[0] // TILE[0], block=32)


def test_2701_a_small_copy_by_tma_works() -> None:
    a = np.arange(32 * 32, dtype=np.float32).reshape(32, 32)
    out = np.zeros_like(a)
    with KNOBS.override(target="sim", sim_check=True):
        hello(from_dlpack(a), from_dlpack(out))
    np.testing.assert_array_equal(out, a)
    assert "cp.async.bulk.tensor." in assembled(hello, from_dlpack(a), from_dlpack(out))


# ---------------------------------------------------------------- 2656: another map, for each copy
OPS: dict[str, Any] = {
    "store": cpasync.CopyBulkTensorTileS2GOp,
    "add": lambda: cpasync.CopyReduceBulkTensorTileS2GOp(cute.ReductionOp.ADD),
    "max": lambda: cpasync.CopyReduceBulkTensorTileS2GOp(cute.ReductionOp.MAX),
}


@cute.kernel
def other_kernel(
    load: cute.CopyAtom, a: cute.Tensor, save: cute.CopyAtom, b: cute.Tensor, other: cute.Tensor,
    maps: cute.Tensor,
):  # fmt: skip
    """Bring a tile of `a`, and store it to `other` through an atom that was made for `b`."""
    memory = utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    tile = memory.allocate_tensor(cutlass.Int32, row_major(), 128)
    first, second = (maps.iterator + i * 16 for i in range(2))
    first, second = first.align(128), second.align(128)
    with cute.arch.elect_one():
        cpasync.copy_tensormap(load, first)
        cpasync.copy_tensormap(save, second)
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(bar, BYTES)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_warp()
    cpasync.update_tma_descriptor(save, other, second)
    cute.arch.sync_warp()
    cpasync.fence_tma_desc_release()
    for place in (first, second):
        cpasync.fence_tma_desc_acquire(place)
    whole, one = cute.group_modes(tile, 0, 2), cute.make_layout(1)
    there, to = (cute.group_modes(cute.local_tile(t, TILE, (0, 0)), 0, 2) for t in (a, b))
    here, there = cpasync.tma_partition(load, 0, one, whole, there)
    cute.prefetch(load, there, tma_desc_ptr=first)
    cute.copy(load, there, here, tma_bar_ptr=bar, tma_desc_ptr=first)
    cute.arch.mbarrier_wait(bar, 0)
    source, to = cpasync.tma_partition(save, 0, one, whole, to)
    cute.copy(save, source, to, tma_desc_ptr=second)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=False)


@cute.jit
def through_another_map(
    a: cute.Tensor, b: cute.Tensor, other: cute.Tensor, maps: cute.Tensor,
    kind: cutlass.Constexpr[str],
):  # fmt: skip
    load, coords = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SOp(), a, row_major(), TILE
    )
    save, to = cpasync.make_tiled_tma_atom(OPS[kind](), b, row_major(), TILE)
    other_kernel(load, coords, save, to, other, maps).launch(grid=1, block=32)


@pytest.mark.parametrize("kind", list(OPS))
def test_2656_every_copy_takes_another_map(kind: str) -> None:
    a, other = (np.random.default_rng(i).integers(-9, 9, TILE, np.int32) for i in range(2))
    b, raw = np.full(TILE, 99, np.int32), np.zeros(48, np.int64)
    maps = raw[-raw.ctypes.data % 128 // 8 :][:32]
    want = {"store": a, "add": a + other, "max": np.maximum(a, other)}[kind]
    args = [from_dlpack(x) for x in (a, b, other)], from_dlpack(maps, assumed_align=8), kind
    with KNOBS.override(target="sim", sim_check=True):
        through_another_map(*args[0], *args[1:])
    np.testing.assert_array_equal(other, want)
    assert (b == 99).all()
    assembled(through_another_map, *args[0], *args[1:])


# ---------------------------------------------------------------- 3254: results of narrow products
def test_3254_every_width_has_all_of_its_results() -> None:
    def check() -> None:
        for n in range(8, 257, 8):
            mma = hopper_helpers.make_trivial_tiled_mma(
                cutlass.Float16, cutlass.Float16, warpgroup.OperandMajorMode.K,
                warpgroup.OperandMajorMode.K, cutlass.Float32, (1, 1, 1), (64, n),
            )  # fmt: skip
            assert cute.size(mma.partition_shape_C((64, n))) == n // 2
            layout = mma.tv_layout_C
            assert cute.size(layout) == 64 * n
            places = {layout((t, i)) for t in range(128) for i in range(n // 2)}
            assert places == set(range(64 * n))

    on_host(check)
