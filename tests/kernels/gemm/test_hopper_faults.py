# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The main loop of Hopper's products, whole and with one thing left out: what is reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernels.gemm.hopper_faults import kernel_with, multiply
from opencute.base.errors import OpenCuTeError
from opencute.kernels.gemm import HopperConfig
from opencute.kernels.gemm.sm90 import hopper_gemm

pytestmark = pytest.mark.t1


ONE = HopperConfig((128, 32), most=1, depth=2)
LOOP = "    for _ in range(1, steps):\n"
START = "    mma.set(warpgroup.Field.ACCUMULATE, False)\n"
LAST = "    warpgroup.wait_group(0)\n    loads.consumer_release(before)\n"
ARRIVALS = "group_of(4 * plan.config.owners * told)"
# What is left out or wrong: text, what stands there instead, code of the error, words of it.
CASES: dict[str, tuple[str, str, str, str]] = {
    "wait for a full buffer": (
        LOOP + "        loads.consumer_wait(state)\n", LOOP, "OC3402", "a load of a tile writes",
    ),
    "fence": (START + "    warpgroup.fence()\n", START, "OC3041", "no fence has ordered"),
    "commit": (
        "        warpgroup.commit_group()\n        warpgroup.wait_group(1)\n",
        "        warpgroup.wait_group(1)\n", "OC3403", "a product of a warpgroup reads",
    ),
    "wait for the product before": (
        "        warpgroup.wait_group(1)\n", "", "OC3403", "a product of a warpgroup reads",
    ),
    "wait for the last product": (
        LAST, "    loads.consumer_release(before)\n", "OC3040", "accumulator is read",
    ),
    "release": (
        "        loads.consumer_release(before)\n        before", "        before", "OC3501",
        "mbarrier_wait",
    ),
    "last release": (LAST, "    warpgroup.wait_group(0)\n", "OC3501", "mbarrier_wait"),
    "bytes": (
        "tx_count=plan.operand_bytes()", "tx_count=plan.operand_bytes() // 2", "OC2192",
        "number of bytes",
    ),
    "arrivals of one warpgroup": (ARRIVALS, "group_of(4)", "OC3403", "a product of a warpgroup"),
    "too many arrivals": (
        ARRIVALS, "group_of(8 * plan.config.owners)", "OC2191", "wait forever",
    ),
    "wait for a free buffer": (
        "loads.producer_acquire(state)", "loads.sync_object_full.arrive(state.index)", "OC3032",
        "more threads arrive",
    ),
    "expected bytes": (
        "loads.producer_acquire(state)",
        "loads.sync_object_empty.wait(state.index, state.phase)", "OC3501", "mbarrier_wait",
    ),
}  # fmt: skip


def run(launch: Any) -> None:
    multiply(launch, ONE, 256, 32, 320, added=0)


def test_nothing_is_reported_without_a_fault() -> None:
    run(hopper_gemm)


@pytest.mark.parametrize("case", list(CASES))
def test_faults_are_reported(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, other, code, says = CASES[case]
    with pytest.raises(OpenCuTeError, match=says) as raised:
        run(kernel_with(tmp_path, monkeypatch, "sm90", text, other))
    assert raised.value.code == code
