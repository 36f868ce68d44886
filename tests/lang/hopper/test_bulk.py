# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Bulk copies of runs against NumPy; faults beside whole kernels; refusals; machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from lang.hopper.tma_kernels import assembled
from opencute import cute, utils
from opencute.base.errors import (
    ArgumentError,
    LayoutError,
    OpenCuTeError,
    OutOfBoundsError,
    RaceError,
    SimulationError,
    TypeMismatchError,
)
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import cpasync
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0


@pytest.fixture(autouse=True)
def checked() -> Any:
    with KNOBS.override(target="sim:sm_90a", sim_check=True):
        yield


@cute.kernel
def through_kernel(
    src: cute.Tensor, dst: cute.Tensor, layout: cutlass.Constexpr, fault: cutlass.Constexpr
):
    """Global to shared to global memory."""
    tid, _, _ = cute.arch.thread_idx()
    memory = utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    smem = memory.allocate_tensor(src.element_type, layout, 128)
    load = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), src.element_type)
    store = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), src.element_type)
    if tid == 0:
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_init_fence()
        size = cute.size_in_bytes(src.element_type, cute.make_layout(cute.size(layout)))
        cute.arch.mbarrier_arrive_and_expect_tx(bar, size)
        cute.copy(load, src, smem, mbar_ptr=bar)
    cute.arch.sync_threads()
    if cutlass.const_expr(fault != "no wait"):
        cute.arch.mbarrier_wait(bar, 0)
    if tid == 0:
        cute.copy(store, smem, dst)
        if cutlass.const_expr(fault != "no commit"):
            cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def through(
    a: cute.Tensor, b: cute.Tensor, layout: cutlass.Constexpr, fault: cutlass.Constexpr = ""
):
    through_kernel(a, b, layout, fault).launch(grid=(1, 1, 1), block=(32, 1, 1))


def tensors(shape: Any, dtype: Any = np.float32) -> tuple[Any, Any, Any, Any]:
    a = (np.arange(int(np.prod(shape))) % 1021).astype(dtype).reshape(shape)
    b = np.zeros_like(a)
    return a, b, *(from_dlpack(x, assumed_align=16) for x in (a, b))


@pytest.mark.parametrize(
    ("shape", "dtype", "layout"),
    [
        ((256,), np.float32, cute.make_layout(256)),
        ((8, 64), np.float16, cute.make_layout((8, 64), stride=(64, 1))),
        ((8, 64), np.float16, cute.make_layout((8, 64), stride=(72, 1))),  # padded rows
        ((4, 4, 16), np.int32, cute.make_layout((4, 4, 16), stride=(64, 16, 1))),
    ],
)
def test_what_is_copied_is_what_was_there(shape: Any, dtype: Any, layout: Any) -> None:
    a, b, x, y = tensors(shape, dtype)
    through(x, y, layout)
    np.testing.assert_array_equal(a, b)


def test_faults() -> None:
    layout = cute.make_layout(256)
    a, b, x, y = tensors(256)
    with pytest.raises(RaceError):
        through(x, y, layout, "no wait")
    with pytest.warns(RuntimeWarning, match="may end while"):
        through(x, y, layout, "no commit")
    through(x, y, layout)
    np.testing.assert_array_equal(a, b)


@cute.kernel
def edge_kernel(src: cute.Tensor, dst: cute.Tensor, first: cutlass.Int32, load: cutlass.Constexpr):
    """Copy 256 numbers that begin at some place of global memory, or end up there."""
    tid, _, _ = cute.arch.thread_idx()
    memory = utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    smem = memory.allocate_tensor(cutlass.Float32, cute.make_layout(256), 128)
    for i in range(tid, 256, 32):
        smem[i] = 1.0
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if tid == 0:
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_init_fence()
        if cutlass.const_expr(load):
            cute.arch.mbarrier_arrive_and_expect_tx(bar, 1024)
            part = cute.make_tensor(src.iterator + first, cute.make_layout(256))
            cute.copy(
                cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32), part, smem,
                mbar_ptr=bar,
            )  # fmt: skip
            cute.arch.mbarrier_wait(bar, 0)
        else:
            part = cute.make_tensor(dst.iterator + first, cute.make_layout(256))
            cute.copy(cute.make_copy_atom(cpasync.CopyBulkS2GOp(), cutlass.Float32), smem, part)
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def edge(src: cute.Tensor, dst: cute.Tensor, first: cutlass.Int32, load: cutlass.Constexpr):
    edge_kernel(src, dst, first, load).launch(grid=(1, 1, 1), block=(32, 1, 1))


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("load", [False, True])
def test_global_memory_has_an_end(load: bool, check: bool) -> None:
    with KNOBS.override(sim_check=check):
        for first in (768, -128, -8192, 1 << 20):
            _, _, x, y = tensors(512)
            with pytest.raises(OutOfBoundsError, match="read" if load else "write") as e:
                edge(x, y, first, load)
            assert e.value.code == "OC3101" and "'Float32[512]'" in str(e.value)
        _, b, x, y = tensors(512)
        edge(x, y, 256, load)
        assert b[256:].tolist() == [0.0 if load else 1.0] * 256


