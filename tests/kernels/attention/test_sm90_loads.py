# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention with warpgroups whose loads lack one thing: the checking simulator says so.

Tiles of keys have a ring of two stages, and are released before the products of values: a release
of keys that comes too early is harmless from the second tile on, as the warp that loads then waits
for a release of values first.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opencute.base.errors import OpenCuTeError

pytestmark = pytest.mark.t0

Report = Callable[[str, str], OpenCuTeError | None]
STUCK = "OC3501"
ROUNDS = """        warpgroup.wait_group(0)
        value.release()
"""
FAULTS = [
    # what is wrong, the text, what stands there instead, the report
    ("no wait for Q", "loads_q.make_consumer().wait()", "loads_q.make_consumer()", "OC3402"),
    ("no wait for K", "    key = keys.wait_and_advance()\n    warpgroup.fence()",
     "    key = keys.wait_and_advance(True)\n    warpgroup.fence()", "OC3402"),
    ("no first wait for V", "    value = values.wait_and_advance()",
     "    value = values.wait_and_advance(True)", "OC3402"),
    ("no wait for V", "following = values.wait_and_advance()",
     "following = values.wait_and_advance(True)", "OC3402"),
    ("K is not released", "        key.release()\n", "", STUCK),
    ("V is not released", "        value.release()\n", "", STUCK),
    ("K is released too early", "    warpgroup.wait_group(0)\n    key.release()",
     "    key.release()\n    warpgroup.wait_group(0)", "OC3403"),
    ("V is released too early", ROUNDS,
     "        value.release()\n        warpgroup.wait_group(0)\n", "OC3403"),
    ("too few bytes", "tx_count=2 * plan.head_dim * count,",
     "tx_count=plan.head_dim * count,", "OC2192"),
    ("too many consumers", "4 * plan.groups)", "4 * plan.groups + 1)", STUCK),
    ("barriers are not ready", "    cute.arch.sync_threads()\n", "", "OC3404"),
]  # fmt: skip


def test_nothing_is_left_out(report_of: Report) -> None:
    assert report_of("Floor:", "Bound:") is None


@pytest.mark.parametrize(
    ("text", "other", "code"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_what_is_left_out_is_reported(report_of: Report, text: str, other: str, code: str) -> None:
    report = report_of(text, other)
    assert report is not None and report.code == code
