# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers that warps of a cluster tell each other, in the checking simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.lib.hopper.exchange import Exchange

pytestmark = pytest.mark.t0


@cute.kernel
def _kernel(
    out: cute.Tensor, turns: cutlass.Int32, warps: cutlass.Constexpr, sets: cutlass.Constexpr,
    early: cutlass.Constexpr,
):  # fmt: skip
    thread, _, _ = cute.arch.thread_idx()
    rank, _, _ = cute.arch.block_idx()
    exchange = Exchange(warps, 2, 2, sets)
    if thread == 0:
        exchange.begin()
        cute.arch.mbarrier_init_fence()
    cute.arch.cluster_arrive_relaxed()
    cute.arch.cluster_wait()
    own = cutlass.Float32(rank * warps + cute.arch.warp_idx())
    if cutlass.const_expr(early):
        exchange.tell(0, (own, -own), rank, thread)
    for turn in range(turns):
        if cutlass.const_expr(early):
            if turn + 1 < turns:
                exchange.tell(turn + 1, (own + turn + 1, -own), rank, thread)
        else:
            exchange.tell(turn, (own + turn, -own), rank, thread)
        told = exchange.wait(turn)
        for i in cutlass.range_constexpr(2):
            total = cutlass.Float32(0.0)
            for j in cutlass.range_constexpr(told.shape[1]):
                total = total + told[i, j]
            total = cute.arch.warp_reduction(total, lambda a, b: a + b)
            if thread == 32:
                out[i, turn, rank] = total


@cute.jit
def _run(
    out: cute.Tensor, turns: cutlass.Int32, warps: cutlass.Constexpr, sets: cutlass.Constexpr,
    early: cutlass.Constexpr,
):  # fmt: skip
    _kernel(out, turns, warps, sets, early).launch(
        grid=[2, 1, 1], block=[32 * warps, 1, 1], cluster=[2, 1, 1]
    )


def run(warps: int, sets: int, early: bool) -> Any:
    out = np.zeros((2, 7, 2), np.float32)
    with KNOBS.override(target="sim", sim_check=True):
        _run(out, 7, warps, sets, early)
    return out


@pytest.mark.parametrize(("warps", "sets", "early"), [(2, 2, False), (3, 4, True), (17, 2, False)])
def test_all_warps_are_told(warps: int, sets: int, early: bool) -> None:
    """With 17 warps of each block, lanes have two places each, and some have one."""
    out = run(warps, sets, early)
    total = sum(range(2 * warps))
    np.testing.assert_array_equal(out[0], [[total + 2 * warps * t] * 2 for t in range(7)])
    np.testing.assert_array_equal(out[1], np.full((7, 2), -total))


def test_telling_ahead_takes_four_sets() -> None:
    with pytest.raises(OpenCuTeError, match=r"OC3034|OC3401"):
        run(2, 2, True)