def test_refusals() -> None:
    _, _, x, y = tensors((8, 64), np.float16)

    def refused(kind: type[OpenCuTeError], code: str, layout: Any) -> None:
        with pytest.raises(kind) as e:
            through(x, y, layout)
        assert e.value.code == code, e.value

    refused(LayoutError, "OC1336", cute.make_layout((8, 64)))  # runs of one element
    refused(LayoutError, "OC1363", cute.make_layout((8, 32)))


@cute.kernel
def bad_kernel(a: cute.Tensor, what: cutlass.Constexpr):
    memory = utils.SmemAllocator()
    smem = memory.allocate_tensor(cutlass.Float32, cute.make_layout(256), 128)
    op = cpasync.CopyBulkS2GOp() if what == "store" else cpasync.CopyBulkG2SOp()
    atom = cute.make_copy_atom(op, cutlass.Float32)
    bar = memory.allocate_array(cutlass.Int64, 1)
    if cutlass.const_expr(what in ("no barrier", "store")):
        cute.copy(atom, a, smem)
    elif cutlass.const_expr(what == "mask"):
        cute.copy(atom, a, smem, mbar_ptr=bar, mcast_mask=3)
    elif cutlass.const_expr(what == "policy"):
        send = cute.make_copy_atom(cpasync.CopyBulkS2SOp(), cutlass.Float32)
        there = cute.make_tensor(cute.arch.mapa(smem.iterator, 0), smem.layout)
        far = cute.arch.mapa(bar, 0)
        cute.copy(send, smem, there, mbar_ptr=far, cache_policy="evict_first")
    else:
        cute.arch.cp_async_bulk_wait_group(-1)


@cute.jit
def bad(a: cute.Tensor, what: cutlass.Constexpr):
    bad_kernel(a, what).launch(grid=(1, 1, 1), block=(32, 1, 1))


@pytest.mark.parametrize(
    ("what", "kind", "code"),
    [
        ("no barrier", TypeMismatchError, "OC1227"),
        ("store", TypeMismatchError, "OC1277"),
        ("mask", TypeMismatchError, "OC1227"),
        ("policy", TypeMismatchError, "OC1227"),
        ("groups", ArgumentError, "OC2932"),
    ],
)
def test_operands(what: str, kind: type[OpenCuTeError], code: str) -> None:
    with pytest.raises(kind) as e:
        bad(tensors(256)[2], what)
    assert e.value.code == code


# ---------------------------------------------------------------------- other blocks
@cute.kernel
def neighbour_kernel(src: cute.Tensor, dst: cute.Tensor, wait: cutlass.Constexpr):
    """Each block of a pair sends its row to the other one."""
    tid, _, _ = cute.arch.thread_idx()
    bx, _, _ = cute.arch.block_idx()
    memory = utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    mine = memory.allocate_tensor(cutlass.Float32, cute.make_layout(64), 128)
    theirs = memory.allocate_tensor(cutlass.Float32, cute.make_layout(64), 128)
    for i in range(tid, 64, 32):
        mine[i] = src[bx, i]
    if tid == 0:
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(bar, 256)
    cute.arch.mbarrier_init_fence()
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if tid == 0:
        atom = cute.make_copy_atom(cpasync.CopyBulkS2SOp(), cutlass.Float32)
        there = cute.make_tensor(cute.arch.mapa(theirs.iterator, 1 - bx), theirs.layout)
        cute.copy(atom, mine, there, mbar_ptr=cute.arch.mapa(bar, 1 - bx))
    if cutlass.const_expr(wait):
        cute.arch.mbarrier_wait(bar, 0)
        for i in range(tid, 64, 32):
            dst[bx, i] = theirs[i]
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def neighbour(a: cute.Tensor, b: cute.Tensor, wait: cutlass.Constexpr):
    neighbour_kernel(a, b, wait).launch(grid=(2, 1, 1), block=(32, 1, 1), cluster=(2, 1, 1))


def test_blocks_of_a_cluster() -> None:
    a, b, x, y = tensors((2, 64))
    neighbour(x, y, True)
    np.testing.assert_array_equal(b, a[::-1])
    with pytest.raises(SimulationError):
        neighbour(x, y, False)


@pytest.mark.t1
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
def test_machine_code(arch: str) -> None:
    _, _, x, y = tensors(256)
    made = assembled(cute.compile(through, x, y, cute.make_layout(256)), arch)
    assert made.cubin and made.ptx.count("cp.async.bulk.shared::cluster.global.mbarrier") == 1
    _, _, x, y = tensors((2, 64))
    made = assembled(cute.compile(neighbour, x, y, True), arch)
    assert made.cubin and "cp.async.bulk.shared::cluster.shared::cta" in made.ptx


