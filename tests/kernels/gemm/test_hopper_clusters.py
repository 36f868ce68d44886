# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Clusters and turns of Hopper's products, whole and with one thing left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernels.gemm.hopper_faults import kernel_with, multiply
from opencute.base.errors import OpenCuTeError
from opencute.kernels.gemm import HopperConfig
from opencute.kernels.gemm.sm90 import hopper_gemm

pytestmark = pytest.mark.t1


TURNS = HopperConfig((64, 32), pingpong=True, most=1, depth=2)
PAIR = HopperConfig((128, 32), (2, 1), most=1, depth=2)
MEET = "    pipeline.pipeline_init_wait(cluster_shape_mn=plan.config.cluster)\n"
# What is left out or wrong: configuration, text, what stands there instead, code, words.
CASES: dict[str, tuple[HopperConfig, str, str, str, str]] = {
    "wait for barriers": (PAIR, MEET, "", "OC3404", "initialised"),
    "wait for all buffers at the end": (
        PAIR, "    loads.producer_tail(state)\n", "", "OC3407", "may end",
    ),
    "release at the other block": (
        PAIR, "told = plan.config.cluster[0] + plan.config.cluster[1] - 1", "told = 1", "OC3402",
        "a load of a tile writes",
    ),
    "end of a turn": (
        TURNS,
        "    if cutlass.const_expr(turns is not None):\n        turns.arrive()\n"
        "    warpgroup.wait_group(0)", "    warpgroup.wait_group(0)", "OC3403",
        "a product of a warpgroup",
    ),
    "buffers of the other warpgroup": (
        TURNS,
        "        if cutlass.const_expr(pingpong):\n            skip(state, steps, plan.stages)\n",
        "", "OC3402", "a load of a tile writes",
    ),
}  # fmt: skip


def run(launch: Any, config: HopperConfig) -> None:
    multiply(launch, config, 256, 32, 320, added=0)


@pytest.mark.parametrize("config", [TURNS, PAIR], ids=["turns", "pair"])
def test_nothing_is_reported_without_a_fault(config: HopperConfig) -> None:
    run(hopper_gemm, config)


@pytest.mark.parametrize("case", list(CASES))
def test_faults_are_reported(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, text, other, code, says = CASES[case]
    with pytest.raises(OpenCuTeError, match=says) as raised:
        run(kernel_with(tmp_path, monkeypatch, "sm90", text, other), config)
    assert raised.value.code == code
