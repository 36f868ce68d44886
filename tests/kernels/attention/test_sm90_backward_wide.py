# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of wide heads with warpgroups: what is left out is reported, nothing is spilled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.kernels.attention.config import warpgroup_backward_heuristic
from opencute.kernels.attention.sm90_backward import attention_backward
from opencute.kernels.attention.sm90_backward_plan import WarpgroupBackwardPlan

DONE = "    warpgroup.wait_group(0)\n"
FREE_Q, FREE_G = (f"    {x}.consumer_release(of_{x[0]})\n" for x in ("queries", "grads"))
TO_DK = "    warpgroup.wait_group(1)  # dK is there\n"
FOR_DV = """    grads.consumer_wait(of_g)
    if cutlass.const_expr(plan.ragged):
        clear(worker, 3, of_g.index, worker.reach.queries_left(place[1]), plan.m)
"""
ROUNDS = "    if cutlass.const_expr(plan.rounds > 1)"
FAULTS = [
    # what is wrong, the text, what stands there instead, tiles, the report
    ("no barrier for dS", "    worker.meet()  # all of dS is there\n", "", 1, "OC3401"),
    ("Q is released before dK", TO_DK + FREE_Q, FREE_Q + TO_DK, 2, "OC3403"),
    ("dQ is not waited for", DONE + ROUNDS, ROUNDS, 1, "OC3040"),
    ("no wait for dO of dV", FOR_DV, "", 1, "OC3402"),
    ("dO is released before dV", DONE + FREE_G, FREE_G + DONE, 3, "OC3403"),
]  # fmt: skip


@pytest.mark.t0
@pytest.mark.parametrize(
    ("text", "other", "tiles", "code"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_what_is_left_out_is_reported(
    backward_report_of: Callable[..., OpenCuTeError | None], text: str, other: str, tiles: int,
    code: str,
) -> None:  # fmt: skip
    report = backward_report_of(text, other, tiles, "wide", 192)
    assert report is not None and report.code == code


@pytest.mark.t1
@pytest.mark.parametrize("head_dim", [96, 256])
def test_nothing_is_spilled(head_dim: int) -> None:
    config = warpgroup_backward_heuristic(head_dim)
    plan = WarpgroupBackwardPlan(
        cutlass.BFloat16,
        head_dim,
        64,
        config.stages,
        config.grads,
        True,
        None,
        0,
        1,
        atomics=config.atomics,
    )
    x = np.zeros((1, 8, 1, head_dim), ml_dtypes.bfloat16)
    arrays: list[Any] = [from_dlpack(x).mark_layout_dynamic(leading_dim=3) for _ in range(8)]
    logs = np.zeros((1, 1, 8), np.float32)
    stats, sums = (np.zeros((1, 1, *s), np.float32) for s in ((2, 64), (64 * head_dim,)))
    with KNOBS.override(target="sim"):
        made = cute.compile[cute.GPUArch("sm_90a")](
            attention_backward, *arrays, logs, stats, sums, None, None, None, 0, 0, 1.0, plan
        ).artefacts
    assert made.device.report.diagnostics == ()  # ptxas says where it serialises products
    for report in made.device.report.functions:
        assert report.spill_loads == report.spill_stores == report.stack == 0
