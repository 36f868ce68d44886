# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attention with a latent cache and one thing left out: the checking simulator says so."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute.base.errors import OpenCuTeError
from opencute.cute.runtime import from_dlpack
from opencute.kernels.mla.config import MlaConfig
from opencute.kernels.mla.sm90_plan import MlaPlan

pytestmark = pytest.mark.t0


def run(launch: Any, cluster: int) -> None:
    """Three tiles through two stages, the last one cut."""
    rng, heads = np.random.default_rng(0), 64 * cluster
    q_nope, q_rope, cache = (
        rng.standard_normal(s).astype(np.float16)
        for s in ((1, 1, heads, 512), (1, 1, heads, 64), (1, 140, 576))
    )
    tensors = [
        from_dlpack(x).mark_layout_dynamic(leading_dim=x.ndim - 1)
        for x in (q_nope, q_rope, cache, np.zeros_like(q_nope))
    ]
    plan = MlaPlan(cutlass.Float16, MlaConfig(2, 1, cluster), 1, heads, True, None)
    launch(*tensors, None, None, None, None, None, 0.1, plan)


WAIT = "        cute.arch.mbarrier_wait(barriers.ready + stage, phase)\n"
FREE = "cute.arch.mbarrier_wait(barriers.free + before, 1 - phase if stage == 0 else phase)"
PROXY = 'cute.arch.fence_proxy("async.shared", space="cta")'
ARRIVE = "cute.arch.mbarrier_arrive(barriers.free + stage, peer)"
FREED = f"""        with cute.arch.elect_one():
            for block in cutlass.range_constexpr(cluster):
                peer = None if cluster == 1 else block
                {ARRIVE}
"""
LAST = "        warpgroup.wait_group(0)\n"
READ = "        cute.arch.barrier_arrive(barrier_id=READ + stage, number_of_threads=3 * GROUP)\n"
FACTOR = "        factor = [sFactors[corner, stage], sFactors[corner + 8, stage]]\n"
FAULTS = [
    # what is wrong, blocks of a cluster, the text, what stands there instead, the report
    ("no wait for weights", 1, WAIT, "", "OC3401"),
    ("no wait for a free place", 1, FREE, "pass", "OC3403"),
    ("no fence of weights", 1, f"        {PROXY}\n", "", "OC3406"),
    ("no place is free", 1, ARRIVE, "pass", "OC3501"),
    ("free too early", 1, LAST + FREED, FREED + LAST, "OC3403"),
    ("factors are read too late", 1, FACTOR + READ, READ + FACTOR, "OC3401"),
    ("no fence of queries", 1, f"    {PROXY}\n    cute", "    cute", "OC3406"),
    ("only one block is told", 2, "range_constexpr(cluster)", "range_constexpr(1)", "OC3501"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("cluster", "text", "other", "code"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_what_is_left_out_is_reported(
    checked: None, planted: Callable[..., ModuleType], cluster: int, text: str, other: str,
    code: str,
) -> None:  # fmt: skip
    module = planted("opencute.kernels.mla.sm90", text, other, 1)
    with pytest.raises(OpenCuTeError) as e:
        run(module.mla_forward, cluster)
    assert e.value.code == code
