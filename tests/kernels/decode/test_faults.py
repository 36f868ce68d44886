# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention for decoding with one thing left out: the checking simulator says so."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute.base.errors import OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.kernels.decode import DecodeConfig, sm80, sm90
from opencute.kernels.decode.parts import DecodePlan
from opencute.kernels.decode.reference import decode_attention as reference

pytestmark = pytest.mark.t0


def run(launch: Any, target: str) -> None:
    """Four tiles for each of two groups of two warps, with room for three, the last one cut; 30
    rows of 32."""
    rng = np.random.default_rng(0)
    shapes = ((1, 1, 30, 64), (1, 128, 1, 64), (1, 128, 1, 64))
    q, k, v = (rng.standard_normal(s).astype(np.float16) for s in shapes)
    out, lengths = np.zeros_like(q), np.array([123], np.int32)
    tensors = [from_dlpack(x).mark_layout_dynamic(leading_dim=3) for x in (q, k, v, out)]
    plan = DecodePlan(cutlass.Float16, 64, DecodeConfig(2, 2, 16, 3, 1), 1, 30, True, None)
    with KNOBS.override(target=target, sim_check=True):
        launch(*tensors, None, lengths, None, None, None, 64**-0.5 * np.log2(np.e), plan)
    want, _ = reference(q, k, v, lengths, 64**-0.5)
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=2e-3, atol=1e-3)


WAIT = "        cute.arch.mbarrier_wait(loads.barriers + (own + stage), phase)\n"
USED = "        synchronise(which, plan)  # nobody reads the tile any more\n"
READY = "    cute.arch.sync_threads()  # queries and barriers are there\n"
READ = "    cute.arch.sync_threads()  # nobody reads tiles any more\n"
WRITTEN = "            sStats[row, which, 1] = total\n"
CLEARED = "            cute.autovec_copy(zeros, into[0, None])\n"
COMMIT = "        cute.arch.cp_async_commit_group()\n"
BARRIER = "    cute.arch.sync_threads()\n"
FAULTS = [
    # what is wrong, the module, the text, what stands there instead, the report
    ("no wait for a load", "sm90", WAIT, "", "OC3402"),
    ("the next load too early", "sm90", USED, "", "OC3401"),
    ("too few bytes", "sm90", "size = 2 * n", "size = n", "OC3402"),
    ("barriers are not ready", "sm90", READY, "", "OC3401"),
    ("no next load", "sm90", "            if ahead < block.end:", "            if ahead < 0:",
     "OC3501"),
    ("no wait for a copy", "sm80", "wait_group(config.stages - 2)",
     "wait_group(config.stages - 1)", "OC3402"),
    ("the next copy too early", "sm80", "        synchronise(which, plan)  #", "        #",
     "OC3401"),
    ("no group", "sm80", COMMIT + "        visit(", "        visit(", "OC3402"),
    ("queries are not there", "sm80", BARRIER, "", "OC3401"),
    ("results over tiles", "parts", READ, "", "OC3402"),
    ("results are not there", "parts", WRITTEN + BARRIER, WRITTEN, "OC3401"),
    ("values are not cleared", "parts", CLEARED + "    synchronise(which, plan)\n", CLEARED,
     "OC3401"),
]  # fmt: skip


@pytest.mark.parametrize(("module", "target"), [(sm80, "sim:sm_80"), (sm90, "sim:sm_90a")])
def test_nothing_is_left_out(module: ModuleType, target: str) -> None:
    run(module.decode_forward, target)


@pytest.mark.parametrize(
    ("where", "text", "other", "code"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_what_is_left_out_is_reported(
    planted: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch, where: str, text: str,
    other: str, code: str,
) -> None:  # fmt: skip
    module = planted("opencute.kernels.decode." + where, text, other, 1)
    if where == "parts":
        for name in ("visit", "finish"):
            monkeypatch.setattr(sm90, name, getattr(module, name))
        module = sm90
    with pytest.raises(OpenCuTeError) as e:
        run(module.decode_forward, "sim:sm_80" if where == "sm80" else "sim:sm_90a")
    assert e.value.code == code
