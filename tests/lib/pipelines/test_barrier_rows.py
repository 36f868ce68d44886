# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where the barriers of a pipeline lie in a struct."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute, pipeline, utils
from opencute.base.errors import OutOfBoundsError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0

STAGES, ROUNDS = 2, 5


@cute.struct
class TwoRows:
    """Of four barriers two have one name and two another, as in a published example."""

    full: cute.struct.MemRange[cutlass.Int64, STAGES]
    empty: cute.struct.MemRange[cutlass.Int64, STAGES]
    tile: cute.struct.MemRange[cutlass.Float32, 32 * STAGES]


@cute.struct
class TooFew:
    """Room for the full ones only: the others lie on data."""

    full: cute.struct.MemRange[cutlass.Int64, STAGES]
    tile: cute.struct.MemRange[cutlass.Float32, 32 * STAGES]


@cute.kernel
def relay(x: cute.Tensor, y: cute.Tensor, kind: cutlass.Constexpr):
    storage = utils.SmemAllocator().allocate(kind)
    tile = storage.tile.get_tensor((32, STAGES))
    group = pipeline.CooperativeGroup(pipeline.Agent.Thread, 32)
    ring = pipeline.PipelineAsync.create(
        barrier_storage=storage.full.data_ptr(), num_stages=STAGES, producer_group=group,
        consumer_group=group,
    )  # fmt: skip
    tid, _, _ = cute.arch.thread_idx()
    lane = tid % 32
    if tid < 32:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
        for i in cutlass.range(ROUNDS):
            ring.producer_acquire(state)
            tile[lane, state.index] = x[lane, i]
            ring.producer_commit(state)
            state.advance()
    else:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
        for i in cutlass.range(ROUNDS):
            ring.consumer_wait(state)
            y[lane, i] = tile[lane, state.index] + 1.0
            ring.consumer_release(state)
            state.advance()


@cute.jit
def run(x: cute.Tensor, y: cute.Tensor, kind: cutlass.Constexpr):
    relay(x, y, kind).launch(grid=1, block=64)


@pytest.fixture(autouse=True)
def simulator() -> Any:
    with KNOBS.override(target="sim:sm_90a"):
        yield


def test_a_row_may_go_on_in_the_next_member() -> None:
    x = np.arange(32 * ROUNDS, dtype=np.float32).reshape(32, ROUNDS)
    y = np.zeros_like(x)
    run(from_dlpack(x), from_dlpack(y), TwoRows)
    np.testing.assert_array_equal(y, x + 1)


def test_barriers_on_data_are_found() -> None:
    x = np.arange(32 * ROUNDS, dtype=np.float32).reshape(32, ROUNDS)
    y = np.zeros_like(x)
    with pytest.raises(OutOfBoundsError, match=r"update outside of 'TooFew\.full") as e:
        run(from_dlpack(x), from_dlpack(y), TooFew)
    assert e.value.code == "OC3101" and "byte 0 of 'TooFew.tile" in str(e.value)
