# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives with warpgroups whose loads lack one thing: the checking simulator says so.

A block of keys, two stages of queries and one of gradients: a fault that takes a third tile to show
gets one.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opencute.base.errors import OpenCuTeError

pytestmark = pytest.mark.t0

Report = Callable[..., OpenCuTeError | None]
FAULTS = [
    # what is wrong, the text, what stands there instead, tiles, of what, the report
    ("no wait for K", "loads[0].make_consumer().wait()", "loads[0].make_consumer()", 1, "",
     "OC3402"),
    ("no wait for the next Q", "    queries.consumer_wait(following)\n", "", 2, "worker", "OC3402"),
    ("no wait for dO", "    grads.consumer_wait(of_g)\n", "", 1, "worker", "OC3402"),
    ("Q is not released", "    queries.consumer_release(of_q)\n", "", 3, "", "OC3501"),
    ("dO is released too early",
     "    warpgroup.wait_group(1)  # dV and dQ are there\n    grads.consumer_release(of_g)\n",
     "    grads.consumer_release(of_g)\n    warpgroup.wait_group(1)\n", 2, "", "OC3403"),
    ("too few bytes", "plan.bytes_of_tiles(), strict",
     "(*plan.bytes_of_tiles()[:2], *plan.bytes_of_tiles()[3:] * 2), strict", 1, "",
     "OC3402"),
    ("barriers are not ready", "    cute.arch.sync_threads()\n", "", 1, "", "OC3404"),
]  # fmt: skip


def test_nothing_is_left_out(backward_report_of: Report) -> None:
    assert backward_report_of("Floor:", "Bound:", 3) is None


@pytest.mark.parametrize(
    ("text", "other", "tiles", "of", "code"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_what_is_left_out_is_reported(
    backward_report_of: Report, text: str, other: str, tiles: int, of: str, code: str
) -> None:
    report = backward_report_of(text, other, tiles, of)
    assert report is not None and report.code == code
