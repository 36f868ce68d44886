# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Single instructions by PTX's names, and the arrays and pointers that they work on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.experimental import primitives as prims

pytestmark = pytest.mark.t0


def simulated(host: Any, *args: Any) -> None:
    with KNOBS.override(target="sim", sim_check=True):
        host(*(from_dlpack(a) if isinstance(a, np.ndarray) else a for a in args))


# ---------------------------------------------------------------------- mbarriers and copies
@cute.kernel
def copies_kernel(src: cute.Tensor, dst: cutlass.Array):
    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
    smem = cutlass.Array(cutlass.Float32, 128, space=cutlass.AddressSpace.smem, alignment=128)
    bars = cutlass.Array(cutlass.Int64, 2, space=cutlass.AddressSpace.smem)
    full, done = bars, bars.subview(1)
    if warp == 0 and cute.arch.lane_idx() == 0:
        prims.mbarrier_init(full, 32)
        prims.mbarrier_init(done, 1)
    prims.fence_mbarrier_init()
    prims.barrier_cta_sync(0)
    if warp == 0:
        at = smem.data_ptr() + lane * 4
        prims.cp_async_shared_global(at, src.iterator.raw_ptr() + lane * 4, 16, "cg")
        prims.cp_async_mbarrier_arrive(full, noinc=True)
    else:
        while not prims.mbarrier_try_wait_parity(full, 0, time_limit=1000):
            pass
        values = (smem.data_ptr() + lane * 4).load(count=4)
        (dst.data_ptr() + lane * 4).store(values + values)
        if lane == 0:
            state = prims.mbarrier_arrive(done)
            if prims.mbarrier_try_wait_timelimit(done, state, 1000):
                dst[128] = smem.data_ptr()[127]
            prims.mbarrier_wait_parity(done, 0, prims.MBarrierWait.TRY)
            prims.mbarrier_inval(done)


@cute.jit
def copies_host(src: cute.Tensor, dst: cutlass.Array):
    copies_kernel(src, dst).launch(grid=1, block=64)


def test_copies_and_barriers() -> None:
    src, dst = np.arange(128, dtype=np.float32), np.zeros(129, np.float32)
    simulated(copies_host, src, dst)
    assert (dst[:128] == 2 * src).all() and dst[128] == 127


# ---------------------------------------------------------------------- clusters
@cute.kernel
def cluster_kernel(dst: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    value = cutlass.Array(cutlass.Int32, 4, space=cutlass.AddressSpace.smem)
    bar = cutlass.Array(cutlass.Int64, 1, space=cutlass.AddressSpace.smem, alignment=8)
    rank = prims.cluster_ctarank()
    if tidx == 0:
        prims.mbarrier_init(bar, 1)
        prims.fence_mbarrier_init()
        value[1] = rank + 10
    prims.barrier_cluster_arrive()
    prims.barrier_cluster_wait()
    peer = prims.mapa(value.data_ptr(), 1 - rank)
    if tidx == 0:
        prims.mbarrier_arrive(prims.mapa(bar, 1 - rank), scope=prims.MemScope.CLUSTER)
        prims.mbarrier_wait_parity(bar, 0)
        dst[rank] = peer[1]
        peer.subview(2)[0] = rank
    prims.fence_proxy(prims.Proxy.ASYNC_SHARED, space=prims.SharedSpace.shared_cta)
    prims.setmaxregister(40, prims.SetMaxRegisterAction.DECREASE)
    prims.barrier_cluster_arrive()
    prims.barrier_cluster_wait()
    if tidx == 0:
        dst[2 + rank] = value[2]


@cute.jit
def cluster_host(dst: cute.Tensor):
    cluster_kernel(dst).launch(grid=2, block=32, cluster=2)


def test_clusters() -> None:
    dst = np.zeros(4, np.int32)
    simulated(cluster_host, dst)
    assert dst.tolist() == [11, 10, 1, 0]


# ---------------------------------------------------------------------- warps
@cute.kernel
def warp_kernel(dst: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    own = cutlass.Array(cutlass.Int32, (2, 2))
    own[0, 1] = tidx
    value = own[0, 1]
    dst[tidx, 0] = prims.redux_sync(value, prims.ReductionKind.ADD, 0xFFFFFFFF)
    most = prims.redux_sync(cutlass.Int32(0) - value, prims.ReductionKind.UMAX)
    dst[tidx, 1] = cutlass.Int32(most)
    other, valid = prims.shfl_sync(
        0xFFFFFFFF, value, 1, 0, prims.Shfl.UP, return_value_and_is_valid=True
    )
    dst[tidx, 2] = other + 100 * cutlass.Int32(valid)
    dst[tidx, 3] = prims.vote_sync(0xFFFFFFFF, value < 3, prims.VoteSync.BALLOT)
    dst[tidx, 4] = cutlass.Int32(prims.vote_sync(0xFFFFFFFF, value < 3, prims.VoteSync.ANY))
    prims.bar_warp_sync(0xFFFFFFFF)
    dst[tidx, 5] = cutlass.Int32(
        prims.barrier_cta_red(value < 3, barrier_id=1, kind="and", thread_count=32)
    )
    total = cute.domain_offset((0, 6), dst).iterator
    prims.red(
        prims.ReductionOp.ADD, prims.ReductionType.S32, total, value,
        mem_order=prims.MemOrder.RELAXED, mem_scope=prims.MemScope.GPU,
    )  # fmt: skip


@cute.jit
def warp_host(dst: cute.Tensor):
    warp_kernel(dst).launch(grid=1, block=32)


def test_warps() -> None:
    dst = np.zeros((32, 7), np.int32)
    simulated(warp_host, dst)
    lanes = np.arange(32)
    assert (dst[:, 0] == 496).all() and (dst[:, 1] == -1).all()
    assert dst[:, 2].tolist() == [0, *(lanes[:-1] + 100)]
    assert (dst[:, 3:6] == [7, 1, 0]).all() and dst[0, 6] == 496


def test_arrays_elsewhere() -> None:
    @cute.kernel
    def kernel():
        cutlass.Array(cutlass.Int32, 4, space=cutlass.AddressSpace.gmem)

    @cute.jit
    def host():
        kernel().launch(grid=1, block=32)

    with pytest.raises(ArgumentError) as e:
        simulated(host)
    assert e.value.code == "OC2226"