# ---------------------------------------------------------------------- reductions
@cute.kernel
def reduce_kernel(
    src: cute.Tensor, dst: cute.Tensor, kind: cutlass.Constexpr, fault: cutlass.Constexpr
):
    """Each block combines its row with one row of global memory."""
    tid, _, _ = cute.arch.thread_idx()
    bx, _, _ = cute.arch.block_idx()
    smem = utils.SmemAllocator().allocate_tensor(src.element_type, cute.make_layout(64), 128)
    for i in range(tid, 64, 32):
        smem[i] = src[bx, i]
    if cutlass.const_expr(fault != "no fence"):
        cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    if tid == 0:
        atom = cute.make_copy_atom(cpasync.CopyReduceBulkS2GOp(kind), src.element_type)
        cute.copy(atom, smem, dst)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def reduce(a: cute.Tensor, b: cute.Tensor, kind: cutlass.Constexpr, fault: cutlass.Constexpr = ""):
    reduce_kernel(a, b, kind, fault).launch(grid=(3, 1, 1), block=(32, 1, 1))


KINDS = [
    ("ADD", np.float32, "add.f32"), ("ADD", np.int32, "add.s32"), ("ADD", np.int64, "add.u64"),
    ("MAX", np.float16, "max.f16"), ("MIN", np.int64, "min.s64"), ("XOR", np.uint32, "xor.b32"),
]  # fmt: skip


@pytest.mark.t1
@pytest.mark.parametrize(("kind", "dtype", "word"), KINDS)
def test_memory_is_combined(kind: str, dtype: Any, word: str) -> None:
    a = (np.arange(192) % 97 - (40 if np.dtype(dtype).kind != "u" else 0)).astype(dtype)
    a, b = a.reshape(3, 64), np.full(64, 5, dtype)
    x, y = (from_dlpack(t, assumed_align=16) for t in (a, b))
    op = cute.ReductionOp[kind]
    ufunc = {"ADD": np.add, "MAX": np.maximum, "MIN": np.minimum, "XOR": np.bitwise_xor}[kind]
    want = ufunc.reduce(np.vstack([b[None], a]), axis=0)
    reduce(x, y, op)
    np.testing.assert_array_equal(b, want)
    made = assembled(cute.compile(reduce, x, y, op), "sm_90a")
    assert made.cubin
    assert f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{word}" in made.ptx


def test_combinations_that_do_not_exist() -> None:
    _, _, x, _ = tensors((3, 64))
    _, _, _, y = tensors(64)
    with pytest.raises(TypeMismatchError) as e:
        reduce(x, y, cute.ReductionOp.MAX)
    assert e.value.code == "OC1227"
    with pytest.raises(TypeMismatchError) as e:
        cpasync.CopyReduceBulkS2GOp(cute.ReductionOp.MUL)
    assert e.value.code == "OC1601"
    with pytest.raises(OpenCuTeError, match="fence"):
        reduce(x, y, cute.ReductionOp.ADD, "no fence")


# ---------------------------------------------------------------- who starts a copy
@cute.kernel
def started_kernel(src: cute.Tensor, dst: cute.Tensor, fault: cutlass.Constexpr):
    """One copy that counts its bytes, twice in the same place, of one line."""
    tid, _, _ = cute.arch.thread_idx()
    memory = utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    smem = memory.allocate_tensor(src.element_type, src.layout, 128)
    load = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), src.element_type)
    if tid == 0:
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(bar, 256 if fault else 128)
    cute.arch.sync_threads()
    starts = 2 if fault == "a loop" else 1
    who = tid % 32 == 0 if fault == "every warp" else tid == 0
    if who:
        for _ in range(starts):
            cute.copy(load, src, smem, mbar_ptr=bar)
    cute.arch.mbarrier_wait(bar, 0)
    if tid < 32:
        dst[tid] = smem[tid]


@cute.jit
def started(src: cute.Tensor, dst: cute.Tensor, fault: cutlass.Constexpr):
    started_kernel(src, dst, fault).launch(grid=1, block=64)


@pytest.mark.parametrize("fault", ["", "every warp", "a loop"])
def test_a_copy_that_several_threads_start(fault: str) -> None:
    src, dst = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    if not fault:
        started(from_dlpack(src, assumed_align=16), from_dlpack(dst), fault)
        assert dst.tolist() == src.tolist()
        return
    with pytest.raises(RaceError) as e:
        started(from_dlpack(src, assumed_align=16), from_dlpack(dst), fault)
    assert e.value.code == "OC3402" and e.value.hint is not None
    several = fault == "every warp"  # a loop of one thread has not waited for its own copy
    assert e.value.hint.startswith("several threads start" if several else "wait for the mbarrier")
    assert (e.value.message or "").endswith("thread (0, 0, 0)") == several
