# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""States go round a ring, while tracing and at run time alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutlass
import cutlass.cute as cute
from cutlass import Int32, pipeline
from opencute.base.errors import ArgumentError, ArgumentTypeError

pytestmark = pytest.mark.t0

KINDS = [pipeline.PipelineUserType.Producer, pipeline.PipelineUserType.Consumer]


def parts(state: Any) -> tuple[int, int, int]:
    return int(state.count), int(state.index), int(state.phase)


@settings(max_examples=50, deadline=None)
@given(stages=st.integers(1, 7), turns=st.integers(0, 30), kind=st.sampled_from(KINDS))
def test_a_state_is_its_count_in_the_ring(stages: int, turns: int, kind: Any) -> None:
    state = pipeline.make_pipeline_state(kind, stages)
    first = 1 if kind is KINDS[0] else 0
    for n in range(turns):
        assert parts(state) == (n, n % stages, (n // stages + first) % 2)
        state.advance()
    copy = state.clone()
    for n in reversed(range(turns)):
        state.reverse()
        assert parts(state) == (n, n % stages, (n // stages + first) % 2)
    assert parts(copy) == (turns, turns % stages, (turns // stages + first) % 2)
    copy.reset_count()
    assert parts(copy) == (0, turns % stages, (turns // stages + first) % 2)


@cute.kernel
def go_round(out: cute.Tensor, turns: Int32, stages: cutlass.Constexpr) -> None:
    state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, stages)
    for n in range(turns):
        out[n, 0] = state.count
        out[n, 1] = state.index
        out[n, 2] = state.phase
        state.advance()
    while state.count > 0:
        state.reverse()
        out[state.count, 3] = state.index * 10 + state.phase


@cute.jit
def launch_round(out: cute.Tensor, turns: Int32, stages: cutlass.Constexpr) -> None:
    go_round(out, turns, stages).launch(grid=[1, 1, 1], block=[1, 1, 1])


@pytest.mark.parametrize("stages", [1, 2, 5])
def test_at_run_time(stages: int) -> None:
    out = np.zeros((12, 4), np.int32)
    launch_round(out, 11, stages)
    want = [(n, n % stages, (n // stages + 1) % 2) for n in range(11)]
    assert [tuple(row) for row in out[:11, :3].tolist()] == want
    assert out[:11, 3].tolist() == [10 * index + phase for _, index, phase in want]


def test_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="a side of a pipeline"):
        pipeline.make_pipeline_state("producer", 2)
    for stages in (0, -3, 1.5, True):
        with pytest.raises(ArgumentError, match="number of stages"):
            pipeline.make_pipeline_state(KINDS[0], stages)
    with pytest.raises(ArgumentTypeError, match="of an Agent"):
        pipeline.CooperativeGroup(32)
    with pytest.raises(ArgumentTypeError, match="compile-time int"):
        pipeline.CooperativeGroup(pipeline.Agent.Thread, 0.5)
    for size in (0, -1, 1 << 20):
        with pytest.raises(ArgumentError, match="so many arrivals"):
            pipeline.CooperativeGroup(pipeline.Agent.Thread, size)
    assert pipeline.CooperativeGroup(pipeline.Agent.Warp, size=4).size == 4
