# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Groups that take turns: the order of what they write shows who was first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutlass
import cutlass.cute as cute
from cutlass import Int32, pipeline, utils
from opencute.base.errors import DeadlockError, OpenCuTeError, RaceError
from opencute.base.knobs import KNOBS

pytestmark = pytest.mark.t0


@pytest.fixture(autouse=True)
def checked() -> Any:
    with KNOBS.override(target="sim", sim_check=True):
        yield


@cute.kernel
def take_turns(
    out: cute.Tensor,
    turns: Int32,
    groups: cutlass.Constexpr,
    depth: cutlass.Constexpr,
    fault: cutlass.Constexpr,
) -> None:
    """Each turn has `depth` stages; in each, the group's first thread notes who it is, at a place
    that all groups share for a stage. One more group of threads takes no turns."""
    tidx, _, _ = cute.arch.thread_idx()
    own = cute.arch.make_warp_uniform(tidx // 32) - 1
    counts = utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(depth))
    order = pipeline.PipelineOrder.create(
        depth=depth,
        length=groups,
        group_id=own,
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 32),
        defer_sync=True,
    )
    if tidx < depth:
        counts[tidx] = 0
    pipeline.pipeline_init_arrive(is_relaxed=True)
    pipeline.pipeline_init_wait()
    if own >= 0:
        for _ in range(turns):
            for stage in cutlass.range_constexpr(depth):
                if cutlass.const_expr(fault != "wait"):
                    order.wait()
                if tidx % 32 == 0:
                    at = counts[stage]
                    out[stage, at] = own
                    counts[stage] = at + 1
                cute.arch.sync_warp()
                if cutlass.const_expr(fault != "arrive"):
                    order.arrive()


@cute.jit
def launch(
    out: cute.Tensor,
    turns: Int32,
    groups: cutlass.Constexpr,
    depth: cutlass.Constexpr,
    fault: cutlass.Constexpr,
) -> None:
    take_turns(out, turns, groups, depth, fault).launch(
        grid=[1, 1, 1], block=[32 * (groups + 1), 1, 1]
    )


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_groups_go_round(groups: int, depth: int) -> None:
    for seed in range(2):
        out = np.full((depth, 4 * groups), -1, np.int32)
        with KNOBS.override(sim_seed=seed):
            launch(out, 4, groups, depth, "")
        assert out.tolist() == [[n % groups for n in range(4 * groups)]] * depth


@pytest.mark.parametrize(("fault", "error"), [("wait", RaceError), ("arrive", DeadlockError)])
def test_what_is_left_out_is_reported(fault: str, error: Any) -> None:
    out = np.full((1, 8), -1, np.int32)
    with pytest.raises(error):
        launch(out, 4, 2, 1, fault)


def test_refused() -> None:
    with pytest.raises(OpenCuTeError, match="number of stages"):
        launch(np.zeros((1, 8), np.int32), 1, 2, 0, "")
