# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rarer operations on mbarriers, and writes that mbarriers count, as kernels call them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import (
    ArgumentError,
    DeadlockError,
    OpenCuTeError,
    OutOfBoundsError,
    RaceError,
    SimulationError,
    TypeMismatchError,
)
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCUTE_SIM_CHECK", "1")


def zeros(n: int, dtype: Any = np.int32) -> Any:
    return np.zeros(n, dtype)


def assembled(host: Any, *args: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """PTX that ptxas takes."""
    monkeypatch.delenv("OPENCUTE_TARGET")
    made = cute.compile(host, *args, options="--gpu-arch sm_90a")
    assert made.__cubin__
    return made.__ptx__


# ---------------------------------------------------------------------- last arrivals
@cute.kernel
def leaving_kernel(dst: cute.Tensor, turns: cutlass.Constexpr, how: cutlass.Constexpr):
    """Two warps add to a row; the second one leaves after the first turn."""
    tidx, _, _ = cute.arch.thread_idx()
    memory = cutlass.utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    rows = memory.allocate_tensor(cutlass.Int32, cute.make_layout((32, turns)), 16)
    if tidx == 0:
        cute.arch.mbarrier_init(bar, 64)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if tidx < 32:
        for turn in cutlass.range_constexpr(turns):
            rows[tidx, turn] = 10 * tidx + turn
            cute.arch.mbarrier_arrive(bar)
            cute.arch.mbarrier_wait(bar, turn % 2)
            dst[tidx] += rows[31 - tidx, turn]
    else:
        if cutlass.const_expr(how == "stays"):
            cute.arch.mbarrier_arrive(bar)
        else:
            cute.arch.mbarrier_arrive_drop(bar)
        cute.arch.mbarrier_wait(bar, 0)
        dst[tidx] = rows[tidx - 32, 0]
        if cutlass.const_expr(how == "comes again") and tidx == 32:
            cute.arch.mbarrier_arrive(bar, arrive_count=33)


@cute.jit
def leaving(dst: cute.Tensor, turns: cutlass.Constexpr, how: cutlass.Constexpr = ""):
    leaving_kernel(dst, turns, how).launch(grid=1, block=64)


def test_a_warp_leaves_a_barrier() -> None:
    dst = zeros(64)
    leaving(from_dlpack(dst), 3)
    lanes = np.arange(32)
    assert dst[:32].tolist() == (3 * 10 * (31 - lanes) + 3).tolist()
    assert dst[32:].tolist() == (10 * lanes).tolist()


def test_who_does_not_leave_is_waited_for() -> None:
    with pytest.raises(DeadlockError, match="32 of 64 arrivals") as e:
        leaving(from_dlpack(zeros(64)), 2, "stays")
    assert e.value.code == "OC3501"


def test_who_has_left_does_not_come_again() -> None:
    with pytest.raises(SimulationError, match="more threads arrive") as e:
        leaving(from_dlpack(zeros(64)), 1, "comes again")
    assert e.value.code == "OC3032" and "64 less 32 that have left (mbarrier.arrive_drop)" in str(
        e.value
    )


# ---------------------------------------------------------------------- bytes by hand
@cute.kernel
def bytes_kernel(dst: cute.Tensor, come: cutlass.Constexpr, how: cutlass.Constexpr):
    """Thread 0 lets a phase expect 32 bytes, the second warp says that they have come."""
    tidx, _, _ = cute.arch.thread_idx()
    memory = cutlass.utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    row = memory.allocate_tensor(cutlass.Int32, cute.make_layout(32), 16)
    if tidx == 0:
        cute.arch.mbarrier_init(bar, 2 if how == "last" else 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if tidx == 0:
        if cutlass.const_expr(how == "last"):
            cute.arch.mbarrier_arrive_drop_and_expect_tx(bar, 32)
        else:
            cute.arch.mbarrier_arrive_and_expect_tx(bar, 32)
    if tidx >= 32:
        row[tidx - 32] = tidx
        if cutlass.const_expr(how == "last") and tidx == 32:
            cute.arch.mbarrier_arrive(bar)
        if tidx % 4 == 0:
            cute.arch.mbarrier_complete_tx(bar, come)
    if tidx < 32:
        cute.arch.mbarrier_wait(bar, 0)
        dst[tidx] = row[tidx] if cutlass.const_expr(how == "reads") else 7
        if cutlass.const_expr(how == "last"):  # the next phase is one arrival
            if tidx == 0:
                cute.arch.mbarrier_arrive(bar)
            cute.arch.mbarrier_wait(bar, 1)


@cute.jit
def bytes_host(dst: cute.Tensor, come: cutlass.Constexpr, how: cutlass.Constexpr = ""):
    bytes_kernel(dst, come, how).launch(grid=1, block=64)


@pytest.mark.parametrize("how", ["", "last"])
def test_bytes_come_by_hand(how: str) -> None:
    dst = zeros(32)
    bytes_host(from_dlpack(dst), 4, how)
    assert (dst == 7).all()


@pytest.mark.parametrize(
    ("come", "how", "error", "code"),
    [
        (2, "", DeadlockError, "OC3501"), (8, "", SimulationError, "OC3034"),
        (4, "reads", RaceError, "OC3401"),
    ],
)  # fmt: skip
def test_bytes_by_hand_that_are_wrong(come: int, how: str, error: Any, code: str) -> None:
    with pytest.raises(error) as e:
        bytes_host(from_dlpack(zeros(32)), come, how)
    assert e.value.code == code


# ---------------------------------------------------------------------- tokens
@cute.kernel
def tokens_kernel(dst: cute.Tensor, wait: cutlass.Constexpr):
    """Threads wait for the phase that they have arrived in, whatever its parity is."""
    tidx, _, _ = cute.arch.thread_idx()
    memory = cutlass.utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    row = memory.allocate_tensor(cutlass.Int32, cute.make_layout(64), 16)
    if tidx == 0:
        cute.arch.mbarrier_init(bar, 65)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    row[tidx] = tidx
    token = cute.arch.mbarrier_arrive_token(bar)
    before = cute.arch.mbarrier_pending_count(token)
    if tidx == 63:
        token = cute.arch.mbarrier_arrive_token(bar)
        before = cute.arch.mbarrier_pending_count(token)
    if cutlass.const_expr(wait == "test"):
        while not cute.arch.mbarrier_test_wait_token(bar, token):
            pass
    elif cutlass.const_expr(wait == "wait"):
        cute.arch.mbarrier_wait_token(bar, token)
    dst[tidx] = 100 * row[63 - tidx] + before


@cute.jit
def tokens(dst: cute.Tensor, wait: cutlass.Constexpr):
    tokens_kernel(dst, wait).launch(grid=1, block=64)


@pytest.mark.parametrize("wait", ["test", "wait"])
def test_tokens_name_phases(wait: str) -> None:
    dst = zeros(64)
    tokens(from_dlpack(dst), wait)
    assert (dst // 100).tolist() == list(range(63, -1, -1))
    counts = (dst % 100).tolist()
    assert counts[63] == 1 and all(1 <= n <= 65 for n in counts)


def test_a_token_that_nobody_waits_for() -> None:
    with pytest.raises(RaceError) as e:
        tokens(from_dlpack(zeros(64)), "none")
    assert e.value.code == "OC3401"


# ---------------------------------------------------------------------- writes that count
@cute.kernel
def sending_kernel(dst: cute.Tensor, each: cutlass.Constexpr, fault: cutlass.Constexpr):
    """Each block sends numbers to the other one, and adds up there."""
    tidx, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    memory = cutlass.utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    slots = memory.allocate_tensor(dst.element_type, cute.make_layout((each, 32)), 16)
    total = memory.allocate_tensor(cutlass.Uint32, cute.make_layout(2), 16)
    if tidx == 0:
        total[0] = cutlass.Uint32(1)
        total[1] = cutlass.Uint32(1000)
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_init_fence()
        size = 32 * (each * dst.element_type.width // 8 + 8)
        more = 4 if fault == "count" else 0
        cute.arch.mbarrier_arrive_and_expect_tx(bar, size + more)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    peer = 1 - rank
    values = tuple(dst.element_type(100 * rank + tidx + i) for i in range(each))
    sent = values[0] if each == 1 else values
    cute.arch.st_async(slots.iterator + tidx * each, sent, bar, peer)
    cute.arch.red_async(total.iterator, 2, bar, peer)
    far_bar = cute.arch.map_dsmem_ptr(bar, peer)
    far = cute.arch.map_dsmem_ptr(total.iterator + 1, peer)
    cute.arch.red_async(far, tidx, far_bar, op="min")
    if cutlass.const_expr(fault != "no wait"):
        cute.arch.mbarrier_wait(bar, 0)
    for i in cutlass.range_constexpr(each):
        dst[rank, tidx, i] = slots[i, 31 - tidx]
    if tidx == 0:
        dst[rank, 32, 0] = total[0].to(dst.element_type)
        dst[rank, 33, 0] = total[1].to(dst.element_type)
    if cutlass.const_expr(fault == "no wait"):
        cute.arch.mbarrier_wait(bar, 0)


@cute.jit
def sending(dst: cute.Tensor, each: cutlass.Constexpr, fault: cutlass.Constexpr = ""):
    sending_kernel(dst, each, fault).launch(grid=2, block=32, cluster=(2, 1, 1))


KINDS = [
    (np.int32, 1), (np.int32, 2), (np.float32, 4), (np.uint32, 4), (np.int64, 1), (np.float64, 2),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "each"), KINDS)
def test_blocks_send_numbers(dtype: Any, each: int) -> None:
    dst = zeros(2 * 34 * each, dtype).reshape(2, 34, each)
    sending(from_dlpack(dst), each)
    for rank in range(2):
        want = [[100 * (1 - rank) + 31 - t + i for i in range(each)] for t in range(32)]
        assert dst[rank, :32].tolist() == want
        assert dst[rank, 32:, 0].tolist() == [1 + 2 * 32, 0]


@pytest.mark.parametrize(
    ("fault", "error", "codes"),
    [("count", DeadlockError, ("OC3501",)), ("no wait", RaceError, ("OC3401", "OC3402", "OC3403"))],
)
def test_blocks_that_send_with_a_fault(fault: str, error: Any, codes: Any) -> None:
    with pytest.raises(error) as e:
        sending(from_dlpack(zeros(68).reshape(2, 34, 1)), 1, fault)
    assert e.value.code in codes


# ---------------------------------------------------------------------- where writes may go
@cute.kernel
def reaching_kernel(dst: cute.Tensor, how: cutlass.Constexpr, first: cutlass.Int32):
    """Each block changes a part of the other one's `mine`, or what lies there."""
    tidx, _, _ = cute.arch.thread_idx()
    peer = 1 - cute.arch.block_idx_in_cluster()
    memory = cutlass.utils.SmemAllocator()
    bar = memory.allocate_array(cutlass.Int64, 1)
    before = memory.allocate_tensor(cutlass.Int32, cute.make_layout(64), 16)
    mine = memory.allocate_tensor(cutlass.Int32, cute.make_layout(64), 16)
    after = memory.allocate_tensor(cutlass.Int32, cute.make_layout(64), 16)
    for i in cutlass.range_constexpr(2):
        before[tidx + 32 * i] = 0
        mine[tidx + 32 * i] = 7
        after[tidx + 32 * i] = 0
    if tidx == 0:
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(bar, 128)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    place = mine.iterator + first + tidx
    far = cute.arch.map_dsmem_ptr(place, peer)
    if cutlass.const_expr(how == "st_async"):
        cute.arch.st_async(place, tidx, bar, peer)
    elif cutlass.const_expr(how == "red_async"):
        cute.arch.red_async(place, tidx, bar, peer)
    elif cutlass.const_expr(how == "store"):
        cute.arch.store(far, tidx)
    elif cutlass.const_expr(how == "load"):
        dst[1 - peer, tidx] = cute.arch.load(far, cutlass.Int32)
    else:
        cute.arch.atomic_add(far, tidx)
    if cutlass.const_expr(how in ("st_async", "red_async")):
        cute.arch.mbarrier_wait(bar, 0)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if cutlass.const_expr(how != "load"):
        dst[1 - peer, tidx] = mine[32 + tidx]


@cute.jit
def reaching(dst: cute.Tensor, how: cutlass.Constexpr, first: cutlass.Int32):
    reaching_kernel(dst, how, first).launch(grid=2, block=32, cluster=(2, 1, 1))


WAYS = {"st_async": 0, "store": 0, "red_async": 7, "atomic": 7, "load": None}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("check", [False, True])
def test_what_lies_beyond_a_neighbours_array(how: str, check: bool) -> None:
    with KNOBS.override(sim_check=check):
        dst = zeros(64).reshape(2, 32)
        reaching(from_dlpack(dst), how, 32)
        more = WAYS[how]
        assert dst.tolist() == [[7 if more is None else t + more for t in range(32)]] * 2
        where = {33: "byte 0 of", -1: "byte 252 of", 1 << 20: "no block", -(1 << 20): "no block"}
        for first, found in where.items():
            with pytest.raises(OutOfBoundsError, match="of a block of the cluster") as e:
                reaching(from_dlpack(dst), how, first)
            assert e.value.code == "OC3101" and found in str(e.value.found)


@cute.kernel
def either_kernel(dst: cute.Tensor):
    """Which of two arrays of the other block is read depends on the thread."""
    tidx, _, _ = cute.arch.thread_idx()
    peer = 1 - cute.arch.block_idx_in_cluster()
    memory = cutlass.utils.SmemAllocator()
    one = memory.allocate_tensor(cutlass.Int32, cute.make_layout(32), 16)
    two = memory.allocate_tensor(cutlass.Int32, cute.make_layout(32), 16)
    one[tidx] = tidx
    two[tidx] = 100 + tidx
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    far = cute.arch.map_dsmem_ptr(one.iterator, peer)
    if tidx % 2 == 1:
        far = cute.arch.map_dsmem_ptr(two.iterator, peer)
    dst[1 - peer, tidx] = cute.arch.load(far + tidx, cutlass.Int32)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def either(dst: cute.Tensor):
    either_kernel(dst).launch(grid=2, block=32, cluster=(2, 1, 1))


def test_pointers_to_several_arrays_of_a_neighbour() -> None:
    dst = zeros(64).reshape(2, 32)
    either(from_dlpack(dst))
    assert dst.tolist() == [[t + 100 * (t % 2) for t in range(32)]] * 2


# ---------------------------------------------------------------------- wrong operands
def _near(p: Any) -> Any:
    return cute.make_ptr(cutlass.Int32, p.toint(), cute.AddressSpace.smem, assumed_align=16)


@pytest.mark.parametrize(
    ("call", "error", "code"),
    [
        (lambda p: cute.arch.mbarrier_arrive_drop(p, arrive_count=0), ArgumentError, "OC2222"),
        (lambda p: cute.arch.mbarrier_complete_tx(p, -1), ArgumentError, "OC2222"),
        (lambda p: cute.arch.mbarrier_wait_token(p, 0), TypeMismatchError, "OC1632"),
        (lambda p: cute.arch.mbarrier_pending_count(3), TypeMismatchError, "OC1632"),
        (lambda p: cute.arch.st_async(_near(p), 1, p), ArgumentError, "OC2220"),
        (lambda p: cute.arch.st_async(cute.arch.map_dsmem_ptr(_near(p), 0), 1, p),
         ArgumentError, "OC2220"),
        (lambda p: cute.arch.st_async(_near(p), (1, 2, 3), p, 0), TypeMismatchError, "OC1631"),
        (lambda p: cute.arch.st_async(_near(p) + 1, (1, 2, 3), p, 0), TypeMismatchError, "OC1631"),
        (lambda p: cute.arch.st_async(p, (1, 2, 3, 4), p, 0), TypeMismatchError, "OC1631"),
        (lambda p: cute.arch.mbarrier_wait(p, 2), ArgumentError, "OC2222"),
        (lambda p: cute.arch.mbarrier_wait(p, -1), ArgumentError, "OC2222"),
        (lambda p: cute.arch.mbarrier_try_wait(p, 3), ArgumentError, "OC2222"),
        (lambda p: cute.arch.mbarrier_test_wait(p, 2), ArgumentError, "OC2222"),
        (lambda p: cute.arch.red_async(_near(p), 1, p, 0, op="inc"), TypeMismatchError, "OC1631"),
        (lambda p: cute.arch.red_async(p, 1, p, 0, op="min"), TypeMismatchError, "OC1631"),
        (lambda p: cute.arch.red_async(_near(p), 1, p, 0, op="mul"), TypeMismatchError, "OC1631"),
    ],
)  # fmt: skip
def test_wrong_operands(call: Any, error: Any, code: str) -> None:
    @cute.kernel
    def kernel():
        call(cute.arch.alloc_smem(cutlass.Int64, 2))

    @cute.jit
    def host():
        kernel().launch(grid=1, block=32)

    with pytest.raises(OpenCuTeError) as e:
        host()
    assert type(e.value) is error and e.value.code == code


# ---------------------------------------------------------------------- machine code
@pytest.mark.t1
def test_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    row = from_dlpack(zeros(64))
    ptx = assembled(leaving, row, 2, monkeypatch=monkeypatch)
    assert "mbarrier.arrive_drop.shared::cta.b64 _, [" in ptx
    monkeypatch.setenv("OPENCUTE_TARGET", "sim")
    ptx = assembled(bytes_host, row, 4, "last", monkeypatch=monkeypatch)
    assert "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [" in ptx
    assert "mbarrier.arrive_drop.expect_tx.shared::cta.b64 _, [" in ptx
    for wait, name in (("test", "mbarrier.test_wait"), ("wait", "mbarrier.try_wait")):
        monkeypatch.setenv("OPENCUTE_TARGET", "sim")
        ptx = assembled(tokens, row, wait, monkeypatch=monkeypatch)
        assert f"{name}.shared::cta.b64 p, [" in ptx and "mbarrier.pending_count.b64" in ptx
    bytes_ = "shared::cluster.mbarrier::complete_tx::bytes"
    for dtype, each in KINDS:
        monkeypatch.setenv("OPENCUTE_TARGET", "sim")
        dst = from_dlpack(zeros(68 * each, dtype).reshape(2, 34, each))
        ptx = assembled(sending, dst, each, monkeypatch=monkeypatch)
        kind = f"{f'.v{each}' if each > 1 else ''}.b{dtype().itemsize * 8}"
        assert f"st.async.weak.{bytes_}{kind} [" in ptx
        assert f"red.async.relaxed.cluster.{bytes_}.add.u32 [" in ptx
        assert f"red.async.relaxed.cluster.{bytes_}.min.u32 [" in ptx
