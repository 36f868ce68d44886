# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensor maps that kernels copy and change: of tensors that the host does not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from lang.hopper.tma_kernels import assembled, tensor
from opencute import cute, utils
from opencute.base.errors import (
    LayoutError,
    OpenCuTeError,
    RaceError,
    SimulationError,
    TypeMismatchError,
)
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import cpasync
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0
TILE = (8, 16)


@cute.kernel
def rows_kernel(
    load: cute.CopyAtom,
    coords: cute.Tensor,
    src: cute.Tensor,
    starts: cute.Tensor,
    maps: cute.Tensor,
    dst: cute.Tensor,
    where: cutlass.Constexpr,
    fault: cutlass.Constexpr,
):
    """Block b loads rows starts[b] to starts[b + 1] through a map of its own."""
    tid, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    memory = utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    place = memory.allocate_array(cutlass.Int64, 16, byte_alignment=128)
    smem = memory.allocate_tensor(cutlass.Float16, cute.make_layout(TILE, stride=(16, 1)), 128)
    mine = (maps.iterator + b * 16).align(128)
    first, last = starts[b], starts[b + 1]
    part = cute.make_tensor(
        src.iterator + first * 16, cute.make_layout((last - first, 16), stride=(src.stride[0], 1))
    )
    if cutlass.const_expr(where == "gmem"):
        with cute.arch.elect_one():
            cpasync.copy_tensormap(load, mine)
        cute.arch.sync_warp()
        cpasync.update_tma_descriptor(load, part, mine)
        cute.arch.sync_warp()
        if cutlass.const_expr(fault != "no release"):
            cpasync.fence_tma_desc_release()
    elif cutlass.const_expr(where == "smem"):
        with cute.arch.elect_one():
            cpasync.copy_tensormap(load, place)
        cute.arch.sync_warp()
        cpasync.update_tma_descriptor(load, part, place)
        cute.arch.sync_warp()
        cpasync.cp_fence_tma_desc_release(mine, place)
    if cutlass.const_expr(fault != "no acquire"):
        cpasync.fence_tma_desc_acquire(mine)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(bar, 256)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    s, g = cpasync.tma_partition(
        load,
        0,
        cute.make_layout(1),
        cute.group_modes(smem, 0, 2),
        cute.group_modes(cute.local_tile(coords, TILE, (0, 0)), 0, 2),
    )
    cute.copy(load, g, s, tma_bar_ptr=bar, tma_desc_ptr=mine)
    cute.arch.mbarrier_wait(bar, 0)
    for i in range(tid, 128, 32):
        dst[b, i // 16, i % 16] = smem[i // 16, i % 16]


@cute.jit
def rows(
    a: cute.Tensor,
    starts: cute.Tensor,
    maps: cute.Tensor,
    out: cute.Tensor,
    where: cutlass.Constexpr,
    fault: cutlass.Constexpr = "",
):
    layout = cute.make_layout(TILE, stride=(16, 1))
    load, coords = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), a, layout, TILE)
    rows_kernel(load, coords, a, starts, maps, out, where, fault).launch(
        grid=(out.shape[0], 1, 1), block=(32, 1, 1)
    )


def arguments() -> tuple[Any, ...]:
    a = np.arange(20 * 16, dtype=np.float16).reshape(20, 16)
    starts = np.array([0, 5, 13, 20], np.int32)
    raw = np.zeros(3 * 16 + 16, np.int64)
    skip = -raw.ctypes.data % 128 // 8
    maps = raw[skip : skip + 48]
    out = np.full((3, 8, 16), -1, np.float16)
    t = tensor(a), from_dlpack(starts), from_dlpack(maps, assumed_align=8), from_dlpack(out)
    return a, starts, out, t


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("where", ["gmem", "smem"])
def test_each_block_makes_a_map_of_its_rows(where: str, check: bool) -> None:
    a, starts, out, t = arguments()
    with KNOBS.override(target="sim:sm_90a", sim_check=check):
        rows(*t, where)
    for b in range(3):
        want = np.zeros((8, 16), np.float16)
        part = a[starts[b] : starts[b + 1]]
        want[: len(part)] = part
        np.testing.assert_array_equal(out[b], want)


