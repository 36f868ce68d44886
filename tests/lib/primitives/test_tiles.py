# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensor maps as values, and single instructions that move tiles by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
import opencute.experimental.cuda as cuda
from lang.hopper.tma_kernels import assembled
from opencute import cute
from opencute.base.errors import (
    ArgumentError,
    LayoutError,
    OpenCuTeError,
    SimulationError,
    TypeMismatchError,
)
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.experimental import primitives as prims
from opencute.integrations.driver_stub import EncodedMap, StubDriver

pytestmark = pytest.mark.t1
SMEM = cutlass.AddressSpace.smem
S128B = cuda.TensorMapSwizzle.s128b
ROWS, COLS = 16, 64


def wrapped(a: Any) -> Any:
    return from_dlpack(a, assumed_align=16)


def simulated(host: Any, *args: Any) -> None:
    with KNOBS.override(target="sim:sm_90a", sim_check=True):
        host(*(wrapped(a) if isinstance(a, np.ndarray) else a for a in args))


# ---------------------------------------------------------------------- loads and stores
@cute.kernel
def tiles_kernel(
    src: cutlass.GridConstant[cuda.TensorMap], dst: cutlass.GridConstant[cuda.TensorMap],
    fence: cutlass.Constexpr[bool], more: cutlass.Constexpr[int],
):  # fmt: skip
    lane = cute.arch.lane_idx()
    a = cutlass.Array(dtype=cutlass.Float16, shape=(ROWS * COLS,), space=SMEM, alignment=1024)
    b = cutlass.Array(cutlass.Float16, ROWS * COLS, space=SMEM, alignment=1024)
    bar = cutlass.Array(cutlass.Int64, 1, space=SMEM)
    if prims.elect_sync():
        prims.prefetch_tensormap(src.get_ptr())
        prims.mbarrier_init(bar, 1)
    prims.fence_mbarrier_init()
    prims.barrier_cta_sync(0)
    if prims.elect_sync():
        prims.mbarrier_arrive_expect_tx(bar, src.global_tx_bytes() + more)
        prims.cp_async_bulk_prefetch_tensor(src.get_ptr(), (0, ROWS))
        prims.cp_async_bulk_tensor_shared_cta_global(a, src.get_ptr(), (0, ROWS), bar)
    while not prims.mbarrier_try_wait_parity(bar, 0, time_limit=1000):
        pass
    swizzle = cutlass.Swizzle.from_name("s128b")
    for row in cutlass.range_constexpr(ROWS):
        at = row * COLS + lane * 2
        values = (a.data_ptr() + at).load_swizzled(swizzle, count=2)
        (b.data_ptr() + at).apply_swizzle(swizzle).store(values + values)
    if cutlass.const_expr(fence):
        prims.fence_proxy(prims.Proxy.ASYNC_SHARED, space=prims.SharedSpace.shared_cta)
    prims.bar_warp_sync(0xFFFFFFFF)
    if prims.elect_sync():
        prims.cp_async_bulk_tensor_global_shared_cta(dst.get_ptr(), b, (0, 0))
        prims.cp_reduce_async_bulk_tensor_global_shared_cta(
            dst.get_ptr(), b, (0, ROWS), prims.ReductionOp.ADD
        )
    prims.cp_async_bulk_commit_group()
    prims.cp_async_bulk_wait_group(0)


