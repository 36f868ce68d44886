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
from opencute.kernels.grouped_gemm import (
    GroupedConfig,
    grouped_gemm,
    groups,
    interface,
    lists,
    moe_gemm,
    moe_gemm_weights,
    reference,
    rows,
    sm90,
)

pytestmark = pytest.mark.t1

SMALL = GroupedConfig((128, 32), most=1, depth=2)
STORES = "maps.change([(2, groups.matrix(2, group), 2 + who[0], slot)], 4 * who[0])"
STEPS = "cutlass.max(count, 1), cutlass.Int32(count == 0)"
# What is left out or wrong: of which form, text, what stands there instead, code of the error (none
# for wrong numbers), words of it.
CASES: dict[str, tuple[str, str, str, str, str]] = {
    "acquire of a map": (
        "lists", "            self.manager.fence_tensormap_update(self.place(slot))\n",
        "            pass\n", "OC3409", "acquired since",
    ),
    "acquire of a last step's map": (
        "sums", "                maps.seen([i * ring(plan) + turn for i in range(2)])\n", "",
        "OC3409", "acquired since",
    ),
    "which step is a last one": ("sums", "elif k < tail:", "elif k < tail + 1:", "", ""),
    "wait for stores before their map changes": (
        "lists", STORES, STORES.replace("4 * who[0])", "4 * who[0] + 1)"), "OC3412",
        "may still read",
    ),
    "a map for each warpgroup": (
        "lists", "slot = 2 * ring(plan) + who[0]", "slot = 2 * ring(plan)", "OC3401",
        "no order between them",
    ),
    "a step of zeros": ("sums", STEPS, "cutlass.max(count, 1), 0", "", ""),
    "bytes": (
        "rows", "tx_count=plan.operand_bytes()", "tx_count=plan.operand_bytes() // 2", "OC2192",
        "number of bytes",
    ),
    "too many arrivals": (
        "rows", "group_of(4 * CONSUMERS)", "group_of(8 * CONSUMERS)", "OC2191", "wait forever",
    ),
    "wait for a free buffer": (
        "rows", "loads.producer_acquire(state)", "loads.sync_object_full.arrive(state.index)",
        "OC3032", "more threads arrive",
    ),
    "where a group begins": (
        "rows", "if start is not None:", "if start is None:", "", "",
    ),
    "an operand of the group": (
        "rows", "seen.rows = groups.rows(found.group_idx)", "seen.rows = groups.rows(0)", "", "",
    ),
}  # fmt: skip


def run(form: str) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, s).astype(np.float16) for s in ((140, 128), (4, 128, 32)))
    ends = np.array([0, 70, 70, 140], np.int32)
    bounds = [*zip([0, *ends], ends, strict=False)]
    with KNOBS.override(target="sim:sm_90a", sim_check=True):
        if form == "rows":
            d = moe_gemm(a, b, ends, config=SMALL)
            np.testing.assert_array_equal(d, reference.moe_gemm(a, b, ends))
        elif form == "sums":
            d = moe_gemm_weights(a, a[:, :32].copy(), ends, config=SMALL)
            np.testing.assert_array_equal(d, reference.moe_gemm_weights(a, a[:, :32], ends))
        else:
            left, right = [a[i:j] for i, j in bounds], [*b]
            left[2], right[2] = a[:5, :0], b[2, :0]
            out = [np.zeros((len(x), 32), np.float16) for x in left]
            grouped_gemm(left, right, out=out, config=SMALL)
            for d, want in zip(out, reference.grouped_gemm(left, right), strict=True):
                np.testing.assert_array_equal(d, want)


@pytest.mark.parametrize("case", list(CASES))
def test_faults_are_reported(
    case: str, planted: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    form, text, other, code, says = CASES[case]
    wrong = planted(sm90.__name__, text, other, 1)
    monkeypatch.setattr(interface, "row_gemm", wrong.row_gemm)
    monkeypatch.setattr(interface, "sum_gemm", wrong.sum_gemm)
    monkeypatch.setattr(lists, "list_gemm", wrong.list_gemm)
    if not code:
        with pytest.raises(AssertionError):
            run(form)
        return
    with pytest.raises(OpenCuTeError, match=says) as raised:
        run(form)
    assert raised.value.code == code


@pytest.mark.parametrize("form", ["rows", "sums", "lists"])
def test_nothing_is_reported_without_a_fault(form: str) -> None:
    run(form)


def test_rows_of_others_that_a_part_stores(
    planted: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = planted(
        rows.__name__, "at[0] + ROWS <= rows.count:", "at[0] < rows.count:", 1
    )  # fmt: skip
    monkeypatch.setattr(groups, "Rows", wrong.Rows)
    a, b = np.ones((140, 64), np.float16), np.ones((2, 64, 32), np.float16)
    with (
        KNOBS.override(target="sim:sm_90a", sim_check=True),
        pytest.raises(OpenCuTeError, match="which a store of a tile writes"),
    ):
        moe_gemm(a, b, np.array([70, 140], np.int32), config=GroupedConfig((128, 32), depth=2))
