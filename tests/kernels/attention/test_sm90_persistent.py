# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention on blocks that stay: several tiles to a block in the simulator, and what is planted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute.base.errors import OpenCuTeError
from opencute.cute.runtime import from_dlpack
from opencute.kernels.attention.reference import attention as reference
from opencute.kernels.attention.sm90 import WarpgroupPlan
from opencute.kernels.attention.sm90_persistent import attention_persistent

pytestmark = pytest.mark.t0

Report = Callable[[str, str], OpenCuTeError | None]
EARLY, UNORDERED, STUCK = "OC3040", "OC3041", "OC3501"
FIRST = """    warpgroup.wait_group(0)
    key.release()
"""
NEXT = "            queries.wait()\n            worker.turn()\n"
VALUES = (
    NEXT
    + """            warpgroup.fence()
            worker.scores(key.index, queries.state.index)
            worker.add_values(value.index)
"""
)
FAULTS = [
    # what is wrong, the text, what stands there instead, the report
    ("no wait for the next Q", NEXT, "            worker.turn()\n", "OC3402"),
    ("no first wait for Q", "    queries.wait()\n    key", "    key", "OC3402"),
    ("Q is not released", "            if i == count - 1:\n                queries.release()\n", "",
     STUCK),
    ("Q is released too early", "            if i == count - 1:\n", "            if i == 1:\n",
     "OC3402"),
    ("Q does not go on", "            queries.advance()\n", "", "OC3402"),
    ("no fence before the next scores", NEXT + "            warpgroup.fence()\n", NEXT, UNORDERED),
    ("no first wait for scores", FIRST, "    key.release()\n", EARLY),
    ("results leave before they are there", "            warpgroup.wait_group(0)\n"
     "            value.release()\n            value = following\n            finish",
     "            value.release()\n            value = following\n            finish", EARLY),
    ("no turn for the next", VALUES + "            worker.next_turn()\n", VALUES, STUCK),
    ("too few bytes", "tx_count=2 * plan.head_dim * count,", "tx_count=plan.head_dim * count,",
     "OC2192"),
    ("barriers are not ready", "    cute.arch.sync_threads()\n", "", "OC3404"),
]  # fmt: skip


def test_nothing_is_left_out(persistent_report_of: Report) -> None:
    assert persistent_report_of("While the last", "As the last") is None


@pytest.mark.parametrize(
    ("text", "other", "code"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_what_is_left_out_is_reported(
    persistent_report_of: Report, text: str, other: str, code: str
) -> None:
    report = persistent_report_of(text, other)
    assert report is not None and report.code == code


@pytest.mark.parametrize(
    ("b", "sq", "sk", "h", "hk", "before", "after", "groups", "n", "queries", "blocks"),
    [
        (1, 300, 96, 2, 1, None, None, 2, 48, 1, 2),
        (2, 200, 40, 1, 1, None, None, 2, 48, 2, 1),  # one tile of keys; ragged
        (2, 200, 130, 2, 1, None, 0, 2, 64, 2, 3),
        (1, 420, 60, 1, 1, 30, 0, 3, 32, 1, 2),  # queries that see no key
    ],
)
def test_simulated(
    checked: None, b: int, sq: int, sk: int, h: int, hk: int, before: Any, after: Any,
    groups: int, n: int, queries: int, blocks: int,
) -> None:  # fmt: skip
    rng = np.random.default_rng(0)
    shapes = ((b, sq, h, 64), (b, sk, hk, 64), (b, sk, hk, 64))
    q, k, v = (rng.standard_normal(s, np.float32).astype(np.float16) for s in shapes)
    out, logs = np.full_like(q, 7), np.zeros((b, h, sq), np.float32)
    tensors = [from_dlpack(x).mark_layout_dynamic(leading_dim=3) for x in (q, k, v, out)]
    plan = WarpgroupPlan(cutlass.Float16, 64, groups, n, 2, before, after, h // hk, queries, blocks)
    attention_persistent(*tensors, logs, None, None, sq, 0.125 * np.log2(np.e), plan)
    want, want_logs = reference(q, k, v, 0.125, window=(before, after))
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(logs, want_logs, rtol=1e-5, atol=1e-5)
