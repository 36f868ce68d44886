# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""mbarriers, clusters and what belongs to them, as kernels call them, down to machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError, DeadlockError, RaceError, SimulationError
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0
TARGETS = ("sm_90a", "sm_100a")


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCUTE_SIM_CHECK", "1")


# ---------------------------------------------------------------------- producer and consumer
@cute.kernel
def stages_kernel(src: cute.Tensor, dst: cute.Tensor, left_out: cutlass.Constexpr, turns: Any):
    """One warp fills two stages with cp.async, the other one empties them."""
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    lane = cute.arch.lane_idx()
    smem = cutlass.utils.SmemAllocator()
    bars = smem.allocate_array(cutlass.Int64, 4)
    full, empty = bars, bars + 2
    stages = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 2)), 16)
    if warp == 0:
        with cute.arch.elect_one():
            for s in cutlass.range_constexpr(2):
                cute.arch.mbarrier_init(full + s, 33 if left_out == "count" else 32)
                cute.arch.mbarrier_init(empty + s, 32)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if warp == 0:
        for i in cutlass.range(turns):
            stage, phase = i % 2, i // 2 % 2
            if cutlass.const_expr(left_out != "release"):
                cute.arch.mbarrier_wait(empty + stage, phase ^ 1)
            stages[lane, stage] = src[lane, i]
            cute.arch.mbarrier_arrive(full + stage)
    else:
        for i in cutlass.range(turns):
            stage, phase = i % 2, i // 2 % 2
            if cutlass.const_expr(left_out != "wait"):
                while not cute.arch.mbarrier_try_wait(full + stage, phase):
                    pass
            dst[lane, i] = stages[31 - lane, stage]
            cute.arch.mbarrier_arrive(empty + stage)


@cute.jit
def stages_host(src: cute.Tensor, dst: cute.Tensor, left_out: cutlass.Constexpr, turns: Any):
    stages_kernel(src, dst, left_out, turns).launch(grid=1, block=64)


def stages(left_out: str = "", turns: int = 5) -> Any:
    src = np.arange(32 * turns, dtype=np.float32).reshape(turns, 32).T
    dst = np.zeros_like(src)
    stages_host(from_dlpack(src), from_dlpack(dst), left_out, turns)
    return src, dst


def test_two_stages() -> None:
    src, dst = stages()
    assert (dst == src[::-1]).all()


def test_two_stages_with_something_left_out() -> None:
    for left_out in ("wait", "release"):
        with pytest.raises(SimulationError):
            stages(left_out)
    with pytest.raises(DeadlockError, match=r"phase 0 .* 32 of 33 arrivals") as e:
        stages("count")
    assert "test_hopper.py" in str(e.value)


# ---------------------------------------------------------------------- clusters
@cute.kernel
def cluster_kernel(dst: cute.Tensor, fault: cutlass.Constexpr):
    """Each block adds its number at all others' memory and tells them through their barriers."""
    tidx, _, _ = cute.arch.thread_idx()
    rank, size = cute.arch.block_idx_in_cluster(), cute.arch.cluster_size()
    scope = cutlass.const_expr("" if fault == "scope" else "cluster")
    bar = cute.arch.alloc_smem(cutlass.Int64, 1)
    values = cute.make_tensor(cute.arch.alloc_smem(cutlass.Int32, 8), cute.make_layout(8))
    if tidx == 0:
        cute.arch.mbarrier_init(bar, size)
    cute.arch.mbarrier_init_fence()
    cute.arch.cluster_arrive_relaxed()
    cute.arch.cluster_wait()
    if tidx < size:
        far = cute.arch.map_dsmem_ptr(values.iterator, tidx)
        (far + rank).store(rank + 100)
        if cutlass.const_expr(fault != "arrive"):
            cute.arch.mbarrier_arrive(bar, tidx, scope=scope)
    if cutlass.const_expr(fault != "wait"):
        cute.arch.mbarrier_wait(bar, 0, scope=scope)
    if tidx < size:
        dst[cute.arch.block_idx()[0] * size + tidx] = values[tidx]
    if cutlass.const_expr(fault == "late") and tidx == 0:
        cute.arch.mbarrier_arrive(bar, (rank + 1) % size)
    cute.arch.griddepcontrol_launch_dependents()


@cute.jit
def cluster_host(dst: cute.Tensor, fault: cutlass.Constexpr):
    cluster_kernel(dst, fault).launch(grid=(8, 1, 1), block=32, cluster=(4, 1, 1), use_pdl=True)


def test_a_cluster_that_exchanges_numbers() -> None:
    dst = np.zeros(32, np.int32)
    cluster_host(from_dlpack(dst), "")
    assert dst.tolist() == [100, 101, 102, 103] * 8


def test_a_cluster_with_a_fault() -> None:
    for fault, error in (
        ("arrive", DeadlockError),
        ("wait", RaceError),
        ("scope", RaceError),
        ("late", RaceError),
    ):
        with pytest.raises(error):
            cluster_host(from_dlpack(np.zeros(32, np.int32)), fault)


