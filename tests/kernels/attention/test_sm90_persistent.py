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
LEAVE = """            warpgroup.wait_group(0)
            value.release()
            value = following
            if"""
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
    ("Q is released too early", "            if i == count - 1:\n", "            if i == 1:\n",
     "OC3402"),
    ("no fence before the next scores", NEXT + "            warpgroup.fence()\n", NEXT, UNORDERED),
    ("results leave before they are there", LEAVE, LEAVE.replace("warpgroup.wait_group(0)", "pass"),
     EARLY),
    ("no turn for the next", VALUES + "            worker.next_turn()\n", VALUES, STUCK),
]  # fmt: skip


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
        (1, 140, 40, 2, 1, None, None, 2, 32, 1, 1),
        (1, 520, 60, 1, 1, 30, 0, 2, 32, 2, 2),  # two turns, and a block for the last tile
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
