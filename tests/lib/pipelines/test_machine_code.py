# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Pipelines as instructions: what waits, arrives and votes, on every architecture that can."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import cutlass
import cutlass.cute as cute
from cutlass import Int32, pipeline, utils
from cutlass.cute.runtime import from_dlpack
from opencute.base.knobs import KNOBS

pytestmark = pytest.mark.t1


def group(size: int) -> pipeline.CooperativeGroup:
    return pipeline.CooperativeGroup(pipeline.Agent.Thread, size)


@cute.kernel
def kernel(out: cute.Tensor, turns: Int32, cluster: cutlass.Constexpr) -> None:
    tidx, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    ring = utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout((32, 4)))
    pipe = pipeline.PipelineTmaAsync.create(
        num_stages=4,
        producer_group=group(1),
        consumer_group=group(2 * cluster),
        tx_count=128,
        cta_layout_vmnk=cute.make_layout((1, cluster, 1, 1)),
        defer_sync=True,
    )
    pipeline.pipeline_init_arrive(cluster_shape_mn=(cluster, 1), is_relaxed=True)
    pipeline.pipeline_init_wait(cluster_shape_mn=(cluster, 1))
    if warp == 0:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 4)
        for _ in range(turns):
            pipe.producer_acquire(state)
            state.advance()
        pipe.producer_tail(state)
    else:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 4)
        for n in range(turns):
            pipe.consumer_wait(state)
            out[n, tidx] = ring[tidx % 32, state.index]
            pipe.consumer_release(state)
            state.advance()


@cute.jit
def launch(out: cute.Tensor, turns: Int32, cluster: cutlass.Constexpr) -> None:
    kernel(out, turns, cluster).launch(
        grid=[cluster, 1, 1], block=[96, 1, 1], cluster=[cluster, 1, 1]
    )


def ptx_of(arch: str, cluster: int) -> str:
    out = np.zeros((8, 96), np.int32)
    with KNOBS.override(target=f"sim:{arch}"):
        compiled: Any = cute.compile(launch, from_dlpack(out), 8, cluster)
        assert compiled.__cubin__
        return compiled.__ptx__


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a", "sm_120a"])
def test_of_one_block(arch: str) -> None:
    text = ptx_of(arch, 1)
    assert text.count("mbarrier.init") == 8
    assert "barrier.cluster" not in text and "bar.sync" in text
    assert text.count("mbarrier.arrive.expect_tx") == 1
    # A wait for a free buffer, one for a full one, and four before the block ends.
    assert text.count("mbarrier.try_wait") == 6
    assert len(re.findall(r"mbarrier\.arrive\.shared::cta", text)) == 1
    assert ".local" not in text


def test_of_a_cluster() -> None:
    text = ptx_of("sm_90a", 2)
    assert "barrier.cluster.arrive.relaxed" in text and "barrier.cluster.wait" in text
    assert "mapa.shared::cluster" in text
    assert len(re.findall(r"mbarrier\.arrive\S*\.shared::cluster", text)) == 1