# ---------------------------------------------------------------------- launches that overlap
@cute.kernel
def first_kernel(x: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    x[i] = i
    cute.arch.griddepcontrol_launch_dependents()


@cute.kernel
def second_kernel(x: cute.Tensor, y: cute.Tensor, wait: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    if cutlass.const_expr(wait):
        cute.arch.griddepcontrol_wait()
    y[i] = x[i] + 1


@cute.jit
def overlapping(x: cute.Tensor, y: cute.Tensor, wait: cutlass.Constexpr):
    first_kernel(x).launch(grid=1, block=32)
    second_kernel(x, y, wait).launch(grid=1, block=32, use_pdl=True)


def test_a_kernel_that_starts_early() -> None:
    x, y = np.zeros(32, np.int32), np.zeros(32, np.int32)
    for _ in range(2):
        overlapping(from_dlpack(x), from_dlpack(y), True)
    assert y.tolist() == list(range(1, 33))
    with pytest.raises(RaceError, match="without having waited") as e:
        overlapping(from_dlpack(x), from_dlpack(y), False)
    assert e.value.code == "OC3408"


# ---------------------------------------------------------------------- words and numbers
@cute.kernel
def words_kernel(dst: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bar = cute.arch.alloc_smem(cutlass.Int64, 1)
    if tidx == 0:
        cute.arch.mbarrier_init(bar, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    before = cute.arch.mbarrier_conditional_try_wait(tidx < 32, bar, phase=0)
    if tidx < 32:
        cute.arch.setmaxregister_decrease(40)
    else:
        cute.arch.setmaxregister_increase(232)
    cute.arch.sync_threads()
    if tidx == 0:
        cute.arch.mbarrier_expect_tx(bar, 16)
        cute.arch.mbarrier_arrive_and_expect_tx(bar, 0)
    after = cute.arch.mbarrier_test_wait(bar, 0)
    dst[tidx] = cutlass.Int32(before) * 2 + cutlass.Int32(after)


def test_conditional_waits_and_registers() -> None:
    @cute.jit
    def host(dst: cute.Tensor):
        words_kernel(dst).launch(grid=1, block=64)

    dst = np.zeros(64, np.int32)
    host(from_dlpack(dst))
    assert dst.tolist() == [0] * 32 + [2] * 32


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda p: cute.arch.mbarrier_init(p, 0), "OC2222"),
        (lambda p: cute.arch.mbarrier_init(p, 1 << 20), "OC2222"),
        (lambda p: cute.arch.mbarrier_expect_tx(p, -1), "OC2222"),
        (lambda p: cute.arch.setmaxregister_decrease(41), "OC2221"),
        (lambda p: cute.arch.setmaxregister_increase(264), "OC2221"),
        (lambda p: cute.arch.map_dsmem_ptr(cute.arch.map_dsmem_ptr(p, 0), 0), "OC2220"),
    ],
)
def test_wrong_numbers(call: Any, code: str) -> None:
    @cute.kernel
    def kernel():
        call(cute.arch.alloc_smem(cutlass.Int64, 1))

    @cute.jit
    def host():
        kernel().launch(grid=1, block=32)

    with pytest.raises(ArgumentError) as e:
        host()
    assert e.value.code == code


def test_a_barrier_in_global_memory() -> None:
    @cute.kernel
    def kernel(x: cute.Tensor):
        cute.arch.mbarrier_arrive(x.iterator)

    @cute.jit
    def host(x: cute.Tensor):
        kernel(x).launch(grid=1, block=32)

    with pytest.raises(ArgumentError) as e:
        host(from_dlpack(np.zeros(4, np.int64)))
    assert e.value.code == "OC2220"


# ---------------------------------------------------------------------- machine code
def compiled(host: Any, *args: Any, target: str) -> Any:
    return cute.compile(host, *args, options=f"--gpu-arch {target}")


@pytest.mark.t1
@pytest.mark.parametrize("target", TARGETS)
def test_machine_code(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENCUTE_TARGET")
    src = from_dlpack(np.zeros((32, 4), np.float32))
    code = compiled(stages_host, src, src, "", 4, target=target)
    assert "mbarrier.try_wait.parity.shared::cta.b64" in code.__ptx__
    dst = from_dlpack(np.zeros(32, np.int32))
    code = compiled(cluster_host, dst, "scope", target=target)
    ptx, sass = code.__ptx__, code.__sass__
    assert "mbarrier.arrive.shared::cluster.b64 _, [" in ptx and "mapa.shared::cluster.u32" in ptx
    assert "griddepcontrol.launch_dependents" in ptx and ".reqnctapercluster 4" in ptx
    assert "SYNCS.ARRIVE" in sass or "SYNCS" in sass
    assert "MEMBAR.ALL.GPU" not in sass  # what a release at cluster scope would cost

    @cute.jit
    def host(dst: cute.Tensor):
        words_kernel(dst).launch(grid=1, block=64)

    code = compiled(host, dst, target=target)
    assert "setmaxnreg.dec.sync.aligned.u32 40" in code.__ptx__
    assert "USETMAXREG" in code.__sass__
