# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Pipelines across the blocks of a cluster, and with cp.async."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutlass
import cutlass.cute as cute
from cutlass import Int32, pipeline, utils
from cutlass.cute.runtime import from_dlpack
from opencute.base.errors import DeadlockError, SimulationError
from opencute.base.knobs import KNOBS

pytestmark = pytest.mark.t0


@pytest.fixture(autouse=True)
def checked() -> Any:
    with KNOBS.override(target="sim", sim_check=True):
        yield


def group(threads: int) -> pipeline.CooperativeGroup:
    return pipeline.CooperativeGroup(pipeline.Agent.Thread, threads)


# ---------------------------------------------------------------- to another block
@cute.kernel
def pass_on(out: cute.Tensor, turns: Int32, fault: cutlass.Constexpr) -> None:
    """Block 0 writes into block 1's shared memory, which reads it."""
    tidx, _, _ = cute.arch.thread_idx()
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    smem = utils.SmemAllocator()
    ring = smem.allocate_tensor(cutlass.Int32, cute.make_layout((32, 2)))
    pipe = pipeline.PipelineAsync.create(
        num_stages=2,
        producer_group=group(32),
        consumer_group=group(32),
        producer_mask=1,
        consumer_mask=0,
        defer_sync=True,
    )
    pipeline.pipeline_init_arrive(cluster_shape_mn=(2, 1), is_relaxed=True)
    pipeline.pipeline_init_wait(cluster_shape_mn=(2, 1))
    producer, consumer = pipe.make_participants()
    if rank == 0:
        far = cute.make_tensor(cute.arch.map_dsmem_ptr(ring.iterator, 1), ring.layout)
        for n in range(turns):
            handle = producer.acquire_and_advance()
            far[tidx, handle.index] = n * 100 + tidx
            handle.commit()
        producer.tail()
    else:
        for n in range(turns):
            handle = consumer.wait_and_advance()
            out[n, tidx] = ring[31 - tidx, handle.index]
            if cutlass.const_expr(fault != "release"):
                handle.release()
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def launch_pass_on(out: cute.Tensor, turns: Int32, fault: cutlass.Constexpr) -> None:
    pass_on(out, turns, fault).launch(grid=[2, 1, 1], block=[32, 1, 1], cluster=[2, 1, 1])


def test_buffers_of_another_block() -> None:
    for seed in range(3):
        out = np.zeros((7, 32), np.int32)
        with KNOBS.override(sim_seed=seed):
            launch_pass_on(out, 7, "")
        assert out.tolist() == [[n * 100 + 31 - lane for lane in range(32)] for n in range(7)]


def test_a_buffer_that_another_block_keeps() -> None:
    with pytest.raises(DeadlockError, match="0 of 32 arrivals"):
        launch_pass_on(np.zeros((7, 32), np.int32), 7, "release")


# ---------------------------------------------------------------- cp.async
@cute.kernel
def copy_in(x: cute.Tensor, out: cute.Tensor, fault: cutlass.Constexpr) -> None:
    tidx, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    lane = tidx % 32
    ring = utils.SmemAllocator().allocate_tensor(
        cutlass.Int32, cute.make_layout((4, 32, 2)), byte_alignment=16
    )
    producer, consumer = pipeline.PipelineCpAsync.create(
        num_stages=2, producer_group=group(32), consumer_group=group(32)
    ).make_participants()
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Int32, num_bits_per_copy=128)
    if warp == 0:
        for n in range(x.shape[0]):
            handle = producer.acquire_and_advance()
            cute.copy(atom, x[n, lane, None], ring[None, lane, handle.index])
            if cutlass.const_expr(fault != "commit"):
                handle.commit()
        producer.tail()
    else:
        for n in range(out.shape[0]):
            handle = consumer.wait_and_advance()
            for i in cutlass.range_constexpr(4):
                out[n, lane, i] = ring[i, 31 - lane, handle.index]
            handle.release()


@cute.jit
def launch_copy_in(x: cute.Tensor, out: cute.Tensor, fault: cutlass.Constexpr) -> None:
    copy_in(x, out, fault).launch(grid=[1, 1, 1], block=[64, 1, 1])


def test_buffers_are_full_when_the_copies_have_come() -> None:
    x = np.arange(5 * 32 * 4, dtype=np.int32).reshape(5, 32, 4)
    for seed in range(3):
        out = np.zeros_like(x)
        with KNOBS.override(sim_seed=seed):
            launch_copy_in(from_dlpack(x), from_dlpack(out), "")
        np.testing.assert_array_equal(out, x[:, ::-1])


def test_copies_that_are_not_committed() -> None:
    x = np.zeros((5, 32, 4), np.int32)
    with pytest.raises(SimulationError, match="0 of 32 arrivals"):
        launch_copy_in(from_dlpack(x), from_dlpack(x.copy()), "commit")
