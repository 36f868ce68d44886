# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Producers and consumers: the kernels as they should be, and with one thing left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutlass
import cutlass.cute as cute
from cutlass import Int32, pipeline, utils
from opencute.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    DeadlockError,
    OpenCuTeError,
    RaceError,
    SimulationError,
)
from opencute.base.knobs import KNOBS

pytestmark = pytest.mark.t0


def group(threads: int) -> pipeline.CooperativeGroup:
    return pipeline.CooperativeGroup(pipeline.Agent.Thread, threads)


# ---------------------------------------------------------------- with states
@cute.kernel
def with_states(
    out: cute.Tensor, turns: Int32, stages: cutlass.Constexpr, fault: cutlass.Constexpr
) -> None:
    tidx, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = utils.SmemAllocator()
    bars = smem.allocate_array(cutlass.Int64, 2 * stages)
    ring = smem.allocate_tensor(cutlass.Int32, cute.make_layout((32, stages)))
    pipe = pipeline.PipelineAsync.create(
        num_stages=stages,
        producer_group=group(33 if fault == "producers" else 32),
        consumer_group=group(32 if fault == "consumers" else 64),
        barrier_storage=bars,
        defer_sync=fault == "sync",
    )
    if warp == 0:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, stages)
        for n in range(turns):
            if cutlass.const_expr(fault != "acquire"):
                pipe.producer_acquire(state)
            ring[tidx, state.index] = n * 100 + tidx
            if cutlass.const_expr(fault != "commit"):
                pipe.producer_commit(state)
            state.advance()
        pipe.producer_tail(state)
    else:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, stages)
        lane = tidx % 32
        for n in range(turns):
            if cutlass.const_expr(fault != "wait"):
                pipe.consumer_wait(state)
            out[n, tidx - 32] = ring[31 - lane, state.index]
            if cutlass.const_expr(fault != "release"):
                pipe.consumer_release(state)
            state.advance()


# ---------------------------------------------------------------- with participants
@cute.kernel
def with_sides(
    out: cute.Tensor, turns: Int32, stages: cutlass.Constexpr, fault: cutlass.Constexpr
) -> None:
    tidx, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    ring = utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout((32, stages)))
    producer, consumer = pipeline.PipelineAsync.create(
        num_stages=stages, producer_group=group(32), consumer_group=group(64)
    ).make_participants()
    if warp == 0:
        for n in range(turns):
            handle = producer.acquire_and_advance()
            ring[tidx, handle.index] = n * 100 + tidx
            if cutlass.const_expr(fault != "commit"):
                handle.commit()
        producer.tail()
    else:
        lane = tidx % 32
        for n in range(turns):
            handle = consumer.wait_and_advance()
            out[n, tidx - 32] = ring[31 - lane, handle.index] + (handle.count - n)
            if cutlass.const_expr(fault != "release"):
                consumer.release(handle)


@cute.kernel
def with_tries(
    out: cute.Tensor, turns: Int32, stages: cutlass.Constexpr, fault: cutlass.Constexpr
) -> None:
    tidx, _, _ = cute.arch.thread_idx()
    ring = utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout((32, stages)))
    producer, consumer = pipeline.PipelineAsync.create(
        num_stages=stages, producer_group=group(32), consumer_group=group(64)
    ).make_participants()
    if tidx < 32:
        token = producer.try_acquire()
        for n in range(turns):
            producer.acquire(token)
            ring[tidx, producer.state.index] = n * 100 + tidx
            producer.commit()
            producer.advance()
            token = cutlass.Boolean(1)
            if n + 1 < turns:
                token = producer.try_acquire()
        producer.tail()
    else:
        lane = tidx % 32
        for n in range(turns):
            token = consumer.try_wait()
            handle = consumer.wait_and_advance(token)
            out[n, tidx - 32] = ring[31 - lane, handle.index]
            consumer.release()
        consumer.reset()


@cute.jit
def launch(
    kernel: cutlass.Constexpr,
    out: cute.Tensor,
    turns: Int32,
    stages: cutlass.Constexpr,
    fault: cutlass.Constexpr,
) -> None:
    kernel(out, turns, stages, fault).launch(grid=[1, 1, 1], block=[96, 1, 1])