@cute.jit
def tiles_host(
    src: cute.Tensor, dst: cute.Tensor, fence: cutlass.Constexpr = True,
    more: cutlass.Constexpr = 0,
):  # fmt: skip
    source = cuda.create_tensor_map_tiled(
        global_address=src.iterator.toint(), dtype=cutlass.Float16,
        global_dims=[src.shape[1], src.shape[0]], global_strides=[src.shape[1] * 2 // 16],
        box_dims=[COLS, ROWS], swizzle=S128B,
    )  # fmt: skip
    to = cuda.create_tensor_map_tiled_from_view(
        dst, box_dims=(ROWS, COLS), stride_order=(1, 0), swizzle=S128B
    )
    tiles_kernel(source, to, fence, more).launch(grid=1, block=32)


def tensors() -> tuple[Any, Any]:
    return np.arange(32 * 64, dtype=np.float16).reshape(32, 64), np.ones((32, 64), np.float16)


def test_tiles_come_and_go() -> None:
    src, dst = tensors()
    simulated(tiles_host, src, dst)
    assert (dst[:16] == 2 * src[16:]).all() and (dst[16:] == 1 + 2 * src[16:]).all()
    src, dst = tensors()
    dynamic = from_dlpack(dst, assumed_align=16).mark_layout_dynamic(leading_dim=1)
    simulated(tiles_host, src, dynamic)
    assert (dst[:16] == 2 * src[16:]).all()


def test_a_store_needs_a_fence() -> None:
    with pytest.raises(OpenCuTeError, match="fence"):
        simulated(tiles_host, *tensors(), False)


def test_bytes_that_never_come() -> None:
    with pytest.raises(SimulationError, match="16 bytes"):
        simulated(tiles_host, *tensors(), True, 16)


def test_the_driver_is_asked_for_these_maps_and_ptxas_takes_the_code() -> None:
    with StubDriver() as stub, KNOBS.override(target="cuda:sm_90a"):
        compiled = cute.compile(tiles_host, *map(wrapped, tensors()))
        src, dst = (np.zeros((32, 64), np.float16) for _ in range(2))
        compiled(wrapped(src), wrapped(dst))
        assert stub.maps == [
            EncodedMap(6, a.ctypes.data, (64, 32), (128,), (64, 16), (1, 1), (0, 3, 2, 0))
            for a in (src, dst)
        ]
        text = compiled.__ptx__
        assert "cp.async.bulk.tensor.2d.shared::cluster.global" in text
        assert "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add" in text
        assert "cp.async.bulk.prefetch.tensor.2d" in text
        assert compiled.__cubin__ and ".local" not in text


# ---------------------------------------------------------------------- orders of modes
@cute.kernel
def slices_kernel(desc: cutlass.GridConstant[cuda.TensorMap], dst: cute.Tensor):
    bx, _, _ = cute.arch.block_idx()
    smem = cutlass.Array(cutlass.Float32, (8, 4), space=SMEM, alignment=128)
    bar = cutlass.Array(cutlass.Int64, 1, space=SMEM)
    if prims.elect_sync():
        prims.mbarrier_init(bar, 1)
        prims.fence_mbarrier_init()
        prims.mbarrier_arrive_expect_tx(bar, desc.global_tx_bytes())
        prims.cp_async_bulk_tensor_shared_cluster_global(
            smem, desc.get_ptr(), (0, 0, 0, bx), bar, [], group=prims.CTAGroup.CTA_1
        )
    prims.bar_warp_sync(0xFFFFFFFF)
    while not prims.mbarrier_try_wait_parity(bar, 0):
        pass
    lane = cute.arch.lane_idx()
    dst[bx, lane] = smem.data_ptr()[lane]
    if bx == 1 and lane == 0:
        smem.print_runtime(max_elements=3)


@cute.jit
def slices_host(src: cute.Tensor, dst: cute.Tensor):
    desc = cuda.create_tensor_map_tiled_from_view(src, (1, 8, 1, 4))
    slices_kernel(desc, dst).launch(grid=2, block=32)


def test_modes_with_one_element_of_the_box_come_last(capfd: Any) -> None:
    src = np.arange(64, dtype=np.float32).reshape(1, 8, 2, 4)
    dst = np.zeros((2, 32), np.float32)
    simulated(slices_host, src, dst)
    assert (dst.reshape(2, 8, 4) == src[0].transpose(1, 0, 2)).all()
    lines = capfd.readouterr().out.splitlines()
    assert lines[:2] == ["[0]: [4.000000, 5.000000, 6.000000, ...]",
                         "[1]: [12.000000, 13.000000, 14.000000, ...]"]  # fmt: skip
    assert len(lines) == 3


@cute.jit
def wrong_host(src: cute.Tensor, box: cutlass.Constexpr, options: cutlass.Constexpr):
    desc = cuda.create_tensor_map_tiled_from_view(src, box, **dict(options))
    slices_kernel(desc, src).launch(grid=2, block=32)


@pytest.mark.parametrize(
    ("error", "code", "box", "options"),
    [
        (ArgumentError, "OC2941", (8,), {}),
        (ArgumentError, "OC2941", (8, 8), {"stride_order": (0, 0)}),
        (ArgumentError, "OC2940", (8, 8), {"swizzle": "s128b"}),
        (ArgumentError, "OC2930", (8, 512), {}),
        (LayoutError, "OC1322", (8, 8), {"stride_order": (0, 1)}),
        (TypeMismatchError, "OC1228", (8, 8), {"tma_format": cuda.TensorMapDataFormat.B4X16}),
        (TypeMismatchError, "OC1618", (8, 8), {"dtype": cutlass.Float16}),
    ],
)
def test_maps_that_do_not_exist(error: Any, code: str, box: Any, options: Any) -> None:
    src = np.zeros((16, 16), np.float32)
    with pytest.raises(error) as e:
        simulated(wrong_host, src, box, tuple(options.items()))
    assert e.value.code == code


def test_an_unknown_order_and_a_stride_that_no_map_has() -> None:
    src = from_dlpack(np.zeros((16, 16), np.float32)).mark_layout_dynamic(leading_dim=1)
    with pytest.raises(LayoutError) as e:
        simulated(wrong_host, src, (8, 8), ())
    assert e.value.code == "OC1390"
    with pytest.raises(LayoutError) as e:
        simulated(wrong_host, np.zeros((16, 18), np.float32)[:, :16], (8, 8), ())
    assert e.value.code == "OC1325"


# ---------------------------------------------------------------------- changed maps
@cute.kernel
def replace_kernel(
    a: cute.Tensor, desc: cutlass.GridConstant[cuda.TensorMap], words: cute.Tensor,
    out: cutlass.Array, acquire: cutlass.Constexpr[bool],
):  # fmt: skip
    smem = cutlass.Array(cutlass.Float32, 64, space=SMEM, alignment=128)
    bar = cutlass.Array(cutlass.Int64, 1, space=SMEM)
    if prims.elect_sync():
        prims.mbarrier_init(bar, 1)
    prims.fence_mbarrier_init()
    prims.barrier_cta_sync(0)
    place = words.iterator.raw_ptr()
    if prims.elect_sync():
        map_words = cutlass.Pointer(desc.get_ptr(), dtype=cutlass.Int64)
        for i in cutlass.range_constexpr(16):
            (place + i).store((map_words + i).load())
        row = a.iterator.raw_ptr() + 3 * 8
        field = prims.TensormapField
        prims.tensormap_replace(field.GLOBAL_ADDRESS, place, new_value=row.toint(cutlass.Int64))
        prims.tensormap_replace(field.GLOBAL_DIM, place, new_value=cutlass.Int32(5), ord=1)
        words_ = {"from_proxy": prims.Proxy.GENERIC, "to_proxy": prims.Proxy.TENSORMAP}
        prims.fence_proxy_release(prims.MemScope.GPU, **words_)
        moved = place.tospace(cutlass.AddressSpace.generic)
        if cutlass.const_expr(acquire):
            prims.fence_proxy_acquire(prims.MemScope.GPU, moved, 128, **words_)
        prims.mbarrier_arrive_expect_tx(bar, desc.global_tx_bytes())
        prims.cp_async_bulk_tensor_shared_cta_global(smem, moved, (0, 0), bar)
    while not prims.mbarrier_try_wait_parity(bar, 0):
        pass
    lane = cute.arch.lane_idx()
    for i in cutlass.range_constexpr(2):
        out[2 * lane + i] = smem[2 * lane + i]


@cute.jit
def replace_host(
    a: cute.Tensor, words: cute.Tensor, out: cutlass.Array, acquire: cutlass.Constexpr = True
):
    desc = cuda.create_tensor_map_tiled_from_view(a, (8, 8))
    replace_kernel(a, desc, words, out, acquire).launch(grid=1, block=32)


def aligned_words() -> Any:
    room = np.zeros(32, np.int64)
    start = -room.ctypes.data % 128 // 8
    return from_dlpack(room[start : start + 16], assumed_align=128)


def test_maps_are_changed_by_kernels() -> None:
    a, out = np.arange(128, dtype=np.float32).reshape(16, 8), np.zeros(64, np.float32)
    simulated(replace_host, a, aligned_words(), out)
    assert (out[:40].reshape(5, 8) == a[3:8]).all() and (out[40:] == 0).all()


def test_a_changed_map_is_acquired() -> None:
    a, out = np.zeros((16, 8), np.float32), np.zeros(64, np.float32)
    with pytest.raises(SimulationError, match="tensor map"):
        simulated(replace_host, a, aligned_words(), out, False)


# ---------------------------------------------------------------------- between blocks
@cute.kernel
def across_kernel(dst: cute.Tensor):
    lane, rank = cute.arch.lane_idx(), prims.cluster_ctarank()
    own = cutlass.Array(cutlass.Int32, 512, space=SMEM, alignment=128)
    got = cutlass.Array(cutlass.Int32, 512, space=SMEM, alignment=128)
    bar = cutlass.Array(cutlass.Int64, 1, space=SMEM)
    for i in cutlass.range_constexpr(16):
        own[32 * i + lane] = 1000 * rank + 32 * i + lane
    if lane == 0:
        prims.mbarrier_init(bar, 1)
        prims.fence_mbarrier_init()
        prims.mbarrier_arrive_expect_tx(bar, 2048)
    prims.fence_proxy(prims.Proxy.ASYNC_SHARED, space=prims.SharedSpace.shared_cta)
    prims.barrier_cluster_arrive()
    prims.barrier_cluster_wait()
    if lane == 0:
        prims.cp_async_bulk_shared_cluster_shared_cta(
            prims.mapa(got, 1 - rank), own, prims.mapa(bar, 1 - rank), 2048
        )
    prims.mbarrier_wait_parity(bar, 0)
    for i in cutlass.range_constexpr(16):
        dst[rank, 32 * i + lane] = got[32 * i + lane]
    prims.barrier_cluster_arrive()
    prims.barrier_cluster_wait()


@cute.jit
def across_host(dst: cute.Tensor):
    across_kernel(dst).launch(grid=2, block=32, cluster=[2, 1, 1])


@pytest.mark.parametrize("check", [False, True])
def test_runs_between_blocks(check: bool) -> None:
    dst = np.zeros((2, 512), np.int32)
    with KNOBS.override(target="sim:sm_90a", sim_check=check):
        across_host(from_dlpack(dst))
    assert (dst == np.array([[1000], [0]]) + np.arange(512)).all()


@cute.kernel
def columns_kernel(raw: cute.Tensor):
    a = cutlass.Array(dtype=cutlass.Float16, shape=(ROWS * COLS,), space=SMEM, alignment=1024)
    if prims.elect_sync():
        map_ = raw.iterator.align(64)
        prims.cp_async_bulk_tensor_global_shared_cta(map_, a, (0, 1, 2, 3), im2col=True)
        prims.cp_reduce_async_bulk_tensor_global_shared_cta(
            map_, a, (0, 1, 2), prims.ReductionOp.ADD, im2col=True
        )
    prims.cp_async_bulk_commit_group()
    prims.cp_async_bulk_wait_group(0)


@cute.jit
def columns(raw: cute.Tensor):
    columns_kernel(raw).launch(grid=1, block=32)


def test_stores_of_columns_of_pixels() -> None:
    raw = from_dlpack(np.zeros(256, np.uint8), assumed_align=16)
    with KNOBS.override(target="sim:sm_90a"):
        made = assembled(cute.compile(columns, raw), "sm_90a")
    assert made.cubin
    assert "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group" in made.ptx
    name = "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.im2col_no_offs.bulk_group"
    assert name in made.ptx
