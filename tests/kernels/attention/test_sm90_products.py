# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention with warpgroups whose products, turns or stores lack one thing: the checking simulator
says so.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opencute.base.errors import OpenCuTeError

pytestmark = pytest.mark.t0

Report = Callable[[str, str], OpenCuTeError | None]
EARLY, UNORDERED, STUCK = "OC3040", "OC3041", "OC3501"
FAULTS = [
    # what is wrong, the text, what stands there instead, the report
    ("no first wait for scores", "    warpgroup.wait_group(0)\n    key.release()",
     "    key.release()", EARLY),
    ("no wait for scores", "        warpgroup.wait_group(1)\n", "", EARLY),
    ("no wait for results", "        warpgroup.wait_group(0)\n", "", EARLY),
    ("no fence of weights", "        worker.turn()\n        warpgroup.fence()\n",
     "        worker.turn()\n", UNORDERED),
    ("no last fence", "    warpgroup.fence()\n    worker.add_values", "    worker.add_values",
     UNORDERED),
    ("no group of values", "self.rO)\n        warpgroup.commit_group()", "self.rO)", EARLY),
    ("no turn for the next", "        worker.add_values(value.index)\n        worker.next_turn()\n",
     "        worker.add_values(value.index)\n", STUCK),
    ("no first turn", "    if worker.which == plan.groups - 1:",
     "    if worker.which > plan.groups:", STUCK),
    ("no fence before the store", '    cute.arch.fence_proxy("async.shared", space="cta")\n', "",
     "OC3406"),
    ("no barrier before the store",
     "    cute.arch.barrier(barrier_id=STORES + worker.which, number_of_threads=GROUP)\n", "",
     "OC3401"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "other", "code"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_what_is_left_out_is_reported(report_of: Report, text: str, other: str, code: str) -> None:
    report = report_of(text, other)
    assert report is not None and report.code == code


def test_a_store_that_nobody_waits_for_is_a_warning(report_of: Report) -> None:
    with pytest.warns(RuntimeWarning, match="OC3407.*may end while"):
        report_of("        cute.arch.cp_async_bulk_wait_group(0, read=True)\n", "")
