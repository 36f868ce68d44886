# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The kernel of grouped products, whole and with one thing left out: what is reported."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from opencute.base.errors import OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.kernels.grouped_gemm import GroupedConfig, interface, moe_gemm, reference, sm90

pytestmark = pytest.mark.t1

STORES = "maps.change(2, groups.matrix(2, last), 2 + group, slot, 4 * group)"
# What is left out or wrong: text, what stands there instead, code of the error, words of it.
CASES: dict[str, tuple[str, str, str, str]] = {
    "acquire of a map": (
        "        self.manager.fence_tensormap_update(place)\n", "", "OC3409", "acquired since",
    ),
    "wait for stores before their map changes": (
        STORES, STORES.replace("4 * group)", "4 * group + 1)"), "OC3401",
        "no order between them",
    ),
    "a map for each warpgroup": (
        "slot = 2 * ring(plan) + group", "slot = 2 * ring(plan)", "OC3401",
        "no order between them",
    ),
    "bytes": (
        "tx_count=plan.operand_bytes()", "tx_count=plan.operand_bytes() // 2", "OC2192",
        "number of bytes",
    ),
    "too many arrivals": (
        "group_of(4 * CONSUMERS)", "group_of(8 * CONSUMERS)", "OC2191", "wait forever",
    ),
    "wait for a free buffer": (
        "loads.producer_acquire(state)", "loads.sync_object_full.arrive(state.index)", "OC3032",
        "more threads arrive",
    ),
}  # fmt: skip


def run() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, s).astype(np.float16) for s in ((200, 128), (5, 128, 32)))
    ends = np.array([0, 70, 70, 140, 200], np.int32)
    with KNOBS.override(target="sim:sm_90a", sim_check=True):
        d = moe_gemm(a, b, ends, config=GroupedConfig((128, 32), most=1, depth=2))
    np.testing.assert_array_equal(d, reference.moe_gemm(a, b, ends))


def test_nothing_is_reported_without_a_fault() -> None:
    run()


@pytest.mark.parametrize("case", list(CASES))
def test_faults_are_reported(
    case: str, planted: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, other, code, says = CASES[case]
    monkeypatch.setattr(interface, "row_gemm", planted(sm90.__name__, text, other, 1).row_gemm)
    with pytest.raises(OpenCuTeError, match=says) as raised:
        run()
    assert raised.value.code == code