@pytest.mark.parametrize(
    ("where", "fault"), [("gmem", "no release"), ("gmem", "no acquire"), ("smem", "no acquire")]
)
def test_changes_are_released_and_acquired(where: str, fault: str) -> None:
    t = arguments()[-1]
    with KNOBS.override(target="sim:sm_90a", sim_check=True), pytest.raises(RaceError) as e:
        rows(*t, where, fault)
    assert e.value.code == "OC3409" and "changed at" in str(e.value)


# ---------------------------------------------------------------------- maps in use
@cute.kernel
def twice_kernel(
    load: cute.CopyAtom, coords: cute.Tensor, store: cute.CopyAtom, src: cute.Tensor,
    maps: cute.Tensor, dst: cute.Tensor, how: cutlass.Constexpr,
):  # fmt: skip
    """One map for two tiles: rows 0 to 7, then, after a change, rows 8 to 15."""
    tid, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    memory = utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 2)
    smem = memory.allocate_tensor(cutlass.Float16, cute.make_layout(TILE, stride=(16, 1)), 128)
    mine = maps.iterator.align(128)
    if tid == 0:
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_init(bar + 1, 1)
        cute.arch.mbarrier_init_fence()
        cpasync.copy_tensormap(load, mine)
        cpasync.fence_tma_desc_release()
    cute.arch.sync_threads()
    s, g = cpasync.tma_partition(
        load,
        0,
        cute.make_layout(1),
        cute.group_modes(smem, 0, 2),
        cute.group_modes(cute.local_tile(coords, TILE, (0, 0)), 0, 2),
    )
    if warp == 0:
        cpasync.fence_tma_desc_acquire(mine)
        if cutlass.const_expr(how[:5] == "store"):
            for i in range(tid, 128, 32):
                smem[i // 16, i % 16] = cutlass.Float16(i)
            cute.arch.fence_proxy("async.shared", space="cta")
            cute.arch.sync_warp()
            cute.copy(store, s, g, tma_desc_ptr=mine)
            cute.arch.cp_async_bulk_commit_group()
            if cutlass.const_expr(how == "store, read"):
                cute.arch.cp_async_bulk_wait_group(0, read=True)
            elif cutlass.const_expr(how != "store"):
                cute.arch.cp_async_bulk_wait_group(1 if how == "store, older" else 0)
        else:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(bar, 256)
            cute.copy(load, g, s, tma_bar_ptr=bar, tma_desc_ptr=mine)
            if cutlass.const_expr(how == "load, group"):
                with cute.arch.elect_one():
                    cute.arch.cp_async_bulk_commit_group()
                    cute.arch.cp_async_bulk_wait_group(0, read=True)
        cute.arch.sync_warp()
    if cutlass.const_expr(how in ("load, wait", "load, other warp")):
        cute.arch.mbarrier_wait(bar, 0)
    if cutlass.const_expr(how == "load, other warp"):
        cute.arch.sync_threads()
    if warp == (1 if cutlass.const_expr(how[-10:] == "other warp") else 0):
        rows = cute.make_tensor(src.iterator + 128, cute.make_layout(TILE, stride=(16, 1)))
        cpasync.update_tma_descriptor(load, rows, mine)
        cpasync.fence_tma_desc_release()
    cute.arch.cp_async_bulk_wait_group(0)
    cute.arch.sync_threads()
    if warp == 0:
        cpasync.fence_tma_desc_acquire(mine)
        if cutlass.const_expr(how[:5] != "store"):
            cute.arch.mbarrier_wait(bar, 0)
            for i in range(tid, 128, 32):
                dst[0, i // 16, i % 16] = smem[i // 16, i % 16]
            cute.arch.sync_warp()
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(bar + 1, 256)
        cute.copy(load, g, s, tma_bar_ptr=bar + 1, tma_desc_ptr=mine)
        cute.arch.mbarrier_wait(bar + 1, 0)
        for i in range(tid, 128, 32):
            dst[1, i // 16, i % 16] = smem[i // 16, i % 16]


@cute.jit
def twice(a: cute.Tensor, maps: cute.Tensor, out: cute.Tensor, how: cutlass.Constexpr):
    layout = cute.make_layout(TILE, stride=(16, 1))
    load, coords = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), a, layout, TILE)
    store, _ = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), a, layout, TILE)
    twice_kernel(load, coords, store, a, maps, out, how).launch(grid=1, block=64)


