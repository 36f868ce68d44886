# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Hopper's products of other kinds with one thing left out: results that gate each other, and sums
that are taken twice. The checking simulator says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import OpenCuTeError
from opencute.kernels.gemm import HopperConfig, gemm, visitors

pytestmark = pytest.mark.t1


def numbers(*shape: int, dtype: Any = np.float16) -> Any:
    return np.random.default_rng(list(shape)).integers(-3, 4, shape).astype(dtype)


def half(x: Any) -> Any:
    return x * 0.5


def gated() -> None:
    """Two tiles of several parts by one block, half as many results as sums."""
    epilogue = visitors.chain(visitors.add_columns(numbers(64)), gated=half)
    config = HopperConfig((128, 64), most=1)
    gemm(numbers(256, 64), numbers(64, 64).T, epilogue=epilogue, config=config)


def twice() -> None:
    """Three steps through two stages."""
    a, b = (numbers(n, 384, dtype=ml_dtypes.float8_e4m3fn) for n in (128, 32))
    gemm(a, b.T, config=HopperConfig((128, 32), twice=True, most=1, depth=2))


FENCE = '        cute.arch.fence_proxy("async.shared", space="cta")\n'
ROWS = "        if cutlass.const_expr(epilogue.rows"
KEPT = "brought[i].to(cutlass.Float32)\n"
MEET = "        epilogue.barrier.arrive_and_wait()\n"
BEFORE = "cp_async_bulk_wait_group(plan.buffers - {}, read=True)"
GATED = {
    # what is wrong: the text, what stands there instead, the report
    "fence of results": (FENCE, "", "OC3406"),
    "meeting for results": (MEET + ROWS, ROWS, "OC3401"),
    "meeting for columns": (KEPT + MEET, KEPT, "OC3401"),
    "wait for the part before": (BEFORE.format(2), BEFORE.format(1), "OC3403"),
    "group of stores": ("    cute.arch.cp_async_bulk_commit_group()\n", "", "OC3403"),
}
LOOP = "    sums.fill(0.0)\n    for _ in range(steps):\n"
LOADED = "        loads.consumer_wait(state)\n"
DONE, FREE = "        warpgroup.wait_group(0)\n", "        loads.consumer_release(state)\n"
BEGIN = "        mma.set(warpgroup.Field.ACCUMULATE, False)\n"
GROUP = "        warpgroup.commit_group()\n"
TWICE = {
    "wait for a buffer": (LOOP + LOADED, LOOP, "OC3403"),
    "wait for a product": (DONE + FREE, FREE, "OC3040"),
    "release too early": (DONE + FREE, FREE + DONE, "OC3403"),
    "release": (FREE + "        state", "        state", "OC3501"),
    "fence of sums": (BEGIN + "        warpgroup.fence()\n", BEGIN, "OC3041"),
    "group of products": (GROUP + DONE + FREE, DONE + FREE, "OC3040"),
}
CASES = [(gated, "sm90_epilogue", *GATED[name]) for name in GATED]
CASES += [(twice, "sm90", *TWICE[name]) for name in TWICE]


@pytest.mark.parametrize("call", [gated, twice])
def test_nothing_is_reported_without_a_fault(checked: None, call: Callable[[], None]) -> None:
    call()


@pytest.mark.parametrize(("call", "module", "text", "other", "code"), CASES, ids=[*GATED, *TWICE])
def test_faults_are_reported(
    checked: None, plant: Callable[[str, str, str], None], call: Callable[[], None], module: str,
    text: str, other: str, code: str,
) -> None:  # fmt: skip
    plant(f"opencute.kernels.gemm.{module}", text, other)
    with pytest.raises(OpenCuTeError) as raised:
        call()
    assert raised.value.code == code
