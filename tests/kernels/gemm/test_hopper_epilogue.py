# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The epilogue of Hopper's products, whole and with one thing left out: what is reported."""

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
# What is left out or wrong: text, what stands there instead, code of the error, words of it.
CASES: dict[str, tuple[str, str, str, str]] = {
    "proxy fence": (
        '        cute.arch.fence_proxy("async.shared", space="cta")\n', "", "OC3406",
        "through the generic proxy",
    ),
    "meeting": (
        "        epilogue.barrier.arrive_and_wait()\n        if cutlass.const_expr(epilogue.rows",
        "        if cutlass.const_expr(epilogue.rows", "OC3401", "with no",
    ),
    "wait for stores": (
        "cute.arch.cp_async_bulk_wait_group(plan.buffers - 2, read=True)", "pass", "OC3403",
        "a store of a tile reads",
    ),
    "wait for the store before": (
        "cp_async_bulk_wait_group(plan.buffers - 2", "cp_async_bulk_wait_group(plan.buffers - 1",
        "OC3403", "a store of a tile reads",
    ),
    "group of stores": (
        "    cute.arch.cp_async_bulk_commit_group()\n", "", "OC3403", "a store of a tile reads",
    ),
    "wait for a load": (
        "        epilogue.full.wait(epilogue.buffer(part), phase)\n", "", "OC3402",
        "a load of a tile writes",
    ),
    "phase of loads": (
        "turn * (plan.shares // plan.buffers)", "turn * 0", "OC3402", "a load of a tile writes",
    ),
    "expected bytes": (
        "                    epilogue.full.arrive(at)\n", "", "OC3501", "mbarrier_wait"
    ),
}  # fmt: skip


INPLACE = "    if cutlass.const_expr(plan.inplace):\n        if epilogue.stored_by:\n            "
# The same, where one matrix is loaded and the result takes its place.
IN_PLACE: dict[str, tuple[str, str, str, str]] = {
    "wait for results": (
        INPLACE + "cute.arch.cp_async_bulk_wait_group(0, read=True)  # the",
        INPLACE + "pass  # the", "OC3403",
        "a store of a tile reads",
    ),
    "wait for a load": (
        "        epilogue.full.wait(epilogue.buffer(part), phase)\n", "", "OC3402",
        "a load of a tile writes",
    ),
    "bytes": (
        'if kinds[name] == "load")\n    if not count',
        'if kinds[name] == "load") // 2\n    if not count', "OC3034", "bytes more than expected",
    ),
}  # fmt: skip


def run(launch: Any, added: int = 2) -> None:
    multiply(launch, ONE, 256, 32, 64, added=added)


def test_nothing_is_reported_without_a_fault() -> None:
    run(hopper_gemm)
    run(hopper_gemm, 1)


@pytest.mark.parametrize("case", list(IN_PLACE))
def test_faults_in_place_are_reported(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, other, code, says = IN_PLACE[case]
    with pytest.raises(OpenCuTeError, match=says) as raised:
        run(kernel_with(tmp_path, monkeypatch, "sm90_epilogue", text, other), 1)
    assert raised.value.code == code


@pytest.mark.parametrize("case", list(CASES))
def test_faults_are_reported(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, other, code, says = CASES[case]
    with pytest.raises(OpenCuTeError, match=says) as raised:
        run(kernel_with(tmp_path, monkeypatch, "sm90_epilogue", text, other))
    assert raised.value.code == code


def test_a_store_that_nobody_waits_for_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = "        cute.arch.cp_async_bulk_wait_group(0, read=True)\n    for"
    launch = kernel_with(tmp_path, monkeypatch, "sm90_epilogue", wait, "        pass\n    for")
    with pytest.warns(RuntimeWarning, match="OC3407.*may end while"):
        run(launch)
