# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives with warpgroups whose products, or the way of dS and dQ through shared memory, lack
one thing: the checking simulator says so.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opencute.base.errors import OpenCuTeError

pytestmark = pytest.mark.t0

Report = Callable[..., OpenCuTeError | None]
FENCE = '    cute.arch.fence_proxy("async.shared", space="cta")\n'
FAULTS = [
    # what is wrong, the text, what stands there instead, tiles, of what, the report
    ("no wait for slopes", "        warpgroup.wait_group(1)\n    else", "    else", 1, "",
     "OC3040"),
    ("no fence of weights", "        warpgroup.fence()\n        worker.start_dv(of_g.index)\n"
     "        warpgroup", "        worker.start_dv(of_g.index)\n        warpgroup", 1, "",
     "OC3041"),
    ("no group of products", "        cute.gemm(mma, acc, a, b, acc)\n"
     "        warpgroup.commit_group()\n", "        cute.gemm(mma, acc, a, b, acc)\n", 1, "worker",
     "OC3040"),
    ("no proxy fence of dS", "buffer])\n    " + FENCE, "buffer])\n", 1, "worker", "OC3406"),
    ("no barrier for dS", "    worker.meet()  # all of dS is there\n", "", 1, "", "OC3401"),
    ("dQ is still read", "        cute.arch.cp_async_bulk_wait_group(0, read=True)  # the last",
     "        pass  # the last", 2, "", "OC3403"),
    ("no barrier for dQ", "    together(worker)\n    if worker.stores():\n        at =",
     "    if worker.stores():\n        at =", 1, "sums", "OC3401"),
    ("K is still read", "    worker.meet()  # nobody reads K and V any more\n", "", 1, "",
     "OC3403"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "other", "tiles", "of", "code"),
    [f[1:] for f in FAULTS],
    ids=[f[0] for f in FAULTS],
)
def test_what_is_left_out_is_reported(
    backward_report_of: Report, text: str, other: str, tiles: int, of: str, code: str
) -> None:
    report = backward_report_of(text, other, tiles, of)
    assert report is not None and report.code == code