@pytest.mark.parametrize(
    "how",
    [
        "load, wait", "load, group", "load, other warp", "store, read", "store, all",
    ],
)  # fmt: skip
def test_a_map_is_changed_when_its_copy_is_over(how: str) -> None:
    a, _, out, t = arguments()
    before = a.copy()
    with KNOBS.override(target="sim:sm_90a", sim_check=True):
        twice(t[0], t[2], t[3], how)
    np.testing.assert_array_equal(out[1], before[8:16])
    if how[:4] == "load":
        np.testing.assert_array_equal(out[0], before[:8])
    else:
        np.testing.assert_array_equal(a[:8].ravel(), np.arange(128))


@pytest.mark.parametrize("how", ["load", "load, unmet other warp", "store", "store, older"])
def test_a_map_that_a_copy_may_still_read(how: str) -> None:
    t = arguments()[-1]
    with KNOBS.override(target="sim:sm_90a", sim_check=True), pytest.raises(RaceError) as e:
        twice(t[0], t[2], t[3], how)
    assert e.value.code == "OC3412"
    lines = [line.strip() for line in Path(__file__).read_text().splitlines()]
    issued = "cute.copy(store, s, g, tma_desc_ptr=mine)"
    if how[:4] == "load":
        issued = "cute.copy(load, g, s, tma_bar_ptr=bar, tma_desc_ptr=mine)"
    line = len(lines) - lines[::-1].index(issued)  # the last such line
    assert f"test_tensor_maps.py:{line}, started by" in str(e.value)


def test_memory_that_holds_no_map() -> None:
    t = arguments()[-1]
    with (
        KNOBS.override(target="sim:sm_90a"),
        pytest.raises(SimulationError, match="no tensor map") as e,
    ):
        rows(*t, "nowhere")
    assert e.value.code == "OC3061"


@cute.kernel
def wrong_kernel(load: cute.CopyAtom, a: cute.Tensor, maps: cute.Tensor, what: cutlass.Constexpr):
    if cutlass.const_expr(what == "modes"):
        flat = cute.make_tensor(a.iterator, cute.make_layout(64))
        cpasync.update_tma_descriptor(load, flat, maps.iterator)
    elif cutlass.const_expr(what == "space"):
        cpasync.cp_fence_tma_desc_release(maps.iterator, maps.iterator)
    else:
        plain = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16)
        cpasync.prefetch_descriptor(plain)


@cute.jit
def wrong(a: cute.Tensor, maps: cute.Tensor, what: cutlass.Constexpr):
    layout = cute.make_layout(TILE, stride=(16, 1))
    load, _ = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), a, layout, TILE)
    wrong_kernel(load, a, maps, what).launch(grid=(1, 1, 1), block=(32, 1, 1))


@pytest.mark.parametrize(
    ("what", "kind", "code"),
    [
        ("modes", LayoutError, "OC1335"),
        ("space", TypeMismatchError, "OC1602"),
        ("atom", TypeMismatchError, "OC1616"),
    ],
)
def test_refusals(what: str, kind: type[OpenCuTeError], code: str) -> None:
    t = arguments()[-1]
    with KNOBS.override(target="sim:sm_90a"), pytest.raises(kind) as e:
        wrong(t[0], t[2], what)
    assert e.value.code == code, e.value


@pytest.mark.t1
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("where", ["gmem", "smem"])
def test_machine_code(where: str, arch: str) -> None:
    with KNOBS.override(target="sim:sm_90a"):
        made = assembled(cute.compile(rows, *arguments()[-1], where), arch)
    assert made.cubin and "tensormap.replace.tile.global_dim" in made.ptx
    assert "st.local" not in made.ptx


@pytest.mark.t0
def test_a_kernel_makes_no_map() -> None:
    @cute.kernel
    def kernel(a: cute.Tensor):
        layout = cute.make_layout((16, 32), stride=(32, 1))
        load, _ = cpasync.make_tiled_tma_atom(
            cpasync.CopyBulkTensorTileG2SOp(), a, layout, (16, 32)
        )
        cpasync.prefetch_descriptor(load)

    @cute.jit
    def host(a: cute.Tensor):
        kernel(a).launch(grid=1, block=32)

    with pytest.raises(OpenCuTeError) as e:
        host(from_dlpack(np.zeros((32, 32), np.float32)))
    assert e.value.code in ("OC1071", "OC3067") and "make_tiled_tma_atom" in str(e.value)