def run(kernel: Any, turns: int, stages: int, fault: str = "", seed: int = 0) -> Any:
    out = np.zeros((16, 64), np.int32)
    with KNOBS.override(target="sim", sim_check=True, sim_seed=seed):
        launch(kernel, out, turns, stages, fault)
    return out[:turns]


@pytest.mark.parametrize("kernel", [with_states, with_sides, with_tries], ids=lambda k: k.__name__)
@pytest.mark.parametrize(("turns", "stages"), [(7, 1), (9, 3), (2, 4), (0, 2)])
def test_buffers_arrive_whole(kernel: Any, turns: int, stages: int) -> None:
    want = [[n * 100 + 31 - lane % 32 for lane in range(64)] for n in range(turns)]
    for seed in range(3):
        assert run(kernel, turns, stages, seed=seed).tolist() == want


@pytest.mark.parametrize(
    ("kernel", "fault", "error", "text"),
    [
        (with_states, "acquire", RaceError, "no order"),
        (with_states, "wait", SimulationError, "uninitialised|no order"),
        (with_states, "commit", DeadlockError, "0 of 32 arrivals"),
        (with_states, "release", DeadlockError, "0 of 64 arrivals"),
        (with_states, "producers", DeadlockError, "32 of 33 arrivals"),
        (with_states, "consumers", SimulationError, "arriv|no order"),
        (with_states, "sync", SimulationError, "init"),
        (with_sides, "commit", DeadlockError, "0 of 32 arrivals"),
        (with_sides, "release", DeadlockError, "0 of 64 arrivals"),
    ],
)
def test_what_is_left_out_is_reported(kernel: Any, fault: str, error: Any, text: str) -> None:
    with pytest.raises(error, match=text) as raised:
        run(kernel, 6, 2, fault)
    assert "test_base.py" in str(raised.value)


def test_tails_hold_the_block_until_buffers_are_released() -> None:
    """Also those that were never used."""
    assert run(with_states, 1, 4).tolist() == [[31 - lane % 32 for lane in range(64)]]


def test_kernels_bring_a_wait_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A published kernel puts a function in the library's place that takes nothing but these."""
    waits, arch = [], cute.arch
    original = arch.mbarrier_wait

    def wait(mbar_ptr: Any, phase: Any, *, loc: Any = None, ip: Any = None) -> None:
        waits.append(phase)
        original(mbar_ptr, phase)

    monkeypatch.setattr(arch, "mbarrier_wait", wait)
    want = [[n * 100 + 31 - lane % 32 for lane in range(64)] for n in range(5)]
    assert run(with_sides, 5, 3).tolist() == want
    assert waits


# ---------------------------------------------------------------- what is checked while tracing
def create(**changed: Any) -> None:
    given: dict[str, Any] = {
        "num_stages": 2, "producer_group": group(32), "consumer_group": group(32),
    }  # fmt: skip
    given.update(changed)

    @cute.kernel
    def kernel() -> None:
        pipeline.PipelineAsync.create(**given)

    @cute.jit
    def host() -> None:
        kernel().launch(grid=[1, 1, 1], block=[64, 1, 1])

    host()


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        ({"num_stages": 0}, ArgumentError, "number of stages"),
        ({"producer_group": 32}, ArgumentTypeError, "producer_group is a CooperativeGroup"),
        ({"consumer_group": None}, ArgumentTypeError, "consumer_group is a CooperativeGroup"),
        ({"barrier_storage": 64}, ArgumentTypeError, "stored in shared memory"),
        ({"consumer_group": group(65)}, ArgumentError, "more arrivals than the block has threads"),
        ({"producer_group": group(128)}, ArgumentError, "producer_group waits for more arrivals"),
    ],
)
def test_refused(changed: Any, error: Any, text: str) -> None:
    with pytest.raises(OpenCuTeError, match=text) as raised:
        create(**changed)
    assert isinstance(raised.value, error)
